"""Tokens and their numbers in the kernel, and the mapping that stands for them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from functools import cached_property
from itertools import islice, pairwise
from operator import lt
from typing import Any, TypeVar, overload

from .lazy import LazyDict
from .library import Handles, Held, Library, address, answer, made, numbers

T = TypeVar("T")

MOST = 2**31 - 1
"""The most bytes of a table's tokens together."""

_OFTEN = 4000
"""After so many look-ups, the dictionary is made: each of these costs more than one in it."""


class Table(Held):
    """Distinct tokens that are not empty, in an order, with distinct numbers below 2**32."""

    @cached_property
    def sizes(self) -> tuple[int, int]:
        """How many tokens there are, and how many bytes together."""
        sizes = array("Q", bytes(16))
        answer(self.library.table_sizes(self.number, address(sizes)))
        return sizes[0], sizes[1]

    def some(self, places: Sequence[int]) -> tuple[bytes, ...]:
        """The tokens at some places; of a few of many, without making the others."""
        if "tokens" in vars(self) or len(places) > self.sizes[0] // 50:
            return tuple(map(self.tokens.__getitem__, places))
        return tuple(map(self._token, places))

    def _token(self, at: int) -> bytes:
        room = bytearray(64)
        size = answer(self.library.table_token(self.number, at, address(room), len(room))) or 0
        return bytes(room[:size]) if size <= len(room) else self.tokens[at]

    def joined(self) -> tuple[bytes, array[int]]:
        """All contents one after the other, and where each ends."""
        count, size = self.sizes
        contents, ends = bytearray(size), numbers(count)
        done = self.library.table_tokens(self.number, address(contents), size, address(ends), count)
        _whole(answer(done))
        return bytes(contents), ends

    @cached_property
    def tokens(self) -> list[bytes]:
        """The tokens in their order."""
        joined, ends = self.joined()
        return [joined[start:end] for start, end in pairwise((0, *ends))]

    @cached_property
    def numbers(self) -> array[int]:
        """The number of each token."""
        ids = numbers(self.sizes[0])
        _whole(answer(self.library.table_numbers(self.number, address(ids), len(ids))))
        return ids

    def place(self, token: bytes) -> int | None:
        """Where a token stands in the table; None if it is not here."""
        return answer(self.library.table_place(self.number, token, len(token)))

    def apart(self, other: Table) -> tuple[int, array[int]]:
        """How many tokens both have; the places of those that the other has not so.

        These are not in the other table, or with another number there.
        """
        counts, places = array("Q", bytes(16)), numbers(self.sizes[0])
        room = len(places)
        done = self.library.tables_apart(
            self.number, other.number, address(counts), address(places), room
        )
        _whole(answer(done))
        return counts[1], places[: counts[0]]

    def without(self, places: array[int]) -> Table:
        """The same without the tokens at some places; not all of them."""
        handles = Handles(self.library, 2)
        done = self.library.table_without(
            self.number, 0, address(places), len(places), address(handles.values)
        )
        _whole(answer(done))
        return Table(self.library, handles.take(0))

    def find(self, token: bytes) -> int | None:
        """The number of a token; None if it is not here."""
        return answer(self.library.table_find(self.number, token, len(token)))


def _whole(done: int | None) -> None:
    if done is None:
        raise AssertionError("a table gives what it was measured to hold")


class Numbers(LazyDict[bytes, int]):
    """Tokens and their numbers, from a table: a dictionary only once much of it is asked for."""

    __slots__ = ("_asked", "table")

    def __init__(self, table: Table) -> None:
        super().__init__(lambda: dict(zip(table.tokens, table.numbers, strict=True)))
        self.table = table
        self._asked = 0

    def __len__(self) -> int:
        return self.table.sizes[0]

    def __getitem__(self, key: bytes) -> int:
        whole = self._whole
        if whole is not None:
            return whole[key]
        number = self._find(key)
        if number is None:
            raise KeyError(key)
        return number

    def __contains__(self, key: object) -> bool:
        whole = self._whole
        if whole is not None:
            return key in whole
        return self._find(key) is not None

    @overload
    def get(self, key: bytes, default: None = None, /) -> int | None: ...
    @overload
    def get(self, key: bytes, default: int | T, /) -> int | T: ...
    def get(self, key: bytes, default: int | T | None = None, /) -> int | T | None:
        """The number of a token, or the default."""
        whole = self._whole
        if whole is not None:
            return whole.get(key, default)
        number = self._find(key)
        return default if number is None else number

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbers) and other is not self:
            return len(self) == len(other) and not self.table.apart(other.table)[1]
        return super().__eq__(other)

    def values(self) -> ValuesView[int]:
        """The numbers, in order; no token is made for them."""
        return super().values() if self._whole is not None else ListedNumbers(self, self.table)

    def without(self, tokens: Iterable[bytes]) -> Numbers:
        """The same without some tokens, which are here, and are not all of them."""
        places = array("I", (at for at in map(self.table.place, tokens) if at is not None))
        return Numbers(self.table.without(places))

    def in_order(self) -> bool:
        """Whether the numbers grow from token to token."""
        own = self.table.numbers
        return all(map(lt, own, islice(own, 1, None)))

    def numbered(self, wanted: Set[int]) -> dict[int, bytes]:
        """The tokens that have some numbers, by number."""
        if wanted.isdisjoint(self.table.numbers):  # in half the time
            return {}
        places = {n: at for at, n in enumerate(self.table.numbers) if n in wanted}
        return dict(zip(places, self.table.some([*places.values()]), strict=True))

    def _find(self, key: object) -> int | None:
        """Looks one token up in the table; who asks often is given the dictionary."""
        if not isinstance(key, bytes):
            return None
        self._asked += 1
        if self._asked > _OFTEN:
            return self.whole().get(key)
        return self.table.find(key)


class ListedNumbers(ValuesView[int]):
    """The numbers of a table, for which no mapping is made."""

    def __init__(self, mapping: Mapping[Any, int], table: Table) -> None:
        super().__init__(mapping)
        self._table = table

    def __iter__(self) -> Iterator[int]:
        return iter(self._table.numbers)

    def __contains__(self, number: object) -> bool:
        return number in self._table.numbers


def packed(loaded: Library, tokens: list[bytes], own: Iterable[int]) -> Table | None:
    """A table of tokens and their numbers, of which some may be equal."""
    contents = b"".join(tokens)
    if len(contents) > MOST:
        return None
    try:
        given = array("I", own)
    except (OverflowError, TypeError):
        return None
    sizes = array("I", map(len, tokens))
    held = made(
        loaded.table_new(contents, len(contents), address(sizes), address(given), len(given))
    )
    if held is None:
        return None
    table = Table(loaded, held)
    table.tokens = tokens
    return table
