r"""Normalizer steps that write each character as another one, and runs of some as one.

Such are lower case and most replacements: CLIP's ``\s+`` by a space, then ``Lowercase``. Several
of them are again one (Theorem 36). The native kernel runs it (``native/src/character_maps.rs``);
the reference is ``normalize.py``, step by step.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..errors import PatternError
from ..steps import Lowercase, NormalizerStep, Pattern, Replace
from .charsets import CharSet, chars, code_points
from .patterns import has_other_tables, parse
from .regex_syntax import Leaf, Repeat
from .unicode import LAST, NEW_IN_16, SURROGATES, Ranges, property_ranges

_SAME, _CHANGED, _RUNS, _DOUBTFUL = 0, 1, 2, 255
_MOST = 4096
"""The most characters that one replacement may be of."""


class CharacterMap(NamedTuple):
    """What such steps do, as ``native/src/character_maps.rs`` reads it.

    Attributes:
        kinds: for each code point: whether it stays, is changed, is of which run, is doubtful.
        changed: a character and what it becomes, one after the other, in order.
        runs: what the characters of each run become, and a run of them too.
    """

    kinds: bytes
    changed: array[int]
    runs: array[int]


class _Change(NamedTuple):
    """One step: what characters become, whether runs of them do, and of which only engines tell."""

    images: Mapping[int, int]
    runs: bool = False
    doubtful: Ranges = ()


def is_character_map(step: NormalizerStep) -> bool:
    """Whether a step writes each character as one, but for some that are not ASCII."""
    return _change(step) is not None


def character_map(steps: Sequence[NormalizerStep]) -> CharacterMap:
    """Steps of this kind, one after the other, as one."""
    images: dict[int, int] = {}
    runs: dict[int, int] = {}
    doubtful: list[tuple[int, int]] = []
    to: list[int] = []
    for step in steps:
        change = _change(step)
        if change is None:
            raise TypeError(f"{step} is no map of characters")
        number = len(to)
        # A run of what is in this step's run becomes one, whatever steps before made of its
        # characters. These have made one of each of their own runs, all of it in this run or none.
        for code in {*images, *change.images}:
            before = images.get(code, code)
            images[code] = change.images.get(before, before)
            if change.runs and before in change.images:
                runs[code] = number
            doubted = (first <= before <= last for first, last in change.doubtful)
            if before != code and any(doubted):
                doubtful.append((code, code))
        to = [change.images.get(each, each) for each in to]
        if change.runs:
            to.append(next(iter(change.images.values())))
        doubtful += change.doubtful
    kinds, changed = bytearray(LAST + 1), array("I")
    for code, image in sorted(images.items()):
        if code in runs:
            kinds[code] = _RUNS + runs[code]
        elif image != code:
            kinds[code] = _CHANGED
            changed.extend((code, image))
    for first, last in doubtful:
        kinds[first : last + 1] = bytes([_DOUBTFUL]) * (last + 1 - first)
    return CharacterMap(bytes(kinds), changed, array("I", to))


@lru_cache(maxsize=64)
def _change(step: NormalizerStep) -> _Change | None:
    if isinstance(step, Lowercase):
        return _lower()
    if not isinstance(step, Replace) or len(step.content) != 1:
        return None
    found = _replaced(step.pattern)
    if found is None:
        return None
    charset, runs = found
    ranges = code_points(charset)
    to = ord(step.content)
    if sum(last + 1 - first for first, last in ranges) > _MOST or not ranges:
        return None
    codes = [code for first, last in ranges for code in range(first, last + 1)]
    # The kernel has a table of bytes for ASCII, and no surrogates.
    if (codes[0] < 128 <= to) or any(_is_surrogate(code) for code in (*codes, to)):
        return None
    return _Change(dict.fromkeys(codes, to), runs)


def _replaced(pattern: Pattern | str) -> tuple[CharSet, bool] | None:
    """The characters of which each is replaced, or each longest run is (True)."""
    if isinstance(pattern, str):
        if len(pattern) != 1:
            return None
        return chars(pattern), False
    try:
        node = None if has_other_tables(pattern) else parse(pattern)
    except PatternError:
        return None
    if isinstance(node, Leaf):
        return node.charset, False
    if not isinstance(node, Repeat) or not isinstance(node.part, Leaf):
        return None
    longest = (node.low, node.high) == (1, None) and node.mode != "lazy"
    return (node.part.charset, True) if longest else None


def _is_surrogate(code: int) -> bool:
    return SURROGATES[0] <= code <= SURROGATES[1]


def _lower() -> _Change:
    """Lower case as all engines have it: pairs of letters stay, once Unicode has them.

    Which it has depends on the Unicode version that an engine was built with, and Python's may be
    older. So it is doubtful what is made of new characters, and of those that are none yet.
    """
    images: dict[int, int] = {}
    doubtful = [*NEW_IN_16, *property_ranges("Cn")]
    for first, last in property_ranges("Changes_When_Lowercased"):
        for code in range(first, last + 1):
            lower = chr(code).lower()
            if len(lower) == 1 and ord(lower) != code:
                images[code] = ord(lower)
            else:
                doubtful.append((code, code))
    return _Change(images, doubtful=tuple(doubtful))
