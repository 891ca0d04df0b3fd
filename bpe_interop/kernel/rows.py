"""Rows of JSON about the tokens that a table holds; None for what is no table of the kernel's.

No object is made of a token. The twin is ``fingerprint.py``, and every character is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, repeat

from .canonical import SYMBOL, FoundSplits, symbol
from .lazy import as_dict
from .tables import Numbers, Table

_NO_ID = -1


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
    ids: Mapping[bytes, int],
    splits: Mapping[bytes, object],
    more: Iterable[bytes],
    kinds: Mapping[int, str],
) -> Iterator[str] | None:
    """``[id,"content","kind"]`` by id, of the tokens that merging builds and some more.

    Args:
        ids: the tokens.
        splits: of a canonical form, of tokens that are all among these.
        more: other tokens among these, or the same.
        kinds: of ids whose kind is not "normal".
    """
    if not (isinstance(ids, Numbers) and isinstance(splits, FoundSplits)):
        return None
    table = splits.found.table
    contents, own = _hexadecimal(table), [*table.numbers]
    if table is not ids.table:
        own = [*map(as_dict(ids).get, table.tokens, repeat(_NO_ID))]
    places = {*splits.found.columns[0]}
    for token in more:
        place = table.place(token)
        if place is None:
            place = len(contents)
            contents.append(token.hex())
            own.append(ids[token])
        places.add(place)
    order, kind = sorted(places, key=own.__getitem__), kinds.get
    return (f'[{own[at]},"{contents[at]}","{kind(own[at], "normal")}"]' for at in order)


def merge_rows(splits: Mapping[bytes, object]) -> Iterator[str] | None:
    """``[place,"left","right"]`` of a canonical form; merges with one priority share a place.

    In the order of priorities.
    """
    if not isinstance(splits, FoundSplits):
        return None
    contents, alphabet = _hexadecimal(splits.found.table), splits.found.alphabet
    _, left, right, priorities = splits.found.columns
    parts = [
        [contents[at] if at < SYMBOL else symbol(at, alphabet).hex() for at in column]
        for column in (left, right)
    ]
    places: dict[int, int] = {}
    numbered = (places.setdefault(own, len(places)) for own in priorities)
    return (f'[{own},"{x}","{y}"]' for own, x, y in zip(numbered, *parts, strict=True))


def _hexadecimal(table: Table) -> list[str]:
    joined, ends = table.joined()
    text = joined.hex()
    return [text[2 * start : 2 * end] for start, end in pairwise((0, *ends))]
