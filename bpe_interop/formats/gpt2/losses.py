"""What a pair cannot hold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...loss import Grade, Loss
from ...merging.canonical import whole_lookups
from ...model import Affixes, BPEModel, Kind, PairList, Vocab, show
from ...steps import JoinBytes, Pattern
from ...text.bytechars import is_mapped, to_bytes
from ...text.spellings import GPT2
from ...theory.byte_ranks import as_byte_ranks, over_bytes, rank_table
from ...theory.pretokens import Occurrence, missing_bytes, occurrence
from ...theory.witness import (
    decoded_otherwise,
    first_changed,
    long_character,
    split_otherwise,
    text_with,
)
from ..reasons import (
    affixes_lost,
    alphabet_lost,
    built_of_missing,
    extras_lost,
    merges_of_missing,
    with_changed,
)
from ..round_trip import RoundTrip
from .files import COMMENT, added_entries, entries, fallback_of, first_comment, pair_list

_PATTERN = Pattern(GPT2, "oniguruma")
"""The pattern that readers of a pair assume, as tokenizers' ``ByteLevel`` matches it.

OpenAI's ``encoder.py`` runs the same pattern in ``regex``, whose Unicode tables may be newer.
"""


def explain(trip: RoundTrip) -> Iterable[Loss]:
    """What a pair cannot hold. What the model does not state (``None``) cannot be lost."""
    return with_changed(trip, _losses(trip.model))


def read_back(trip: RoundTrip) -> Mapping[str, Any]:
    """What the tokens of a model become in a pair, by what they are."""
    model = trip.model
    if model.alphabet != "byte":
        model = over_bytes(model) or model
    spelled = entries(model)
    ids = {to_bytes(text) if is_mapped(text) else text.encode(): spelled[text] for text in spelled}
    kinds: dict[int, Kind] = {spelled[text]: "control" for text in spelled if not is_mapped(text)}
    pairs = pair_list(model)
    merges = PairList(tuple(pairs.values() if isinstance(pairs, Mapping) else pairs))
    bytes_there = {token for token in ids if len(token) == 1 and ids[token] not in kinds}
    return {
        "alphabet": "byte",
        "affixes": Affixes(),
        "vocab": Vocab(ids, kinds),
        "merges": merges,
        "lookup_first": False,
        "fallback": fallback_of(bytes_there),
    }


def _losses(model: BPEModel) -> Iterator[Loss]:
    yield from _core_losses(model)
    yield from _fallback_losses(model)
    yield from _text_losses(model)
    yield from _added_losses(model)
    if model.decoder not in (None, (JoinBytes(),)):
        yield Loss(
            "decoder",
            "text",
            "a pair's tokens are joined as bytes and read as UTF-8",
            "some ids would decode to another text",
            witness=decoded_otherwise(model),
        )
    if model.chat_template is not None:
        yield Loss("chat_template", "metadata", "the chat template", "it is left out")
    yield from extras_lost(model)


def _core_losses(model: BPEModel) -> Iterator[Loss]:
    yield from affixes_lost(model, "a pair")
    if model.alphabet != "byte":
        rewrite = as_byte_ranks(model)
        yield alphabet_lost(rewrite, "a pair", long_character(model))
    kinds = model.vocab.kinds
    contents = {number: content for content, number in model.vocab.ids.items()} if kinds else {}
    if model.vocab.scores or any(
        kind != "control" or is_mapped(contents[number].decode("utf-8", "replace"))
        for number, kind in kinds.items()
        if number in contents
    ):
        yield Loss("vocab", "metadata", "kinds and scores of tokens", "they are left out")
    comment = first_comment(model)
    if comment is not None:
        yield Loss(
            "merges",
            "ids",
            f"the merge of {show(comment[0])} and {show(comment[1])}",
            f"a line that begins with {COMMENT} is passed over",
            witness=(comment[0] + comment[1]).decode("utf-8", "replace"),
            shown=False,
        )
    yield from _lookup_losses(model)


def _lookup_losses(model: BPEModel) -> Iterator[Loss]:
    """Tokens that the model finds by looking whole pretokens up, and a pair never does."""
    undecided = None
    looked_up = sorted(whole_lookups(model), key=model.vocab.ids.__getitem__)
    steps = model.pretokenizer
    for content in looked_up:
        answer = Occurrence(None) if steps is None else occurrence(steps, content)
        if answer.possible:
            yield _lookup_loss(content, "ids", answer.text)
            return
        if answer.possible is None:
            undecided = undecided or content
    if looked_up:
        yield _lookup_loss(undecided or looked_up[0], "ids" if undecided else "metadata", None)


def _lookup_loss(content: bytes, grade: Grade, witness: str | None) -> Loss:
    return Loss(
        "lookup_first",
        grade,
        f"{show(content)} is a token that no merge builds; whole pretokens are looked up",
        "a pair has no such lookup, and the text would be several tokens"
        if grade == "ids"
        else "no pretoken is such a token, so no id changes",
        witness=witness,
        shown=witness is not None or grade != "ids",
    )


def _fallback_losses(model: BPEModel) -> Iterator[Loss]:
    if model.fallback == fallback_of(rank_table(model)):
        return
    missing = missing_bytes(rank_table(model))
    if missing:
        known = model.alphabet == "byte"  # else a byte is not what is missing
        yield Loss(
            "fallback",
            "ids",
            f"{len(missing)} bytes without a token ({model.fallback.missing})",
            "read from a pair, such a byte vanishes from the text",
            witness=text_with(min(missing)) if known else None,
            shown=known,
        )
    else:
        yield Loss("fallback", "metadata", "a rule for missing bytes", "no byte is missing")
    if model.alphabet == "byte":
        vanishes = "a pair merges tokens only: read from it, such a byte vanishes from the text"
        yield from merges_of_missing(built_of_missing(model), vanishes)


def _text_losses(model: BPEModel) -> Iterator[Loss]:
    if model.normalizer is not None:
        # Of a character-level model, the pair may treat the changed text alike for other reasons.
        witness = first_changed(model.normalizer) if model.alphabet == "byte" else None
        yield Loss(
            "normalizer",
            "ids" if model.normalizer else "metadata",
            "a pair does not say how texts are normalized",
            "texts that the normalizer changes would have other ids"
            if model.normalizer
            else "that nothing is normalized becomes unknown",
            witness=witness,
            shown=not model.normalizer or witness is not None,
        )
    if model.pretokenizer is not None:
        witness = split_otherwise(model.pretokenizer, _PATTERN)
        yield Loss(
            "pretokenizer",
            "ids",
            "a pair does not say how a text is cut into pretokens",
            "its reader must already know the pattern; GPT-2's own would split texts differently"
            if witness is not None
            else "its reader must already know the pattern; nothing encodes without it",
            witness=witness,
        )
    if model.sequence_template is not None:
        empty = model.sequence_template.places_nothing
        yield Loss(
            "sequence_template",
            "metadata" if empty else "text",
            "a pair does not say what is placed around a sequence",
            "whoever reads it has to know it",
            witness=None if empty else "a",
        )


def _added_losses(model: BPEModel) -> Iterator[Loss]:
    if model.added is None:
        return
    if not model.added:
        yield Loss("added", "metadata", "that there are no added tokens", "it becomes unknown")
        return
    token = model.added[0]
    yield Loss(
        "added",
        "text",
        f"a pair does not say which of its tokens are added tokens ({len(model.added)} here)",
        "they keep their ids, but texts that contain them are spelled out",
        witness=token.text,
    )
    if added_entries(model):
        yield Loss(
            "vocab",
            "metadata",
            "added tokens are written into the vocabulary",
            "read back, they are entries that no text encodes to",
        )
