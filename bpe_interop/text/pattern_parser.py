r"""Reads a pattern of one of three regex dialects into the tree of text/regex_syntax.py.

What the dialects write alike and mean differently is told apart here: ``{1,3}+`` (possessive,
but in Oniguruma the group repeated), ``{2}?`` (in Oniguruma optional), ``^ $ \Z``, ``(?m)``,
``\h``, ``\w``, ``&&`` and nested classes, POSIX classes, and what ignoring case reaches.
Sources: fancy-regex 0.19 and regex-syntax 0.8 (``ast/parse.rs``), Oniguruma 6.9 with Ruby syntax
(``doc/RE``, ``regparse.c``), the ``regex`` library in its version 0 behaviour; each rule was
tried in the engine.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..limits import PATTERN_COUNT, PATTERN_NESTING, PATTERN_STEPS
from ..steps import Pattern
from .charsets import EVERYTHING, Chars, CharSet, chars
from .class_parser import NOT_NEWLINE, WORD, ClassParser, long_folds
from .regex_syntax import (
    Anchor,
    Leaf,
    Look,
    Mode,
    Node,
    Sequence,
    alternation,
    atomic,
    can_look_behind,
    consumes,
    matches_empty,
    repeat,
    sequence,
    steps,
)

_COUNTS = re.compile(r"\{(\d*)(,?)(\d*)\}")


@lru_cache(maxsize=64)
def parse(pattern: Pattern) -> Node:
    """The pattern as a tree. The trees of the last patterns are kept: a proof asks many times.

    Raises:
        PatternError: a construct is not understood, or means what the tree cannot say; names
            it and its offset.
    """
    return _tree(pattern, PATTERN_STEPS.most, PATTERN_NESTING.most)


@lru_cache(maxsize=64)
def _tree(pattern: Pattern, *_: int) -> Node:
    """The tree within some limits: the same few patterns are asked for many times."""
    return _Parser(pattern).parse()


class _Parser(ClassParser):
    def __init__(self, pattern: Pattern) -> None:
        super().__init__(pattern.source, pattern.dialect)
        self.captures = 0

    def parse(self) -> Node:
        match = re.match(r"\(\?([ism]+)\)", self.source)
        if match:
            self.flags = self._flags(match[1], "", 0)
            self.at = match.end()
        node = self._alternation()
        if self.at < len(self.source):
            self.refuse("an unopened )")
        if steps(node) > PATTERN_STEPS.most:
            self.pass_limit(PATTERN_STEPS)
        return node

    def _flags(self, on: str, off: str, start: int) -> frozenset[str]:
        """The flags in force after ``on`` and ``off``; Oniguruma's ``m`` is the others' ``s``."""
        if self.dialect == "oniguruma":
            if "s" in on + off:
                self.refuse("the flag s", start)
            on, off = on.replace("m", "s"), off.replace("m", "s")
        return (self.flags | frozenset(on)) - frozenset(off)

    def _alternation(self) -> Node:
        options = [self._sequence()]
        while self.take("|"):
            options.append(self._sequence())
        return alternation(options)

    def _sequence(self) -> Node:
        parts: list[Node] = []
        start = self.at
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self._repeats(self._atom()))
        node = sequence(parts)
        if "i" in self.flags and self.dialect == "oniguruma":
            self._check_long_folds(node, start)
        return node

    def _check_long_folds(self, node: Node, start: int) -> None:
        r"""Oniguruma matches ``(?i:ss)`` with U+00DF: refuse literals that could."""
        parts = node.parts if isinstance(node, Sequence) else (node,)
        literal = "".join(map(_literal, parts)).casefold()
        for char, folded in long_folds().items():
            if folded in literal:
                self.refuse(f"{folded!r}, which is also {char!r} while case is ignored,", start)

    def _repeats(self, node: Node) -> Node:
        times = 0
        while self.at < len(self.source):
            start = self.at
            counts = self._counts()
            if counts is None:
                break
            low, high, braces = counts
            if times and self.dialect != "oniguruma":
                self.refuse("a quantifier after a quantifier", start)
            if not consumes(node):
                self.refuse("a quantifier after what is empty", start)
            if matches_empty(node) and high is None:
                self.refuse("an endless repetition of what can be empty", start)
            if matches_empty(node) and high != 1 and self.dialect == "oniguruma":
                # Oniguruma leaves the loop at an empty round, and then asks for no more rounds.
                self.refuse("a counted repetition of what can be empty", start)
            node = self._moded(node, low, high, braces)
            times += 1
            if self.depth + times > PATTERN_NESTING.most:
                self.pass_limit(PATTERN_NESTING)
            if steps(node) > PATTERN_STEPS.most:
                self.pass_limit(PATTERN_STEPS)
        return node

    def _moded(self, node: Node, low: int, high: int | None, braces: bool) -> Node:
        ruby_braces = braces and self.dialect == "oniguruma"
        mode: Mode = "greedy"
        if ruby_braces and low == high and self.take("?"):
            return repeat(repeat(node, low, high), 0, 1)
        if self.take("?"):
            mode = "lazy"
        elif not ruby_braces and self.take("+"):
            mode = "possessive"
        return repeat(node, low, high, mode)

    def _counts(self) -> tuple[int, int | None, bool] | None:
        """The counts of a quantifier, and whether braces give them; None if none stands here."""
        simple = {"?": (0, 1), "*": (0, None), "+": (1, None)}
        mark = self.source[self.at]
        if mark in simple:
            self.at += 1
            return (*simple[mark], False)
        if mark != "{":
            return None
        match = _COUNTS.match(self.source, self.at)
        if not match or not (match[1] or match[3]):
            self.refuse("a brace that gives no count")
        low = int(match[1] or 0)
        high = int(match[3]) if match[3] else None if match[2] else low
        if max(low, high or 0) > PATTERN_COUNT.most:
            self.pass_limit(PATTERN_COUNT)
        if high is not None and high < low:
            self.refuse(f"the count {match[0]}")
        self.at = match.end()
        return low, high, True

    def _atom(self) -> Node:
        start = self.at
        mark = self.source[start]
        if mark == "(":
            return self._group()
        if mark == "[":
            return Leaf(self.bracket("i" in self.flags))
        if mark == "\\":
            return self._escaped()
        if mark in "?*+" or (mark == "{" and _COUNTS.match(self.source, start)):
            self.refuse("a quantifier without anything to repeat")
        self.at += 1
        if mark in "^$":
            return self._line_anchor(mark)
        if mark == ".":
            return Leaf(EVERYTHING if "s" in self.flags else NOT_NEWLINE)
        return self._leaf(chars(mark), start)

    def _leaf(self, charset: CharSet, start: int) -> Node:
        return Leaf(self.folded(charset, start) if "i" in self.flags else charset)

    def _line_anchor(self, mark: str) -> Node:
        if self.dialect == "oniguruma":
            if mark == "$":
                return Anchor("line_end")
            # Ruby's ^ does not match after a newline that ends the text.
            not_at_end = Look(Anchor("text_end"), ahead=True, negative=True)
            return alternation((Anchor("text_start"), sequence((Anchor("line_start"), not_at_end))))
        if "m" in self.flags:
            return Anchor("line_start" if mark == "^" else "line_end")
        if mark == "^":
            return Anchor("text_start")
        return Anchor("final_newline" if self.dialect == "python" else "text_end")

    def _escaped(self) -> Node:
        start = self.at
        letter = self.source[start + 1 : start + 2]
        if letter in ("A", "z", "Z"):
            if letter == "Z" and self.dialect == "fancy-regex":
                self.refuse("\\Z (before any newlines at the end)")
            self.at += 2
            if letter == "A":
                return Anchor("text_start")
            soft = letter == "Z" and self.dialect != "python"
            return Anchor("final_newline" if soft else "text_end")
        if letter in ("b", "B"):
            if self.source.startswith("{", start + 2):
                self.refuse("a word boundary with a brace")
            self.at += 2
            return _boundary(WORD[self.dialect], letter == "b")
        return self._leaf(self.escape(), start)

    def _group(self) -> Node:
        start = self.at
        match = re.compile(r"\(\?([ism]*)(?:-([ism]+))?:").match(self.source, start)
        if match:
            self.at = match.end()
            return self._closed(start, self._flags(match[1], match[2] or "", start))
        for opening, ahead, negative in (
            ("(?=", True, False),
            ("(?!", True, True),
            ("(?<=", False, False),
            ("(?<!", False, True),
        ):
            if self.take(opening):
                captures = self.captures
                part = self._closed(start, self.flags)
                written = self.source[start : self.at]
                if not ahead and not can_look_behind(part, self.dialect, written):
                    self.refuse("a lookbehind of this shape", start)
                captured = captures < self.captures and self.dialect == "oniguruma"
                if captured and negative and not ahead:
                    self.refuse("a capture group in a negative lookbehind", start)
                return Look(part, ahead, negative)
        if self.take("(?>"):
            return atomic(self._closed(start, self.flags))
        named = re.compile(r"\(\?<[A-Za-z_]\w*>|\((?![?*])").match(self.source, start)
        if not named:
            end = re.compile(r"\(\??[^\w()]?\w*").match(self.source, start)
            self.refuse(f"the group {end[0] if end else '('}")
        self.at = named.end()
        self.captures += 1
        return self._closed(start, self.flags)

    def _closed(self, start: int, flags: frozenset[str]) -> Node:
        outer, self.flags = self.flags, flags
        with self.deeper():
            node = self._alternation()
        self.flags = outer
        if not self.take(")"):
            self.refuse("a group without an end", start)
        return node


def _literal(node: Node) -> str:
    """A character that the leaf matches; a newline, which is in no long fold, for other nodes."""
    if isinstance(node, Leaf) and isinstance(node.charset, Chars) and node.charset.ranges:
        return chr(node.charset.ranges[0][0])
    return "\n"


def _boundary(word: CharSet, between: bool) -> Node:
    r"""Between a word character and another (``\b``), or between two of a kind (``\B``)."""
    return alternation(
        sequence((Look(Leaf(word), False, negative), Look(Leaf(word), True, negative != between)))
        for negative in (False, True)
    )
