"""What a value holds that minbpe's file cannot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from ...loss import Loss
from ...merging.canonical import canonical, whole_lookups
from ...model import AddedToken, Affixes, BPEModel, Fallback, PairList, show
from ...steps import Pattern, Split
from ...text.patterns import same
from ...theory.byte_ranks import as_byte_ranks, rank_table
from ...theory.pretokens import missing_bytes, occurrence
from ...theory.witness import split_otherwise, text_with
from ..reasons import Apart, Reason, alphabet_lost, explained, flag_witness, of_bytes, shown_by
from ..round_trip import RoundTrip
from .pattern import express
from .read import BYTES
from .write import numbered, pairs_of

_FEW = 40
"""How many tokens are looked at for a text that shows a difference."""


def explain(trip: RoundTrip) -> Iterable[Loss]:
    """Why fields come back otherwise, where the value gives a reason."""
    return explained(trip, _REASONS)


def _alphabet(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    if model.alphabet != "byte":
        rewrite = as_byte_ranks(model)
        yield alphabet_lost(rewrite, "minbpe", rewrite.witness)


def _vocab(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    """Ids are the bytes' values, and 256 plus the place of the merge that builds a token."""
    ids = model.vocab.ids
    reason = _ids_of_bytes(ids) or _ids_of_merges(model)
    if reason is None:
        return
    written = numbered(pairs_of(model))
    changed = [content for content, number in ids.items() if written.get(content) != number]
    built = {*canonical(model).splits, *whole_lookups(model)}
    given = [content for content in changed if len(content) == 1 or content in built]
    if changed and not given:
        yield Loss(
            "vocab",
            "text",
            f"a token that no merge builds has no id in minbpe, such as {show(changed[0])}",
            "such an id could not be decoded",
        )
        return
    letters = [content.decode() for content in given if len(content) == 1 and content.isascii()]
    letters.sort(key=lambda text: not text.isalpha())
    texts = [*letters, *_occurring(model, [content for content in given if len(content) > 1])]
    yield shown_by(apart(texts), "vocab", "ids", reason, "texts would have other ids")


def _ids_of_bytes(ids: Mapping[bytes, int]) -> str | None:
    """The first byte whose id is not its value."""
    for byte in range(BYTES):
        content = bytes([byte])
        if ids.get(content) != byte:
            here = f"has the id {ids[content]}" if content in ids else "has none"
            return f"in minbpe a byte's id is its value; here {show(content)} {here}"
    return None


def _ids_of_merges(model: BPEModel) -> str | None:
    """The first token whose id is not 256 plus the place of its merge, among those that fire."""
    ids = model.vocab.ids
    if model.vocab.kinds or model.vocab.scores:
        return "in minbpe tokens have no kinds and no scores"
    rule, form = model.merges, canonical(model)
    whole = isinstance(rule, PairList) and len(rule.pairs) == len(ids) - BYTES
    merges = rule.pairs if whole and isinstance(rule, PairList) else form.splits.values()
    for place, (left, right) in enumerate(merges):
        if ids.get(left + right) != BYTES + place:
            return (
                f"in minbpe ids are {BYTES} plus the place of a merge; here {show(left + right)} "
                f"has the id {ids.get(left + right)}, and is merge {place + 1}"
            )
    if len(form.splits) < len(ids) - BYTES:
        unbuilt = next(t for t in ids if t not in form.splits and len(t) != 1)
        return f"in minbpe a merge builds each token; here none builds {show(unbuilt)}"
    return None if _in_order(merges) else _MERGE_ORDER


_MERGE_ORDER = "in minbpe a merge comes after those of its parts"


def _in_order(merges: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether each merge comes after those of its parts, and none builds what one before it did."""
    made = {bytes([byte]) for byte in range(BYTES)}
    for left, right in merges:
        if left not in made or right not in made or left + right in made:
            return False
        made.add(left + right)
    return True


def _merges(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    form, rule = canonical(model), model.merges
    tied = any(one == two for one, two in pairwise(form.priority.values()))
    over_bytes = model.alphabet == "byte" and model.affixes == Affixes() and not model.vocab.kinds
    listed = isinstance(rule, PairList) and _in_order(rule.pairs)
    if over_bytes and not tied and (listed or _in_order(form.splits.values())):
        return
    disordered = [token for token in (*form.disordered, *form.splits) if len(token) > 1]
    yield shown_by(
        apart(_occurring(model, disordered)),
        "merges",
        "ids",
        f"{_MERGE_ORDER}, and starts from bytes",
        "other pairs would merge first",
    )


def _lookup_first(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    tokens = sorted(whole_lookups(model), key=model.vocab.ids.__getitem__)
    if tokens:
        yield shown_by(
            apart(_occurring(model, tokens)),
            "lookup_first",
            "ids",
            f"{len(tokens)} tokens that no merge builds, such as {show(tokens[0])}, are found by "
            "looking whole pretokens up",
            "minbpe has no such lookup, and the text would be several tokens",
        )


def _occurring(model: BPEModel, tokens: Iterable[bytes]) -> list[str]:
    """Texts in which some of these tokens are whole pretokens."""
    steps = model.pretokenizer or ()
    few = [token for token, _ in zip(tokens, range(_FEW), strict=False)]
    answers = (occurrence(steps, token) for token in few)
    return [answer.text for answer in answers if answer.possible and answer.text is not None]


def _fallback(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    missing, over_bytes = missing_bytes(rank_table(model)), model.alphabet == "byte"
    if not missing and model.fallback == Fallback():
        return
    same_ids = not missing and (over_bytes or as_byte_ranks(model).rule is not None)
    witness = text_with(min(missing)) if missing and over_bytes else None
    yield Loss(
        "fallback",
        "metadata" if same_ids else "ids",
        f"what becomes of symbols without a token ({model.fallback.missing})",
        "none is missing; no id changes" if same_ids else "in minbpe every byte has one",
        witness=witness,
        shown=same_ids or witness is not None,
    )


def _pretokenizer(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    steps, source = model.pretokenizer or (), express(model)
    if isinstance(source, Loss):
        yield source
        return
    own = steps[0].pattern if steps and isinstance(steps[0], Split) else None
    written = Pattern(source, "python")
    if not isinstance(own, Pattern) or same(own, written):
        return
    yield shown_by(
        split_otherwise(steps, written),
        "pretokenizer",
        "ids",
        f"minbpe takes one pattern whose matches are the pretokens; this one would be {source}",
        "texts would be cut elsewhere",
    )


def _added(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    added = model.added or ()
    refused = _refused(added, len(numbered(pairs_of(model))))
    flagged = next((token for token in added if _flags(token)), None)
    roles = sorted({role for token in added for role in token.roles})
    if refused is not None or flagged is not None:
        token = refused[0] if refused else flagged
        assert token is not None
        named = (
            f"{show(token.text)}, {token.id}: {refused[1]}"
            if refused
            else (f"{show(token.text)} is {', '.join(_flags(token))}, which minbpe does not know")
        )
        yield shown_by(
            token.text if refused or not token.special else flag_witness(token),
            "added",
            "text",
            f"an added token that minbpe cannot have: {named}",
            "texts that hold it would be read otherwise",
        )
    elif roles:
        what = f"roles of special tokens ({', '.join(roles)})"
        yield Loss("added", "metadata", what, "minbpe names none; no id changes")
    elif "user_defined" in model.vocab.kinds.values():
        yield Loss(
            "added",
            "text",
            "an added token that minbpe cannot have: user-defined tokens are found in texts first",
            "texts that hold it would be read otherwise",
            shown=False,
        )


def _refused(added: Sequence[AddedToken], size: int) -> tuple[AddedToken, str] | None:
    """The first added token that has no place beside ``size`` ids, and why."""
    taken: set[int] = set()
    for token in added:
        if token.text.split() != [token.text]:
            return token, "a special token has no white space there"
        if token.id < size:
            return token, "the id is that of a byte or a merge there"
        if token.id in taken:
            return token, "another one has the same id"
        taken.add(token.id)
    return None


def _flags(token: AddedToken) -> list[str]:
    names = ["lstrip", "rstrip", "single_word", "normalized", "ascii_space", "longest_first"]
    return [*([] if token.special else ["not special"]), *(n for n in names if getattr(token, n))]


def _sequence_template(model: BPEModel, apart: Apart) -> Iterator[Loss]:
    template = model.sequence_template
    if template is not None and template.places_nothing:
        what = "the type ids in the sequence template"
        yield Loss("sequence_template", "metadata", what, "minbpe has none; no id changes")
    else:
        yield Loss(
            "sequence_template",
            "text",
            "what is placed around a sequence",
            "minbpe places nothing there",
            witness="a",
        )


_REASONS: Mapping[str, Reason] = MappingProxyType(
    {
        **of_bytes("minbpe"),
        "alphabet": _alphabet,
        "vocab": _vocab,
        "merges": _merges,
        "lookup_first": _lookup_first,
        "fallback": _fallback,
        "pretokenizer": _pretokenizer,
        "added": _added,
        "sequence_template": _sequence_template,
    }
)
