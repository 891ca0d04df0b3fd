"""Texts and tokens as people see them: on one line, and nothing that would mislead."""

from __future__ import annotations

from unicodedata import category, is_normalized


def show(content: bytes | str) -> str:
    """A token's content for people, quoted; what would not show, or mislead, is escaped."""
    if isinstance(content, bytes):
        try:
            content = content.decode("utf-8")
        except UnicodeDecodeError:
            return ascii(content)
    quotable = content.replace("\\", "\\\\").replace('"', '\\"')
    shown = escaped(quotable)
    if category(shown[:1] or "a")[0] == "M":  # it would stand on the quotation mark
        shown = ascii(shown[0])[1:-1] + shown[1:]
    return f'"{shown}"'


def escaped(text: str) -> str:
    """A text on one line, in which what would not show, or mislead, is escaped.

    A character that NFC changes (U+095B) looks like what it becomes.
    """
    return "".join(
        char
        if char.isprintable() and is_normalized("NFC", char)
        else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
