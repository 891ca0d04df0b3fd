"""Texts of special tokens that overlap: then the order in which llama.cpp looks for them counts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence


def overlaps(texts: Collection[str]) -> Iterator[tuple[str, str]]:
    """Pairs of two texts of which the end of the first is the begin of the second.

    Of runs of one character (spaces) whoever looks takes the same parts, so these are left out
    where both are such runs.
    """
    places = {text: place for place, text in enumerate(texts)}
    ordered = sorted(places)
    runs = {text for text in places if len({*text}) == 1}
    lengths = [0, 0, *sorted(map(len, places))]
    for text in places:
        # No longer than the longest other one, so that one very long text costs nothing.
        most = lengths[-1] if len(text) < lengths[-1] else lengths[-2]
        for start in range(max(1, len(text) - most + 1), len(text)):
            others = [
                other
                for other in _beginning_with(text[start:], ordered)
                if other != text and not (text in runs and other in runs)
            ]
            for other in sorted(others, key=places.__getitem__):
                yield text, other


def _beginning_with(begin: str, ordered: Sequence[str]) -> Iterator[str]:
    """The longer ones of sorted texts that begin so."""
    for place in range(bisect_right(ordered, begin), len(ordered)):
        if not ordered[place].startswith(begin):
            return
        yield ordered[place]


def equally_long(texts: Collection[str]) -> tuple[str, str] | None:
    """Two of them that overlap and are equally long in UTF-8; None if there are none.

    Which of the two llama.cpp finds is left to a sort that is not stable.
    """
    return next(
        (pair for pair in overlaps(texts) if len(pair[0].encode()) == len(pair[1].encode())), None
    )
