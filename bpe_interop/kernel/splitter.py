"""Pre-tokenizers in the kernel. The twin is ``text/split.py``; ``theory/split_tables.py`` makes
the tables and proves them.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from .library import KernelObject, Library, OwnedNumber, address, answer, library, made, numbers

BEHAVIORS = ("isolated", "removed", "merged_with_previous", "merged_with_next", "contiguous")
"""What is done with matches, by the number that the library knows it by."""


_ROOM = 1 << 14
"""Bytes of a text up to which the room for its pretokens is used again."""


@dataclass(frozen=True, slots=True)
class SplitTable:
    """One step of a pre-tokenizer.

    Attributes:
        pages: for each 256 code points, which page of ``classes`` is theirs.
        classes: the class of each code point of a page, pages one after the other.
        transitions: the entries, a row for each state; the next row above three flags.
        stride: entries in a row.
        start: where the row of the first state begins.
        end: the class of the end of the text.
        behavior, invert: what is done with matches and what lies between them, as in ``Split``.
        covers: whether every text begins with a match, so that nothing lies between.
    """

    pages: array[int]
    classes: bytes
    transitions: array[int]
    stride: int
    start: int
    end: int
    behavior: str
    invert: bool
    covers: bool


class TableSplitter(KernelObject):
    """Steps of which each cuts every pretoken of the one before. Threads may share them."""

    __slots__ = ("_rooms",)

    def __init__(self, library: Library, made: OwnedNumber) -> None:
        super().__init__(library, made)
        self._rooms: list[tuple[array[int], array[int]]] = []

    def cut(self, text: str) -> list[str] | None:
        """The pretokens of a text without surrogates; None where the kernel cannot tell."""
        data = text.encode("utf-8")
        places = self.places(data)
        if places is None:
            return None
        return [data[start:end].decode("utf-8") for start, end in zip(*places, strict=True)]

    def places(self, data: bytes) -> tuple[array[int], array[int]] | None:
        """Where the pretokens of a text in UTF-8 begin and end, in bytes; else as :meth:`cut`."""
        size = len(data)
        room = self._room(size)
        starts, ends = room
        count = answer(
            self.library.splitter_cut(
                self.number, data, size, address(starts), address(ends), len(starts)
            )
        )
        places = None if count is None else (starts[:count], ends[:count])
        if len(starts) == _ROOM:
            self._rooms.append(room)
        return places

    def _room(self, size: int) -> tuple[array[int], array[int]]:
        """Room for as many pretokens as a text of that size has at most."""
        if size > _ROOM:
            return numbers(size), numbers(size)
        try:
            return self._rooms.pop()
        except IndexError:
            return numbers(_ROOM), numbers(_ROOM)


def splitter_of(tables: Sequence[SplitTable]) -> TableSplitter | None:
    """The steps in the kernel; None where one is larger than there is room for, or there is none.

    Raises:
        EngineError: see :func:`.library.answer`.
    """
    loaded = library()
    if loaded is None:
        return None
    steps: TableSplitter | None = None
    for table in tables:
        flags = table.invert | table.covers << 1
        behavior = BEHAVIORS.index(table.behavior)
        own = array("I", (table.stride, table.start, table.end, behavior, flags))
        held = made(
            loaded.splitter_after(
                steps.number if steps else 0,
                address(table.pages),
                len(table.pages),
                table.classes,
                len(table.classes),
                address(table.transitions),
                len(table.transitions),
                address(own),
            )
        )
        if held is None:
            return None
        steps = TableSplitter(loaded, held)
    return steps
