"""Every token in texts of its own, with the ids of these: what a lock file has of each token.

In a lock file the table is JSON: ``gaps`` between ids; ``texts``, without what they share with the
text before of the same token, ``shared`` characters; and ``ids``, 0 where a text has the token's
id and no other, -1 for the token among others. It is compressed with bz2 and written in base85,
in lines: some four bytes a token.
"""

from __future__ import annotations

import base64
import bz2
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, cast

from ..encode import Encoder
from ..errors import EncodeError, FormatError
from ..model import MAX_ID, BPEModel
from ..strict_json import Node, parse
from .stress import texts_with

_COLUMNS = ("gaps", "shared", "texts", "ids")
_LINE = 100
_COMPANIONS = ("\ua64c", "\ua60e", "\ua620")
"""A letter, a punctuation mark and a digit that are rarely tokens, or parts of any."""
_LARGEST = 1 << 28
"""Bytes of a table, unpacked: some hundred times that of the largest vocabulary."""


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


def pack(rows: Sequence[OwnText]) -> list[str]:
    """A table as lines of ASCII."""
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
    table = {"gaps": gaps, "shared": shared, "texts": texts, "ids": ids}
    written = json.dumps(table, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    packed = base64.b85encode(bz2.compress(written)).decode("ascii")
    return [packed[start : start + _LINE] for start in range(0, len(packed), _LINE)]


def unpack(lines: Node, name: str) -> tuple[OwnText, ...]:
    """A table from its lines.

    Raises:
        FormatError: this is none.
    """
    packed = "".join(line.be(str) for line in lines.items())
    unpacking = bz2.BZ2Decompressor()
    try:
        written = unpacking.decompress(base64.b85decode(packed), _LARGEST)
    except (ValueError, OSError):
        raise _damaged(name) from None
    if not unpacking.eof:
        raise _damaged(name)
    table = parse(written, name)
    columns = [cast("list[object]", table[key].be(list)) for key in _COLUMNS]
    if len({len(column) for column in columns}) != 1:
        raise _damaged(name)
    return tuple(_rows(columns, name))


def _rows(columns: list[list[object]], name: str) -> Iterator[OwnText]:
    number, before = 0, ""
    for gap, shared, text, ids in zip(*columns, strict=True):
        if not isinstance(gap, int) or not isinstance(shared, int) or not isinstance(text, str):
            raise _damaged(name)
        number += gap
        before = before[:shared] + text
        yield OwnText(number, before, _ids(number, ids, name))


def _ids(number: int, ids: object, name: str) -> tuple[int, ...]:
    listed = [-1] if ids == 0 else ids
    if not isinstance(listed, list):
        raise _damaged(name)
    found = tuple(number if each == -1 else each for each in listed)
    if not all(type(each) is int and 0 <= each <= MAX_ID for each in found):
        raise _damaged(name)
    return found


def _damaged(name: str) -> FormatError:
    return FormatError(
        "the lock file's tokens cannot be read: it was cut or edited",
        where=name,
        fix="lock the tokenizer again",
    )
