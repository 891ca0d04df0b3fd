"""What is said of a field that a pair cannot hold."""

from __future__ import annotations

from ...quoting import show
from ...steps import Pattern
from ...text.spellings import GPT2
from ...theory.utf8 import missing_bytes, text_with
from ...witnesses import split_otherwise
from ..losses import Decided, Words, looked_up_words, one_sentence
from ..round_trip import RoundTrip
from .read import COMMENT
from .write import first_comment

_PATTERN = Pattern(GPT2, "oniguruma")
"""The pattern that readers of a pair assume, as tokenizers' ``ByteLevel`` matches it.

OpenAI's ``encoder.py`` runs the same pattern in ``regex``, whose Unicode tables may be newer.
"""


@one_sentence
def words(trip: RoundTrip, decided: Decided) -> Words | None:
    """The sentences of a pair; None where what differs says enough."""
    model, field = trip.model, decided.field
    if field == "pretokenizer":
        witness = split_otherwise(model.pretokenizer or (), _PATTERN)
        other = "GPT-2's own would split texts differently"
        return (
            "a pair does not say how a text is cut into pretokens",
            "its reader must already know the pattern; "
            + (other if witness is not None else "nothing encodes without it"),
            witness,
        )
    if field == "added" and model.added:
        return (
            f"a pair does not say which of its tokens are added tokens ({len(model.added)} here)",
            "they keep their ids, but texts that contain them are spelled out",
        )
    comment = first_comment(model) if field == "merges" else None
    if comment is not None:
        return (
            f"the merge of {show(comment[0])} and {show(comment[1])}",
            f"a line that begins with {COMMENT} is passed over",
        )
    if field == "lookup_first":
        return looked_up_words(trip, decided, "a pair has no such lookup")
    missing = missing_bytes(model.vocab.ids) if model.alphabet == "byte" else None
    if field == "fallback" and missing:
        return (
            f"{len(missing)} bytes without a token ({model.fallback.missing})",
            "read from a pair, such a byte vanishes from the text",
            text_with(min(missing)),
        )
    return None
