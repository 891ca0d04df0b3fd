"""Runs two tokenizers on the same texts, and keeps the plainest difference, made small."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice, takewhile
from typing import Protocol, TypeAlias

from ..encode import Encoder
from ..engines import Engine
from ..errors import EncodeError
from ..proof.stage import changed_by
from .corpus_report import oddness_of
from .sides import (
    Failure,
    Mismatch,
    Mode,
    Own,
    decode,
    decode_all,
    encode_all,
    encode_one,
    encode_to_arrays,
)


@dataclass(slots=True)
class Answers:
    """What became of one text.

    ``compared`` counts the modes in which both sides answered, ``alone`` those in which one side
    alone failed. ``tokens_a`` and ``tokens_b`` count ids in the first mode. ``failures`` has what
    each side failed at, ``mismatch`` the plainest difference, and ``common`` about how many
    characters of the text stand before it.
    """

    compared: int = 0
    alone: int = 0
    tokens_a: int = 0
    tokens_b: int = 0
    mismatch: Mismatch | None = None
    common: int = 0
    failures_a: list[Failure] = field(default_factory=list)
    failures_b: list[Failure] = field(default_factory=list)

    def fail(self, a: object, b: object) -> None:
        """Keeps those of two answers that are failures."""
        if isinstance(a, Failure):
            self.failures_a.append(a)
        if isinstance(b, Failure):
            self.failures_b.append(b)

    def keep(self, mismatch: Mismatch) -> None:
        """Keeps a difference, if it is plainer than the one there is."""
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
        if type(a) is Own and type(b) is Own:
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
                outcome.alone += type(x) is not type(y)
                continue
            outcome.compared += 1
            if x != y:
                outcome.keep(Mismatch(mode, texts[place], tuple(x), tuple(y)))
            elif x != agreed[place] and mode.decodes:
                decoded.append(place)
        # What ids decode to does not depend on the mode.
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


BUDGET = 2_000
"""How many short texts both sides are asked for at most; a long text counts once per 1,000
characters."""

_RADII = (32, 512, 8192)
_PAIRS = 24
"""Characters of a text up to which any two of them are left out together as well."""
_SIMPLE = "ab0 .A1'\n\u00e9\u4e2d"
"""Characters from the simplest on; all others are less simple, in order of their code points."""


def shrink(a: Engine, b: Engine, text: str, mode: Mode, budget: int = BUDGET) -> Mismatch:
    """Makes a text on which two sides differ as small as it goes.

    No character can be left out of the result without the difference vanishing, and none be
    replaced by a simpler one without a side giving more ids or fewer, unless the budget ended
    before. Where the ids of the text differ, those of the result do; where only what they decode
    to differs, so does the result. It depends on the text and on the sides only.

    Raises:
        BpeInteropError: a side has no answer for the text itself.
    """
    probe = _Probe(a, b, mode, budget)
    mismatch = probe.begin(text)
    if mismatch is None:  # a side that does not answer twice alike
        return _as_it_is(a, b, text, mode)
    mismatch = _narrow(probe, mismatch, first_difference(a, mismatch))
    while probe.budget > 0:
        before = mismatch.text
        mismatch = _simplify(probe, _cut_pairs(probe, _cut(probe, mismatch)))
        if mismatch.text == before:
            break
    return mismatch


class _Probe:
    """Asks both sides, and keeps account of it. ``decoding`` is what kind of difference counts."""

    def __init__(self, a: Engine, b: Engine, mode: Mode, budget: int) -> None:
        self.a, self.b, self.mode, self.budget = a, b, mode, budget
        self.decoding = False

    def begin(self, text: str) -> Mismatch | None:
        """The difference to be kept."""
        mismatch = self._ask(text)
        self.decoding = mismatch is not None and mismatch.decoding is not None
        return mismatch

    def __call__(self, text: str) -> Mismatch | None:
        """The difference on a text; None where there is none of this kind, or no more budget."""
        if self.budget <= 0:
            return None
        self.budget -= 1 + len(text) // 1000
        mismatch = self._ask(text)
        if mismatch is None or (mismatch.decoding is not None) != self.decoding:
            return None
        return mismatch

    def _ask(self, text: str) -> Mismatch | None:
        x, y = encode_one(self.a, text, self.mode), encode_one(self.b, text, self.mode)
        if isinstance(x, Failure) or isinstance(y, Failure):
            return None
        if x != y:
            return Mismatch(self.mode, text, tuple(x), tuple(y))
        if not self.mode.decodes:
            return None
        one, two = decode(self.a, x, text), decode(self.b, y, text)
        if isinstance(one, Failure) or isinstance(two, Failure) or one == two:
            return None
        return Mismatch(self.mode, text, tuple(x), tuple(y), (one, two))


def _as_it_is(a: Engine, b: Engine, text: str, mode: Mode) -> Mismatch:
    left, right = (
        side.encode(text, special=mode.special, add_special_tokens=mode.add_special_tokens)
        for side in (a, b)
    )
    return Mismatch(mode, text, tuple(left), tuple(right))


def first_difference(side: Engine, mismatch: Mismatch) -> int:
    """About how many characters of the text stand before the first token that differs.

    Exact where what the common tokens decode to begins the text.
    """
    one, two = mismatch.decoding or (mismatch.ids_a, mismatch.ids_b)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    if mismatch.decoding is None:
        decoded = decode(side, mismatch.ids_a[:common], mismatch.text)
        # Common tokens may end inside a character.
        common = 0 if isinstance(decoded, Failure) else len(decoded.rstrip("\ufffd"))
    return min(common, len(mismatch.text))


def _narrow(probe: _Probe, mismatch: Mismatch, place: int) -> Mismatch:
    """The difference on the text around a place, where it is there still."""
    for radius in _RADII:
        part = mismatch.text[max(0, place - radius) : place + radius]
        if len(part) < len(mismatch.text) and (smaller := probe(part)) is not None:
            return smaller
    return mismatch


def _cut(probe: _Probe, mismatch: Mismatch) -> Mismatch:
    """Leaves out runs of characters: halves, quarters ..., at last single ones."""
    size = max(1, len(mismatch.text) // 2)
    while True:
        start, cut = 0, False
        while start < len(mismatch.text) and probe.budget > 0:
            smaller = probe(mismatch.text[:start] + mismatch.text[start + size :])
            if smaller is None:
                start += size
            else:
                mismatch, cut = smaller, True
        if (size == 1 and not cut) or probe.budget <= 0:
            return mismatch
        size = max(1, size // 2)


def _cut_pairs(probe: _Probe, mismatch: Mismatch) -> Mismatch:
    """Leaves out two characters of a short text together: neither goes alone by now."""
    if not 2 < len(mismatch.text) <= _PAIRS:
        return mismatch
    for one, two in combinations(range(len(mismatch.text)), 2):
        text = mismatch.text
        smaller = probe(text[:one] + text[one + 1 : two] + text[two + 1 :])
        if smaller is not None:
            return smaller
    return mismatch


def _simplify(probe: _Probe, mismatch: Mismatch) -> Mismatch:
    """Replaces characters by simpler ones: all that are alike at once, then each alone.

    Each side keeps its number of ids, so that it stays the same difference: one between splits
    does not become one between numbers.
    """
    for char in sorted(set(mismatch.text), key=_strangeness, reverse=True):
        texts = (mismatch.text.replace(char, simple) for simple in _simpler(char))
        mismatch = _first(probe, mismatch, texts)
    for place in range(len(mismatch.text)):
        head, char, tail = mismatch.text[:place], mismatch.text[place], mismatch.text[place + 1 :]
        mismatch = _first(probe, mismatch, (head + simple + tail for simple in _simpler(char)))
    return mismatch


def _first(probe: _Probe, mismatch: Mismatch, texts: Iterable[str]) -> Mismatch:
    """The first text that gives a difference of the same shape; else the one there was."""
    for text in texts:
        simpler = probe(text)
        if simpler is not None and _shape(simpler) == _shape(mismatch):
            return simpler
    return mismatch


def _shape(mismatch: Mismatch) -> tuple[int, int]:
    return len(mismatch.ids_a), len(mismatch.ids_b)


def _strangeness(char: str) -> int:
    at = _SIMPLE.find(char)
    return at if at >= 0 else len(_SIMPLE) + ord(char)


def _simpler(char: str) -> str:
    return _SIMPLE[: _strangeness(char)]


Decoded: TypeAlias = tuple[str | None, str | None]


class Pair(Protocol):
    """Two sides of a comparison."""

    def compare(self, texts: list[str]) -> list[Answers]:
        """What becomes of each text."""
        ...

    def shrink(self, text: str, mode: Mode) -> Mismatch | None:
        """A smaller text on which the sides differ; None where a side did not survive it."""
        ...

    def decode(self, sequences: list[tuple[int, ...]]) -> list[Decoded]:
        """What each side makes of ids; None where it fails on them."""
        ...

    def close(self) -> None:
        """Ends what was begun."""
        ...


class LocalPair:
    """Two sides in this process."""

    def __init__(self, a: Engine, b: Engine, modes: Sequence[Mode]) -> None:
        self.a, self.b, self.modes = a, b, modes

    def compare(self, texts: list[str]) -> list[Answers]:
        """What becomes of each text."""
        outcomes = compare_texts(self.a, self.b, texts, self.modes)
        for outcome in outcomes:
            if outcome.mismatch is not None:
                outcome.common = first_difference(self.a, outcome.mismatch)
        return outcomes

    def shrink(self, text: str, mode: Mode) -> Mismatch | None:
        """A smaller text on which the sides differ."""
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


_CHUNK = 256


@dataclass(slots=True)
class Tally:
    """What a comparison did and found.

    ``texts`` and ``bytes`` were given to both sides; on ``compared`` of the texts both sides
    answered, at least in one mode, and on ``differing`` of them they did not agree. ``alone``
    counts the times that one side failed and the other did not. ``interrupted`` says that Ctrl-C
    ended it before its texts did. ``whole`` is the text that ``mismatch`` was made small from.
    """

    texts: int = 0
    bytes: int = 0
    compared: int = 0
    alone: int = 0
    differing: int = 0
    mismatch: Mismatch | None = None
    whole: str | None = None
    failures: list[Failure] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)
    interrupted: bool = False

    def see(self, mismatch: Mismatch) -> None:
        """Keeps a difference, if it is plainer than the one there is."""
        self.mismatch = min(filter(None, (self.mismatch, mismatch)), key=oddness)


def ask_both(
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
    pair = LocalPair(a, b, modes)
    _count(tally, pair, (a.name, b.name), texts, tick, patience)
    _shrink(tally, pair)
    return tally


def compare_in(
    pair: Pair,
    names: tuple[str, str],
    texts: Iterable[str],
    modes: Sequence[Mode],
    tick: Callable[[int], None] = lambda count: None,
    patience: int = sys.maxsize,
) -> Tally:
    """As :func:`ask_both`, wherever the two sides run; on Ctrl-C it gives what was done so far.

    Args:
        pair: the two sides.
        names: what failures call them.
        texts: what they are asked for.
        modes: how they are asked.
        tick: called with the number of texts compared since the last call.
        patience: how often one side alone may fail.
    """
    tally = Tally(modes=list(modes))
    try:
        _count(tally, pair, names, texts, tick, patience)
    except KeyboardInterrupt:
        tally.interrupted = True
    try:
        _shrink(tally, pair)
    except KeyboardInterrupt:
        tally.interrupted = True
    return tally


def _count(
    tally: Tally,
    pair: Pair,
    names: tuple[str, str],
    texts: Iterable[str],
    tick: Callable[[int], None],
    patience: int,
) -> None:
    """Counts what becomes of the texts, chunk by chunk."""
    for chunk in _chunks(texts):
        outcomes = pair.compare(chunk)
        tally.texts += len(chunk)
        tally.bytes += sum(len(text.encode("utf-8", "surrogatepass")) for text in chunk)
        for text, outcome in zip(chunk, outcomes, strict=True):
            tally.compared += outcome.compared > 0
            tally.alone += outcome.alone
            for name, failed in zip(names, (outcome.failures_a, outcome.failures_b), strict=True):
                # A side that was killed could not say on which text.
                tally.failures += [replace(f, side=name, text=f.text or text) for f in failed]
            if outcome.mismatch is not None:
                tally.differing += 1
                tally.see(outcome.mismatch)
        tick(len(chunk))
        if tally.alone >= patience:
            return


def _shrink(tally: Tally, pair: Pair) -> None:
    mismatch = tally.mismatch
    if mismatch is not None:
        tally.whole = mismatch.text
        tally.mismatch = pair.shrink(mismatch.text, mismatch.mode) or mismatch


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while chunk := list(islice(stream, _CHUNK)):
        yield chunk


def first_stage(a: Encoder, b: Encoder, text: str, mode: Mode) -> str:
    """The first stage at which two models treat a text differently.

    Of a stage whose steps neither can take over from the other, that is where these differ.
    """
    plain = a.encode(text) != b.encode(text)
    if not plain and mode.special == "parse":
        parsed = a.encode(text, "all") != b.encode(text, "all")
        return "sequence template" if mode.add_special_tokens and not parsed else "special tokens"
    perhaps = ""  # steps that differ on the text, though they alone change no ids
    if a.normalize(text) != b.normalize(text):
        perhaps = "normalizer"
        changed = changed_by(a.model, b.model, "normalizer")
        if changed is None or changed(text):
            return perhaps
    left = a.pretokenize(text)
    if left != b.pretokenize(text):
        perhaps = perhaps or "pre-tokenizer"
        changed = changed_by(a.model, b.model, "pretokenizer")
        if changed is None or changed(text):
            return "pre-tokenizer"
    for pretoken in left:
        content = pretoken.encode("utf-8") if isinstance(pretoken, str) else pretoken
        try:
            x, y = a.encode_pretoken(content), b.encode_pretoken(content)
        except EncodeError:
            return perhaps or "core"
        if x != y:
            same = [a.token_bytes(i) for i in x] == [b.token_bytes(i) for i in y]
            return "ids" if same else "core"
    return perhaps or "added tokens"
