"""Reads what stands for one character in a pattern: escapes, properties, character classes."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NoReturn

from ..errors import PatternError
from ..limits import PATTERN_CHARACTERS, PATTERN_NESTING, Limit
from ..steps import Dialect
from . import unicode
from .charsets import (
    EVERYTHING,
    Chars,
    CharSet,
    Property,
    case_closed,
    chars,
    code_points,
    intersect,
    negate,
    unite,
)

SPACE = Property("White_Space")
DIGIT = Property("Nd")
NOT_NEWLINE = negate(chars("\n"))

_WORD_PROPERTIES = tuple(map(Property, ("Alphabetic", "M", "Nd", "Pc")))
WORD: dict[Dialect, CharSet] = {
    "fancy-regex": unite((*_WORD_PROPERTIES, chars("\u200c\u200d"))),
    "oniguruma": unite((*_WORD_PROPERTIES, chars("\u00b2\u00b3\u00b9\u00bc\u00bd\u00be"))),
    "python": unite((*_WORD_PROPERTIES, chars("\u200c\u200d"))),
}
"""What ``\\w`` is. UTS 18 defines it with Join_Control; Oniguruma takes some Latin-1 numbers."""

WORD_IN_CLASS: dict[Dialect, CharSet] = WORD | {"oniguruma": unite(_WORD_PROPERTIES)}
"""What it is in a class: Oniguruma asks another table there (``[\\w]`` has no U+00B2)."""

_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v", "a": "\a"}
_HEX_DIGIT = chars("0123456789abcdefABCDEF")
_ASCII_SETS = {
    "alpha": "A-Za-z",
    "digit": "0-9",
    "alnum": "0-9A-Za-z",
    "upper": "A-Z",
    "lower": "a-z",
    "space": "\t-\r -\x20",
    "blank": "\t-\t -\x20",
    "punct": "!-/:-@[-`{-~",
    "xdigit": "0-9A-Fa-f",
    "word": "0-9A-Z_-_a-z",
    "cntrl": "\x00-\x1f\x7f-\x7f",
    "graph": "!-~",
    "print": "\x20-~",
}
_GRAPH = negate(unite((SPACE, Property("Cc"), Property("Cn"), Property("Cs"))))
_UNICODE_SETS: Mapping[str, CharSet] = {
    "alpha": Property("Alphabetic"),
    "digit": DIGIT,
    "alnum": unite((Property("Alphabetic"), DIGIT)),
    "upper": Property("Uppercase"),
    "lower": Property("Lowercase"),
    "space": SPACE,
    "blank": unite((Property("Zs"), chars("\t"))),
    "punct": unite((Property("P"), Property("S"))),
    "xdigit": _HEX_DIGIT,
    "cntrl": Property("Cc"),
    "graph": _GRAPH,
    "print": unite((_GRAPH, Property("Zs"))),
}


class ClassParser:
    """Reads one-character constructs of a pattern, from ``self.at`` on."""

    def __init__(self, source: str, dialect: Dialect) -> None:
        self.source = source
        self.dialect: Dialect = dialect
        self.at = 0
        self.depth = 0
        # Of the flags of the current group: i (ignore case), s (dot matches newline), m (lines).
        self.flags: frozenset[str] = frozenset()
        if len(source) > PATTERN_CHARACTERS.most:
            self.pass_limit(PATTERN_CHARACTERS)

    def refuse(self, what: str, at: int | None = None) -> NoReturn:
        """Raises PatternError that names the construct and where it stands."""
        offset = self.at if at is None else at
        raise PatternError(
            f"{what} at character {offset} is not understood",
            where=f"{self.dialect} pattern {self.source!r}",
            fix="rewrite the pattern without it",
        )

    @contextlib.contextmanager
    def deeper(self) -> Iterator[None]:
        """A block that reads what is inside of something.

        Raises:
            PatternError: there is too much one in another.
        """
        self.depth += 1
        if self.depth > PATTERN_NESTING.most:
            self.pass_limit(PATTERN_NESTING)
        yield
        self.depth -= 1

    def pass_limit(self, limit: Limit) -> NoReturn:
        """Raises PatternError that names a limit."""
        raise PatternError(
            limit.passed("the pattern"),
            where=f"{self.dialect} pattern {self.source!r}",
            fix="write it with less of them",
        )

    def looking_at(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Steps over the text if it stands here."""
        there = self.looking_at(text)
        self.at += len(text) if there else 0
        return there

    def escape(self, words: Mapping[Dialect, CharSet] = WORD) -> CharSet:
        """An escape that stands for one character of a set; ``self.at`` is at the backslash."""
        start = self.at
        letter = self.source[start + 1 : start + 2]
        if letter in ("p", "P"):
            return self._property()
        if letter in ("x", "u", "U", "0"):
            return self._numbered(letter)
        self.at += 2
        if letter in _CONTROLS:
            return chars(_CONTROLS[letter])
        if letter in ("d", "D", "s", "S", "w", "W"):
            named = {"d": DIGIT, "s": SPACE, "w": words[self.dialect]}[letter.lower()]
            return named if letter.islower() else negate(named)
        if letter == "h" and self.dialect == "python":
            return _UNICODE_SETS["blank"]
        if self.dialect != "python" and letter in ("h", "H", "N", "O", "e"):
            sets = {"h": _HEX_DIGIT, "H": negate(_HEX_DIGIT), "N": NOT_NEWLINE, "O": EVERYTHING}
            return sets.get(letter, chars("\x1b"))
        if not letter or (letter.isascii() and letter.isalnum()):
            self.refuse(f"the escape \\{letter}", start)
        if letter in "<>" and self.dialect == "fancy-regex":
            self.refuse(f"the word boundary \\{letter}", start)
        return chars(letter)

    def _numbered(self, letter: str) -> CharSet:
        shapes = {"x": r"\\x([0-9A-Fa-f]{2})", "u": r"\\u([0-9A-Fa-f]{4})"}
        if self.dialect != "oniguruma":
            shapes["U"] = r"\\U([0-9A-Fa-f]{8})"
        if self.dialect != "fancy-regex":
            shapes["0"] = r"\\(0)(?![0-9])"
        if self.dialect != "python":
            shapes["x"] += r"|\\x\{([0-9A-Fa-f]{1,8})\}"
        match = re.compile(shapes.get(letter, "(?!)")).match(self.source, self.at)
        if not match:
            self.refuse(f"the escape \\{letter}")
        code = int(match[match.lastindex or 1], 16)
        # To Oniguruma \x80 to \xff are bytes, and only \x{80} is a character.
        raw_byte = self.dialect == "oniguruma" and letter == "x" and match[1] and code > 0x7F
        if raw_byte or code > unicode.LAST or 0xD800 <= code <= 0xDFFF:
            self.refuse(f"{match[0]}, which is not a character,")
        self.at = match.end()
        return chars(chr(code))

    def _property(self) -> CharSet:
        start = self.at
        shape = r"\\([pP])\{(\^?)([^{}]*)\}"
        if self.dialect == "fancy-regex":
            shape += r"|\\([pP])()([A-Z])"
        match = re.compile(shape).match(self.source, start)
        if not match:
            self.refuse("a property without braces")
        self.at = match.end()
        letter, caret, name = (group for group in match.groups() if group is not None)
        charset = self._named(name)
        if charset is None:
            self.refuse(f"the property {match[0]}", start)
        return charset if (letter == "P") == (caret == "^") else self._all_but(charset)

    def _named(self, name: str) -> CharSet | None:
        sets: dict[str, CharSet] = {
            "any": EVERYTHING,
            "ascii": Chars(((0, 0x7F),)),
            "assigned": Property("Cn", negated=True),
            "alnum": _UNICODE_SETS["alnum"],
        }
        if unicode.loose(name) in sets:
            return sets[unicode.loose(name)]
        known = unicode.property_named(name)
        if known is None and self.dialect != "oniguruma":
            key, equals, value = name.partition("=")
            kinds = {"sc": "sc", "script": "sc", "gc": "gc", "generalcategory": "gc"}
            if equals and unicode.loose(key) in kinds:
                known = unicode.property_named(value, kinds[unicode.loose(key)])
            elif unicode.loose(name).startswith("is"):
                kind = "sc" if self.dialect == "python" else ""
                known = unicode.property_named(unicode.loose(name)[2:], kind)
        return Property(known) if known else None

    def bracket(self, ignore_case: bool) -> CharSet:
        """A character class; ``self.at`` is at its opening bracket."""
        with self.deeper():
            return self._bracket(ignore_case)

    def _bracket(self, ignore_case: bool) -> CharSet:
        start = self.at
        self.at += 1
        negated = self.take("^")
        operands: list[CharSet] = []
        parts: list[CharSet] = []
        first = True
        while first or not self.looking_at("]"):
            if self.at >= len(self.source):
                self.refuse("a character class without an end", start)
            if self.looking_at("&&") and self.dialect != "python":
                if not parts:
                    self.refuse("&& without a left side")
                self.at += 2
                operands.append(unite(parts))
                parts = []
            else:
                parts.append(self._item(first, ignore_case))
            first = False
        self.at += 1
        if not parts:
            self.refuse("&& without a right side", start)
        charset = unite(parts)
        for operand in operands:
            if ignore_case:
                self.refuse("&& while case is ignored", start)
            charset = intersect(operand, charset)
        if ignore_case:
            if self.dialect == "oniguruma" and not negated:
                self._check_long_members(charset, start)
            charset = self.folded(charset, start, negated)
        return negate(charset) if negated else charset

    def _check_long_members(self, charset: CharSet, start: int) -> None:
        """In Oniguruma a class with U+00DF, however it is written, also matches "ss"."""
        points = [ord(char) for char in long_folds()]
        for first, last in code_points(charset):
            long = next((chr(point) for point in points if first <= point <= last), None)
            if long:
                self.refuse(f"{long!r}, which is several characters while case is ignored,", start)

    def _item(self, first: bool, ignore_case: bool) -> CharSet:
        """A character, a range, an escape or a nested class."""
        start = self.at
        for operator in ("--", "~~"):
            if self.looking_at(operator) and (operator == "--" or self.dialect == "fancy-regex"):
                self.refuse(f"{operator} in a character class")
        if self.looking_at("[:"):
            return self._posix()
        if self.looking_at("[") and self.dialect != "python":
            if ignore_case:
                self.refuse("a nested character class while case is ignored")
            return self.bracket(ignore_case=False)
        low = self._member()
        if low == chars("-") and self.source[start] == "-" and not first:
            if not self.looking_at("]"):
                self.refuse("a hyphen between other members", start)
            return low
        if not self.looking_at("-") or self.source.startswith("]", self.at + 1):
            return low
        if self.looking_at("--"):
            self.refuse("-- in a character class")
        self.at += 1
        if self.looking_at("[") and self.dialect != "python":
            self.refuse("a nested class at the end of a range")
        high = self._member()
        first_code, last_code = _single(low), _single(high)
        if first_code is None or last_code is None or first_code > last_code:
            self.refuse(f"the range {self.source[start : self.at]}", start)
        return Chars(((first_code, last_code),))

    def _member(self) -> CharSet:
        if self.looking_at("\\b"):
            self.at += 2
            return chars("\b")
        if self.looking_at("\\"):
            return self.escape(WORD_IN_CLASS)
        if self.at >= len(self.source):
            self.refuse("a character class without an end")
        self.at += 1
        return chars(self.source[self.at - 1])

    def _posix(self) -> CharSet:
        match = re.compile(r"\[:(\^?)([a-z]+):\]").match(self.source, self.at)
        if not match or self.dialect == "python":
            self.refuse("[: in a character class")
        name = match[2]
        charset: CharSet | None = _UNICODE_SETS.get(name)
        if self.dialect == "fancy-regex":
            text = _ASCII_SETS.get(name, "")
            charset = Chars(unicode.merge(_pairs(text))) if text else None
        if charset is None:
            self.refuse(f"the POSIX class {match[0]}")
        self.at = match.end()
        return self._all_but(charset) if match[1] else charset

    def _all_but(self, charset: CharSet) -> CharSet:
        r"""The characters that are not in a set.

        fancy-regex folds case first (``unicode_fold_and_negate`` of ``regex-syntax``), so
        ``(?i)\P{Lu}`` matches neither "A" nor "a".
        """
        folds = "i" in self.flags and self.dialect == "fancy-regex"
        return negate(case_closed(charset) if folds else charset)

    def folded(self, charset: CharSet, start: int, negated: bool = False) -> CharSet:
        """The set as ``(?i:)`` takes it, where the dialect's rule is simple case folding."""
        closed = case_closed(charset)
        if self.dialect == "fancy-regex" or (isinstance(charset, Property) and closed == charset):
            return closed
        if not isinstance(charset, Chars):
            self.refuse("a property while case is ignored", start)
        if self.dialect == "python" and any(
            _has(charset, chr(code)) and (code > 0x7F or code in b"Ii")
            for code in unicode.case_orbits()
        ):
            self.refuse("a letter whose cases Python takes from other tables", start)
        if self.dialect == "oniguruma" and not negated:
            self._check_long_members(charset, start)
        return closed


@cache
def long_folds() -> Mapping[str, str]:
    """Characters whose full case folding is several characters, as Oniguruma matches them."""
    # A block that keeps its length has none. The last are the ligatures at U+FB00.
    blocks = ("".join(map(chr, range(first, first + 0x80))) for first in range(0, 0xFC00, 0x80))
    among = (c for block in blocks if len(block.casefold()) > len(block) for c in block)
    return {c: c.casefold() for c in among if len(c.casefold()) > 1}


def _has(charset: Chars, char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in charset.ranges)


def _single(charset: CharSet) -> int | None:
    if isinstance(charset, Chars) and len(charset.ranges) == 1:
        first, last = charset.ranges[0]
        return first if first == last else None
    return None


def _pairs(text: str) -> list[tuple[int, int]]:
    return [(ord(text[i]), ord(text[i + 2])) for i in range(0, len(text), 3)]
