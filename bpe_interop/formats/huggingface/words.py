"""What is said of a field that a ``tokenizer.json`` cannot hold."""

from __future__ import annotations

from ...errors import PatternError
from ...merging.canonical import canonical
from ...model import NETWORK, AddedToken, BPEModel
from ...quoting import show
from ...steps import JoinPieces, SentencePieceText
from ...text.bytechars import is_mapped
from ...text.charsmap import is_identity
from ...text.normalize import normalize
from ...theory.normalizers import has_plain_steps
from ...theory.rewrite import as_pairs
from ...theory.user_defined import found_as_added, is_as_good_as_normal
from ...theory.utf8 import UTF8_BYTES, missing_bytes, text_with
from ...witnesses import beside_wide_space, merging_across_dropped
from ..losses import Decided, Words, merges_words, network_files, one_sentence
from ..round_trip import RoundTrip
from .pieces import in_own_terms
from .vocab import WrittenVocabulary
from .write import held_tokens, in_oniguruma, oniguruma_steps


@one_sentence
def words(trip: RoundTrip, decided: Decided) -> Words | None:
    """The sentences of a tokenizer.json; None where what differs says enough."""
    model, field = trip.model, decided.field
    if field == "normalizer":
        return _normalizer(model)
    if field == "pretokenizer":
        try:
            oniguruma_steps(model)
        except PatternError as error:
            return error.what, "texts would be split otherwise"
    if field == "vocab":
        return _vocab(trip, decided)
    if field == "merges" and decided.refused:
        return _merges(model)
    if field == "fallback" and decided.refused:
        return _fallback(model)
    if field == "added":
        return _added(trip)
    if field == "decoder":
        return _decoder(model, decided)
    return _extras(trip) if field == "extras" else None


def _normalizer(model: BPEModel) -> Words | None:
    try:
        in_oniguruma(in_own_terms(model).normalizer or ())
    except PatternError as error:
        return error.what, "texts would be normalized otherwise"
    for step in model.normalizer or ():
        if not isinstance(step, SentencePieceText) or has_plain_steps(step):
            continue
        if step.dummy == "suffix":
            return "tokenizers has no step that puts a space after a text", (
                "every text would lose it"
            )
        if is_identity(step.charsmap):
            what = "user-defined pieces keep their doubled spaces, and tokenizers removes them"
        else:
            what = (
                "tokenizers applies a character map to whole graphemes, SentencePiece to the "
                "longest text that the map has"
            )
        return what, "texts would be normalized otherwise"
    return None


def _vocab(trip: RoundTrip, decided: Decided) -> Words | None:
    """A token that is found otherwise, or an id that must stand in the vocabulary."""
    model, again = trip.model, trip.again
    kinds, held = model.vocab.kinds, {token.id for token in found_as_added(model)}
    for content, number in model.vocab.ids.items():
        kind = kinds.get(number)
        if kind == "user_defined" and number not in held:
            text = content.decode("utf-8")
            return (
                f"{show(text)} is user-defined: SentencePiece finds it in the normalized text; an "
                "added token would be looked for as the normalizer writes it, "
                f"{show(normalize(model.normalizer or (), text))}",
                "it would be cut into other tokens",
            )
        if kind == "unused" and not is_as_good_as_normal(model, content):
            if again.vocab.ids.get(content) != number:
                return (
                    f"{show(content)} is unused, and as a token of one character it would be found",
                    f"the id {number} could not be decoded",
                )
            return (
                f"{show(content)} is unused: SentencePiece merges it and splits it again in the "
                "end, and tokenizers cannot",
                "it would be a token, or it would not keep others from merging",
            )
    more = next((t for t in again.vocab.ids if t not in model.vocab.ids), None)
    if more is None:
        return None
    if not decided.refused:
        return f"the id of {show(more)} must stand in the vocabulary", "no text gives it there"
    found = "ignore_merges finds it as a whole pretoken" if model.lookup_first else "it is a symbol"
    return (
        f"the id of {show(more)} must stand in the vocabulary, where {found}",
        "it would be encoded as that id even where special tokens are ordinary text",
    )


def _merges(model: BPEModel) -> Words | None:
    if model.alphabet == "char":
        return merges_words(as_pairs(model))
    alone = {bytes([byte]) for byte in missing_bytes(model.vocab.ids)}
    built = [t for t, pair in canonical(model).splits.items() if alone.intersection(pair)]
    if not built:
        return None
    return (
        f"{len(built)} merges of bytes without a token, such as that of {show(built[0])}",
        "tokenizers drops such a byte before it could merge",
    )


def _fallback(model: BPEModel) -> Words | None:
    if model.alphabet == "byte":
        missing = [byte for byte in UTF8_BYTES if bytes([byte]) not in model.vocab.ids]
        if model.fallback.missing == "drop" and missing:
            return (
                f"{len(missing)} bytes have no token; they vanish after merging, in tokenizers "
                "before it",
                "their neighbours would merge",
                merging_across_dropped(model, text_with(missing[0])),
            )
        return (
            f"{len(missing)} bytes have no token; the source has no encoding for them, "
            "tokenizers drops them silently",
            "a text with such a byte is an error in the source and loses it in the target",
            text_with(missing[0]) if missing else None,
        )
    splits, ids = canonical(model).splits, model.vocab.ids
    parts = ((t, part) for t, pair in splits.items() for part in pair if part not in ids)
    built = next(parts, None)
    if model.fallback.after_merging and built is not None:
        return (
            f"{show(built[0])} is merged from {show(built[1])}, which is no token; SentencePiece "
            "merges first and replaces what is missing afterwards",
            "tokenizers replaces it first, and nothing would merge there",
        )
    return (
        "the source has no encoding for characters without a token, tokenizers drops them",
        "a text with such a character is an error in the source and loses it in the target",
    )


def _added(trip: RoundTrip) -> Words | None:
    model = in_own_terms(trip.model) if trip.model.alphabet == "char" else trip.model
    held, numbers = held_tokens(model.added or ()), WrittenVocabulary(model).vocab
    for token in model.added or ():
        first = next(t.text for t in held if t.id == token.id)
        if token not in held:
            return (
                f"{show(token.text)} and {show(first)} share the id {token.id}; tokenizers keeps "
                "one text for an id",
                f"{show(token.text)} would be encoded as ordinary text",
                token.text,
            )
        if numbers.get(token.text, token.id) != token.id:
            return (
                f"{show(token.text)} is also how the vocabulary spells id {numbers[token.text]}",
                f"tokenizers would number it {numbers[token.text]}, not {token.id}",
                token.text,
            )
    return _as_in_llama_cpp(model)


def _as_in_llama_cpp(model: BPEModel) -> Words | None:
    """The ways of finding added tokens that only llama.cpp has: all tokens keep their ids."""
    asked = [token for token in model.added or () if token.longest_first or token.ascii_space]
    if not asked:
        return None
    ways = (
        "takes ASCII's spaces along, not others"
        if asked[0].ascii_space
        else "the longest is found first"
    )
    return (
        f"{show(asked[0].text)} is found as in llama.cpp ({ways}); tokenizers has no such flag",
        "all added tokens are kept, with their ids; texts in which some overlap, or stand beside "
        "spaces, may differ",
        beside_wide_space(model),
    )


def _decoder(model: BPEModel, decided: Decided) -> Words | None:
    own = in_own_terms(model) if model.alphabet == "char" else model
    try:
        in_oniguruma(own.decoder or ())
    except PatternError as error:
        return error.what, "tokens would be decoded otherwise"
    step = next((step for step in model.decoder or () if isinstance(step, JoinPieces)), None)
    if step is None:
        mapped = [t.text for t in model.added or () if not t.text.isascii() and is_mapped(t.text)]
        if not mapped:
            return None
        return (
            f"the ByteLevel decoder reads the added token {show(mapped[0])} as bytes",
            f"{show(mapped[0])} would be decoded as other text",
        )
    if decided.refused and not is_identity(step.charsmap):
        return (
            "decoded texts go through a character map, which tokenizers' decoders do not have",
            "texts that hold what it replaces would be decoded otherwise",
        )
    if decided.refused:
        return (
            "SentencePiece leaves spaces out of each token until there is text, tokenizers so "
            "many of the whole text",
            "a text that begins with such a token would be decoded otherwise",
        )
    return (
        "of ids that no text gives: tokenizers writes special tokens out, and U+FFFD for each byte "
        "token of a run that is no UTF-8",
        f"such ids would be decoded otherwise{_shown_unknown(model, step)}",
    )


def _shown_unknown(model: BPEModel, step: JoinPieces) -> str:
    """What becomes of the unknown token's id, where bytes stand for what has no token."""
    unknown: AddedToken | None = next(
        (token for token in model.added or () if token.id == model.fallback.unknown), None
    )
    if unknown is None or not model.fallback.byte_fallback or unknown.text == step.unknown:
        return ""
    return f": {unknown.id} as {show(unknown.text)}, not {show(step.unknown)}"


def _extras(trip: RoundTrip) -> Words | None:
    extras, again = trip.model.extras, trip.again.extras
    if {key for key in extras if again.get(key) != extras[key]} != {NETWORK}:
        return None
    files = " and ".join(network_files(extras))
    return (
        f"{files} beside the tokenizer, which the network reads",
        "not copied; no id and no text changes",
    )
