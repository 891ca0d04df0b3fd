"""What a ``tokenizer.json`` cannot hold of a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from ...errors import PatternError
from ...loss import Loss
from ...model import AddedToken, BPEModel, show
from ...steps import (
    JoinBytes,
    JoinTokens,
)
from ...text.added_tokens import decoded_text
from ...text.bytechars import is_mapped, to_bytes
from ...theory.plain import pairs_of
from ...theory.pretokens import UTF8_BYTES, can_occur, occurrence
from ...witnesses import beside_wide_space
from ..reasons import NETWORK, built_of_missing, merges_lost, merges_of_missing, network_files
from ..round_trip import RoundTrip
from .companions import settings_of_others
from .piece_losses import piece_losses
from .pieces import in_own_terms
from .spellings import spelled
from .vocab import Words
from .write import (
    held_tokens,
    in_oniguruma,
    oniguruma_steps,
    stated_in_vocab,
)


def explain(trip: RoundTrip) -> Iterator[Loss]:
    """What ``dump`` would lose of this model, each with its consequence."""
    model = trip.model
    if model.alphabet == "char":
        yield from piece_losses(model)
        written = in_own_terms(model)
        yield from merges_lost(pairs_of(model))
        yield from _missing_characters(model)
    else:
        written = model
        yield from _missing_bytes(model)
    yield from _pipeline(written)
    yield from _added(written)
    yield from _found_as_in_llama_cpp(written)
    yield from _decoder(written)
    for key in sorted(model.extras):
        if key != "huggingface" and key not in settings_of_others(model):
            files = " and ".join(network_files(model.extras))
            yield Loss(
                "extras",
                "metadata",
                f"{files} beside the tokenizer, which the network reads"
                if key == NETWORK
                else f"settings of {key} have no place in a tokenizer.json",
                "not copied; no id and no text changes"
                if key == NETWORK
                else "no id and no text changes",
            )


def read_back(trip: RoundTrip) -> Mapping[str, Any]:
    """What a model's steps become in the file, and the tokens of one of characters.

    Nothing is said where a step has no form there.
    """
    over_characters = trip.model.alphabet == "char"
    written = in_own_terms(trip.model) if over_characters else trip.model
    own: dict[str, Any] = {}
    if over_characters:
        more = {token.text.encode("utf-8"): token.id for token in _as_symbols(written)}
        vocab = replace(written.vocab, ids={**written.vocab.ids, **more}) if more else written.vocab
        own = {"vocab": vocab, "merges": written.merges, "fallback": written.fallback}
    try:
        return {
            **own,
            "normalizer": tuple(in_oniguruma(written.normalizer or ())),
            "pretokenizer": tuple(oniguruma_steps(written)),
            "decoder": written.decoder and tuple(in_oniguruma(written.decoder)),
        }
    except PatternError:
        return {}


def _found_as_in_llama_cpp(model: BPEModel) -> Iterator[Loss]:
    """The ways of finding added tokens that only llama.cpp has: all tokens keep their ids."""
    asked = [token for token in model.added or () if token.longest_first or token.ascii_space]
    if not asked:
        return
    token, witness = asked[0], beside_wide_space(model)
    ways = (
        "takes ASCII's spaces along, not others"
        if token.ascii_space
        else "the longest is found first"
    )
    yield Loss(
        "added",
        "text",
        f"{show(token.text)} is found as in llama.cpp ({ways}); tokenizers has no such flag",
        "all added tokens are kept, with their ids; texts in which some overlap, or stand beside "
        "spaces, may differ",
        witness=witness,
        shown=witness is not None,
    )


def _pipeline(model: BPEModel) -> Iterator[Loss]:
    try:
        in_oniguruma(model.normalizer or ())
    except PatternError as error:
        yield Loss("normalizer", "ids", error.what, "texts would be normalized otherwise")
    try:
        oniguruma_steps(model)
    except PatternError as error:
        yield Loss("pretokenizer", "ids", error.what, "texts would be split otherwise")


def _missing_bytes(model: BPEModel) -> Iterator[Loss]:
    missing = {b for b in UTF8_BYTES if bytes([b]) not in model.vocab.ids}
    if not missing or not _is_error(model):
        return
    witness = next(c for c in _characters() if not missing.isdisjoint(c.encode("utf-8")))
    yield Loss(
        "fallback",
        "ids",
        f"{len(missing)} bytes have no token; the source has no encoding for them, "
        "tokenizers drops them silently",
        "a text with such a byte is an error in the source and loses it in the target",
        witness=witness,
    )
    built = built_of_missing(model)
    yield from merges_of_missing(built, "tokenizers drops such a byte before it could merge")
    steps = model.pretokenizer or ()
    if model.lookup_first and any(occurrence(steps, t).possible is not False for t in built):
        yield Loss(
            "lookup_first",
            "metadata",
            "tokens that merging builds are then found by looking whole pretokens up only",
            "no id changes",
        )


def _characters() -> Iterator[str]:
    """All characters, by code point."""
    return map(chr, chain(range(0xD800), range(0xE000, 0x110000)))


def _missing_characters(model: BPEModel) -> Iterator[Loss]:
    if model.fallback.byte_fallback and _every_byte(model):
        if _is_error(model):
            what = "that a character without a token would be an error"
            yield Loss("fallback", "metadata", what, "every byte has a token; no id changes")
    elif _is_error(model):
        ids = model.vocab.ids
        yield Loss(
            "fallback",
            "ids",
            "the source has no encoding for characters without a token, tokenizers drops them",
            "a text with such a character is an error in the source and loses it in the target",
            witness=next((c for c in _characters() if c.encode("utf-8") not in ids), None),
        )


def _every_byte(model: BPEModel) -> bool:
    """Whether byte fallback has a token for each of the 256 bytes."""
    kinds, ids = model.vocab.kinds, model.vocab.ids
    return all(kinds.get(ids.get(b"<0x%02X>" % byte, -1)) == "byte" for byte in range(256))


def _is_error(model: BPEModel) -> bool:
    """Whether missing symbols are an error, and no name of an absent token keeps them one."""
    extras = model.extras.get("huggingface")
    named = isinstance(extras, dict) and extras.get("unk_token") is not None
    return model.fallback.missing == "error" and not named


def _added(model: BPEModel) -> Iterator[Loss]:
    added = model.added or ()
    held = held_tokens(added)
    kept = set(held)
    for token in added:
        if token not in kept:
            first = next(t.text for t in held if t.id == token.id)
            yield Loss(
                "added",
                "text",
                f"{show(token.text)} and {show(first)} share the id {token.id}; "
                "tokenizers keeps one text for an id",
                f"{show(token.text)} would be encoded as ordinary text",
                witness=token.text,
            )
    numbers = spelled(model).vocab
    for token in held:
        if numbers.get(token.text, token.id) != token.id:
            yield Loss(
                "added",
                "text",
                f"{show(token.text)} is also how the vocabulary spells id {numbers[token.text]}",
                f"tokenizers would number it {numbers[token.text]}, not {token.id}",
                witness=token.text,
            )
    yield from _symbols(model)
    if model.lookup_first:
        yield from _looked_up(model, [token.text for token in _only_stated(model)])


def _only_stated(model: BPEModel) -> list[AddedToken]:
    """The added tokens whose ids must be in the vocabulary, where the model has no such token."""
    held, ids = held_tokens(model.added or ()), model.vocab.ids
    stated = stated_in_vocab(model, held, spelled(model).vocab)
    return [token for token in stated if token.text.encode() not in ids]


def _as_symbols(model: BPEModel) -> Iterator[AddedToken]:
    """Added tokens of one character, which a text gives where their ids are in the vocabulary.

    An unknown one is given either way, but then it is not fused with what stands beside it. In a
    byte-level vocabulary they spell a byte.
    """
    words = Words(model.alphabet, model.affixes, {}, {}, frozenset())
    for token in _only_stated(model):
        content = _content(model, token.text)
        if content not in model.vocab.ids and words.is_symbol(content):
            yield token


def _content(model: BPEModel, text: str) -> bytes:
    """What a text stands for in the vocabulary."""
    in_letters = model.alphabet == "byte" and is_mapped(text)
    return to_bytes(text) if in_letters else text.encode("utf-8")


def _symbols(model: BPEModel) -> Iterator[Loss]:
    for token in _as_symbols(model):
        content = _content(model, token.text)
        shown = content.isascii()
        yield Loss(
            "vocab",
            "ids",
            f"the id of {show(token.text)} must stand in the vocabulary, where it is a symbol",
            "it would be encoded as that id even where special tokens are ordinary text",
            witness=2 * content.decode() if shown else None,
            shown=shown,
        )


def _looked_up(model: BPEModel, texts: list[str]) -> Iterator[Loss]:
    steps = model.pretokenizer or ()
    for text in texts:
        if model.alphabet == "byte" and not is_mapped(text):
            continue
        if can_occur(steps, text.encode("utf-8")) is not False:
            occurs = occurrence(steps, text.encode("utf-8"))
            yield Loss(
                "vocab",
                "ids",
                f"the id of {show(text)} must stand in the vocabulary, where ignore_merges "
                "finds it as a whole pretoken",
                "it would be encoded as that id even where special tokens are ordinary text",
                witness=occurs.text,
                shown=occurs.possible is True,
            )
            yield Loss(
                "lookup_first",
                "metadata",
                f"{show(text)} is then a token that is found by looking whole pretokens up only",
                "no other id changes",
            )


def _decoder(model: BPEModel) -> Iterator[Loss]:
    if model.decoder is None or model.decoder == (JoinTokens(),):
        return
    try:
        in_oniguruma(model.decoder)
    except PatternError as error:
        yield Loss("decoder", "text", error.what, "tokens would be decoded otherwise")
    texts = [decoded_text(token, model.normalizer or ()) for token in model.added or ()]
    mapped = [text for text in texts if not text.isascii() and is_mapped(text)]
    if model.decoder == (JoinBytes(False),) and mapped:
        yield Loss(
            "decoder",
            "text",
            f"the ByteLevel decoder reads the added token {show(mapped[0])} as bytes",
            f"{show(mapped[0])} would be decoded as other text",
            witness=mapped[0],
        )
