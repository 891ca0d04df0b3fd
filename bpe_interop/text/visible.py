"""Texts and counts for people only: no data ever goes through here."""

from __future__ import annotations

import unicodedata
from collections.abc import Container


def replace_control_characters(text: str, *, keep: Container[str] = "") -> str:
    r"""A text in which a terminal finds nothing to obey: ``\u000a`` stands for a line feed.

    Control characters are those of Unicode's categories C: controls, formats (the marks of
    direction too), surrogates, and what is unassigned or private. minbpe prints tokens so
    (``minbpe/base.py``).

    Args:
        text: any text.
        keep: characters to leave as they are, such as ``"\n"``.
    """
    return "".join(
        char if char in keep or unicodedata.category(char)[0] != "C" else f"\\u{ord(char):04x}"
        for char in text
    )


def is_ambiguous(text: str) -> bool:
    """Whether a text has a mark or an unseen sign beyond ASCII, so that only escapes tell it."""
    return any(unicodedata.category(c)[0] in "MZC" for c in text if not c.isascii())


def many(count: int, noun: str, plural: str = "") -> str:
    """``1 row``, ``2 rows``; ``plural`` is for words that do not end in s then."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
