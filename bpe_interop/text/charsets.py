r"""Sets of characters, as a character class or a property names them, kept in one shape.

Intersections, negations and nesting are rewritten into unions and complements, so that two
spellings of one class are mostly the same value: ``[\p{L}]`` and ``\p{L}``, ``[^\S]`` and
``\s``, ``(?i:s)`` and ``[Ss\u017f]``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeAlias, Union

from . import unicode
from .unicode import LAST, Ranges


@dataclass(frozen=True, slots=True)
class Chars:
    """Code points, as merged ranges."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Property:
    """All code points that have a Unicode property (or have it not); see text/unicode.py."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The union of two or more sets: at most one of them Chars, in a fixed order."""

    parts: tuple[CharSet, ...]


@dataclass(frozen=True, slots=True)
class NoneOf:
    """The complement of a union."""

    parts: tuple[CharSet, ...]


CharSet: TypeAlias = Union[Chars, Property, AnyOf, NoneOf]

EVERYTHING = Chars(((0, LAST),))
NOTHING = Chars(())


def chars(text: str) -> Chars:
    return Chars(unicode.merge((ord(c), ord(c)) for c in text))


def negate(charset: CharSet) -> CharSet:
    if isinstance(charset, Chars):
        return Chars(unicode.complement(charset.ranges))
    if isinstance(charset, Property):
        return Property(charset.name, not charset.negated)
    if isinstance(charset, AnyOf):
        return NoneOf(charset.parts)
    return AnyOf(charset.parts)


def unite(charsets: Iterable[CharSet]) -> CharSet:
    """The union of sets."""
    ranges: list[tuple[int, int]] = []
    others: set[CharSet] = set()
    pending = list(charsets)
    while pending:
        charset = pending.pop()
        if isinstance(charset, Chars):
            ranges.extend(charset.ranges)
        elif isinstance(charset, AnyOf):
            pending.extend(charset.parts)
        else:
            others.add(charset)
    listed = Chars(unicode.merge(ranges))
    if listed == EVERYTHING or any(negate(part) in others for part in others):
        return EVERYTHING
    # In one order, so that equal unions are equal values.
    parts = sorted(others, key=repr)
    if listed.ranges:
        parts.append(listed)
    if len(parts) == 1:
        return parts[0]
    return AnyOf(tuple(parts)) if parts else NOTHING


def intersect(left: CharSet, right: CharSet) -> CharSet:
    # As a complement of a union, so that sets keep one shape.
    return negate(unite((negate(left), negate(right))))


def parts(charset: CharSet) -> Iterator[CharSet]:
    """The set and those that it is made of."""
    yield charset
    for part in charset.parts if isinstance(charset, AnyOf | NoneOf) else ():
        yield from parts(part)


@lru_cache(maxsize=1024)
def code_points(
    charset: CharSet, table: Callable[[str], Ranges] = unicode.property_ranges
) -> Ranges:
    """The code points of a set by a table of properties, the shipped ones by default.

    Surrogates count as category Cs.
    """
    if isinstance(charset, Chars):
        return charset.ranges
    if isinstance(charset, Property):
        ranges = table(charset.name)
        return unicode.complement(ranges) if charset.negated else ranges
    joined = unicode.merge(r for part in charset.parts for r in code_points(part, table))
    return joined if isinstance(charset, AnyOf) else unicode.complement(joined)


def case_closed(charset: CharSet) -> CharSet:
    """The set together with every other case of its members (simple case folding)."""
    orbits = unicode.case_orbits()
    inside = {code for first, last in code_points(charset) for code in _cased(first, last)}
    extra = {other for code in inside for other in orbits[code]} - inside
    return unite((charset, Chars(unicode.merge((code, code) for code in extra))))


def _cased(first: int, last: int) -> list[int]:
    codes = _cased_code_points()
    return codes[bisect_left(codes, first) : bisect_right(codes, last)]


@cache
def _cased_code_points() -> list[int]:
    return sorted(unicode.case_orbits())
