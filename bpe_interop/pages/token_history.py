"""How one token of a text came about, ready to be shown."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from ..encode.explain import Explained, Merge, Replaced
from ..engines import Special
from ..errors import SourceError
from .panels import Viewed

SHOWN = 200
"""How many symbols and merges of a token, and bytes of its pretoken, are shown at most."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A token, the symbols that it began as, and their merges in order.

    ``pretoken`` is its beginning only where ``cut`` says so.
    """

    label: str
    id: int
    content: bytes
    digits: str
    pretoken: bytes
    cut: bool
    symbols: tuple[bytes, ...]
    merges: tuple[Merge, ...]
    replaced: tuple[Replaced, ...]


def how_merged(side: Viewed, text: str, at: int, special: Special) -> tuple[Explained, Answer]:
    """How the token at a place among a text's ids came about, and the pretoken it is from.

    Raises:
        SourceError: there is no such place.
        The errors of :meth:`.Explainer.explain`.
    """
    explained, inner = _at(
        side.encoder.explain(text, "all" if special == "parse" else frozenset()), at
    )
    number, span = explained.ids[inner], explained.spans[inner]
    content = side.encoder.token_bytes(number)
    symbols: list[bytes] = []
    merges: list[Merge] = []
    for run in explained.runs:
        for first, last in run.groups():
            if _meet((run.spans[first][0], run.spans[last - 1][1]), span):
                symbols += run.symbols[first:last]
                merges += [m for m in run.merges if first <= m.first and m.last <= last]
    return explained, Answer(
        side.label,
        number,
        content,
        content.hex(" ").upper(),
        _whole_characters(explained.content[:SHOWN]),
        len(explained.content) > SHOWN,
        tuple(symbols[:SHOWN]),
        tuple(merges[:SHOWN]),
        tuple(each for each in explained.replaced if _meet(each.span, span) and number in each.ids),
    )


def _at(explained: list[Explained], at: int) -> tuple[Explained, int]:
    """What holds the id at a place, and which of its ids that is."""
    for each in explained:
        if at < len(each.ids):
            return each, at
        at -= len(each.ids)
    raise SourceError("the text has no such token")


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _whole_characters(content: bytes) -> bytes:
    """Without the bytes at the end that begin a character that is not complete."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(content)
    return content.removesuffix(decoder.getstate()[0])
