"""Decoders of characters as bytes that are joined, which the kernel does.

Where the bytes of all ids make valid UTF-8 together, so does each run of tokens of bytes by
itself, because what stands beside it is text. Then nothing is replaced, and the text is what the
steps of ``text/decoders.py``, the twin, give. Everything else is left to them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass

from ..kernel import ByteDecoder, decoder_of
from ..steps import ByteTokens, DecoderStep, Fuse, JoinPieces, Replace
from ..text.charsmap import SPACE
from ..text.decoders import PieceKind, byte_of, decode_tokens
from ..text.normalize import normalize

_NO_IDS: Set[int] = frozenset()


@dataclass(frozen=True, slots=True)
class TextJoiner:
    """The text of ids of a model of characters, by the kernel. Threads may share it.

    Attributes:
        bytes_of: joins the bytes of ids; it does not know those that are left to Python.
        silent: ids that say nothing where a text begins and ends.
        stripped: ids of which the first character is left out where a text begins.
        after: steps for the text as a whole.
    """

    bytes_of: ByteDecoder
    silent: Set[int] = _NO_IDS
    stripped: Set[int] = _NO_IDS
    after: Sequence[DecoderStep] = (Fuse(),)

    def text(self, ids: Sequence[int]) -> str | None:
        """The text of ids; None where Python has to tell.

        Raises:
            DecodeError: tokenizers fails on these ids.
        """
        start, end = 0, len(ids)
        while start < end and ids[start] in self.silent:
            start += 1
        while start < end and ids[end - 1] in self.silent:
            end -= 1
        joined = self.bytes_of.join(ids[start:end])
        if joined is None or start == end:
            return None
        try:
            text = str(joined, "utf-8")
        except UnicodeDecodeError:
            return None
        if ids[start] in self.stripped:
            text = text[1:]
        return decode_tokens(self.after, [text])


def joiner_of_pieces(
    step: JoinPieces, pieces: Mapping[int, tuple[str, PieceKind]]
) -> TextJoiner | None:
    """What joins pieces; None where spaces are collapsed, or the text goes through a map."""
    if step.collapse or step.charsmap:
        return None
    contents: dict[int, bytes] = {}
    for number, (piece, kind) in pieces.items():
        if kind == "byte":
            contents[number] = bytes((int(piece[3:5], 16),))
        elif kind != "control":
            shown = step.unknown if kind == "unknown" else piece.replace(SPACE, " ")
            if shown:
                contents[number] = shown.encode("utf-8")
    silent = {number for number, (_, kind) in pieces.items() if kind == "control"}
    stripped = {
        number
        for number, (piece, kind) in pieces.items()
        if step.dummy != "none" and kind == "piece" and piece.startswith(SPACE)
    }
    joined = decoder_of(contents)
    return None if joined is None else TextJoiner(joined, silent, stripped)


def joiner_of_tokens(
    steps: Sequence[DecoderStep], tokens: Callable[[], Mapping[int, str]]
) -> TextJoiner | None:
    """What joins tokens; None unless each is read by itself before all are fused."""
    if Fuse() not in steps:
        return None
    place = steps.index(Fuse())
    alone, reads_bytes = [*steps[:place]], False
    if alone and isinstance(alone[-1], ByteTokens):
        del alone[-1]
        reads_bytes = True
    rules = [step for step in alone if isinstance(step, Replace)]
    if len(rules) != len(alone):
        return None
    contents: dict[int, bytes] = {}
    for number, token in tokens().items():
        token = normalize(rules, token)
        byte = byte_of(token) if reads_bytes else None
        if byte is not None:
            contents[number] = bytes((byte,))
        elif token:
            contents[number] = token.encode("utf-8")
    joined = decoder_of(contents)
    return None if joined is None else TextJoiner(joined, after=steps[place:])
