"""The two sides of a comparison, how they are asked, and what they answer."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from ..encode import Encoder
from ..engines import Engine, Special
from ..errors import BpeInteropError, DecodeError, EncodeError, EngineError, PatternError
from ..model import BPEModel
from ..steps import JoinPieces

How: TypeAlias = Literal["failed", "panicked", "killed"]


_REMEMBERED = 1 << 20
"""Characters of texts of which our encoder, as a side, remembers the ids."""


class Own:
    """Our encoder as a side."""

    name = "bpe_interop"
    parses_special = True
    applies_template = True

    def __init__(self, model: BPEModel) -> None:
        self.version = importlib.metadata.version("bpe-interop")
        self.encoder = Encoder(model)
        self._last: dict[tuple[str, Special], list[int]] = {}
        self._size = 0

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text."""
        ids = self._ids(text, special)
        return self.encoder.template(ids) if add_special_tokens else ids

    def _ids(self, text: str, special: Special) -> list[int]:
        """A batch of texts is asked for with the template right after it was without."""
        found = self._last.get((text, special))
        if found is None:
            found = self.encoder.encode(text, "all" if special == "parse" else frozenset())
            self._size += len(text)
            if self._size > _REMEMBERED:
                self._last, self._size = {}, len(text)
            self._last[text, special] = found
        return list(found)

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The ids of each text."""
        return [
            self.encode(text, special=special, add_special_tokens=add_special_tokens)
            for text in texts
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids."""
        return self.encoder.decode(ids)


@dataclass(frozen=True, slots=True)
class Mode:
    """A way of asking for ids; ``scope`` is how reports call it.

    ``decodes``: whether what the ids decode to is compared as well.
    """

    scope: str
    special: Special
    add_special_tokens: bool = False
    decodes: bool = True


ORDINARY = Mode("special strings as text", "text")
PARSED = Mode("special tokens parsed", "parse")
AROUND = Mode("special strings as text, template applied", "text", True, decodes=False)
TEMPLATED = Mode("special tokens parsed, template applied", "parse", True)


def decoding(modes: Iterable[Mode], models: Iterable[BPEModel | None]) -> list[Mode]:
    """The modes, without decoding special tokens where one of the models is SentencePiece's.

    To its control pieces no text encodes, and what they decode to is each format's own.
    """
    steps = (step for model in models if model is not None for step in model.decoder or ())
    if not any(isinstance(step, JoinPieces) for step in steps):
        return list(modes)
    return [mode if mode == ORDINARY else replace(mode, decodes=False) for mode in modes]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A text on which two sides differ.

    Where the ids are the same and their texts are not, ``decoding`` has the texts.
    """

    mode: Mode
    text: str
    ids_a: tuple[int, ...]
    ids_b: tuple[int, ...]
    decoding: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A text on which one side failed; it proves and refutes nothing.

    ``side`` is the side's name. ``how``: the library raised an error, panicked (Rust), or the
    process that it ran in was killed.
    """

    side: str
    text: str
    what: str
    how: How = "failed"


def encode_all(side: Engine, texts: list[str], mode: Mode) -> list[list[int] | Failure]:
    """The ids of each text, or how the side failed on it."""
    try:
        return list(
            side.encode_batch(
                texts, special=mode.special, add_special_tokens=mode.add_special_tokens
            )
        )
    except _UNANSWERED:
        return [encode_one(side, text, mode) for text in texts]


def encode_one(side: Engine, text: str, mode: Mode) -> list[int] | Failure:
    """The ids of a text, or how the side failed on it."""
    try:
        return side.encode(text, special=mode.special, add_special_tokens=mode.add_special_tokens)
    except _UNANSWERED as error:
        return _failure(side, text, error)


def decode(side: Engine, ids: Sequence[int], text: str) -> str | Failure:
    """The text of ids, or how the side failed on the ids of ``text``."""
    try:
        return side.decode(ids)
    except _UNANSWERED as error:
        return _failure(side, text, error)


# What says something about a text; other errors say that a side cannot be run at all.
_UNANSWERED = (EngineError, EncodeError, DecodeError, PatternError, MemoryError)


def _failure(side: Engine, text: str, error: Exception) -> Failure:
    what = error.what if isinstance(error, BpeInteropError) else "out of memory"
    # The panics of every Rust extension are told by this name only (see engines/library.py).
    panicked = type(error.__cause__).__name__ == "PanicException"
    return Failure(side.name, text, what, "panicked" if panicked else "failed")
