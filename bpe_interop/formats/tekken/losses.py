"""Why tekken.json cannot hold a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ...diff import Difference
from ...loss import Grade, Loss
from ...model import BPEModel, show
from ...theory.byte_ranks import rank_table
from ...theory.pretokens import missing_bytes
from ...theory.witness import decoded_otherwise, first_changed, text_for, text_with
from ..round_trip import RoundTrip
from ..tiktoken_pattern import express

_OTHERS: Mapping[str, tuple[Grade, str, str]] = MappingProxyType(
    {
        "alphabet": (
            "ids",
            "merging starts from characters, tekken's from bytes",
            "the ids of most texts would differ",
        ),
        "affixes": (
            "ids",
            "symbols are merged with something glued to them; tekken.json has no such thing",
            "the ids of most texts would differ",
        ),
        "merges": (
            "ids",
            "a rank is an id here, and the ids are not in the order of the merges",
            "other pairs would merge first",
        ),
        "lookup_first": (
            "ids",
            "a pretoken that is a token is looked up before anything is merged",
            "a pretoken that no merge builds would be encoded as its id",
        ),
        "added": (
            "text",
            "special tokens must have the ids below the vocabulary's, and have no flags",
            "they would have other ids, or be found otherwise",
        ),
        "sequence_template": (
            "text",
            "tekken.json has no place for the tokens around a text",
            "who reads it must ask for bos and eos",
        ),
        "chat_template": ("metadata", "the chat template", "it is left out; no id changes"),
        "extras": (
            "metadata",
            "settings of the source format",
            "they are left out; no id changes",
        ),
    }
)


def explain(trip: RoundTrip) -> Iterator[Loss]:
    """A loss for each field that comes back otherwise."""
    for found in trip.differences:
        yield _loss(found, trip.model, trip.again)


def _loss(found: Difference, model: BPEModel, again: BPEModel) -> Loss:
    field = found.field
    if field == "vocab":
        return _vocab(model, again)
    if field == "normalizer":
        witness = first_changed(model.normalizer or ())
        return Loss(
            field,
            "ids",
            "texts are normalized before they are cut; tekken never does",
            "texts that the normalizer changes would have other ids",
            witness=witness,
            shown=witness is not None,
        )
    if field == "pretokenizer":
        said = express(model.pretokenizer or ())
        if isinstance(said, Loss):
            return said
    if field == "fallback":
        missing = missing_bytes(rank_table(model))
        return Loss(
            field,
            "ids" if missing else "metadata",
            "a rule for missing bytes",
            "tekken.json has a token for each byte" if missing else "no byte is missing",
            witness=text_with(min(missing)) if missing else None,
        )
    if field == "decoder":
        witness = decoded_otherwise(model)
        return Loss(
            field,
            "text",
            "tekken joins the tokens' bytes and reads them as UTF-8",
            "some ids would decode to another text",
            witness=witness,
        )
    grade, what, consequence = _OTHERS.get(
        field, ("ids", f"reading back gives another {field}: {found.how}", "ids may differ")
    )
    return Loss(field, grade, what, consequence, shown=grade == "metadata")


def _vocab(model: BPEModel, again: BPEModel) -> Loss:
    """What becomes of the ids: they follow from the order of the tokens."""
    ours, theirs = model.vocab.ids, again.vocab.ids
    moved = next((token for token in ours if theirs.get(token) != ours[token]), None)
    if moved is None:
        more = next((token for token in theirs if token not in ours), None)
        if more is None:
            return Loss("vocab", "metadata", "kinds and scores of tokens", "no id changes")
        return Loss(
            "vocab",
            "ids",
            f"{show(more)} must be a token: the first 256 are the bytes",
            "texts that need it would have other ids",
            shown=False,
        )
    place = theirs.get(moved)
    return Loss(
        "vocab",
        "ids",
        "ids follow from the order of the tokens, after the special tokens: "
        f"{show(moved)} would be {'gone' if place is None else place}, not {ours[moved]}",
        "the ids of most texts would differ",
        witness=text_for(model, moved),
        shown=text_for(model, moved) is not None,
    )
