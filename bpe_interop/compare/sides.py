"""The two sides of a comparison: the sources, what runs them, and how they are asked."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Literal, TypeAlias

from ..encode import Encoder
from ..engines import (
    Engine,
    Special,
)
from ..engines.library import OneByOne
from ..engines.rows import engine_row
from ..entry_points import own_version
from ..errors import (
    BpeInteropError,
    DecodeError,
    EncodeError,
    EngineError,
    PatternError,
)
from ..io.reader import TokenizerSource
from ..kernel import THREADS
from ..model import Allowed, BPEModel
from ..presets import candidates
from ..proof.stage import Scope
from ..text.decoders import joins_pieces
from .corpus_report import SideName

How: TypeAlias = Literal["failed", "panicked", "killed"]

Build: TypeAlias = Callable[[], Engine]
"""Makes a side. Where child processes are used it is pickled, so it is a function of a module, or
a ``functools.partial`` of one: ``partial(Own, model)``, ``partial(from_files, ...)``."""


_ALLOWED: Mapping[Special, Allowed] = MappingProxyType({"text": frozenset(), "parse": "all"})


class OwnEngine(OneByOne):
    name = "bpe_interop"
    parses_special = True
    applies_template = True

    def __init__(self, model: BPEModel) -> None:
        self.version = own_version()
        self.model = model
        self._last: tuple[list[str], Special, list[array[int]]] = [], "text", []

    @cached_property
    def encoder(self) -> Encoder:
        """Made when it is asked for: a proof needs none."""
        return Encoder(self.model)

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        ids = self.encoder.encode(text, _ALLOWED[special])
        return self.encoder.template(ids) if add_special_tokens else ids

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        rows = self.encode_to_arrays(texts, special=special, add_special_tokens=add_special_tokens)
        return [row.tolist() for row in rows]

    def encode_to_arrays(
        self, texts: Sequence[str], *, special: Special, add_special_tokens: bool
    ) -> list[array[int]]:
        """The same as arrays of 32 bits, compared and decoded without Python's integers."""
        wanted = list(texts)
        before, way, rows = self._last
        # The same texts are often asked for with the template right after without.
        if way != special or before != wanted:
            ids, ends = self.encoder.encode_joined(wanted, _ALLOWED[special], threads=THREADS)
            rows = [ids[start:end] for start, end in pairwise((0, *ends))]
            self._last = wanted, special, rows
        if add_special_tokens:
            return [array("I", self.encoder.template(row.tolist())) for row in rows]
        return rows

    def decode(self, ids: Sequence[int]) -> str:
        return self.encoder.decode(ids)

    def forget(self) -> None:
        """Frees what it remembers of texts and ids; what is needed again is made again."""
        self.__dict__.pop("encoder", None)
        self._last = [], "text", []


def as_run_by(engine: str, model: BPEModel) -> BPEModel:
    """What an engine runs of a model whose files it reads: one that is bare knows texts alone."""
    if not engine_row(engine).bare:
        return model
    added = model.added and tuple(
        replace(token, lstrip=False, rstrip=False, single_word=False, normalized=False)
        for token in model.added
    )
    run = replace(model, normalizer=model.normalizer and (), added=added)
    return model if run == model else run


@dataclass(frozen=True, slots=True)
class Mode:
    """A way of asking for ids; ``scope`` is how reports call it.

    ``decodes``: whether what the ids decode to is compared as well.
    """

    scope: str
    special: Special
    add_special_tokens: bool = False
    decodes: bool = True


ORDINARY = Mode("special tokens as text", "text")
PARSED = Mode("special tokens parsed", "parse")
AROUND = Mode("special tokens as text, template applied", "text", True, decodes=False)
TEMPLATED = Mode("special tokens parsed, template applied", "parse", True)


def decoding(modes: Iterable[Mode], models: Iterable[BPEModel | None]) -> list[Mode]:
    """The modes, without decoding special tokens where one of the models is SentencePiece's.

    To its control pieces no text encodes, and what they decode to is each format's own. Two of
    SentencePiece's decode them in the same way, or differ.
    """
    joined = [joins_pieces(model.decoder) for model in models if model is not None]
    if not any(joined) or (len(joined) > 1 and all(joined)):
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
        # A batch fails as a whole: one by one, to know on which text.
        return [encode_one(side, text, mode) for text in texts]


def encode_to_arrays(side: OwnEngine, texts: list[str], mode: Mode) -> list[array[int] | Failure]:
    """The same of our encoder, as arrays; none is equal to a list."""
    placed = mode.add_special_tokens
    try:
        return [*side.encode_to_arrays(texts, special=mode.special, add_special_tokens=placed)]
    except _UNANSWERED:
        # As above.
        rows = [encode_one(side, text, mode) for text in texts]
    return [row if isinstance(row, Failure) else array("I", row) for row in rows]


def encode_one(side: Engine, text: str, mode: Mode) -> list[int] | Failure:
    try:
        return side.encode(text, special=mode.special, add_special_tokens=mode.add_special_tokens)
    except _UNANSWERED as error:
        return _failure(side, text, error)


def decode(side: Engine, ids: Sequence[int], text: str) -> str | Failure:
    try:
        return side.decode(ids)
    except _UNANSWERED as error:
        return _failure(side, text, error)


def difference_on(
    text: str, mode: Mode, a: Engine, b: Engine, *, decoded: bool | None = None
) -> Mismatch | None:
    """What two sides make of a text, if it is not the same; None too where one of them fails.

    ``decoded``: whether equal ids are decoded, and compared as texts; None: as the mode says.
    """
    one, two = encode_one(a, text, mode), encode_one(b, text, mode)
    if isinstance(one, Failure) or isinstance(two, Failure):
        return None
    if one != two:
        return Mismatch(mode, text, tuple(one), tuple(two))
    if not (mode.decodes if decoded is None else decoded):
        return None
    left, right = decode(a, one, text), decode(b, two, text)
    if isinstance(left, Failure) or isinstance(right, Failure) or left == right:
        return None
    return Mismatch(mode, text, tuple(one), tuple(two), (left, right))


def decode_all(
    side: Engine, rows: Sequence[Sequence[int]], texts: Sequence[str]
) -> list[str | Failure]:
    """The text of each row of ids, or how the side failed on those of ``texts``."""
    batch: Callable[[Sequence[Sequence[int]]], list[str]] | None
    batch = getattr(side, "decode_batch", None)  # where one call for all is faster
    if batch is not None:
        try:
            return [*batch(rows)]
        except _UNANSWERED:
            pass  # one by one, to know which
    return [decode(side, ids, text) for ids, text in zip(rows, texts, strict=True)]


# What says something about a text; other errors say that a side cannot be run at all.
_UNANSWERED = (EngineError, EncodeError, DecodeError, PatternError, MemoryError)


def _failure(side: Engine, text: str, error: Exception) -> Failure:
    what = error.what if isinstance(error, BpeInteropError) else "out of memory"
    # The panics of every Rust extension are told by this name only (see engines/library.py).
    panicked = type(error.__cause__).__name__ == "PanicException"
    return Failure(side.name, text, what, "panicked" if panicked else "failed")


def modes_of(
    scope: Scope,
    models: tuple[BPEModel | None, BPEModel | None],
    sides: tuple[Engine, Engine],
    notes: list[str],
) -> list[Mode]:
    """How two sides are asked; what they cannot be asked is noted."""
    if scope != "all":
        return [ORDINARY]
    if silent := unstated(models):
        named = {side: model for side, model in zip("ab", models, strict=True) if side in silent}
        notes.append(
            f"special tokens are not stated by {' and '.join(silent)}: say which there are with "
            f"{ways_to_name(named)}; or compare without them: --scope ordinary (scope='ordinary')"
        )
        return [ORDINARY]
    modes = [ORDINARY, PARSED]
    deaf = [side.name for side in sides if not side.parses_special]
    if deaf:
        notes.append(f"special tokens are not parsed: {deaf[0]} never finds them in a text")
        modes = [ORDINARY]
    if any(model is not None and model.sequence_template is None for model in models):
        notes.append("sequence templates are not compared: a source does not state one")
    elif bare := [side.name for side in sides if not side.applies_template]:
        notes.append(f"sequence templates are not compared: {bare[0]} applies none")
    else:
        modes.append(AROUND if deaf else TEMPLATED)
    return decoding(modes, models)


def unstated(models: Iterable[BPEModel | None]) -> tuple[str, ...]:
    """The sides, ``a`` or ``b``, that do not state their special tokens."""
    sides = zip("ab", models, strict=True)
    return tuple(side for side, model in sides if model is not None and model.added is None)


def ways_to_name(models: Mapping[str, BPEModel | None]) -> str:
    """The options that name presets for sides, with the presets that know their files."""
    ways = []
    for side, model in models.items():
        known = [] if model is None else candidates(model)
        names = f": {', '.join(known)}" if known else ""
        ways.append(f"--preset-{side} (preset_{side}=...){names}")
    return " and ".join(ways)


def inside_of(scope: Scope, models: Iterable[BPEModel | None]) -> Callable[[str], bool]:
    """Whether a text is in a scope.

    In the scope ``text`` no added token matches, and engines find those that are not special in
    any text. So what holds one, as it stands or normalized, is left out.
    """
    given = [model for model in models if model is not None] if scope == "text" else []
    texts = {token.text for model in given for token in model.added or ()}
    normalized = [
        Encoder(model).normalize
        for model in given
        if model.normalizer and any(token.normalized for token in model.added or ())
    ]
    for normalize in normalized:
        texts |= set(map(normalize, texts))
    # Normalizing may leave nothing of a token: it would be in every text.
    added = re.compile("|".join(map(re.escape, filter(None, texts))) or "(?!)")

    def is_inside(text: str) -> bool:
        return not any(map(added.search, (text, *(normalize(text) for normalize in normalized))))

    return is_inside


@dataclass(frozen=True, eq=False)
class Side:
    """A tokenizer that runs: a file, a lock, a server, or an object of a library.

    Attributes:
        source: where it came from; of an object, what it would write.
        model: what the engine runs; None where that is not known. Of transformers it may be
            another than the source's.
        build: makes the engine, also in another process where there is a name.
        name: what reports on corpora call it, found when there are corpora, as it hashes the
            files; None where it is an object of this process.
        preset: what says what its files leave unsaid.
        notes: what there is to say of how it was opened.
    """

    source: TokenizerSource[BPEModel | None]
    model: BPEModel | None
    build: Build
    name: Callable[[], SideName] | None = None
    preset: str | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def engine(self) -> Engine:
        """What runs it; made once, because engines take much memory."""
        return self.build()
