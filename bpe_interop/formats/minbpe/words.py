"""What is said of a field that minbpe's file cannot hold."""

from __future__ import annotations

from ...loss import Loss
from ...merging.canonical import canonical, whole_lookups
from ...model import FLAGS_IN_WORDS, LOOKS_BESIDE, AddedToken, BPEModel
from ...quoting import show
from ..losses import Decided, Words, flag_witness, one_sentence
from ..round_trip import RoundTrip
from .read import BYTES
from .write import express


@one_sentence
def words(trip: RoundTrip, decided: Decided) -> Words | None:
    """The sentences of minbpe's file; None where what differs says enough."""
    model, field = trip.model, decided.field
    if field == "vocab":
        return _vocab(model, trip.again)
    if field == "merges" and decided.refused:
        return (
            "in minbpe a merge comes after those of its parts, and starts from bytes",
            "other pairs would merge first",
        )
    if field == "lookup_first" and decided.refused:
        tokens = sorted(whole_lookups(model), key=model.vocab.ids.__getitem__)
        return (
            f"{len(tokens)} tokens that no merge builds, such as {show(tokens[0])}, are found by "
            "looking whole pretokens up",
            "minbpe has no such lookup, and the text would be several tokens",
        )
    if field == "pretokenizer" and decided.refused:
        source = express(model)
        if isinstance(source, Loss):
            return source.what, source.consequence, source.witness
        return (
            f"minbpe takes one pattern whose matches are the pretokens; this one would be {source}",
            "Python's regex cuts texts elsewhere by it",
        )
    return _added(model, trip.again) if field == "added" and decided.refused else None


def _vocab(model: BPEModel, again: BPEModel) -> Words | None:
    """Ids are the bytes' values, and 256 plus the place of the merge that builds a token."""
    ids, built = model.vocab.ids, {*canonical(model).splits, *whole_lookups(model)}
    for content in (bytes([byte]) for byte in range(BYTES)):
        if ids.get(content) != content[0]:
            here = f"has the id {ids[content]}" if content in ids else "has none"
            return (
                f"in minbpe a byte's id is its value; here {show(content)} {here}",
                "texts would have other ids",
            )
    changed = [content for content, number in ids.items() if again.vocab.ids.get(content) != number]
    moved = next((content for content in changed if content in built), None)
    if moved is not None:
        return (
            f"in minbpe ids are {BYTES} plus the place of a merge; here {show(moved)} has the id "
            f"{ids[moved]}, and would have {again.vocab.ids.get(moved, 'none')}",
            "texts would have other ids",
        )
    if changed:
        return (
            f"a token that no merge builds has no id in minbpe, such as {show(changed[0])}",
            "such an id could not be decoded",
        )
    return None


def _added(model: BPEModel, again: BPEModel) -> Words:
    read = {(token.text, token.id) for token in again.added or ()}
    for token in model.added or ():
        flags = _flags(token)
        why = f"is {', '.join(flags)}, which minbpe does not know" if flags else ""
        if (token.text, token.id) not in read:
            why = f"{token.id}: {_why_refused(token, model, len(again.vocab.ids))}"
        if why:
            there = f"{show(token.text)}{',' if not flags or why[0].isdigit() else ''} {why}"
            witness = flag_witness(token) if flags and token.special else token.text
            what = f"an added token that minbpe cannot have: {there}"
            return what, "texts that hold it would be read otherwise", witness
    return (
        "an added token that minbpe cannot have: user-defined tokens are found in texts first",
        "texts that hold it would be read otherwise",
    )


def _why_refused(token: AddedToken, model: BPEModel, size: int) -> str:
    if token.text.split() != [token.text]:
        return "a special token has no white space there"
    if token.id < size:
        return "the id is that of a byte or a merge there"
    return "another one has the same id"


def _flags(token: AddedToken) -> list[str]:
    names = [*LOOKS_BESIDE, "normalized", *FLAGS_IN_WORDS]
    found = [FLAGS_IN_WORDS.get(name, name) for name in names if getattr(token, name)]
    return [*([] if token.special else ["not special"]), *found]
