"""Texts cut before spaces, where a pattern's matches begin anyway (Theorem 17).

A pattern after another character than white space often neither takes a space nor looks at what
follows. Then it matches what lies between such spaces as if each part were a text of its own,
and parts, which are mostly words, are met again.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from .charsets import code_points
from .regex_syntax import Alternation, Anchor, Atomic, Leaf, Look, Node, Repeat, Sequence
from .regex_syntax import matches_empty as can_be_empty
from .unicode import Ranges, property_ranges

_SPACE = 0x20

_Seen = frozenset[bool]
"""Whether a match may have gone over another character than white space by now, and may not."""


def words_of(text: str) -> list[str] | None:
    """What lies between the spaces of a text; None where a space follows white space."""
    within_ascii, beyond = _runs()
    if any(run in text for run in within_ascii):
        return None
    if not text.isascii() and any(run in text for run in beyond):
        return None
    return text.split(" ")


@cache
def _white() -> tuple[str, ...]:
    ranges = property_ranges("White_Space")
    return tuple(chr(code) for first, last in ranges for code in range(first, last + 1))


@cache
def _runs() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """White space and then a space: what has ASCII only, and the others."""
    runs = [f"{white} " for white in _white()]
    return tuple(filter(str.isascii, runs)), tuple(run for run in runs if not run.isascii())


def begins_at_spaces(node: Node) -> bool:
    """Whether a pattern matches on both sides of each such space as if these were texts.

    That is so if a match that has gone over another character than white space takes no space
    and asserts nothing, if what it asserts before is about one character ahead or about the end
    of the text, and if no match is empty.
    """
    try:
        _follow(node, frozenset({False}), {})
    except _GoesOnError:
        return False
    return not can_be_empty(node)


class _GoesOnError(Exception):
    """A match may depend on what stands on the other side of a space."""


def _follow(node: Node, seen: _Seen, known: dict[tuple[int, _Seen], _Seen]) -> _Seen:
    """What may be seen after a node; ``known`` keeps it, for repetitions ask again and again."""
    key = id(node), seen
    if key not in known:
        known[key] = _followed(node, seen, known)
    return known[key]


def _followed(node: Node, seen: _Seen, known: dict[tuple[int, _Seen], _Seen]) -> _Seen:
    if isinstance(node, Leaf):
        return _over(code_points(node.charset), seen)
    if isinstance(node, Sequence):
        for part in node.parts:
            seen = _follow(part, seen, known)
        return seen
    if isinstance(node, Alternation):
        return frozenset[bool]().union(*(_follow(option, seen, known) for option in node.options))
    if isinstance(node, Atomic):
        return _follow(node.part, seen, known)
    if isinstance(node, Repeat):
        reached = _follow(node.part, seen, known)
        if node.high != 1:
            # Whatever is seen can be seen after two more times.
            reached |= _follow(node.part, reached, known)
            reached |= _follow(node.part, reached, known)
        return reached if node.low else seen | reached
    if True in seen or not _looks_at_little(node):
        raise _GoesOnError
    return seen


def _looks_at_little(node: Look | Anchor) -> bool:
    """Whether an assertion is about the next character, or about the end of the text or line."""
    if isinstance(node, Anchor):
        return node.kind not in ("text_start", "line_start")
    return node.ahead and isinstance(node.part, Leaf)


def _over(ranges: Ranges, seen: _Seen) -> _Seen:
    """What is seen after one of these characters."""
    if True in seen and _contains(ranges, _SPACE):
        raise _GoesOnError
    inside = sum(_contains(ranges, ord(white)) for white in _white())
    every = sum(last - first + 1 for first, last in ranges)
    after = seen if inside else frozenset[bool]()
    return after | {True} if every > inside else after


def _contains(ranges: Ranges, code: int) -> bool:
    place = bisect_right(ranges, (code, 0x110000)) - 1
    return place >= 0 and code <= ranges[place][1]
