"""Regular expressions as trees that mean the same in every dialect.

The constructors (:func:`sequence`, :func:`alternation`, :func:`repeat`, :func:`atomic`) keep
trees in one shape; use them instead of the classes. Meaning is that of a backtracking matcher:
alternatives and repetitions are tried in order, and the first way through wins. Groups capture
nothing: no construct that could refer to one is accepted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

from ..steps import Dialect, no_branch
from .charsets import CharSet

Mode: TypeAlias = Literal["greedy", "lazy", "possessive"]
AnchorKind: TypeAlias = Literal["text_start", "text_end", "line_start", "line_end", "final_newline"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One character out of a set."""

    charset: CharSet


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other; none at all matches the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The first alternative that leads to a match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """``part`` at least ``low`` and at most ``high`` times (None: without end)."""

    part: Node
    low: int
    high: int | None
    mode: Mode = "greedy"


@dataclass(frozen=True, slots=True)
class Atomic:
    """A part that is not entered again once it has matched."""

    part: Node


@dataclass(frozen=True, slots=True)
class Look:
    """Whether a part matches here, ahead or behind, consuming nothing."""

    part: Node
    ahead: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class Anchor:
    r"""A position: the ends of the text, of a line (``\n`` alone ends one).

    ``line_start`` is after every newline and at the text's start, ``line_end`` before every
    newline and at the text's end, ``final_newline`` at the text's end and before a newline that
    is the last character.
    """

    kind: AnchorKind


Node: TypeAlias = Union[Leaf, Sequence, Alternation, Repeat, Atomic, Look, Anchor]


def sequence(parts: Iterable[Node]) -> Node:
    """Parts in order; nested sequences are joined, a single part stands alone."""
    flat: list[Node] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Sequence) else (part,))
    return flat[0] if len(flat) == 1 else Sequence(tuple(flat))


def alternation(options: Iterable[Node]) -> Node:
    """Options in order; nested alternations are joined, a single option stands alone."""
    flat: list[Node] = []
    for option in options:
        flat.extend(option.options if isinstance(option, Alternation) else (option,))
    return flat[0] if len(flat) == 1 else Alternation(tuple(flat))


def repeat(part: Node, low: int, high: int | None, mode: Mode = "greedy") -> Node:
    """A repetition; where the count is fixed and one character long the mode means nothing."""
    if high == 0:
        return Sequence(())
    if low == high and (isinstance(part, Leaf) or mode == "lazy"):
        mode = "greedy"
    if low == high == 1:
        return atomic(part) if mode == "possessive" else part
    return Repeat(part, low, high, mode)


def atomic(part: Node) -> Node:
    """An atomic group; around a repetition it is the possessive repetition."""
    if isinstance(part, Repeat):
        if part.mode == "greedy":
            return repeat(part.part, part.low, part.high, "possessive")
        if part.mode == "possessive":
            return part
    return part if isinstance(part, Leaf | Atomic | Look | Anchor) else Atomic(part)


def children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Sequence):
        return node.parts
    if isinstance(node, Alternation):
        return node.options
    if isinstance(node, Repeat | Atomic | Look):
        return (node.part,)
    if isinstance(node, Leaf | Anchor):
        return ()
    raise no_branch(node)


def steps(node: Node) -> int:
    """How many characters and assertions a node has once its counts are written out."""
    if isinstance(node, Repeat):
        return steps(node.part) * max(1, node.low, node.high or 0)
    return sum(map(steps, children(node))) + (not isinstance(node, Sequence))


def leaves(node: Node) -> Iterable[CharSet]:
    """The set of every leaf, from left to right, those of assertions included."""
    if isinstance(node, Leaf):
        yield node.charset
    for child in children(node):
        yield from leaves(child)


def matches_empty(node: Node) -> bool:
    """Whether the node can match without consuming a character."""
    if isinstance(node, Leaf):
        return False
    if isinstance(node, Sequence):
        return all(map(matches_empty, node.parts))
    if isinstance(node, Alternation):
        return any(map(matches_empty, node.options))
    if isinstance(node, Repeat):
        return node.low == 0 or matches_empty(node.part)
    if isinstance(node, Look | Anchor):
        return True
    return matches_empty(node.part)


def consumes(node: Node) -> bool:
    """Whether every way through the node can match a character; assertions cannot.

    Oniguruma repeats nothing else.
    """
    if isinstance(node, Look | Anchor):
        return False
    if isinstance(node, Alternation):
        return all(map(consumes, node.options))
    return isinstance(node, Leaf) or any(map(consumes, children(node)))


def can_look_behind(node: Node, dialect: Dialect, source: str = "") -> bool:
    """Whether the dialect's engine can look behind for the node, and Python's alike.

    fancy-regex can where the node has one length, and where nothing in it asserts or is atomic;
    Oniguruma where nothing in it looks further or asks for the end of the text, and where its
    counts do not let it be empty. Both match forwards, and Python's ``regex`` backwards, so what
    is atomic must have one length.

    ``source`` is the node as it is written: what is atomic may mean nothing, and is no part of
    the node then; fancy-regex refuses it all the same.
    """
    if dialect == "fancy-regex":
        atomic = _ATOMIC.search(source)
        if atomic and _NEVER.search(source):
            return False
        return _width(node) is not None or (_plain(node) and not atomic)
    return dialect == "python" or not (_looks(node) or _may_be_nothing(node))


_ATOMIC = re.compile(r"[*+?}]\+|\(\?>")
_NEVER = re.compile(r"\{0(?:,0)?\}")


def _may_be_nothing(node: Node) -> bool:
    """Whether counts let a node be empty; Oniguruma compiles not all lookbehinds of such."""
    if isinstance(node, Leaf | Look | Anchor):
        return False
    if isinstance(node, Repeat) and node.low == 0:
        return True
    if isinstance(node, Alternation):
        return any(map(_may_be_nothing, node.options))
    return all(map(_may_be_nothing, children(node)))


def _looks(node: Node) -> bool:
    """Whether there is in a node what Oniguruma does not look behind for, or not backwards."""
    if isinstance(node, Look) or (isinstance(node, Anchor) and node.kind in _ENDS):
        return True
    commits = isinstance(node, Atomic) or (isinstance(node, Repeat) and node.mode == "possessive")
    return (commits and _width(node) is None) or any(map(_looks, children(node)))


_ENDS = ("text_end", "final_newline")


def _width(node: Node) -> int | None:
    """The number of characters that the node matches, if it is always the same."""
    if isinstance(node, Leaf):
        return 1
    if isinstance(node, Look | Anchor):
        return 0
    widths = [_width(child) for child in children(node)]
    known = [width for width in widths if width is not None]
    if len(known) < len(widths):
        return None
    if isinstance(node, Sequence):
        return sum(known)
    if isinstance(node, Repeat):
        return known[0] * node.low if node.low == node.high else None
    return known[0] if len(set(known)) == 1 else None


def _plain(node: Node) -> bool:
    if isinstance(node, Atomic | Look | Anchor):
        return False
    if isinstance(node, Repeat) and node.mode == "possessive":
        return False
    return all(map(_plain, children(node)))
