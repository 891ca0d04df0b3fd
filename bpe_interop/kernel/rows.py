"""Rows of JSON about the tokens that a table holds; None for what is no table of the kernel's.

No object is made of a token. The twin is ``fingerprint.py``, and every character is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from .canonical import SYMBOL, Splits
from .tables import Numbers, Table


def content_rows(ids: Mapping[bytes, int], others: Mapping[int, str]) -> Iterator[str] | None:
    """``[id,"content"]`` by id, contents in hexadecimal.

    Args:
        ids: the tokens.
        others: what stands for the content of other ids, or of the same, as JSON.
    """
    if not isinstance(ids, Numbers):
        return None
    contents, own = _hexadecimal(ids.table), ids.table.numbers
    order = sorted((number, at) for at, number in enumerate(own) if number not in others)
    rows = [(number, f'"{contents[at]}"') for number, at in order]
    return (f"[{number},{text}]" for number, text in sorted([*rows, *others.items()]))


def token_rows(
    ids: Mapping[bytes, int], splits: Mapping[bytes, object], more: Iterable[bytes]
) -> Iterator[str] | None:
    """``[id,"content","normal"]`` by id, of the tokens that merging builds and some more."""
    if not (isinstance(ids, Numbers) and isinstance(splits, Splits)):
        return None
    table = ids.table
    if splits.found.table is not table:
        return None
    places = {*splits.found.columns[0], *(at for at in map(table.place, more) if at is not None)}
    contents, own = _hexadecimal(table), table.numbers
    order = sorted(places, key=own.__getitem__)
    return (f'[{own[at]},"{contents[at]}","normal"]' for at in order)


def merge_rows(splits: Mapping[bytes, object]) -> Iterator[str] | None:
    """``[place,"left","right"]`` of a canonical form of bytes; merges with one priority share it.

    In the order of priorities.
    """
    if not isinstance(splits, Splits) or splits.found.alphabet != "byte":
        return None
    contents = _hexadecimal(splits.found.table)
    _, left, right, priorities = splits.found.columns
    places: dict[int, int] = {}
    return (
        f'[{places.setdefault(own, len(places))},"{_part(contents, x)}","{_part(contents, y)}"]'
        for x, y, own in zip(left, right, priorities, strict=True)
    )


def _part(contents: list[str], part: int) -> str:
    return contents[part] if part < SYMBOL else f"{part - SYMBOL:02x}"


def _hexadecimal(table: Table) -> list[str]:
    joined, ends = table.joined()
    text = joined.hex()
    return [text[2 * start : 2 * end] for start, end in pairwise((0, *ends))]
