"""Listed merges in the kernel, and the sequence that stands for them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import overload

from ..gc_pause import paused
from .library import Handles, Held, address, answer, numbers
from .tables import Table

Pair = tuple[bytes, bytes]


class Pairs(Sequence[Pair]):
    """Pairs of tokens of a table; tuples are made of them only once somebody asks for one.

    It equals every sequence with the same pairs. Threads may share it.
    """

    __slots__ = ("__weakref__", "_whole", "merges", "table")

    def __init__(self, table: Table, merges: Held) -> None:
        self.table = table
        self.merges = merges
        self._whole: tuple[Pair, ...] | None = None

    def whole(self) -> tuple[Pair, ...]:
        """The pairs themselves."""
        if self._whole is None:
            with paused():
                self._whole = self._made()
        return self._whole

    def _made(self) -> tuple[Pair, ...]:
        count, token = len(self), self.table.tokens.__getitem__
        left, right = numbers(count), numbers(count)
        done = self.merges.library.merges_copy(
            self.merges.number, address(left), address(right), count
        )
        if answer(done) is None:
            raise AssertionError("merges give what they were counted to hold")
        return tuple(zip(map(token, left), map(token, right), strict=True))

    def used(self, tokens: Iterable[bytes]) -> set[bytes]:
        """Which of some tokens are a pair's part or product."""
        loaded, table = self.merges.library, self.table
        flags = bytearray(table.sizes[0])
        done = loaded.merges_used(table.number, self.merges.number, address(flags), len(flags))
        if answer(done) is None:
            raise AssertionError("these pairs are of this table")
        asked = list(tokens)
        return set(compress(asked, (self._flag(flags, token) for token in asked)))

    def _flag(self, flags: bytearray, token: bytes) -> bool:
        place = self.table.place(token)
        return place is not None and bool(flags[place])

    def without(self, tokens: Iterable[bytes]) -> Pairs | None:
        """The same over a table without some tokens, which no pair names; None if one does."""
        places = array("I")
        for token in tokens:
            place = self.table.place(token)
            if place is None:
                return None
            places.append(place)
        loaded = self.merges.library
        handles = Handles(loaded, 2)
        done = loaded.table_without(
            self.table.number,
            self.merges.number,
            address(places),
            len(places),
            address(handles.values),
        )
        if answer(done) is None:
            return None
        return Pairs(Table(loaded, handles.take(0)), Held(loaded, handles.take(1)))

    def __len__(self) -> int:
        return answer(self.merges.library.merges_count(self.merges.number)) or 0

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Pair, ...]: ...
    def __getitem__(self, index: int | slice) -> Pair | tuple[Pair, ...]:
        return self.whole()[index]

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.whole())

    def __contains__(self, pair: object) -> bool:
        return pair in self.whole()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Pairs):
            same = self.merges.library.merges_same(
                self.table.number, self.merges.number, other.table.number, other.merges.number
            )
            return answer(same) == 1
        return self.whole() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.whole())

    def __repr__(self) -> str:
        return repr(self.whole())

    def __reduce__(self) -> tuple[object, ...]:
        return tuple, (self.whole(),)
