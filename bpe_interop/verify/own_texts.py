"""Every token in texts of its own, with the ids of these: what a lock file has of each token.

In a lock file the table is JSON: ``gaps`` between ids; ``texts``, without what they share with the
text before of the same token, ``shared`` characters; and ``ids``, 0 where a text has the token's
id and no other, -1 for the token among others. Packed it takes some five bytes a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from ..encode import Encoder
from ..errors import EncodeError
from ..model import MAX_ID, BPEModel
from ..strict_json import Node
from .packing import damaged
from .stress import texts_with

_COLUMNS = ("gaps", "shared", "texts", "ids")
_COMPANIONS = ("\ua64d", "\ua60e", "\ua620")
"""A letter, a punctuation mark and a digit that are rarely tokens, or parts of any.

The letter is a small one: patterns that tell case let it follow any other.
"""


class OwnText(NamedTuple):
    """A token's id, a text in which the token stands, and the text's ids.

    Special strings are text.
    """

    id: int
    text: str
    ids: tuple[int, ...]


def own_texts(model: BPEModel) -> Iterator[OwnText]:
    """The table of a model, by id. Tokens that no bytes complete to text have no row.

    The text is the token alone where that gives its id, else one of a few around it that does,
    else the token alone. Where whole pretokens are looked up, the token alone says nothing of
    its merges: there is a second row, with the token inside a longer pretoken.
    """
    encoder = Encoder(model)
    for content, number in sorted(model.vocab.ids.items(), key=lambda item: item[1]):
        row = _choose(encoder, number, texts_with(content, model))
        if row is None:
            continue
        yield row
        if model.lookup_first and row.ids == (number,):
            longer = (row.text + companion for companion in _COMPANIONS)
            inside = (text for text in longer if row.text not in encoder.pretokenize(text))
            merged = _choose(encoder, number, inside)
            if merged is not None and number in merged.ids:
                yield merged


def _choose(encoder: Encoder, number: int, texts: Iterable[str]) -> OwnText | None:
    """The first text with an id among its ids; the first of all where there is none."""
    first: OwnText | None = None
    for text in texts:
        try:
            row = OwnText(number, text, tuple(encoder.encode(text)))
        except EncodeError:
            continue
        if number in row.ids:
            return row
        first = first or row
    return first


def as_table(rows: Sequence[OwnText]) -> dict[str, object]:
    """A table as the JSON of a lock file."""
    before = OwnText(0, "", ())
    gaps: list[int] = []
    shared: list[int] = []
    texts: list[str] = []
    ids: list[object] = []
    for row in rows:
        longer = row.id == before.id and row.text.startswith(before.text)
        common = len(before.text) if longer else 0
        gaps.append(row.id - before.id)
        shared.append(common)
        texts.append(row.text[common:])
        ids.append(0 if row.ids == (row.id,) else [-1 if n == row.id else n for n in row.ids])
        before = row
    return {"gaps": gaps, "shared": shared, "texts": texts, "ids": ids}


def from_table(table: Node, name: str) -> tuple[OwnText, ...]:
    """A table from its JSON.

    Raises:
        FormatError: this is none.
    """
    columns = [cast("list[object]", table[key].be(list)) for key in _COLUMNS]
    if len({len(column) for column in columns}) != 1:
        raise damaged(name)
    return tuple(_rows(columns, name))


def _rows(columns: list[list[object]], name: str) -> Iterator[OwnText]:
    number, before = 0, ""
    for gap, shared, text, ids in zip(*columns, strict=True):
        if not isinstance(gap, int) or not isinstance(shared, int) or not isinstance(text, str):
            raise damaged(name)
        number += gap
        before = before[:shared] + text
        yield OwnText(number, before, _ids(number, ids, name))


def _ids(number: int, ids: object, name: str) -> tuple[int, ...]:
    listed = [-1] if ids == 0 else ids
    if not isinstance(listed, list):
        raise damaged(name)
    found = tuple(number if each == -1 else each for each in listed)
    if not all(type(each) is int and 0 <= each <= MAX_ID for each in found):
        raise damaged(name)
    return found
