"""What is said of a field that tekken.json cannot hold."""

from __future__ import annotations

from ...loss import Loss
from ...model import BPEModel
from ...quoting import show
from ...theory.byte_ranks import as_byte_ranks, rank_table
from ...theory.utf8 import missing_bytes, text_with
from ..losses import Decided, Words, merges_words, one_sentence
from ..one_pattern import express
from ..round_trip import RoundTrip
from .write import KEY, kept_of, special_names, unfit, written_tokens


@one_sentence
def words(trip: RoundTrip, decided: Decided) -> Words | None:
    """The sentences of tekken.json; None where what differs says enough."""
    model, field = trip.model, decided.field
    if field == "vocab" and decided.refused:
        return _vocab(model)
    if field == "merges" and decided.refused:
        return merges_words(as_byte_ranks(model)) or (
            "ranks belong to tokens here, and any pair that makes a token may merge",
            "it is not shown that the same pairs merge",
        )
    if field == "lookup_first" and decided.refused:
        return (
            "a pretoken that is a token is looked up before anything is merged",
            "a pretoken that no merge builds would be encoded as its id",
        )
    if field == "fallback":
        missing = missing_bytes(rank_table(model))
        if not missing:
            return None
        return (
            "a rule for missing bytes",
            "tekken.json has a token for each byte",
            text_with(min(missing)),
        )
    if field == "pretokenizer":
        pattern = express(model.pretokenizer or ())
        if isinstance(pattern, Loss):
            return pattern.what, pattern.consequence, pattern.witness
        if not decided.refused and not trip.again.pretokenizer:
            return "the pattern takes each text whole, and is read back as none", "no id changes"
    if field == "added" and decided.refused:
        return (
            "special tokens must have the ids below the vocabulary's, and have no flags",
            "they would have other ids, or be found otherwise",
        )
    if field == "extras" and not model.extras.keys() - {KEY}:
        kept = kept_of(model)
        why = (
            "they are not in the form that is kept"
            if kept is None
            else unfit(model, kept, special_names(model))
        )
        return (
            "what was kept of a tekken.json is not that of this vocabulary"
            + (f": {why}" if why else ""),
            "it comes back otherwise; no id changes",
        )
    return None


def _vocab(model: BPEModel) -> Words | None:
    """Ids follow from the order: special tokens, the 256 bytes, then the other tokens."""
    start = len(special_names(model))
    places = {token: start + rank for rank, token in enumerate(written_tokens(model))}
    ids = model.vocab.ids
    moved = next((token for token in ids if places.get(token) != ids[token]), None)
    if moved is not None:
        return (
            "ids follow from the order of the tokens, after the special tokens: "
            f"{show(moved)} would be {places.get(moved, 'gone')}, not {ids[moved]}",
            "the ids of most texts would differ",
        )
    missing = next((byte for byte in range(256) if bytes([byte]) not in ids), None)
    if missing is None:
        return None
    return (
        f"{show(bytes([missing]))} must be a token: the first 256 are the bytes",
        "texts that need it would have other ids",
    )
