r"""What Python's ``regex`` (seen in 2026.11.15) matches otherwise than the pattern says.

1. It joins neighbouring alternatives of one character into one set, and takes two negated
   characters in a set for a character that is neither: ``[^a]|[^b]`` matches no ``a``. It joins
   the classes that may begin a match likewise.
2. A negated class with a property and its complement matches everything: ``[^\s\S]``.
3. Where a part that ignores case may begin a match, it checks the first character of the other
   ways to begin without regard to case too, and misses matches (``(?i:'s)?[^\p{Lu}k]+.`` does
   not match U+00E9 ``K``).

A class written as ranges, without a negation, is none of these; nor is ``(?!)`` with any
character after it, which matches nothing.
"""

from __future__ import annotations

import re

from ..errors import PatternError
from .charsets import NOTHING, Chars, CharSet, NoneOf, parts
from .class_parser import NOT_NEWLINE, ClassParser
from .regex_syntax import Node, leaves
from .unicode import complement

_IGNORES_CASE = re.compile(r"\(\?[sm]*i")
_BEGINS_ANYHOW = re.compile(rf"(?<!'){_IGNORES_CASE.pattern}")
"""Such a part where it may begin a match."""


def misread(source: str, node: Node) -> bool:
    """Whether ``regex`` may match the source of a tree otherwise than the tree says."""
    return bool(_IGNORES_CASE.search(source)) or _misreads_classes(source, node)


def why_undecided(source: str, node: Node) -> str:
    """Why the tree may not say what ``regex`` matches with a source of its own, if so."""
    if _BEGINS_ANYHOW.search(source):
        return "where (?i: begins a match, Python's regex misses some"
    if _misreads_classes(source, node):
        return "Python's regex takes negated classes that complement each other for other ones"
    return ""


def joins_negated(node: Node) -> bool:
    """Whether two sets of the tree are all characters but one, ``.`` aside."""
    sets = {part for one in leaves(node) for part in parts(one) if _spares_one(part)}
    return len(sets - {NOT_NEWLINE}) > 1


def _misreads_classes(source: str, node: Node) -> bool:
    if source.count("[^") > 1 and len(_negated_characters(source)) > 1:
        return True
    return any(map(_negates_everything, leaves(node)))


def _negated_characters(source: str) -> set[CharSet]:
    """The classes that the source writes as one negated character."""
    negated: set[CharSet] = set()
    for opening in re.finditer(r"\[\^", source):
        parser = ClassParser(source, "python")
        parser.at = opening.start()
        try:
            negated.add(parser.bracket(ignore_case=False))
        except PatternError:
            # What Python does not understand is no class of a pattern that it runs.
            continue
    return set(filter(_spares_one, negated))


def _negates_everything(charset: CharSet) -> bool:
    """Whether the set may be written as a negated class with a property and its complement."""
    nested = isinstance(charset, NoneOf) and any(isinstance(p, NoneOf) for p in charset.parts)
    return nested or charset == NOTHING


def _spares_one(charset: CharSet) -> bool:
    """Whether the set has all characters but one."""
    spared = complement(charset.ranges) if isinstance(charset, Chars) else ()
    return len(spared) == 1 and spared[0][0] == spared[0][1]
