"""Which contents a pre-tokenizer can yield as a whole pretoken.

Theorem 8 in ``docs/theory.md`` asks it of tokens that are looked up; one pattern is decided by
Theorem 11.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ..errors import PatternError
from ..steps import (
    ByteChars,
    Pattern,
    PreTokenizerStep,
    Split,
)

if TYPE_CHECKING:
    from ..text.regex_syntax import Node

UTF8_BYTES: frozenset[int] = frozenset(range(256)) - {0xC0, 0xC1} - frozenset(range(0xF5, 0x100))
"""The bytes that occur in UTF-8 (RFC 3629)."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """Whether a content can be a whole pretoken of some text: None is *not decided*.

    ``text`` is a text in which it is one, where that is known.
    """

    possible: bool | None
    text: str | None = None


def occurrence(steps: Sequence[PreTokenizerStep], content: bytes) -> Occurrence:
    """Decides whether ``content`` can be a whole pretoken.

    Decided for one split whose pattern has no lookbehind; otherwise only a text that shows it
    is looked for.
    """
    from ..text.split import split

    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return Occurrence(None if ByteChars() in steps else False)
    if not text:
        return Occurrence(False)
    for context in ("", " ", "a", "\n", "1", "."):
        if ByteChars() not in steps and split(steps, text + context)[0][:1] == [text]:
            return Occurrence(True, text + context)
    if not steps:
        return Occurrence(True, text)
    return _by_automaton(steps, text)


def can_occur(steps: Sequence[PreTokenizerStep], content: bytes) -> bool | None:
    """What :func:`occurrence` says of ``possible``.

    The automaton is asked first: where the answer is no, as it mostly is for special tokens, no
    text need be split, and what splits texts takes longer to be imported and made.
    """
    try:
        decided = _by_automaton(steps, content.decode("utf-8")) if content else Occurrence(False)
    except UnicodeDecodeError:
        decided = Occurrence(None)
    return occurrence(steps, content).possible if decided.possible is None else decided.possible


def _by_automaton(steps: Sequence[PreTokenizerStep], text: str) -> Occurrence:
    from .automata import continuation

    if len(steps) != 1 or not isinstance(steps[0], Split):
        return Occurrence(None)
    step = steps[0]
    if not isinstance(step.pattern, Pattern):
        return Occurrence(None)
    matches_only = step.behavior == "removed" and step.invert
    if not matches_only and step.behavior != "isolated":
        return Occurrence(None)
    try:
        pattern, covers = _parsed(step.pattern)
        if not matches_only and not covers:
            return Occurrence(None)
        rest = continuation(pattern, text)
    except PatternError:
        return Occurrence(None)
    return Occurrence(False) if rest is None else Occurrence(True, text + rest)


@lru_cache(maxsize=64)
def _parsed(pattern: Pattern) -> tuple[Node, bool]:
    """A pattern's tree, and whether it leaves nothing of any text: asked for many contents."""
    from ..text.patterns import as_run
    from .automata import uncovered

    tree = as_run(pattern)
    return tree, uncovered(tree) is None


def missing_bytes(contents: Container[bytes]) -> frozenset[int]:
    """The bytes that occur in UTF-8 and have no token."""
    return frozenset(byte for byte in UTF8_BYTES if bytes((byte,)) not in contents)
