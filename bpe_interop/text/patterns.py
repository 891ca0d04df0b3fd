"""Regular expressions of pre-tokenizers: read, compared, written for another engine, matched.

Three dialects write much alike and mean some of it differently; see text/pattern_parser.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..errors import PatternError
from ..steps import Dialect, Pattern
from .matching import Matcher
from .pattern_emitter import emit
from .pattern_parser import parse
from .regex_syntax import Node
from .spellings import FAMILIES, spaces_never_join, trees

__all__ = ["Matcher", "emit", "parse", "preferred", "same", "spaces_never_join", "translate"]


def same(a: Pattern, b: Pattern) -> bool:
    """Whether two patterns are one tree, spelling and dialect aside.

    True means that they match alike wherever their engines' tables agree. Different trees may
    match alike too: theory/automata.py decides that.

    Raises:
        PatternError: one of them is not understood.
    """
    return a == b or parse(a) == parse(b)


def translate(pattern: Pattern, dialect: Dialect) -> Pattern:
    """The pattern in another dialect, in its own spelling where that means the same there.

    Raises:
        PatternError: the pattern is not understood, or the dialect cannot say it.
    """
    if pattern.dialect == dialect:
        return pattern
    node = parse(pattern)
    copy = Pattern(pattern.source, dialect)
    # Older releases of Python's regex do not know the spelling \z.
    if _parsed(copy) == node and not (dialect == "python" and r"\z" in pattern.source):
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
        return None
