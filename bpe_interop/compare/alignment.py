"""Two sides' ids for one text beside each other, aligned by the bytes that they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import NamedTuple, TypeAlias

from ..diff.settings import changed_part
from ..encode import Encoder
from ..errors import BpeInteropError, DecodeError
from ..quoting import show
from .sides import ORDINARY, Mode

TokenSpans: TypeAlias = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text between two places where both sides have a cut, and each side's ids for it.

    ``start`` and ``end`` are bytes of the text in UTF-8; None where it is not known what tokens
    stand for. Tokens that stand for nothing (a template's, a prefix) have a span of length 0, and
    text that no token stands for one without ids. ``tokens_a`` and ``tokens_b`` are the tokens'
    own bytes for people, quoted and escaped; empty where a side's model is not known.
    """

    start: int | None
    end: int | None
    ids_a: tuple[int, ...]
    ids_b: tuple[int, ...]
    equal: bool
    tokens_a: tuple[str, ...] = ()
    tokens_b: tuple[str, ...] = ()


def align(
    text: str,
    ids_a: Sequence[int],
    ids_b: Sequence[int],
    a: Encoder | None = None,
    b: Encoder | None = None,
    mode: Mode = ORDINARY,
) -> tuple[Span, ...]:
    """Aligns two sides' ids for a text.

    Where tokens are the text's own bytes, one after another, spans are exact to the byte. Where
    they are not (a normalizer, a prefix, byte fallback, an unknown token), tokens stand for what
    :meth:`.Encoder.encode_with_offsets` says, in whole characters. Where a side's model is not
    known, or gives other ids than the side, only the ids are aligned, from both ends.
    """
    left, right = _Side(ids_a, a, text, mode), _Side(ids_b, b, text, mode)
    # Without places on both sides only the ids themselves can be compared.
    if left.spans is None or right.spans is None:
        return tuple(_by_ids(left, right))
    return tuple(_by_bytes(left, right, len(_utf8(text))))


def as_rows(
    text: str, spans: Sequence[Span], around: int = 2, between: str = "  "
) -> list[tuple[bool, str, str, str]]:
    """Rows for a table: whether both sides agree, the text, and each side's tokens and ids.

    ``between`` stands between tokens. Of spans that agree only those beside ones that differ are
    shown, ``around`` on each side; a row tells how many were left out.
    """
    near = {
        place + distance
        for place, span in enumerate(spans)
        if not span.equal
        for distance in range(-around, around + 1)
    }
    rows: list[tuple[bool, str, str, str]] = []
    data = _utf8(text)
    for shown, group in groupby(range(len(spans)), near.__contains__):
        places = list(group)
        if shown or len(places) == 1:
            rows += [_row(data, spans[place], between) for place in places]
        else:
            rows.append((True, f"... {len(places):,} times alike ...", "", ""))
    return rows


def _row(data: bytes, span: Span, between: str) -> tuple[bool, str, str, str]:
    known = span.start is not None and span.end is not None
    part = show(data[span.start : span.end]) if known else ""
    a = _said(span.ids_a, span.tokens_a, between)
    b = _said(span.ids_b, span.tokens_b, between)
    return span.equal, part, a, b


def _said(ids: tuple[int, ...], tokens: tuple[str, ...], between: str) -> str:
    if len(tokens) != len(ids):
        return " ".join(map(str, ids))
    return between.join(f"{token} {number}" for token, number in zip(tokens, ids, strict=True))


class _Atom(NamedTuple):
    """Tokens of one side that share characters: no cut is between them."""

    start: int
    end: int
    first: int
    last: int


class _Side:
    """One side's ids, what they stand for in the text, and how they read."""

    def __init__(self, ids: Sequence[int], encoder: Encoder | None, text: str, mode: Mode) -> None:
        self.ids = tuple(ids)
        self.tokens: tuple[str, ...] = ()
        self.spans: TokenSpans | None = None
        if encoder is None:
            return
        contents = _contents(self.ids, encoder)
        if contents is not None:
            self.tokens = tuple(map(show, contents))
        before, after = _around(encoder, mode, self.ids)
        inner = self.ids[before : len(self.ids) - after]
        places = _own_bytes(inner, encoder, text) or _offsets(inner, encoder, text, mode)
        if places is not None:
            size = len(_utf8(text))
            self.spans = [*[(0, 0)] * before, *places, *[(size, size)] * after]

    def part(self, first: int, last: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        return self.ids[first:last], self.tokens[first:last]

    def held(self, atoms: list[_Atom]) -> tuple[tuple[int, ...], tuple[str, ...]]:
        return self.part(atoms[0].first, atoms[-1].last) if atoms else ((), ())

    def atoms(self) -> Iterator[_Atom]:
        """The tokens in groups that share no character."""
        held: _Atom | None = None
        for place, (start, end) in enumerate(self.spans or []):
            # Tokens that hold parts of one character cover it both, so they overlap.
            if held is not None and start < held.end:
                start, end = min(start, held.start), max(end, held.end)
                held = _Atom(start, end, held.first, place + 1)
                continue
            if held is not None:
                yield held
            held = _Atom(start, end, place, place + 1)
        if held is not None:
            yield held


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _contents(ids: Sequence[int], encoder: Encoder) -> list[bytes] | None:
    try:
        return [encoder.token_bytes(number) for number in ids]
    except DecodeError:
        return None  # an id that the model does not have


def _around(encoder: Encoder, mode: Mode, ids: tuple[int, ...]) -> tuple[int, int]:
    """How many ids the sequence template put before a text, and how many behind it."""
    if not mode.add_special_tokens or encoder.model.sequence_template is None:
        return 0, 0
    inner = -1  # no id
    placed = tuple(encoder.template([inner]))
    if placed.count(inner) != 1:
        return 0, 0
    before = placed.index(inner)
    after = len(placed) - 1 - before
    fits = len(ids) >= before + after and ids[:before] == placed[:before]
    fits = fits and ids[len(ids) - after :] == placed[len(placed) - after :]
    return (before, after) if fits else (0, 0)


def _own_bytes(ids: Sequence[int], encoder: Encoder, text: str) -> TokenSpans | None:
    """What tokens stand for, where their bytes one after another are the text."""
    contents = _contents(ids, encoder)
    if contents is None or b"".join(contents) != _utf8(text):
        return None
    ends = list(accumulate(map(len, contents)))
    return list(zip([0, *ends], ends, strict=False))


def _offsets(ids: Sequence[int], encoder: Encoder, text: str, mode: Mode) -> TokenSpans | None:
    """What tokens stand for, as our encoder says, where it gives the same ids."""
    try:
        if mode.special == "parse":
            own, spans = encoder.encode_with_offsets(text, "all")
        else:
            own, spans = encoder.encode_with_offsets(text)
    except BpeInteropError:
        return None  # our encoder has no ids for the text, so no places
    if tuple(own) != tuple(ids):
        return None
    places = [0, *accumulate(len(_utf8(char)) for char in text)]
    return [(places[start], places[end]) for start, end in spans]


def _by_bytes(a: _Side, b: _Side, size: int) -> Iterator[Span]:
    left, right = list(a.atoms()), list(b.atoms())
    i = j = reached = 0
    while i < len(left) or j < len(right):
        start, end, x, y = _together(left, right, i, j)
        if start > reached:
            yield Span(reached, start, (), (), True)
        ids_a, tokens_a = a.held(left[i:x])
        ids_b, tokens_b = b.held(right[j:y])
        yield Span(start, end, ids_a, ids_b, ids_a == ids_b, tokens_a, tokens_b)
        i, j, reached = x, y, max(reached, end)
    if size > reached:
        yield Span(reached, size, (), (), True)


def _together(left: list[_Atom], right: list[_Atom], i: int, j: int) -> tuple[int, int, int, int]:
    """The next part between two cuts that both sides have: its bytes, and where atoms go on."""
    start = min(atoms[at].start for atoms, at in ((left, i), (right, j)) if at < len(atoms))
    # What stands for no text (a template's token) is a part of its own, before the text that begins
    # there.
    empty = [at < len(s) and s[at][:2] == (start, start) for s, at in ((left, i), (right, j))]
    if any(empty):
        return start, start, i + empty[0], j + empty[1]
    end = start + 1
    x, y = i, j
    while True:
        if x < len(left) and left[x].start < end:
            end, x = max(end, left[x].end), x + 1
        elif y < len(right) and right[y].start < end:
            end, y = max(end, right[y].end), y + 1
        else:
            return start, end, x, y


def _by_ids(a: _Side, b: _Side) -> Iterator[Span]:
    """Ids that are alike from the start and from the end, one by one, and the rest between."""
    before, left, right = changed_part(a.ids, b.ids)
    end_a, end_b = before + len(left), before + len(right)
    cuts = [(place, place + 1, place, place + 1) for place in range(before)]
    cuts += [(before, end_a, before, end_b)] if a.ids != b.ids else []
    cuts += [
        (end_a + n, end_a + n + 1, end_b + n, end_b + n + 1) for n in range(len(a.ids) - end_a)
    ]
    for first_a, last_a, first_b, last_b in cuts:
        ids_a, tokens_a = a.part(first_a, last_a)
        ids_b, tokens_b = b.part(first_b, last_b)
        yield Span(None, None, ids_a, ids_b, ids_a == ids_b, tokens_a, tokens_b)
