"""What minbpe's file cannot hold: each field that reading it back gives otherwise, and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from ...diff import Difference, diff
from ...loss import Loss
from ...model import AddedToken, BPEModel, show
from ...steps import Pattern, Split
from ...theory.byte_ranks import as_byte_ranks, rank_table
from ...theory.merges import canonical, whole_lookups
from ...theory.pretokens import missing_bytes, occurrence
from ...theory.witness import decoded_otherwise, first_changed, split_otherwise, text_with
from ..byte_losses import affixes_lost, alphabet_lost, extras_lost
from ..round_trip import RoundTrip
from .pattern import express
from .witness import first_apart

Said: TypeAlias = Iterable[Loss]

_FEW = 40
"""How many tokens are looked at for a text that shows a difference."""


def explain(trip: RoundTrip) -> Iterable[Loss]:
    """What would be lost, by field. What the model does not state (``None``) cannot be lost."""
    for found in trip.differences:
        yield from _BY_FIELD[found.field](trip.model, trip.again, found)


def _alphabet(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    rewrite = as_byte_ranks(model)
    yield alphabet_lost(rewrite, "minbpe", rewrite.witness)


def _affixes(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    yield from affixes_lost(model, "minbpe")


def _vocab(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    own, new = model.vocab.ids, again.vocab.ids
    changed = [content for content, number in own.items() if new.get(content) != number]
    built = {*canonical(model).splits, *whole_lookups(model)}
    given = [content for content in changed if len(content) == 1 or content in built]
    if changed and not given:
        yield Loss(
            "vocab",
            "text",
            f"a token that no merge builds has no id in minbpe; {found.how}",
            "such an id could not be decoded",
        )
        return
    letters = [content.decode() for content in given if len(content) == 1 and content.isascii()]
    letters.sort(key=lambda text: not text.isalpha())
    texts = [*letters, *_occurring(model, [content for content in given if len(content) > 1])]
    witness = first_apart(model, again, texts)
    yield Loss(
        "vocab",
        "ids",
        _ids_said(own, found),
        "texts would have other ids",
        witness=witness,
        shown=witness is not None,
    )


def _ids_said(ids: Mapping[bytes, int], found: Difference) -> str:
    """Where ids first leave minbpe's rule."""
    for byte in range(256):
        content = bytes([byte])
        if ids.get(content) != byte:
            here = f"has the id {ids[content]}" if content in ids else "has none"
            return f"in minbpe a byte's id is its value; here {show(content)} {here}"
    return f"in minbpe ids are 256 plus the place of a merge; {found.how}"


def _merges(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    ours, theirs = canonical(model).splits, canonical(again).splits
    differing = [token for token in {**ours, **theirs} if ours.get(token) != theirs.get(token)]
    witness = first_apart(model, again, _occurring(model, differing or [*ours]))
    yield Loss(
        "merges",
        "ids",
        f"in minbpe a merge comes after those of its parts; {found.how}",
        "other pairs would merge first",
        witness=witness,
        shown=witness is not None,
    )


def _lookup_first(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    tokens = sorted(whole_lookups(model), key=model.vocab.ids.__getitem__)
    witness = first_apart(model, again, _occurring(model, tokens))
    yield Loss(
        "lookup_first",
        "ids",
        f"{len(tokens)} tokens that no merge builds, such as {show(tokens[0])}, are found by "
        "looking whole pretokens up",
        "minbpe has no such lookup, and the text would be several tokens",
        witness=witness,
        shown=witness is not None,
    )


def _occurring(model: BPEModel, tokens: Iterable[bytes]) -> list[str]:
    """Texts in which some of these tokens are whole pretokens."""
    steps = model.pretokenizer or ()
    few = [token for token, _ in zip(tokens, range(_FEW), strict=False)]
    answers = (occurrence(steps, token) for token in few)
    return [answer.text for answer in answers if answer.possible and answer.text is not None]


def _fallback(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    missing, over_bytes = missing_bytes(rank_table(model)), model.alphabet == "byte"
    same = not missing and (over_bytes or as_byte_ranks(model).rule is not None)
    witness = text_with(min(missing)) if missing and over_bytes else None
    yield Loss(
        "fallback",
        "metadata" if same else "ids",
        f"what becomes of symbols without a token ({model.fallback.missing})",
        "none is missing; no id changes" if same else "in minbpe every byte has one",
        witness=witness,
        shown=same or witness is not None,
    )


def _normalizer(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    witness = first_changed(model.normalizer or ())
    yield Loss(
        "normalizer",
        "ids",
        "texts are normalized before they are cut; minbpe never does",
        "texts that the normalizer changes would have other ids",
        witness=witness,
        shown=witness is not None,
    )


def _pretokenizer(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    said = express(model)
    if isinstance(said, Loss):
        yield said
        return
    patterns = [step.pattern for step in again.pretokenizer or () if isinstance(step, Split)]
    pattern = next((found for found in patterns if isinstance(found, Pattern)), None)
    witness = None if pattern is None else split_otherwise(model.pretokenizer or (), pattern)
    yield Loss(
        "pretokenizer",
        "ids",
        f"minbpe takes one pattern whose matches are the pretokens; {found.how}",
        "texts would be cut elsewhere",
        witness=witness,
        shown=witness is not None,
    )


def _added(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    added, kept = model.added or (), {token.text for token in again.added or ()}
    bare = replace(model, added=tuple(replace(token, roles=()) for token in added))
    if all(other.field != "added" for other in diff(bare, again)):
        roles = sorted({role for token in added for role in token.roles})
        what = f"roles of special tokens ({', '.join(roles)})"
        yield Loss("added", "metadata", what, "minbpe names none; no id changes")
        return
    lost = next((token for token in added if token.text not in kept), None)
    odd = next((token for token in added if _flags(token)), None)
    if lost is not None:
        what = f"{show(lost.text)}, {lost.id}: {_why_lost(lost, model, again)}"
        witness: str | None = lost.text
    elif odd is not None:
        what = f"{show(odd.text)} is {', '.join(_flags(odd))}, which minbpe does not know"
        witness = _flag_witness(odd)
    else:
        what, witness = found.how, None
    yield Loss(
        "added",
        "text",
        f"an added token that minbpe cannot have: {what}",
        "texts that hold it would be read otherwise",
        witness=witness,
        shown=witness is not None,
    )


def _why_lost(token: AddedToken, model: BPEModel, again: BPEModel) -> str:
    if token.text.split() != [token.text]:
        return "a special token has no white space there"
    if token.id < len(again.vocab.ids):
        return "the id is that of a byte or a merge there"
    return "another one has the same id"


def _flags(token: AddedToken) -> list[str]:
    names = ["lstrip", "rstrip", "single_word", "normalized"]
    return [*([] if token.special else ["not special"]), *(n for n in names if getattr(token, n))]


def _flag_witness(token: AddedToken) -> str | None:
    """A text on which the first of the token's flags does something."""
    if not token.special:
        return token.text
    if token.lstrip:
        return f" {token.text}"
    if token.rstrip:
        return f"{token.text} "
    return f"a{token.text}" if token.single_word else None


def _sequence_template(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    yield Loss(
        "sequence_template",
        "text",
        "what is placed around a sequence",
        "minbpe places nothing there",
        witness="a",
    )


def _decoder(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    witness = decoded_otherwise(model)
    yield Loss(
        "decoder",
        "text",
        "minbpe joins the tokens' bytes and reads them as UTF-8",
        "some ids would decode to another text",
        witness=witness,
        shown=witness is not None,
    )


def _chat_template(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    yield Loss("chat_template", "metadata", "the chat template", "it is left out")


def _extras(model: BPEModel, again: BPEModel, found: Difference) -> Said:
    yield from extras_lost(model)


_BY_FIELD: Mapping[str, Callable[[BPEModel, BPEModel, Difference], Said]] = MappingProxyType(
    {
        "alphabet": _alphabet,
        "affixes": _affixes,
        "vocab": _vocab,
        "merges": _merges,
        "lookup_first": _lookup_first,
        "fallback": _fallback,
        "normalizer": _normalizer,
        "pretokenizer": _pretokenizer,
        "added": _added,
        "sequence_template": _sequence_template,
        "decoder": _decoder,
        "chat_template": _chat_template,
        "extras": _extras,
    }
)
