"""Texts of special tokens that overlap: then the order in which llama.cpp looks for them counts."""

from __future__ import annotations

from collections.abc import Collection, Iterator


def overlaps(texts: Collection[str]) -> Iterator[tuple[str, str]]:
    """Pairs of two texts of which the end of the first is the begin of the second.

    Of runs of one character (spaces) whoever looks takes the same parts, so these are left out
    where both are such runs.
    """
    begins: dict[str, list[str]] = {}
    for text in texts:
        for end in range(1, len(text)):
            begins.setdefault(text[:end], []).append(text)
    for text in texts:
        run = len({*text}) == 1
        for start in range(1, len(text)):
            for other in begins.get(text[start:], ()):
                if other != text and not (run and len({*other}) == 1):
                    yield text, other


def equally_long(texts: Collection[str]) -> tuple[str, str] | None:
    """Two of them that overlap and are equally long in UTF-8; None if there are none.

    Which of the two llama.cpp finds is left to a sort that is not stable.
    """
    return next(
        (pair for pair in overlaps(texts) if len(pair[0].encode()) == len(pair[1].encode())), None
    )
