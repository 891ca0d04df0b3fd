"""Runs two tokenizers on the same texts, and makes a difference small."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, TypeAlias

from ..encode import Encoder
from ..engines import Engine
from ..errors import BpeInteropError, DecodeError, EncodeError, EngineError
from ..model import BPEModel

Special: TypeAlias = Literal["text", "parse"]

_CHUNK = 64


class Own:
    """Our encoder as a side."""

    name = "bpe_interop"
    parses_special = True

    def __init__(self, model: BPEModel) -> None:
        self.version = importlib.metadata.version("bpe-interop")
        self.encoder = Encoder(model)

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text."""
        ids = self.encoder.encode(text, "all" if special == "parse" else frozenset())
        return self.encoder.template(ids) if add_special_tokens else ids

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
    """A way of asking for ids; ``scope`` is how reports call it."""

    scope: str
    special: Special
    add_special_tokens: bool = False


ORDINARY = Mode("special strings as text", "text")
PARSED = Mode("special tokens parsed", "parse")
AROUND = Mode("special strings as text, template applied", "text", True)
TEMPLATED = Mode("special tokens parsed, template applied", "parse", True)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A text on which two sides differ, as short as shrinking made it."""

    mode: Mode
    text: str
    ids_a: tuple[int, ...]
    ids_b: tuple[int, ...]
    decoding: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A text on which one side failed; it proves and refutes nothing."""

    side: str
    text: str
    what: str


@dataclass(slots=True)
class Tally:
    """What a comparison did and found.

    ``texts`` and ``bytes`` were given to both sides; on ``compared`` of the texts both sides
    answered, at least in one mode, and on ``differing`` of them they did not agree. ``alone``
    counts the times that one side failed and the other did not.
    """

    texts: int = 0
    bytes: int = 0
    compared: int = 0
    alone: int = 0
    differing: int = 0
    mismatch: Mismatch | None = None
    failures: list[Failure] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)


def compare(
    a: Engine,
    b: Engine,
    texts: Iterable[str],
    modes: Sequence[Mode],
    tick: Callable[[int], None] = lambda count: None,
    patience: int = sys.maxsize,
) -> Tally:
    """Compares ids, and the decoding of ids, over texts; keeps the plainest difference, shrunk.

    It ends early once one side alone has failed ``patience`` times: a pattern that backtracks
    without end takes seconds for each text.
    """
    tally = Tally(modes=list(modes))
    plainest: Mismatch | None = None
    for chunk in _chunks(texts):
        answered: set[int] = set()
        differing: set[int] = set()
        for mode in modes:
            for place, found in _compare_chunk(a, b, chunk, mode, tally):
                answered.add(place)
                if found is not None:
                    differing.add(place)
                    plainest = found if plainest is None else min(plainest, found, key=_oddness)
        tally.texts += len(chunk)
        tally.bytes += sum(len(text.encode("utf-8", "surrogatepass")) for text in chunk)
        tally.compared += len(answered)
        tally.differing += len(differing)
        tick(len(chunk))
        if tally.alone >= patience:
            break
    if plainest is not None and plainest.decoding is None:
        plainest = shrink(a, b, plainest.text, plainest.mode)
    tally.mismatch = plainest
    return tally


def _oddness(found: Mismatch) -> tuple[bool, bool, bool, bool, int]:
    """Differing ids before differing decoding, ordinary text before special tokens and templates,
    what prints everywhere first, then short texts.
    """
    text, mode = found.text, found.mode
    plain = text.isascii() and text.isprintable()
    parsed = mode.special == "parse"
    return found.decoding is not None, mode.add_special_tokens, parsed, not plain, len(text)


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while chunk := list(islice(stream, _CHUNK)):
        yield chunk


def _compare_chunk(
    a: Engine, b: Engine, chunk: list[str], mode: Mode, tally: Tally
) -> Iterator[tuple[int, Mismatch | None]]:
    """The places of the texts that both sides answered, with what differs there, if anything."""
    left = _encode(a, chunk, mode, tally)
    right = _encode(b, chunk, mode, tally)
    for place, (text, x, y) in enumerate(zip(chunk, left, right, strict=True)):
        if x is None or y is None:
            tally.alone += x is not y
            continue
        if x != y:
            yield place, Mismatch(mode, text, tuple(x), tuple(y))
            continue
        one, two = _decode(a, x, text, tally), _decode(b, y, text, tally)
        if one is None or two is None or one == two:
            yield place, None
        else:
            yield place, Mismatch(mode, text, tuple(x), tuple(y), (one, two))


def _decode(side: Engine, ids: list[int], text: str, tally: Tally) -> str | None:
    try:
        return side.decode(ids)
    except (EngineError, DecodeError) as error:
        tally.failures.append(Failure(side.name, text, error.what))
        return None


def _encode(side: Engine, chunk: list[str], mode: Mode, tally: Tally) -> list[list[int] | None]:
    try:
        ids = side.encode_batch(
            chunk, special=mode.special, add_special_tokens=mode.add_special_tokens
        )
        return list(ids)
    except (EngineError, EncodeError):
        return [_encode_one(side, text, mode, tally) for text in chunk]


def _encode_one(side: Engine, text: str, mode: Mode, tally: Tally) -> list[int] | None:
    try:
        return side.encode(text, special=mode.special, add_special_tokens=mode.add_special_tokens)
    except (EngineError, EncodeError) as error:
        tally.failures.append(Failure(side.name, text, error.what))
        return None


def shrink(a: Engine, b: Engine, text: str, mode: Mode, budget: int = 2_000) -> Mismatch:
    """Cuts parts out of a text while the two sides still differ on it."""

    def ids(side: Engine, candidate: str) -> list[int]:
        return side.encode(
            candidate, special=mode.special, add_special_tokens=mode.add_special_tokens
        )

    def differ(candidate: str) -> bool:
        try:
            return ids(a, candidate) != ids(b, candidate)
        except BpeInteropError:
            return False

    size = max(1, len(text) // 2)
    while budget > 0:
        start, cut = 0, False
        while start < len(text) and budget > 0:
            candidate = text[:start] + text[start + size :]
            budget -= 1
            if differ(candidate):
                text, cut = candidate, True
            else:
                start += size
        if size == 1 and not cut:
            break
        size = max(1, size // 2)
    return Mismatch(mode, text, tuple(ids(a, text)), tuple(ids(b, text)))


def first_stage(a: Encoder, b: Encoder, text: str, mode: Mode) -> str:
    """The first stage at which two models treat a text differently."""
    plain = a.encode(text) != b.encode(text)
    if not plain and mode.special == "parse":
        parsed = a.encode(text, "all") != b.encode(text, "all")
        return "sequence template" if mode.add_special_tokens and not parsed else "special tokens"
    if a.normalize(text) != b.normalize(text):
        return "normalizer"
    left, right = a.pretokenize(text), b.pretokenize(text)
    if left != right:
        return "pre-tokenizer"
    for pretoken in left:
        content = pretoken.encode("utf-8") if isinstance(pretoken, str) else pretoken
        x, y = a.encode_pretoken(content), b.encode_pretoken(content)
        if x != y:
            same = [a.token_bytes(i) for i in x] == [b.token_bytes(i) for i in y]
            return "ids" if same else "core"
    return "added tokens"
