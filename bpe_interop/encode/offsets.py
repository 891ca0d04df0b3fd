"""Where tokens stand in a text: through pretokens, the normalizer and repaired surrogates.

The kernel has a twin of what is done within a segment, ``native/src/offsets.rs``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from ..text.normalize import Spans


@dataclass(frozen=True, slots=True)
class PlacedPretoken:
    """An added token (``number``), or a pretoken (``content``), and where it stands in a text.

    ``places``: for each byte of the content, which of the ``spans`` it belongs to (start, end).
    ``given``: the places in the text as it was given, where it had to be repaired.
    """

    number: int | None
    content: bytes
    places: Spans
    spans: Spans
    given: Spans | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters (start, end) of the text that some bytes of the content come from."""
        first = self.spans[self.places[start][0]][0]
        last = self.spans[self.places[end - 1][1] - 1][1]
        return (
            (first, last) if self.given is None else (self.given[first][0], self.given[last - 1][1])
        )


def through(spans: Spans, places: Spans) -> Spans:
    """Places (start, end) among characters of which each comes from ``spans``: where they are
    in the text before.
    """
    return [(spans[start][0], spans[end - 1][1]) for start, end in places]


def in_bytes(
    text: str, tokens: Iterable[tuple[bytes, tuple[int, int] | None]]
) -> list[tuple[int, int] | None]:
    """The bytes (start, end) of a text's UTF-8 that tokens stand for.

    A token that holds a part of a character stands for those bytes of it, where its own bytes are
    the text's. Where they are not (a normalizer, an unknown token), it stands for all bytes of its
    characters.

    Args:
        text: the text.
        tokens: for each token its own bytes, and its characters (start, end) of the text; None
            for what does not come from the text.
    """
    data = text.encode("utf-8", "surrogatepass")
    starts = [0, *accumulate(len(char.encode("utf-8", "surrogatepass")) for char in text)]
    spans: list[tuple[int, int] | None] = []
    reached = 0
    for content, place in tokens:
        if place is None:
            spans.append(None)
            continue
        first, last = starts[place[0]], starts[place[1]]
        # Where the token before ends inside the first character, this one goes on there.
        start = reached if first < reached < starts[place[0] + 1] else first
        stop = start + len(content)
        # Its own bytes stand there, and reach into its last character but not beyond.
        exact = data[start:stop] == content and starts[place[1] - 1] < stop <= last
        spans.append((start, stop) if exact else (first, last))
        reached = stop if exact else last
    return spans
