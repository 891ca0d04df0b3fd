"""Makes a difference small: parts cut out, characters made simple, while the sides still differ."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, takewhile

from ..engines import Engine
from .sides import Failure, Mismatch, Mode, decode, encode_one

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
    found = probe.begin(text)
    if found is None:  # a side that does not answer twice alike
        return _as_it_is(a, b, text, mode)
    found = _narrow(probe, found, first_difference(a, found))
    while probe.budget > 0:
        before = found.text
        found = _simplify(probe, _cut_pairs(probe, _cut(probe, found)))
        if found.text == before:
            break
    return found


class _Probe:
    """Asks both sides, and keeps account of it. ``decoding`` is what kind of difference counts."""

    def __init__(self, a: Engine, b: Engine, mode: Mode, budget: int) -> None:
        self.a, self.b, self.mode, self.budget = a, b, mode, budget
        self.decoding = False

    def begin(self, text: str) -> Mismatch | None:
        """The difference to be kept."""
        found = self._ask(text)
        self.decoding = found is not None and found.decoding is not None
        return found

    def __call__(self, text: str) -> Mismatch | None:
        """The difference on a text; None where there is none of this kind, or no more budget."""
        if self.budget <= 0:
            return None
        self.budget -= 1 + len(text) // 1000
        found = self._ask(text)
        if found is None or (found.decoding is not None) != self.decoding:
            return None
        return found

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


def first_difference(side: Engine, found: Mismatch) -> int:
    """About how many characters of the text stand before the first token that differs.

    Exact where what the common tokens decode to begins the text.
    """
    one, two = found.decoding or (found.ids_a, found.ids_b)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False)))
    if found.decoding is None:
        said = decode(side, found.ids_a[:common], found.text)
        # Common tokens may end inside a character.
        common = 0 if isinstance(said, Failure) else len(said.rstrip("\ufffd"))
    return min(common, len(found.text))


def _narrow(probe: _Probe, found: Mismatch, place: int) -> Mismatch:
    """The difference on the text around a place, where it is there still."""
    for radius in _RADII:
        part = found.text[max(0, place - radius) : place + radius]
        if len(part) < len(found.text) and (smaller := probe(part)) is not None:
            return smaller
    return found


def _cut(probe: _Probe, found: Mismatch) -> Mismatch:
    """Leaves out runs of characters: halves, quarters ..., at last single ones."""
    size = max(1, len(found.text) // 2)
    while True:
        start, cut = 0, False
        while start < len(found.text) and probe.budget > 0:
            smaller = probe(found.text[:start] + found.text[start + size :])
            if smaller is None:
                start += size
            else:
                found, cut = smaller, True
        if (size == 1 and not cut) or probe.budget <= 0:
            return found
        size = max(1, size // 2)


def _cut_pairs(probe: _Probe, found: Mismatch) -> Mismatch:
    """Leaves out two characters of a short text together: neither goes alone by now."""
    if not 2 < len(found.text) <= _PAIRS:
        return found
    for one, two in combinations(range(len(found.text)), 2):
        text = found.text
        smaller = probe(text[:one] + text[one + 1 : two] + text[two + 1 :])
        if smaller is not None:
            return smaller
    return found


def _simplify(probe: _Probe, found: Mismatch) -> Mismatch:
    """Replaces characters by simpler ones: all that are alike at once, then each alone.

    Each side keeps its number of ids, so that it stays the same difference: one between splits
    does not become one between numbers.
    """
    for char in sorted(set(found.text), key=_oddness, reverse=True):
        texts = (found.text.replace(char, simple) for simple in _simpler(char))
        found = _first(probe, found, texts)
    for place in range(len(found.text)):
        head, char, tail = found.text[:place], found.text[place], found.text[place + 1 :]
        found = _first(probe, found, (head + simple + tail for simple in _simpler(char)))
    return found


def _first(probe: _Probe, found: Mismatch, texts: Iterable[str]) -> Mismatch:
    """The first text that gives a difference of the same shape; else the one there was."""
    for text in texts:
        simpler = probe(text)
        if simpler is not None and _shape(simpler) == _shape(found):
            return simpler
    return found


def _shape(found: Mismatch) -> tuple[int, int]:
    return len(found.ids_a), len(found.ids_b)


def _oddness(char: str) -> int:
    at = _SIMPLE.find(char)
    return at if at >= 0 else len(_SIMPLE) + ord(char)


def _simpler(char: str) -> str:
    return _SIMPLE[: _oddness(char)]
