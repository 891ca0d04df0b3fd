"""Statistics of corpora as a drawing (SVG) that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model import escaped
from ..statistics import Statistics
from .page import templates

LONGEST = 16
"""Bytes up to which each length has its own bar; longer tokens share one."""
ROWS = 200
"""How many rows are drawn at most; those of all files come last and are kept."""
_NAME = 36
"""Characters of a name that fit in its column."""
_HIGH, _WIDE = 44, 230
"""How high the bars of lengths are at most, and how wide those of bytes per token."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One tokenizer on one file; ``bars`` are the shares of tokens, by length."""

    top: int
    file: str
    tokenizer: str
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
    rows = [_row(at, each, most, highest) for at, each in enumerate(kept)]
    left_out = len(measured) - len(kept)
    return (
        templates()
        .get_template("plot.svg")
        .render(rows=rows, left_out=left_out, longest=LONGEST, high=_HIGH)
    )


def _row(at: int, each: Statistics, most: float, highest: float) -> _Row:
    shares = _shares(each)
    per_token, per_word = each.bytes_per_token, each.tokens_per_word
    names = {length: str(length) for length in range(1, LONGEST + 1)} | {LONGEST + 1: "more"}
    bars = [
        (length, f"{name} bytes: {shares.get(length, 0):.1%}", shares.get(length, 0) / highest)
        for length, name in names.items()
    ]
    return _Row(
        at,
        _short(each.file or "all files"),
        _short(each.tokenizer),
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


def _short(name: str) -> str:
    """The end of a name, which says most of a path."""
    name = escaped(name)
    return name if len(name) <= _NAME else f"…{name[1 - _NAME :]}"
