"""Two rows of tokens beside each other, cut into columns where both sides have a cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..compare.alignment import Span
from ..compare.report import Example
from ..compare.words import found_in
from ..text.visible import is_ambiguous
from .visible import Fragment, parts, right_to_left, shortened, token_parts

AROUND = 6
"""How many columns that are alike are shown on each side of one that differs."""
COLUMNS = 120
"""How many columns are shown at most."""
TOKENS = 48
"""How many tokens of one side a column shows at most."""
COLOURS = 6


_ESCAPED = 20
"""Characters of the longest text whose escapes are shown beside it."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token on a page; ``parts`` is empty where only its id is known."""

    id: int
    parts: tuple[Fragment, ...]
    colour: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One side's tokens in a column, and how many more there are."""

    side: str
    tokens: tuple[Token, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class AlignedColumn:
    """Both sides' tokens between two cuts; ``alike`` columns that are not shown have no cells.

    ``said`` has the text that no token stands for, where a column has no tokens.
    """

    equal: bool
    cells: tuple[Cell, ...]
    said: tuple[Fragment, ...] = ()
    alike: int = 0


@dataclass(frozen=True, slots=True)
class AlignedText:
    """A text on which two sides differ, ready to be shown. ``cut`` says what of it is not.

    ``escapes`` is the text in ASCII where signs in it look like others; else it is empty.
    """

    text: tuple[Fragment, ...]
    escapes: str
    cut: str
    asked: str
    found_in: str
    columns: tuple[AlignedColumn, ...]
    more: int
    right_to_left: bool
    decoded: tuple[tuple[Fragment, ...], ...] = ()


def rows(example: Example) -> AlignedText:
    """An example as rows of tokens."""
    mismatch = example.mismatch
    start, cut = shortened(mismatch.text)
    columns = list(_columns(mismatch.text.encode("utf-8", "surrogatepass"), example.spans))
    decoded = (tuple(parts(shortened(text)[0])) for text in mismatch.decoding or ())
    return AlignedText(
        text=tuple(parts(start)),
        escapes=ascii(start) if len(start) <= _ESCAPED and is_ambiguous(start) else "",
        cut=cut,
        asked=mismatch.mode.scope,
        found_in=found_in(example),
        columns=tuple(columns[:COLUMNS]),
        more=len(columns[COLUMNS:]),
        right_to_left=right_to_left(start),
        decoded=tuple(decoded),
    )


def _columns(data: bytes, spans: Sequence[Span]) -> Iterator[AlignedColumn]:
    shown = {
        near
        for at, span in enumerate(spans)
        if not span.equal
        for near in range(at - AROUND, at + AROUND + 1)
    } or set(range(AROUND))
    colours = _colours(spans)
    for visible, group in groupby(range(len(spans)), shown.__contains__):
        places = list(group)
        if not visible and len(places) > 1:
            yield AlignedColumn(True, (), alike=len(places))
            continue
        for at in places:
            yield _column(data, spans[at], colours[at])


def _colours(spans: Sequence[Span]) -> list[int]:
    """Where each span's colours start: neighbours differ, and what is alike has one colour."""
    colours, start = [], 0
    for span in spans:
        colours.append(start)
        start += max(len(span.ids_a), len(span.ids_b), 1)
    return colours


def _column(data: bytes, span: Span, colour: int) -> AlignedColumn:
    known = span.start is not None and span.end is not None
    own = data[span.start : span.end] if known else None
    cells = (
        _cell("A", span.ids_a, span.tokens_a, colour),
        _cell("B", span.ids_b, span.tokens_b, colour),
    )
    text = own.decode("utf-8", "replace") if own and not span.ids_a + span.ids_b else ""
    return AlignedColumn(span.equal, cells, tuple(parts(text)))


def _cell(side: str, ids: tuple[int, ...], tokens: tuple[str, ...], colour: int) -> Cell:
    shown: list[Token] = []
    for at, number in enumerate(ids[:TOKENS]):
        read = token_parts(tokens[at]) if len(tokens) == len(ids) else []
        shown.append(Token(number, tuple(read), (colour + at) % COLOURS))
    return Cell(side, tuple(shown), len(ids[TOKENS:]))
