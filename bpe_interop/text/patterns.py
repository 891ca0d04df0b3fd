"""Regular expressions of pre-tokenizers: read, compared, written for another engine, matched.

Three dialects write much alike and mean some of it differently; see text/pattern_parser.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

from ..errors import PatternError
from ..steps import Dialect, Pattern, Split
from .charsets import Chars
from .matcher import Matcher, as_installed, python_source
from .misreadings import why_undecided
from .pattern_emitter import emit
from .pattern_parser import parse
from .regex_syntax import Node, leaves
from .spellings import FAMILIES, spaces_never_join, trees

__all__ = [
    "Matcher",
    "as_run",
    "asks_other_tables",
    "emit",
    "has_other_tables",
    "is_misread",
    "parse",
    "preferred",
    "same",
    "spaces_never_join",
    "translate",
]


def same(a: Pattern, b: Pattern) -> bool:
    """Whether two patterns are one tree, spelling and dialect aside.

    True means that they match alike wherever their engines' tables agree. Different trees may
    match alike too: theory/automata.py decides that.

    Raises:
        PatternError: one of them is not understood.
    """
    return a == b or (parse(a) == parse(b) and is_misread(a) == is_misread(b))


@lru_cache(maxsize=64)
def has_other_tables(pattern: Pattern) -> bool:
    """Whether a pattern is matched with other Unicode tables than the shipped ones.

    That is one of Python's ``regex`` that asks for a class of characters.
    """
    if pattern.dialect != "python":
        return False
    try:
        return not all(isinstance(one, Chars) for one in leaves(parse(pattern)))
    except PatternError:
        return True  # not understood, so it may ask for anything


@lru_cache(maxsize=64)
def is_misread(pattern: Pattern) -> bool:
    """Whether a pattern is one of Python's ``regex`` that it may match otherwise than it says."""
    try:
        return pattern.dialect == "python" and bool(why_undecided(pattern.source, parse(pattern)))
    except PatternError:
        return True  # not understood, so it may be misread


def asks_other_tables(step: object) -> bool:
    """Whether a step is a splitter by a pattern with other tables, or by a misread one."""
    pattern = step.pattern if isinstance(step, Split) else ""
    return isinstance(pattern, Pattern) and (has_other_tables(pattern) or is_misread(pattern))


def as_run(pattern: Pattern) -> Node:
    """The tree of a pattern, its classes as its engine has them: those of Python as installed.

    Raises:
        PatternError: it is not understood, or ``regex`` matches otherwise than the tree says.
    """
    if pattern.dialect != "python":
        return parse(pattern)
    node = parse(pattern)
    reason = why_undecided(pattern.source, node)
    if reason:
        raise PatternError(f"not decided: {reason}")
    return as_installed(node)


def translate(pattern: Pattern, dialect: Dialect) -> Pattern:
    """The pattern in another dialect, in its own spelling where that means the same there.

    Raises:
        PatternError: the pattern is not understood, or the dialect cannot say it.
    """
    if pattern.dialect == dialect:
        return pattern
    node = parse(pattern)
    if dialect == "python":
        return Pattern(python_source(pattern, node), dialect)
    copy = Pattern(pattern.source, dialect)
    if _parsed(copy) == node:
        return copy
    return Pattern(emit(node, dialect), dialect)


def preferred(
    pattern: Pattern,
    dialect: Dialect,
    *,
    vocabulary: Iterable[bytes] | None = None,
    unreachable: Callable[[], Iterable[bytes]] | None = None,
) -> Pattern:
    """The pattern in the spelling that most engines recognise, of those proved equal to it.

    Equal for every text; or, with ``vocabulary`` (all tokens) and ``unreachable`` (gives those
    of them that are found only because whole pretokens are looked up; called only where it
    matters), equal in the tokens that this vocabulary gives. Without both only the former is
    used. A pattern of no known family is translated.

    Raises:
        PatternError: the pattern is not understood, or the dialect cannot say it.
    """
    node = parse(pattern)
    for family in FAMILIES:
        best, equal, trailing = trees(family)
        known = node == best or node in equal
        if not known and node in trailing and vocabulary is not None and unreachable is not None:
            known = spaces_never_join(vocabulary, unreachable())
        if known:
            return Pattern(family.preferred, dialect)
    return translate(pattern, dialect)


def _parsed(pattern: Pattern) -> Node | None:
    try:
        return parse(pattern)
    except PatternError:
        return None  # not the same tree, then
