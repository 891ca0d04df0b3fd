"""Ids to text one at a time: what is told is never taken back, and nothing waits without need.

All that was told is, joined, what decoding all the ids at once gives. So a text waits for what
could still change it: the rest of a character, and, by the steps of a decoder, more
(``decoder_steps.py``).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator
from operator import index
from typing import Literal, Protocol, TypeAlias, TypeVar

from ..steps import JoinPieces, SentencePieceText
from ..text.charsmap import SPACE
from ..text.decoders import PieceKind
from ..text.normalize import normalize

Malformed: TypeAlias = Literal["replace", "strict"]
"""What becomes of bytes that are not UTF-8: U+FFFD, or an error."""

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """Takes tokens in the form that a decoder sees, and tells the text that is settled."""

    def add(self, token: T_contra) -> str:
        """The text that one more token settles."""
        ...

    def end(self) -> str:
        """The rest."""
        ...


class DecodeStream:
    """The text of ids that come one at a time. For one sequence of ids, and one thread.

    Made by ``Tokenizer.decode_stream``.
    """

    def __init__(self, find: Callable[[int], T | None], sink: Sink[T]) -> None:
        def add(number: int) -> str:
            token = find(number)
            return "" if token is None else sink.add(token)

        self._add, self._end = add, sink.end
        self._finished = False

    def step(self, id: int) -> str:
        """The text that one more id settles; often empty.

        Raises:
            DecodeError: the id is not in the model (also KeyError); the stream is as it was.
            UnicodeDecodeError: ``errors="strict"``, and the bytes are not UTF-8.
            ValueError: the stream is finished.
        """
        self._check()
        return self._add(index(id))

    def finish(self) -> str:
        """The text that was waited with; what is left of a character is U+FFFD.

        Raises:
            UnicodeDecodeError: ``errors="strict"``, and a character is not complete.
            ValueError: the stream is finished.
        """
        self._check()
        self._finished = True
        return self._end()

    def texts(self, ids: Iterable[int]) -> Iterator[str]:
        """The texts that ids settle, as they come, and the rest; none of them is empty.

        Raises:
            The errors of :meth:`step` and :meth:`finish`.
        """
        for number in ids:
            if text := self.step(number):
                yield text
        if text := self.finish():
            yield text

    def _check(self) -> None:
        if self._finished:
            raise ValueError("this stream is finished; begin another one")


class Bytes:
    """Tokens that are bytes, joined and read as UTF-8."""

    def __init__(self, errors: Malformed) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def add(self, token: bytes) -> str:
        """The characters that are complete."""
        return self._decoder.decode(token)

    def end(self) -> str:
        """What is left of a character."""
        return self._decoder.decode(b"", True)


class Pieces:
    """Pieces as SentencePiece joins them; see :func:`.text.decoders.decode_pieces`."""

    def __init__(self, step: JoinPieces, errors: Malformed) -> None:
        self._step = step
        self._strips = step.dummy != "none" or step.collapse
        self._run = _ByteRun(errors)
        self._any = self._space_seen = False
        self._at_start = True
        self._held: list[str] | None = [] if step.charsmap else None

    def add(self, token: tuple[str, PieceKind]) -> str:
        """The text of a piece, and of the bytes before it."""
        piece, kind = token
        if kind == "byte":
            return self._told(self._run.add(int(piece[3:5], 16)))
        text = self._run.end()
        if self._space_seen or self._any or text:
            self._at_start = False
        self._space_seen = False
        if kind == "unknown":
            text += self._step.unknown
        elif kind == "piece":
            if self._at_start and self._strips and piece.startswith(SPACE):
                piece = piece[1:]
                self._space_seen = not self._step.collapse
            text += piece.replace(SPACE, " ")
        return self._told(text)

    def end(self) -> str:
        """What is left of a run of bytes; everything, where all goes through a map."""
        text = self._told(self._run.end())
        if self._held is None:
            return text
        last = SentencePieceText(self._step.charsmap, False, "none", False)
        return normalize((last,), "".join(self._held))

    def _told(self, text: str) -> str:
        self._any = self._any or bool(text)
        if self._held is None:
            return text
        self._held.append(text)
        return ""


class _ByteRun:
    """Bytes as UTF-8, each byte of a malformed part as U+FFFD."""

    def __init__(self, errors: Malformed) -> None:
        self._strict = errors == "strict"
        self._pending = b""

    def add(self, byte: int) -> str:
        self._pending += bytes((byte,))
        return self._settled(final=False)

    def end(self) -> str:
        return self._settled(final=True)

    def _settled(self, *, final: bool) -> str:
        text = ""
        while self._pending:
            try:
                more, used = codecs.utf_8_decode(self._pending, "strict", final)
            except UnicodeDecodeError as error:
                if self._strict:
                    raise
                text += self._pending[: error.start].decode("utf-8") + "\ufffd"
                self._pending = self._pending[error.start + 1 :]
                continue
            self._pending = self._pending[used:]
            return text + more
        return text
