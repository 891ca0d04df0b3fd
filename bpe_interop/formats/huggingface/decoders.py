"""Decoders of a ``tokenizer.json``, from JSON to typed steps and back.

Source of the meanings: tokenizers' ``decoders/`` (Rust), version 0.23. A decoder is given the
tokens as the file spells them; a step changes each, or their number, and the last texts are
joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...errors import compared_in
from ...model import AddedToken, Alphabet, Json
from ...steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    JoinTokens,
    MetaspaceText,
    NormalizerStep,
    Replace,
    StripToken,
    WordEnds,
    WordPieces,
)
from ...strict_json import Node
from ...text.added_tokens import decoded_text
from ...text.bytechars import is_mapped
from .component import (
    MetaspaceSettings,
    byte_level_json,
    check_byte_level,
    components,
    kind_of,
    metaspace_json,
    read_char,
    read_metaspace,
    read_replace,
    replace_json,
)

_MAX_LENGTH = 2**31


def read_decoder(
    node: Node,
    alphabet: Alphabet,
    added: Iterable[AddedToken],
    normalizer: Sequence[NormalizerStep],
) -> tuple[DecoderStep, ...]:
    """The steps of a decoder; never none of them, because a null joins tokens with spaces.

    Raises:
        UnsupportedError: a decoder that is not understood, by its path.
    """
    if not node.given:
        return (JoinTokens(),)
    steps = _read_steps(node)
    if steps == (JoinBytes(mapped_added=True),) and alphabet == "byte":
        # Only letters beyond ASCII are read as other bytes: those of ASCII stand for themselves.
        texts = [decoded_text(token, normalizer) for token in added]
        return (JoinBytes(any(not text.isascii() and is_mapped(text) for text in texts)),)
    # An empty sequence joins tokens with nothing between them; no decoder at all, with spaces.
    return steps or (Fuse(),)


def _read_steps(node: Node) -> tuple[DecoderStep, ...]:
    kind = kind_of(node)
    if kind == "Sequence":
        node.only("type", "decoders")
        return tuple(step for child in components(node["decoders"]) for step in _read_steps(child))
    if kind not in _READERS:
        node.refuse(f"the decoder {kind!r} is not supported", fix=compared_in("tokenizers"))
    return (_READERS[kind](node),)


def _read_byte_level(node: Node) -> JoinBytes:
    check_byte_level(node)
    return JoinBytes(mapped_added=True)


def _read_byte_fallback(node: Node) -> ByteTokens:
    node.only("type")
    return ByteTokens()


def _read_fuse(node: Node) -> Fuse:
    node.only("type")
    return Fuse()


def _read_strip(node: Node) -> StripToken:
    node.only("type", "content", "start", "stop")
    return StripToken(read_char(node["content"]), _count(node["start"]), _count(node["stop"]))


def _count(node: Node) -> int:
    number = node.be(int)
    if not 0 <= number <= _MAX_LENGTH:
        node.fail(f"expected a number of characters, found {number}")
    return number


def _read_metaspace(node: Node) -> MetaspaceText:
    settings = read_metaspace(node)
    return MetaspaceText(settings.replacement, settings.prepend)


def _read_word_ends(node: Node) -> WordEnds:
    node.only("type", "suffix")
    return WordEnds(node["suffix"].be(str))


def _read_word_pieces(node: Node) -> WordPieces:
    node.only("type", "prefix", "cleanup")
    return WordPieces(node["prefix"].be(str), node["cleanup"].be(bool))


_READERS: dict[str, Callable[[Node], DecoderStep]] = {
    "ByteLevel": _read_byte_level,
    "Replace": read_replace,
    "ByteFallback": _read_byte_fallback,
    "Fuse": _read_fuse,
    "Strip": _read_strip,
    "Metaspace": _read_metaspace,
    "BPEDecoder": _read_word_ends,
    "WordPiece": _read_word_pieces,
}


def write_decoder(steps: Sequence[DecoderStep]) -> Json:
    if tuple(steps) == (JoinTokens(),):
        return None
    parts: list[Json] = [_step_json(step) for step in steps]
    return parts[0] if len(parts) == 1 else {"type": "Sequence", "decoders": parts}


def _step_json(step: DecoderStep) -> Json:
    if isinstance(step, JoinBytes):
        return byte_level_json()
    if isinstance(step, Replace):
        return replace_json(step)
    if isinstance(step, ByteTokens):
        return {"type": "ByteFallback"}
    if isinstance(step, Fuse):
        return {"type": "Fuse"}
    if isinstance(step, StripToken):
        return {"type": "Strip", "content": step.content, "start": step.start, "stop": step.stop}
    if isinstance(step, MetaspaceText):
        return metaspace_json(MetaspaceSettings(step.replacement, step.prepend, True))
    if isinstance(step, WordEnds):
        return {"type": "BPEDecoder", "suffix": step.suffix}
    if isinstance(step, WordPieces):
        return {"type": "WordPiece", "prefix": step.prefix, "cleanup": step.cleanup}
    raise ValueError(f"{type(step).__name__} has no component in a tokenizer.json")
