"""Surrogates in a text of Python: pairs are joined, and lone ones replaced, as tiktoken does."""

from __future__ import annotations


def repair(text: str) -> str:
    """Combines surrogate pairs; lone surrogates become U+FFFD, as in tiktoken (``core.py``).

    A text of a class of its own becomes one of ``str``, whose methods are known.

    Raises:
        TypeError: it is no text, such as bytes, of which nobody says what characters they are.
    """
    if type(text) is not str:
        if not isinstance(text, str):
            raise TypeError(f"a text is str, not {type(text).__name__}")
        text = str.__str__(text)
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def repaired_spans(text: str) -> list[tuple[int, int]]:
    """Where in ``text`` each character of the repaired text comes from."""
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        pair = "\ud800" <= text[start] <= "\udbff"
        pair = pair and "\udc00" <= text[start + 1 : start + 2] <= "\udfff"
        spans.append((start, start + 1 + pair))
        start += 1 + pair
    return spans
