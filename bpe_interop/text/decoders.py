"""Decoders: the tokens as they are spelled, joined into a text.

A chain of steps behaves as in Hugging Face tokenizers (``decoders/*.rs``): each step takes the
tokens of the step before, and what remains is joined. :func:`decode_pieces` is SentencePiece's
``Decode`` (``src/sentencepiece_processor.cc``).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from ..errors import DecodeError
from ..quoting import show
from ..steps import (
    SPACE,
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    JoinPieces,
    JoinTokens,
    MetaspaceText,
    Replace,
    SentencePieceText,
    StripToken,
    Verbatim,
    WordEnds,
    WordPieces,
    no_branch,
)
from .bytechars import is_mapped, to_bytes
from .charsmap import normalize_pieces
from .normalize import normalize

PieceKind: TypeAlias = Literal["piece", "control", "unknown", "byte"]
"""What a piece is to ``Decode``: ``piece`` is one that is spelled as its text."""

Malformed: TypeAlias = Literal["replace", "strict"]
"""What becomes of bytes that are not UTF-8: U+FFFD, or an error."""

BYTE_TOKEN = re.compile(r"<0x(\+[0-9A-Fa-f]|[0-9A-Fa-f]{2})>")
"""What decodes to a byte: ``decoders/byte_fallback.rs`` reads the digits with ``from_str_radix``,
which takes a sign, too."""

_WINDOW = 256
"""How many bytes of a run are read at once."""

_CLEANED = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def joins_pieces(steps: Iterable[DecoderStep] | None) -> bool:
    """Whether a decoder is SentencePiece's own."""
    return any(isinstance(step, JoinPieces) for step in steps or ())


def verbatim_of(
    steps: Sequence[DecoderStep],
) -> tuple[Mapping[int, bytes], Sequence[DecoderStep]]:
    """The ids that are bytes whatever a decoder does to tokens, and its other steps."""
    if steps and isinstance(steps[0], Verbatim):
        return dict(steps[0].tokens), steps[1:]
    return {}, steps


def decode_tokens(steps: Sequence[DecoderStep], tokens: Sequence[str]) -> str:
    """The text of tokens, each as its file spells it; without steps, joined with spaces.

    Raises:
        DecodeError: tokenizers fails on these tokens.
        PatternError: the pattern of a ``Replace`` cannot be run.
        ValueError: ``JoinPieces`` is among the steps, see :func:`decode_pieces`.
    """
    if not steps:
        return " ".join(tokens)
    chain = list(tokens)
    for step in steps:
        chain = apply_step(step, chain)
    return "".join(chain)


def apply_step(step: DecoderStep, tokens: list[str]) -> list[str]:
    """The tokens after one step; otherwise as :func:`decode_tokens`."""
    if isinstance(step, Replace) and isinstance(step.pattern, str) and step.pattern:
        return [token.replace(step.pattern, step.content) for token in tokens]
    if isinstance(step, Replace):
        return [normalize((step,), token) for token in tokens]
    if isinstance(step, ByteTokens):
        return _byte_tokens(tokens)
    if isinstance(step, Fuse):
        return ["".join(tokens)]
    if isinstance(step, StripToken):
        return [_stripped(step, token) for token in tokens]
    if isinstance(step, MetaspaceText):
        return _without_metaspace(step, tokens)
    if isinstance(step, WordEnds):
        return [token.replace(step.suffix, " ") for token in tokens[:-1]] + [
            token.replace(step.suffix, "") for token in tokens[-1:]
        ]
    if isinstance(step, WordPieces):
        return _word_pieces(step, tokens)
    if isinstance(step, JoinBytes):
        return [b"".join(map(token_bytes, tokens)).decode("utf-8", "replace")]
    if isinstance(step, JoinTokens):
        return [" ".join(tokens)]
    if isinstance(step, (Verbatim, JoinPieces)):
        raise ValueError(f"{type(step).__name__} takes ids and their kinds, not tokens")
    raise no_branch(step)


def _byte_tokens(tokens: Iterable[str]) -> list[str]:
    decoded: list[str] = []
    run = bytearray()
    for token in tokens:
        byte = byte_of(token) if token.startswith("<0x") else None
        if byte is not None:
            run.append(byte)
            continue
        decoded += _run_text(run)
        run.clear()
        decoded.append(token)
    return decoded + _run_text(run)


def byte_of(token: str) -> int | None:
    """The byte that a token stands for to ``ByteTokens``; None where it is text."""
    match = BYTE_TOKEN.fullmatch(token)
    return int(match[1], 16) if match else None


def _run_text(run: bytearray) -> list[str]:
    try:
        return [run.decode("utf-8")] if run else []
    except UnicodeDecodeError:
        # One for each byte of the whole run, whole characters in it included
        # (decoders/byte_fallback.rs).
        return ["\ufffd"] * len(run)


def _stripped(step: StripToken, token: str) -> str:
    start = 0
    while start < min(step.start, len(token)) and token[start] == step.content:
        start += 1
    stop = len(token)
    while len(token) - stop < step.stop:
        # The engine does not look whether anything is left.
        if not stop:
            raise _failure(token)
        if token[stop - 1] != step.content:
            break
        stop -= 1
    if start > stop:
        raise _failure(token)
    return token[start:stop]


def _failure(token: str) -> DecodeError:
    return DecodeError(f"tokenizers' Strip decoder fails on the token {show(token)}")


def _without_metaspace(step: MetaspaceText, tokens: list[str]) -> list[str]:
    # In the first token all of them go, not only one at its start (pre_tokenizers/metaspace.rs).
    first = " " if step.prepend == "never" else ""
    return [
        token.replace(step.replacement, " " if place else first)
        for place, token in enumerate(tokens)
    ]


def _word_pieces(step: WordPieces, tokens: list[str]) -> list[str]:
    decoded: list[str] = []
    for token in tokens:
        if decoded:
            inside = token.startswith(step.prefix)
            token = token[len(step.prefix) :] if inside else " " + token
        if step.cleanup:
            for dirty, clean in _CLEANED:
                token = token.replace(dirty, clean)
        decoded.append(token)
    return decoded


def token_bytes(token: str) -> bytes:
    """What a token is to ``JoinBytes``: its bytes where GPT-2's byte alphabet spells it."""
    return to_bytes(token) if is_mapped(token) else token.encode("utf-8")


def decode_pieces(step: JoinPieces, pieces: Sequence[tuple[str, PieceKind]]) -> str:
    """The text of pieces, each as the model spells it and with its kind.

    Raises:
        InvalidModelError: the denormalizer's character map is damaged.
    """
    joined = PieceJoiner(step)
    return joined.add_all(pieces) + joined.end()


class PieceJoiner:
    """The text of pieces that come some at a time; all that it gives, joined, is their text.

    ``errors`` is for bytes that are not UTF-8: each of a malformed part becomes U+FFFD, or a
    UnicodeDecodeError is raised.
    """

    def __init__(self, step: JoinPieces, errors: Malformed = "replace") -> None:
        self._step = step
        self._strict = errors == "strict"
        self._strips = step.dummy != "none" or step.collapse
        self._at_start, self._space_seen, self._any = True, False, False
        self._run = bytearray()
        self._held: list[str] | None = [] if step.charsmap else None

    def add(self, token: tuple[str, PieceKind]) -> str:
        """The text that one more piece settles: its own, and of the bytes before it."""
        return self.add_all((token,))

    def add_all(self, pieces: Iterable[tuple[str, PieceKind]]) -> str:
        """The text that some more pieces settle."""
        parts: list[str] = []
        for piece, kind in pieces:
            if kind == "byte":
                self._run.append(int(piece[3:5], 16))
                continue
            if self._run and (text := self._bytes_read(final=True)):
                parts.append(text)
            # A piece is at the start until text came, or a space that was left out.
            if self._space_seen or parts or self._any:
                self._at_start = False
            self._space_seen = False
            if kind == "unknown":
                piece = self._step.unknown
            elif kind != "piece":
                continue
            else:
                if self._at_start and self._strips and piece.startswith(SPACE):
                    piece = piece[1:]
                    # Where spaces are collapsed, each piece loses one until there is text.
                    self._space_seen = not self._step.collapse
                piece = piece.replace(SPACE, " ")
            if piece:
                parts.append(piece)
        if self._run:
            parts.append(self._bytes_read(final=False))
        return self._settled("".join(parts))

    def end(self) -> str:
        """What is left of a run of bytes; everything, where all goes through a map."""
        text = self._settled(self._bytes_read(final=True))
        if self._held is None:
            return text
        step = SentencePieceText(self._step.charsmap, False, "none", False)
        return normalize_pieces(step, "".join(self._held))

    def _settled(self, text: str) -> str:
        self._any = self._any or bool(text)
        if self._held is None:
            return text
        self._held.append(text)
        return ""

    def _bytes_read(self, *, final: bool) -> str:
        """The run of bytes as far as its characters are complete."""
        text = ""
        while self._run:
            # An error holds a copy of all that was decoded, so little is decoded at once.
            window = bytes(self._run[:_WINDOW])
            last = len(window) == len(self._run)
            try:
                more, used = codecs.utf_8_decode(window, "strict", final and last)
            except UnicodeDecodeError as error:
                if self._strict:
                    raise
                text += window[: error.start].decode("utf-8") + "\ufffd"
                del self._run[: error.start + 1]
                continue
            text += more
            del self._run[:used]
            if last:
                break
        return text
