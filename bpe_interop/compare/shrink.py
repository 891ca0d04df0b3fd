"""Makes a text on which two sides differ small."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from ..diff.settings import alike
from ..engines import Engine
from .sides import Failure, Mismatch, Mode, decode, difference_on

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
        mismatch = difference_on(text, self.mode, self.a, self.b)
        self.decoding = mismatch is not None and mismatch.decoding is not None
        return mismatch

    def __call__(self, text: str) -> Mismatch | None:
        """The difference on a text; None where there is none of this kind, or no more budget."""
        if self.budget <= 0:
            return None
        self.budget -= 1 + len(text) // 1000
        mismatch = difference_on(text, self.mode, self.a, self.b)
        # A difference between ids must not become one between what equal ids decode to, nor the
        # other way round.
        if mismatch is None or (mismatch.decoding is not None) != self.decoding:
            return None
        return mismatch


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
    common = alike(one, two)
    if mismatch.decoding is None:
        decoded = decode(side, mismatch.ids_a[:common], mismatch.text)
        # Common tokens may end inside a character.
        common = 0 if isinstance(decoded, Failure) else len(decoded.rstrip("\ufffd"))
    return min(common, len(mismatch.text))


def _narrow(probe: _Probe, mismatch: Mismatch, place: int) -> Mismatch:
    """The difference on the text around a place, where it is there still."""
    # From the smallest window on: the first that still shows the difference is taken.
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
