"""Texts and counts for people only: no data ever goes through here."""

from __future__ import annotations

import unicodedata
from collections.abc import Container, Iterable
from typing import NamedTuple

from ..quoting import escaped, show

LABEL = 12
"""Columns that the label of a line takes."""


class LabelledLine(NamedTuple):
    """A line for people: a label, and the text behind it.

    ``label`` is None where the text begins at the margin. The spaces of a ``row`` of a table are
    its own; it is ``marked`` where it shows a difference.
    """

    label: str | None
    text: str
    row: bool = False
    marked: bool = False


def as_text(lines: Iterable[LabelledLine]) -> str:
    """Lines as one text of any width."""
    text = []
    for line in lines:
        first, *more = map(escaped, line.text.removesuffix("\n").split("\n"))
        text.append(first if line.label is None else f"{line.label:<{LABEL}}{first}")
        text += [" " * LABEL + each for each in more]
    return "\n".join(text)


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


def show_text(text: str) -> str:
    """A text, quoted; with its escapes behind it where a mark or an unseen sign is in it."""
    shown = show(text)
    if is_ambiguous(text) and not shown.isascii():
        shown += f" = {text!a}"
    return shown


def short_text(text: str, limit: int = 100) -> str:
    """A text, quoted, and cut in its middle where it is long."""
    if len(text) <= limit:
        return show_text(text)
    half = limit // 2
    return f"{show(text[:half])} ... {show(text[-half:])} ({len(text):,} characters)"


def folded(text: str, limit: int = 100) -> str:
    """Words that are too long to be read, without their middle."""
    if len(text) <= limit:
        return text
    # The end of a step has its pattern's dialect and its settings, so it stays.
    left, right = limit - 60, 45
    return f"{text[:left]} ... {text[-right:]} ({len(text):,} characters; --full shows them)"


def fitted(text: str, columns: int) -> str:
    """A text that takes just so many columns of a terminal; one that is too long is cut."""
    if columns_of(text) <= columns:
        return text + " " * (columns - columns_of(text))
    while columns_of(text) > columns - 3:
        text = text[:-1]
    return fitted(f"{text}...", columns)


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    # UAX #11: wide and fullwidth characters take two columns.
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def many(count: int, noun: str, plural: str = "") -> str:
    """``1 row``, ``2 rows``; ``plural`` is for words that do not end in s then."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
