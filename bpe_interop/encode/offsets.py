"""Where tokens stand in a text: through pretokens, the normalizer and repaired surrogates.

The kernel has a twin of what is done within a segment, ``native/src/offsets.rs``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..text.normalize import Spans


@dataclass(frozen=True, slots=True)
class Piece:
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


def shifted(places: Spans, start: int) -> Spans:
    """Places in a segment that begins at ``start``, as places in the text."""
    return [(start + first, start + last) for first, last in places] if start else places
