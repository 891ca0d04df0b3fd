"""Statistics of corpora as a drawing (SVG) that needs nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..quoting import escaped
from ..reports.page import templates
from ..text.visible import columns_of
from ..token_counts import Statistics

LONGEST = 16
"""Bytes up to which each length has its own bar; longer tokens share one."""
ROWS = 200
"""How many rows are drawn at most; those of all files come last and are kept."""
_NAME = 36
"""Columns of a name that fit in its place; a wide character takes two."""
_COLUMN, _LOOSE = 7.3, 20
"""How wide a column of a name is drawn, if it has more than so many: every font keeps to it."""
_HIGH, _WIDE = 44, 230
"""How high the bars of lengths are at most, and how wide those of bytes per token."""


@dataclass(frozen=True, slots=True)
class _Name:
    """A name, as much of it as is drawn, and how wide (0: as wide as it is)."""

    whole: str
    shown: str
    wide: float


@dataclass(frozen=True, slots=True)
class _Row:
    """One tokenizer on one file; ``bars`` are the shares of tokens, by length."""

    top: int
    file: _Name
    tokenizer: _Name
    per_token: str
    per_word: str
    unused: str
    wide: float
    bars: tuple[tuple[int, str, float], ...]


def to_svg(measured: Sequence[Statistics]) -> str:
    """A row for each: bytes per token, tokens per word, unused tokens, and lengths of tokens.

    Its text can be read to people who do not see it. It is well-formed XML.
    """
    kept = [*measured] if len(measured) <= ROWS else [*measured[: ROWS - 20], *measured[-20:]]
    most = max((each.bytes_per_token or 0 for each in kept), default=0) or 1
    highest = max((max(_shares(each).values(), default=0) for each in kept), default=0) or 1
    files = _names([each.file or "all files" for each in kept])
    tokenizers = _names([each.tokenizer for each in kept])
    rows = [
        _row(at, each, files[at], tokenizers[at], most, highest) for at, each in enumerate(kept)
    ]
    left_out = len(measured) - len(kept)
    return (
        templates()
        .get_template("plot.svg")
        .render(rows=rows, left_out=left_out, longest=LONGEST, high=_HIGH)
    )


def _row(
    at: int, each: Statistics, file: _Name, tokenizer: _Name, most: float, highest: float
) -> _Row:
    shares = _shares(each)
    per_token, per_word = each.bytes_per_token, each.tokens_per_word
    names = {length: str(length) for length in range(1, LONGEST + 1)} | {LONGEST + 1: "more"}
    bars = [
        (length, f"{name} bytes: {shares.get(length, 0):.1%}", shares.get(length, 0) / highest)
        for length, name in names.items()
    ]
    return _Row(
        at,
        file,
        tokenizer,
        "none" if per_token is None else f"{per_token:.2f}",
        "none" if per_word is None else f"{per_word:.2f}",
        f"{len(each.unused):,} of {each.usable:,}",
        round((per_token or 0) / most * _WIDE, 1),
        tuple((length, name, round(share * _HIGH, 1)) for length, name, share in bars),
    )


def _shares(each: Statistics) -> Mapping[int, float]:
    """Of all tokens, the part that has so many bytes; longer ones together."""
    shares: dict[int, float] = {}
    for length, count in each.lengths.items():
        place = min(length, LONGEST + 1)
        shares[place] = shares.get(place, 0) + count / each.tokens
    return shares


def _names(names: Sequence[str]) -> list[_Name]:
    """The ends of names, which say most of a path; where two are alike, beginnings as well."""
    ends = {name: _end(escaped(name), _NAME) for name in names}
    alike = Counter(ends.values())
    shown = {name: end if alike[end] == 1 else _ends(escaped(name)) for name, end in ends.items()}
    return [_Name(escaped(name), shown[name], _width(shown[name])) for name in names]


def _end(name: str, columns: int) -> str:
    """The end of a name that takes so many columns."""
    if columns_of(name) <= columns:
        return name
    while columns_of(name) >= columns:
        name = name[1:]
    return f"…{name}"


def _ends(name: str) -> str:
    """A name without its middle."""
    begin = name[: _NAME // 2]
    while columns_of(begin) > _NAME // 2:
        begin = begin[:-1]
    return begin + _end(name, _NAME // 2)


def _width(shown: str) -> float:
    columns = columns_of(shown)
    return round(columns * _COLUMN, 1) if columns > _LOOSE else 0.0
