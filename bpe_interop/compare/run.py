"""Asks two sides for the same texts, here or in a child process, and counts what they answer."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

from ..engines import Engine, Special
from ..engines.child_process import ChildProcess, EndedError, Say
from ..engines.library import OneByOne
from ..errors import EngineError
from ..ticks import PART_SECONDS, Tick, no_progress
from .corpus_report import CorpusReport, Found, SideName, oddness_of
from .shrink import first_difference, shrink
from .sides import (
    Build,
    Failure,
    Mismatch,
    Mode,
    OwnEngine,
    Side,
    decode_all,
    encode_all,
    encode_to_arrays,
)

Decoded: TypeAlias = tuple[str | None, str | None]
"""What each side makes of ids; None where it fails on them."""


@dataclass(slots=True)
class Answers:
    """What became of one text.

    ``compared`` counts the modes in which both sides answered, ``one_failed`` those in which one
    did, ``differing`` has the scopes of those in which they did not agree. ``tokens_a`` and
    ``tokens_b`` count ids in the first mode. ``failures`` has what each side
    failed at, ``mismatch`` the plainest difference, and ``common`` about how many characters of the
    text stand before it.
    """

    compared: int = 0
    one_failed: int = 0
    differing: list[str] = field(default_factory=list)
    tokens_a: int = 0
    tokens_b: int = 0
    mismatch: Mismatch | None = None
    common: int = 0
    failures_a: list[Failure] = field(default_factory=list)
    failures_b: list[Failure] = field(default_factory=list)

    def fail(self, a: object, b: object) -> None:
        if isinstance(a, Failure):
            self.failures_a.append(a)
        if isinstance(b, Failure):
            self.failures_b.append(b)

    def keep(self, mismatch: Mismatch) -> None:
        """Counts a difference, and keeps it, if it is plainer than the one there is."""
        self.differing.append(mismatch.mode.scope)
        self.mismatch = min(filter(None, (self.mismatch, mismatch)), key=oddness)


def oddness(mismatch: Mismatch) -> tuple[bool, bool, bool, bool, int]:
    """Differing ids before differing decoding, ordinary text before special tokens and templates,
    what prints everywhere first, then short texts.
    """
    mode, decoding = mismatch.mode, mismatch.decoding is not None
    return decoding, mode.add_special_tokens, mode.special == "parse", *oddness_of(mismatch.text)


def compare_texts(a: Engine, b: Engine, texts: list[str], modes: Sequence[Mode]) -> list[Answers]:
    """Compares the ids of a batch of texts in every mode, and what the ids decode to."""
    outcomes = [Answers() for _ in texts]
    agreed: list[Sequence[int] | None] = [None] * len(texts)
    for mode in modes:
        left: Sequence[Sequence[int] | Failure]
        right: Sequence[Sequence[int] | Failure]
        # Arrays of both sides are compared without making Python's integers.
        if type(a) is OwnEngine and type(b) is OwnEngine:
            left, right = encode_to_arrays(a, texts, mode), encode_to_arrays(b, texts, mode)
        else:
            left, right = encode_all(a, texts, mode), encode_all(b, texts, mode)
        decoded: list[int] = []
        for place, (x, y) in enumerate(zip(left, right, strict=True)):
            outcome = outcomes[place]
            if mode is modes[0]:
                outcome.tokens_a = 0 if isinstance(x, Failure) else len(x)
                outcome.tokens_b = 0 if isinstance(y, Failure) else len(y)
            if isinstance(x, Failure) or isinstance(y, Failure):
                outcome.fail(x, y)
                # Where both fail, neither is at fault alone.
                outcome.one_failed += type(x) is not type(y)
                continue
            outcome.compared += 1
            if x != y:
                outcome.keep(Mismatch(mode, texts[place], tuple(x), tuple(y)))
            # The same ids decode to the same texts, in whatever mode they were given.
            elif x != agreed[place] and mode.decodes:
                decoded.append(place)
        rows = [row for place in decoded if not isinstance(row := left[place], Failure)]
        back = (decode_all(side, rows, [texts[place] for place in decoded]) for side in (a, b))
        for place, ids, one, two in zip(decoded, rows, *back, strict=True):
            if isinstance(one, Failure) or isinstance(two, Failure):
                outcomes[place].fail(one, two)
            elif one != two:
                same = tuple(ids)
                outcomes[place].keep(Mismatch(mode, texts[place], same, same, (one, two)))
            else:
                agreed[place] = ids
    return outcomes


class LocalPair:
    def __init__(self, a: Engine, b: Engine, modes: Sequence[Mode]) -> None:
        self.a, self.b, self.modes = a, b, modes

    def compare(self, texts: list[str]) -> list[Answers]:
        outcomes = compare_texts(self.a, self.b, texts, self.modes)
        for outcome in outcomes:
            if outcome.mismatch is not None:
                outcome.common = first_difference(self.a, outcome.mismatch)
        return outcomes

    def shrink(self, text: str, mode: Mode) -> Mismatch | None:
        return shrink(self.a, self.b, text, mode)

    def decode(self, sequences: list[tuple[int, ...]]) -> list[Decoded]:
        """What each side makes of ids; None where it fails on them."""
        none = [""] * len(sequences)
        one, two = (
            [
                None if isinstance(text, Failure) else text
                for text in decode_all(side, sequences, none)
            ]
            for side in (self.a, self.b)
        )
        return [*zip(one, two, strict=True)]

    def close(self) -> None:
        """Nothing was begun."""


class ChildPair:
    """Two sides in a process of their own, which a text may kill without killing this one.

    A child that was killed, or gave no answer, is started again, and the texts that it had are
    given to it one by one, so that the one that kills it is known, and on which side. Ctrl-C does
    not end it.
    """

    def __init__(
        self, a: Build, b: Build, modes: Sequence[Mode], seconds: float = PART_SECONDS
    ) -> None:
        self._make = partial(_PairThere, a, b, tuple(modes))
        self._seconds = seconds
        self._child: ChildProcess | None = None
        self._closed = False

    def compare(self, texts: list[str]) -> list[Answers]:
        """What becomes of each text.

        Raises:
            BpeInteropError: a side cannot be built.
        """
        try:
            outcomes: list[Answers] = self._call("compare", texts)
            return outcomes
        except EndedError:
            # One of them killed the child: each alone, to know which, and which side.
            return [self._compare_one(text) for text in texts]

    def shrink(self, text: str, mode: Mode) -> Mismatch | None:
        """A smaller text on which the sides differ; None where a side did not survive it."""
        try:
            mismatch: Mismatch = self._call("shrink", text, mode)
            return mismatch
        except EndedError:
            return None  # a smaller text killed a side: the text stays as it is

    def decode(self, sequences: list[tuple[int, ...]]) -> list[Decoded]:
        """What each side makes of ids; None where it fails on them, or does not survive them."""
        try:
            texts: list[Decoded] = self._call("decode", sequences)
            return texts
        except EndedError:
            if len(sequences) > 1:
                # One of them killed the child: each alone.
                return [self.decode([ids])[0] for ids in sequences]
            return [(None, None)]

    def close(self) -> None:
        self._closed = True
        if self._child is not None:
            self._child.close()

    def _compare_one(self, text: str) -> Answers:
        try:
            outcome: Answers = self._call("compare_one", text)
            return outcome
        except EndedError as error:
            outcome = Answers(one_failed=1)
            failed = outcome.failures_b if error.said == "b" else outcome.failures_a
            failed.append(Failure(str(error.said or ""), "", error.what, "killed"))
            return outcome

    def _call(self, method: str, *given: Any) -> Any:
        if self._child is None or self._child.ended:
            self._child = self._started()
        return self._child.call(method, *given, seconds=self._seconds)

    def _started(self) -> ChildProcess:
        if self._closed:
            raise EngineError("the comparison has ended")
        self._child = child = ChildProcess(self._make)
        if self._closed:  # meanwhile, by another thread
            child.close()
        try:
            child.answer()
        except EndedError as error:
            raise EngineError(f"the process that loads both sides {error.what}") from None
        return child


class _PairThere(LocalPair):
    def __init__(self, a: Build, b: Build, modes: Sequence[Mode], say: Say) -> None:
        super().__init__(a(), b(), modes)
        a_told, b_told = (
            _Announced(self.a, partial(say, "a")),
            _Announced(self.b, partial(say, "b")),
        )
        self._announced = LocalPair(a_told, b_told, modes)

    def compare_one(self, text: str) -> Answers:
        """What becomes of a text; the side that is at work is said before."""
        return self._announced.compare([text])[0]


class _Announced(OneByOne):
    """A side that says that it is about to work, so that it is known who did not survive."""

    def __init__(self, engine: Engine, announce: Any) -> None:
        self._engine, self._announce = engine, announce
        self.name, self.version = engine.name, engine.version
        self.parses_special = engine.parses_special
        self.applies_template = engine.applies_template

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        self._announce()
        return self._engine.encode(text, special=special, add_special_tokens=add_special_tokens)

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        # The engine's own batch call: one text may end a process there that it takes alone.
        self._announce()
        return self._engine.encode_batch(
            texts, special=special, add_special_tokens=add_special_tokens
        )

    def decode(self, ids: Sequence[int]) -> str:
        self._announce()
        return self._engine.decode(ids)


Pair: TypeAlias = LocalPair | ChildPair
"""Two sides that can be asked."""


@dataclass(frozen=True)
class Sides:
    """What is compared, and how both are asked."""

    a: Side
    b: Side
    modes: tuple[Mode, ...]

    @cached_property
    def names(self) -> tuple[SideName, SideName]:
        """What reports on corpora call them.

        Raises:
            EngineError: a side is an object, which is here alone.
        """
        if self.a.name is not None and self.b.name is not None:
            return self.a.name(), self.b.name()
        side = self.b if self.a.name else self.a
        raise EngineError(
            "an object is not compared on corpora: it cannot be built again elsewhere",
            where=side.source.label,
            fix="write it to a file, and compare that",
        )

    def pair(self, isolate: bool) -> Pair:
        """Both sides in this process, or in a child of it, which a text may kill."""
        if isolate:
            return ChildPair(self.a.build, self.b.build, self.modes)
        return LocalPair(self.a.engine, self.b.engine, self.modes)


_CHUNK = 256


@dataclass(slots=True)
class Tally:
    """What a comparison did and found.

    ``texts`` and ``bytes`` were given to both sides; on ``compared`` of the texts both sides
    answered, at least in one mode, and on ``differing`` of them they did not agree;
    ``differing_in`` counts these of the awkward texts by the scope of the mode. ``one_failed``
    counts the times that one side failed and the other did not. ``interrupted`` says that Ctrl-C
    ended it before its texts did, ``ended`` that one side alone failed too often. ``whole`` is the
    text that ``mismatch`` was made small from. ``corpus`` is what was found in corpora, which the
    other numbers leave out; ``notes`` say what there is to say of the run.
    """

    texts: int = 0
    bytes: int = 0
    compared: int = 0
    one_failed: int = 0
    differing: int = 0
    differing_in: Counter[str] = field(default_factory=Counter)
    mismatch: Mismatch | None = None
    whole: str | None = None
    failures: list[Failure] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)
    corpus: CorpusReport | None = None
    interrupted: bool = False
    ended: bool = False
    notes: list[str] = field(default_factory=list)

    def see(self, mismatch: Mismatch) -> None:
        self.mismatch = min(filter(None, (self.mismatch, mismatch)), key=oddness)

    def total(self) -> Tally:
        """The tally of the awkward texts and of the corpora, with the plainer difference."""
        total = replace(self)
        if self.corpus is not None:
            counts, plainest = self.corpus.counts, self.corpus.plainest
            total.texts += counts.documents - counts.left_out
            total.bytes += counts.bytes - counts.left_out_bytes
            total.compared += counts.compared
            total.differing += counts.differing
            if plainest is not None:
                total.see(mismatch_of(plainest, total.modes))
        return total


def mismatch_of(difference: Found, modes: Sequence[Mode]) -> Mismatch:
    """What a corpus report says of a text, as the difference that it is."""
    mode = next(mode for mode in modes if mode.scope == difference.scope)
    return Mismatch(mode, difference.text, difference.ids_a, difference.ids_b, difference.decoding)


def ask_both(
    a: Engine,
    b: Engine,
    texts: Iterable[str],
    modes: Sequence[Mode],
    tick: Tick = no_progress,
    patience: int = sys.maxsize,
) -> Tally:
    """Compares ids, and the decoding of ids, over texts; keeps the plainest difference, shrunk.

    It ends early once one side alone has failed ``patience`` times.
    """
    pair = LocalPair(a, b, modes)
    tally = compare_in(pair, (a.name, b.name), texts, modes, tick, patience)
    if tally.interrupted:
        # `compare_in` reports what was done so far; here nobody asks for that.
        raise KeyboardInterrupt
    return tally


def compare_in(
    pair: Pair,
    names: tuple[str, str],
    texts: Iterable[str],
    modes: Sequence[Mode],
    tick: Tick = no_progress,
    patience: int = sys.maxsize,
    enough: int = sys.maxsize,
) -> Tally:
    """As :func:`ask_both`, wherever the two sides run; on Ctrl-C it gives what was done so far.

    ``names`` are what failures call the sides. Of ``enough`` texts, one that differs ends it.
    """
    tally, stream = Tally(modes=list(modes)), iter(texts)
    try:
        # A pattern that backtracks without end takes seconds for each text.
        while tally.one_failed < patience and (chunk := list(islice(stream, _CHUNK))):
            _count(tally, names, chunk, pair.compare(chunk))
            tick(len(chunk))
            if tally.differing and tally.texts >= enough:
                break
    except KeyboardInterrupt:
        tally.interrupted = True
    tally.ended = tally.one_failed >= patience
    mismatch = tally.mismatch
    if mismatch is not None:
        tally.whole = mismatch.text
        try:
            tally.mismatch = pair.shrink(mismatch.text, mismatch.mode) or mismatch
        except KeyboardInterrupt:
            tally.interrupted = True
    return tally


def _count(
    tally: Tally, names: tuple[str, str], texts: Sequence[str], outcomes: Sequence[Answers]
) -> None:
    tally.texts += len(texts)
    tally.bytes += sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    for text, outcome in zip(texts, outcomes, strict=True):
        tally.compared += outcome.compared > 0
        tally.one_failed += outcome.one_failed
        for name, failed in zip(names, (outcome.failures_a, outcome.failures_b), strict=True):
            # A side that was killed could not say on which text.
            tally.failures += [replace(f, side=name, text=f.text or text) for f in failed]
        if outcome.mismatch is not None:
            tally.differing += 1
            tally.differing_in.update(outcome.differing)
            tally.see(outcome.mismatch)
