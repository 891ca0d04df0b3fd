"""How many there are of a thing, in words."""

from __future__ import annotations


def many(count: int, noun: str, plural: str = "") -> str:
    """``1 row``, ``2 rows``; ``plural`` is for words that do not end in s then."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"
