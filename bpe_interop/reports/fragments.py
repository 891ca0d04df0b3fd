"""Texts made visible: what would not be seen, or would reorder what is around it, gets a name."""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Iterator
from itertools import chain
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["plain", "space", "mark"]

SHOWN = 400
"""How many characters of a text a page shows; JSON has them all."""

_SHORT = {
    "\0": "NUL", "\x07": "BEL", "\x08": "BS", "\t": "TAB", "\n": "LF", "\x0b": "VT", "\f": "FF",
    "\r": "CR", "\x1b": "ESC", "\x7f": "DEL", "\x85": "NEL", "\xa0": "NBSP", "\xad": "SHY",
    "\u200b": "ZWSP", "\u200c": "ZWNJ", "\u200d": "ZWJ", "\u200e": "LRM", "\u200f": "RLM",
    "\u2028": "LS", "\u2029": "PS", "\u2060": "WJ", "\ufe0e": "VS15", "\ufe0f": "VS16",
    "\ufeff": "BOM",
}  # fmt: skip
# Unicode's Default_Ignorable_Code_Point (DerivedCoreProperties.txt) outside categories C and Z.
_UNSEEN = frozenset(
    chain(
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
        range(0x180B, 0x1810),
        range(0xFE00, 0xFE10),
        range(0xE0100, 0xE01F0),
    )
)
_EMOJI = ("So", "Sk")  # pictures, and the skin tones that follow them


class Fragment(NamedTuple):
    """A part of a text: ``plain`` as it is, a ``space``, or a ``mark`` that names a character.

    ``name`` says in full what a mark stands for.
    """

    kind: Kind
    text: str
    name: str = ""


def parts(text: str) -> list[Fragment]:
    """A text in parts that can all be seen."""
    cut: list[Fragment] = []
    for place, char in enumerate(text):
        part = _part(char, text[place - 1 : place] if place else "", text[place + 1 : place + 2])
        if part.kind == "plain" and cut and cut[-1].kind == "plain":
            cut[-1] = Fragment("plain", cut[-1].text + part.text)
        else:
            cut.append(part)
    return cut


def _part(char: str, before: str, after: str) -> Fragment:
    if char == " ":
        return Fragment("space", char, "a space")
    joins = before and (_pictured(before) or before == "\ufe0f")
    if char == "\ufe0f" and joins:
        return Fragment("plain", char)
    if char == "\u200d" and joins and after and _pictured(after):
        return Fragment("plain", char)
    if not char.isprintable() or ord(char) in _UNSEEN:
        return Fragment("mark", _SHORT.get(char, f"U+{ord(char):04X}"), _named(char))
    if not before and unicodedata.category(char)[0] == "M":
        return Fragment("plain", f"\u25cc{char}")  # a mark with nothing to stand on
    return Fragment("plain", char)


def _pictured(char: str) -> bool:
    return unicodedata.category(char) in _EMOJI


def _named(char: str) -> str:
    name = unicodedata.name(char, _SHORT.get(char, "")).lower()
    return f"U+{ord(char):04X} {name}".rstrip()


def shortened(text: str, limit: int = SHOWN) -> tuple[str, str]:
    """The start of a text, and what to say where that is not all of it."""
    if len(text) <= limit:
        return text, ""
    return text[:limit], f"the first {limit:,} of {len(text):,} characters"


def right_to_left(text: str) -> bool:
    """Whether a text is read from the right: its first strong character says so (UAX #9, P2)."""
    strong = (unicodedata.bidirectional(char) for char in text)
    return next((direction for direction in strong if direction in ("L", "R", "AL")), "L") != "L"


def token_parts(shown: str) -> list[Fragment]:
    """A token in parts that can all be seen.

    Args:
        shown: how :func:`bpe_interop.quoting.show` writes it, which is a literal of Python.
    """
    content: str | bytes = ast.literal_eval(shown)
    return parts(content) if isinstance(content, str) else list(_byte_parts(content))


def _byte_parts(content: bytes) -> Iterator[Fragment]:
    for byte in content:
        if byte == 0x20:
            yield Fragment("space", " ", "a space")
        elif 0x20 < byte < 0x7F:
            yield Fragment("plain", chr(byte))
        else:
            yield Fragment("mark", f"{byte:02X}", f"the byte 0x{byte:02X}")
