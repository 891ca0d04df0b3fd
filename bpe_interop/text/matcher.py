"""Matches a pattern in Python exactly as its own engine does, on every code point.

The work is done by ``regex``, whose Unicode tables are newer than the engines'. A text without
any of the code points that the pattern's classes take differently goes straight through. Any
other is matched on a copy in which each such code point is replaced by another one that
``regex`` takes, in every class of the pattern, for what the engine takes the original for. The
copy has the same length, so its matches are the text's. Where no such other code point exists,
the classes concerned are spelled out as ranges.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ..errors import PatternError
from ..limits import PATTERN_NESTING, PATTERN_SECONDS
from ..steps import Pattern, no_branch
from . import unicode
from .charsets import AnyOf, Chars, CharSet, Property, code_points, parts
from .misreadings import misread
from .pattern_emitter import emit
from .pattern_parser import parse
from .regex_syntax import (
    Alternation,
    Anchor,
    Atomic,
    Leaf,
    Look,
    Node,
    Repeat,
    Sequence,
    leaves,
    matches_empty,
)
from .spellings import is_known
from .unicode import Ranges

if TYPE_CHECKING:
    import regex

_CHARACTERS_PER_SECOND = 100_000


class Matcher:
    """Finds a pattern's matches in texts.

    For a pattern of ``fancy-regex`` or ``oniguruma`` they are those of that engine with the
    Unicode tables of ``text.unicode.UNICODE_TABLES``; for one of ``python``, those of the
    installed ``regex``. Matches do not overlap and are found from left to right; assertions see
    the whole text. An empty match is reported where the engine's iteration finds one: not at
    the end of the match before it (``regex`` itself does report it there). tiktoken then fails
    on empty matches, tokenizers ignores them.

    Raises:
        PatternError: the pattern is not understood.
    """

    def __init__(self, pattern: Pattern) -> None:
        self.pattern = pattern
        self._node = parse(pattern)
        own = pattern.dialect == "python"
        self._plain = compiled_by_regex(
            pattern.source if own else python_source(pattern, self._node)
        )
        self._empty = pattern.dialect != "python" and matches_empty(self._node)
        # Known patterns end on every text; regex is half as fast where it watches the clock.
        self._timed = not is_known(self._node)
        self._copy: _Copy | None = None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the matches start and end, in characters."""
        return self._spans(*self._prepared(text))

    def _prepared(self, text: str) -> tuple[regex.Pattern[str], str]:
        # In ASCII no tables differ; and a pattern of Python is matched by its own engine.
        if text.isascii() or self.pattern.dialect == "python":
            return self._plain, text
        copy = self._copy
        if copy is None:
            copy = self._copy = _copying(self._node)
        found = copy.changed_in(text)
        if not found:
            return self._plain, text
        return copy.compiled or self._plain, text.translate(copy.replacements(found))

    def _spans(self, compiled: regex.Pattern[str], text: str) -> list[tuple[int, int]]:
        try:
            if self._empty:
                return _with_empty(compiled, text, self._limit(text))
            limit = self._limit(text)
            return [match.span() for match in compiled.finditer(text, timeout=limit)]
        except TimeoutError:
            raise self._endless(text) from None

    def _limit(self, text: str) -> float | None:
        return PATTERN_SECONDS.most + len(text) / _CHARACTERS_PER_SECOND if self._timed else None

    def _endless(self, text: str) -> PatternError:
        return PatternError(
            f"matching {len(text)} characters did not end within {self._limit(text):.0f} seconds "
            f"(limit {PATTERN_SECONDS.name})",
            where=f"{self.pattern.dialect} pattern {self.pattern.source!r}",
            fix="the pattern backtracks without end on this text",
        )


def python_source(pattern: Pattern, node: Node) -> str:
    r"""The pattern for ``regex``: in its own spelling where that is read as the same tree.

    Never in one that ``regex`` misreads (text/misreadings.py), nor with ``\z``, which older
    releases of ``regex`` do not know.
    """
    own = not (r"\z" in pattern.source or misread(pattern.source, node))
    try:
        if own and parse(Pattern(pattern.source, "python")) == node:
            return pattern.source
    except PatternError:
        pass  # not read in that dialect, so it is written anew
    return emit(node, "python")


def _with_empty(
    compiled: regex.Pattern[str], text: str, limit: float | None
) -> list[tuple[int, int]]:
    """Iterates as fancy-regex and the onig crate do.

    After an empty match, or where one touches the match before it, the next search begins one
    character further (fancy-regex ``lib.rs`` and onig ``find.rs``, ``next``).
    """
    spans: list[tuple[int, int]] = []
    at, last = 0, -1
    while at <= len(text):
        match = compiled.search(text, at, timeout=limit)
        if match is None:
            break
        start, end = match.span()
        at = end + 1 if start == end else end
        if start == end == last:
            continue
        spans.append((start, end))
        last = end
    return spans


class _Copy:
    """How to copy a text so that ``regex`` matches it as the engine matches the original."""

    def __init__(self, node: Node) -> None:
        sets = sorted(set(leaves(node)), key=repr)
        spelled: dict[CharSet, CharSet] = {}
        changed: list[tuple[int, int]] = []
        while True:
            # A set for which nothing can stand in is spelled out as ranges. Then regex takes other
            # code points alike, so it is asked again, until nothing is missing.
            runs, alone, missing = _stand_ins([spelled.get(one, one) for one in sets])
            changed += [(first, last) for first, last, _ in runs] + alone
            if not missing:
                break
            spelled |= {sets[i]: Chars(code_points(sets[i])) for i in missing}
        # Runs: 17,000 code points of most patterns would take 4 MB in a dict and a set.
        self._runs = sorted(runs)
        self._changed = unicode.merge(changed)
        # A class with few ranges beyond U+FFFF is what re tests fast.
        basic = unicode.merge((a, min(b, 0xFFFF)) for a, b in self._changed if a <= 0xFFFF)
        self._suspects = re.compile(f"[{unicode.range_source((*basic, (0x10000, unicode.LAST)))}]")
        self.compiled = (
            compiled_by_regex(emit(_spelled_out(node, spelled), "python")) if spelled else None
        )

    def changed_in(self, text: str) -> list[int]:
        """The code points of a text that the engine and ``regex`` take differently."""
        codes = map(ord, set(self._suspects.findall(text)))
        return [code for code in codes if _in_ranges(self._changed, code)]

    def replacements(self, codes: list[int]) -> dict[int, int]:
        """What stands in for those that are not spelled out."""
        found: dict[int, int] = {}
        for code in codes:
            place = bisect_right(self._runs, (code, unicode.LAST + 1)) - 1
            if place >= 0 and code <= self._runs[place][1]:
                found[code] = self._runs[place][2]
        return found


@lru_cache(maxsize=64)
def _copying(node: Node) -> _Copy:
    return _Copy(node)


def _stand_ins(
    sets: list[CharSet],
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int]], set[int]]:
    """Runs of code points that the sets take differently, each with what stands in for them.

    Also the runs without a replacement, and the numbers of the sets to spell out for them.
    """
    inner = [part for one in sets for part in parts(one)]
    names = sorted({part.name for part in inner if isinstance(part, Property)})
    runs: list[tuple[int, int, int]] = []
    alone: list[tuple[int, int]] = []
    missing: set[int] = set()
    wanted: dict[tuple[bool, ...], list[tuple[int, int, tuple[bool, ...]]]] = {}
    known: dict[tuple[bool, ...], int] = {}
    for first, last, ours, theirs in _segments(names, sets):
        # How the engine takes the run, and how regex does. A code point that regex takes as the
        # engine takes this run can stand in for it.
        want = tuple(_contains(one, first, ours) for one in sets)
        have = tuple(_contains(one, first, theirs) for one in sets)
        known.setdefault(have, first)
        if want != have:
            wanted.setdefault(want, []).append((first, last, have))
    for want, segments in wanted.items():
        for first, last, have in segments:
            if want in known:
                runs.append((first, last, known[want]))
            else:
                alone.append((first, last))
                missing.update(i for i, flag in enumerate(want) if flag != have[i])
    return runs, alone, missing


def _segments(
    names: list[str], sets: list[CharSet]
) -> list[tuple[int, int, dict[str, bool], dict[str, bool]]]:
    """Runs of code points that nothing tells apart: what the engine and ``regex`` say of each."""
    ours = {name: unicode.property_ranges(name) for name in names}
    theirs = {name: _measured(name) for name in names}
    listed = [part.ranges for one in sets for part in parts(one) if isinstance(part, Chars)]
    tables = [*ours.values(), *theirs.values(), *listed, (unicode.SURROGATES,)]
    cuts = sorted({0} | {cut for table in tables for a, b in table for cut in (a, b + 1)})
    segments = []
    for first, after in zip(cuts, [*cuts[1:], unicode.LAST + 1], strict=True):
        if first > unicode.LAST or unicode.SURROGATES[0] <= first <= unicode.SURROGATES[1]:
            continue
        segments.append(
            (
                first,
                after - 1,
                {name: _in_ranges(ours[name], first) for name in names},
                {name: _in_ranges(theirs[name], first) for name in names},
            )
        )
    return segments


def _contains(charset: CharSet, code: int, properties: dict[str, bool]) -> bool:
    if isinstance(charset, Chars):
        return _in_ranges(charset.ranges, code)
    if isinstance(charset, Property):
        return properties[charset.name] != charset.negated
    inside = any(_contains(part, code, properties) for part in charset.parts)
    return inside == isinstance(charset, AnyOf)


def _in_ranges(ranges: Ranges, code: int) -> bool:
    place = bisect_right(ranges, (code, unicode.LAST)) - 1
    return place >= 0 and code <= ranges[place][1]


def as_installed(node: Node) -> Node:
    """The tree with each class as the ranges that it has in the installed ``regex``."""
    classes = {one for one in leaves(node) if not isinstance(one, Chars)}
    return _spelled_out(node, {one: Chars(code_points(one, _measured)) for one in classes})


@cache
def _measured(name: str) -> Ranges:
    """The code points that have a property in the installed ``regex``."""
    runs = compiled_by_regex(f"\\p{{{name}}}+").finditer(unicode.every_code_point())
    return tuple((first, after - 1) for first, after in (match.span() for match in runs))


def _spelled_out(node: Node, spelled: dict[CharSet, CharSet]) -> Node:
    """The tree with some sets replaced by others."""
    if isinstance(node, Leaf):
        return Leaf(spelled.get(node.charset, node.charset))
    if isinstance(node, Sequence):
        return Sequence(tuple(_spelled_out(part, spelled) for part in node.parts))
    if isinstance(node, Alternation):
        return Alternation(tuple(_spelled_out(option, spelled) for option in node.options))
    if isinstance(node, Repeat | Atomic | Look):
        return replace(node, part=_spelled_out(node.part, spelled))
    if isinstance(node, Anchor):
        return node
    raise no_branch(node)


@lru_cache(maxsize=256)
def compiled_by_regex(source: str) -> regex.Pattern[str]:
    """A pattern in Python's dialect, as minbpe compiles it.

    Raises:
        PatternError: ``regex`` refuses it.
    """
    import regex

    try:
        return regex.compile(source, regex.VERSION0)
    except RecursionError:
        # A pattern that is compiled before it is parsed, which is what sees to the limit.
        raise PatternError(
            PATTERN_NESTING.passed("the pattern"), where=f"python pattern {source!r}"
        ) from None
    except regex.error as error:
        raise PatternError(
            f"the pattern does not compile: {error}", where=f"python pattern {source!r}"
        ) from None
