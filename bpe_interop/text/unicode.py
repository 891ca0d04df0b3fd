"""What the engines take each code point for: their Unicode tables, measured and shipped.

Python's own tables (``regex``, ``unicodedata``, ``str`` methods) are of other Unicode versions
than the engines', so a question about a character's class is answered from here. The tables
were measured over all 1,112,064 scalar values in the engine versions that ``UNICODE_TABLES``
names, by ``fixtures/make_unicode_tables.py``. tiktoken and tokenizers agree on all of them.

Ranges are pairs of first and last code point, both inclusive, ascending and not adjacent.
"""

from __future__ import annotations

import re
import sys
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias

from ..errors import PatternError

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The characters of Unicode's White_Space, which Rust's ``char::is_whitespace`` goes by."""

Ranges: TypeAlias = tuple[tuple[int, int], ...]
ClassName: TypeAlias = Literal["numeric", "punctuation", "whitespace", "word", "regex_space"]

FormName: TypeAlias = Literal["NFC", "NFD", "NFKC", "NFKD"]

LAST = 0x10FFFF
PAGE = 256
"""Code points of a page of classes."""
SURROGATES = (0xD800, 0xDFFF)


class UnicodeTables(NamedTuple):
    """Which tables these are: the Unicode version, and the engines they were measured from."""

    unicode: str
    engines: Mapping[str, str]


UNICODE_TABLES: UnicodeTables
"""The Unicode version and the engine versions that this library agrees with."""


def __getattr__(name: str) -> UnicodeTables:
    if name != "UNICODE_TABLES":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Asked for late, so that an import reads no file.
    data = _data()
    return UnicodeTables(data["unicode"], data["engines"])


NEW_IN_16: Ranges = (
    (0x897, 0x897), (0x1b4e, 0x1b4f), (0x1b7f, 0x1b7f), (0x1c89, 0x1c8a), (0x2427, 0x2429),
    (0x31e4, 0x31e5), (0xa7cb, 0xa7cd), (0xa7da, 0xa7dc), (0x105c0, 0x105f3), (0x10d40, 0x10d65),
    (0x10d69, 0x10d85), (0x10d8e, 0x10d8f), (0x10ec2, 0x10ec4), (0x10efc, 0x10efc),
    (0x11380, 0x11389), (0x1138b, 0x1138b), (0x1138e, 0x1138e), (0x11390, 0x113b5),
    (0x113b7, 0x113c0), (0x113c2, 0x113c2), (0x113c5, 0x113c5), (0x113c7, 0x113ca),
    (0x113cc, 0x113d5), (0x113d7, 0x113d8), (0x113e1, 0x113e2), (0x116d0, 0x116e3),
    (0x11bc0, 0x11be1), (0x11bf0, 0x11bf9), (0x11f5a, 0x11f5a), (0x13460, 0x143fa),
    (0x16100, 0x16139), (0x16d40, 0x16d79), (0x18cff, 0x18cff), (0x1cc00, 0x1ccf9),
    (0x1cd00, 0x1ceb3), (0x1e5d0, 0x1e5fa), (0x1e5ff, 0x1e5ff), (0x1f8b2, 0x1f8bb),
    (0x1f8c0, 0x1f8c1), (0x1fa89, 0x1fa89), (0x1fa8f, 0x1fa8f), (0x1fabe, 0x1fabe),
    (0x1fac6, 0x1fac6), (0x1fadc, 0x1fadc), (0x1fadf, 0x1fadf), (0x1fae9, 0x1fae9),
    (0x1fbcb, 0x1fbef),
)  # fmt: skip
"""The 5,185 characters that Unicode 16.0 added (``Age`` in DerivedAge.txt).

To an engine with the tables of 15.1, as llama.cpp's ``unicode-data.cpp``, they are unassigned.
"""

GROUPS: Mapping[str, tuple[str, ...]] = {
    "LC": ("Lu", "Ll", "Lt"),
    "L": ("Lu", "Ll", "Lt", "Lm", "Lo"),
    "M": ("Mn", "Mc", "Me"),
    "N": ("Nd", "Nl", "No"),
    "P": ("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    "S": ("Sm", "Sc", "Sk", "So"),
    "Z": ("Zs", "Zl", "Zp"),
    "C": ("Cc", "Cf", "Cs", "Co", "Cn"),
}

_CATEGORY_NAMES = """
L Letter, LC Cased_Letter, Lu Uppercase_Letter, Ll Lowercase_Letter, Lt Titlecase_Letter,
Lm Modifier_Letter, Lo Other_Letter, M Mark, Mn Nonspacing_Mark, Mc Spacing_Mark,
Me Enclosing_Mark, N Number, Nd Decimal_Number, Nl Letter_Number, No Other_Number, P Punctuation,
Pc Connector_Punctuation, Pd Dash_Punctuation, Ps Open_Punctuation, Pe Close_Punctuation,
Pi Initial_Punctuation, Pf Final_Punctuation, Po Other_Punctuation, S Symbol, Sm Math_Symbol,
Sc Currency_Symbol, Sk Modifier_Symbol, So Other_Symbol, Z Separator, Zs Space_Separator,
Zl Line_Separator, Zp Paragraph_Separator, C Other, Cc Control, Cf Format, Cs Surrogate,
Co Private_Use, Cn Unassigned"""


def loose(name: str) -> str:
    """A property name without what UAX 44 (loose matching) ignores: case, space, ``_``, ``-``."""
    return re.sub(r"[ _\-]", "", name).lower()


@cache
def _names() -> Mapping[str, tuple[str, str]]:
    """Loose name to (kind, name); kinds are gc (general category), sc (script), binary."""
    data = _data()
    names = {loose(name): ("sc", name) for name in data["scripts"]}
    names |= {loose(name): ("binary", name) for name in data["binary"]}
    for pair in _CATEGORY_NAMES.split(","):
        short, long = pair.split()
        names[short.lower()] = names[loose(long)] = ("gc", short)
    names["punct"] = names["p"]
    for alias, name in data["aliases"].items():
        names[alias] = names[loose(name)]
    return names


def property_named(spelling: str, kind: str = "") -> str | None:
    """The property that all three dialects know by this name; None if there is none.

    ``kind`` (``gc``, ``sc``) restricts it to general categories or scripts.
    """
    known = _names().get(loose(spelling))
    return known[1] if known and kind in ("", known[0]) else None


@cache
def property_ranges(name: str) -> Ranges:
    """The code points that have a property, named as :func:`property_named` does."""
    data = _data()
    if name in GROUPS:
        return merge(r for part in GROUPS[name] for r in property_ranges(part))
    if name == "Cs":
        return (SURROGATES,)
    for table in ("categories", "binary", "scripts"):
        if name in data[table]:
            return _decode(data[table][name])
    raise PatternError(f"there is no table for the property {name}")


@cache
def case_orbits() -> Mapping[int, tuple[int, ...]]:
    """A code point to all that ``(?i:)`` takes for the same, itself included.

    Simple case folding: ``s`` has U+017F, ``k`` has U+212A. Code points without an entry are
    alone. tiktoken and tokenizers agree on all of it.
    """
    orbits: dict[int, tuple[int, ...]] = {}
    for orbit in _data()["orbits"]:
        codes = tuple(map(ord, orbit))
        orbits |= dict.fromkeys(codes, codes)
    return orbits


class CharClass:
    r"""A class of characters as Hugging Face tokenizers' own code has it.

    ``numeric`` is what ``Digits`` cuts (Rust's ``char::is_numeric``), ``punctuation`` what
    ``Punctuation`` cuts, ``whitespace`` Rust's ``char::is_whitespace``, ``word`` and
    ``regex_space`` the regex crate's ``\w`` (``single_word``) and ``\s``.
    """

    __slots__ = ("_runs", "_starts", "name", "ranges")

    def __init__(self, name: str, ranges: Ranges) -> None:
        self.name = name
        self.ranges = ranges
        self._starts = [first for first, _ in ranges]
        self._runs = re.compile(f"[{range_source(ranges)}]+")

    def contains(self, char: str) -> bool:
        """Whether one character is in the class."""
        code = ord(char)
        place = bisect_right(self._starts, code) - 1
        return place >= 0 and code <= self.ranges[place][1]

    def runs(self, text: str) -> list[tuple[int, int, bool]]:
        """The text cut into longest runs inside and outside: (start, end, inside)."""
        runs: list[tuple[int, int, bool]] = []
        end = 0
        for match in self._runs.finditer(text):
            start, stop = match.span()
            if start > end:
                runs.append((end, start, False))
            runs.append((start, stop, True))
            end = stop
        if end < len(text):
            runs.append((end, len(text), False))
        return runs


@cache
def char_class(name: ClassName) -> CharClass:
    """One of tokenizers' own character classes."""
    return CharClass(name, _decode(_data()["classes"][name]))


# A mark has the place of its combining class, with the bit 64 where it may be composed with what is
# before it; other characters have one of the three numbers, or none (native/src/normal_forms.rs).
_JOINS, _COMPOSED, _FOLLOWS, _CHANGES = 64, 253, 254, 255
_SYLLABLES = ((0xAC00, 0xD7A3),)
_JAMO = ((0x1161, 0x1175), (0x11A8, 0x11C2))
"""Hangul: what is composed of others, and what follows them."""


class FormTable(NamedTuple):
    """What a normal form does, as ``native/src/normal_forms.rs`` reads it.

    Attributes:
        classes: for each code point its class.
        composed: two characters in order and what they become, one after the other.
        decomposed: a character, how many it becomes, and which; in order. Neither has Hangul's.
            Nothing of the two compatibility forms, which only say whether a text changes.
    """

    classes: bytes
    composed: array[int]
    decomposed: array[int]


def form_table(form: FormName) -> FormTable:
    """The tables of a normal form."""
    data = _data()["forms"]
    composes = form in ("NFC", "NFKC")
    composed = array("I", map(ord, data["composed"] if composes else ""))
    seconds = {*composed[1::3]}
    classes = bytearray(LAST + 1)

    def put(ranges: Ranges, number: int) -> None:
        for first, last in ranges:
            classes[first : last + 1] = bytes([number]) * (last + 1 - first)

    if composes:
        put(_decode(data["changes"]["NFD"]), _COMPOSED)
        put(_SYLLABLES, 0)  # they end in no mark, so none can part them
        put((*_JAMO, *((second, second) for second in seconds)), _FOLLOWS)
    for place, numbers in enumerate(data["marks"], 1):
        for first, last in _decode(numbers):
            for code in range(first, last + 1):
                classes[code] = place | (_JOINS if code in seconds else 0)
    put(_decode(data["changes"][form]), _CHANGES)
    decomposed = array("I")
    for text in () if "K" in form else data["decomposed"]:
        decomposed.extend((ord(text[0]), len(text) - 1, *map(ord, text[1:])))
    return FormTable(bytes(classes), composed, decomposed)


def paged(classes: bytes) -> tuple[array[int], bytes]:
    """The pages of a class for each code point: which page is where, and the pages."""
    known: dict[bytes, int] = {}
    index = array("H")
    for start in range(0, LAST + 1, PAGE):
        index.append(known.setdefault(classes[start : start + PAGE], len(known)))
    return index, b"".join(known)


@cache
def every_code_point() -> str:
    """A text with every code point at its own index, surrogates included: 4 MB."""
    # Not of chr(): a million texts of one character take 90 MB until they are joined.
    every = array("I", range(LAST + 1)).tobytes()
    return every.decode(f"utf-32-{sys.byteorder[0]}e", "surrogatepass")


def merge(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in order, overlapping and adjacent ones joined."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return tuple(joined)


def complement(ranges: Ranges) -> Ranges:
    """Everything from U+0000 to U+10FFFF that is not in the ranges."""
    gaps: list[tuple[int, int]] = []
    start = 0
    for first, last in ranges:
        if first > start:
            gaps.append((start, first - 1))
        start = last + 1
    if start <= LAST:
        gaps.append((start, LAST))
    return tuple(gaps)


def range_source(ranges: Ranges) -> str:
    """The inside of a character class, spelled out, as ``re`` and ``regex`` read it."""
    return "".join(
        f"\\U{first:08x}" if first == last else f"\\U{first:08x}-\\U{last:08x}"
        for first, last in ranges
    )


def _decode(numbers: list[int]) -> Ranges:
    ranges = []
    end = 0
    # The file has each range as the gap before it and its length.
    for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
        ranges.append((end + gap, end + gap + length - 1))
        end += gap + length
    return tuple(ranges)


@cache
def _data() -> dict[str, Any]:
    import json
    import pkgutil

    data: dict[str, Any] = json.loads(pkgutil.get_data(__package__, "unicode_tables.json") or "")
    return data
