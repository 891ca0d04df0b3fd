"""Vocabularies and merges that the kernel holds: tables, and the mappings that stand for them.

A :class:`Table` is in the library. To the rest of the package it is a mapping of tokens to numbers
(:class:`Numbers`), and listed merges are a sequence of pairs (:class:`Pairs`): both are equal to
what Python would hold, and are made into it when much of them is asked for. The functions at the
end answer questions about any mapping or sequence; None, or the answer that is always safe, stands
for one that the kernel does not hold, and Python works it out.
"""

from __future__ import annotations

from array import array
from collections.abc import (
    Callable,
    Collection,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    Sequence,
    Set,
    ValuesView,
)
from functools import cached_property
from itertools import compress, islice, pairwise
from operator import lt
from typing import Any, TypeVar, overload

from ..gc_pause import paused
from .library import KernelObject, Library, NumberSlots, address, answer, made, numbers

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")
Pair = tuple[bytes, bytes]

MOST = 2**31 - 1
"""The most bytes of a table's tokens together."""

_OFTEN = 4000
"""After so many look-ups, the dictionary is made: each of these costs more than one in it."""


class LazyDict(Mapping[K, V]):
    """A dictionary that is made when something is first asked of it.

    It equals every mapping with the same entries. Threads may share it.
    """

    __slots__ = ("__weakref__", "_make", "_whole")

    def __init__(self, make: Callable[[], dict[K, V]]) -> None:
        self._make: Callable[[], dict[K, V]] | None = make
        self._whole: dict[K, V] | None = None

    def whole(self) -> dict[K, V]:
        """The dictionary itself, which must not be changed."""
        whole = self._whole
        if whole is None:
            make = self._make
            if make is None:  # another thread has made it in between
                return self.whole()
            with paused():
                whole = self._whole = make()
            self._make = None
        return whole

    def __getitem__(self, key: K) -> V:
        return self.whole()[key]

    def __contains__(self, key: object) -> bool:
        return key in self.whole()

    def __iter__(self) -> Iterator[K]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Mapping):
            return self.whole() == as_dict(other)
        return NotImplemented

    def __repr__(self) -> str:
        return repr(self.whole())

    def keys(self) -> KeysView[K]:
        return self.whole().keys()

    def values(self) -> ValuesView[V]:
        """The values, in order."""
        return self.whole().values()

    def items(self) -> ItemsView[K, V]:
        return self.whole().items()

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (self.whole(),)


def as_dict(mapping: Mapping[K, V]) -> Mapping[K, V]:
    """The same mapping for who looks up much in it: the dictionary in a lazy one."""
    return mapping.whole() if isinstance(mapping, LazyDict) else mapping


class Table(KernelObject):
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
        joined, ends = self.joined()
        return [joined[start:end] for start, end in pairwise((0, *ends))]

    @cached_property
    def numbers(self) -> array[int]:
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
        handles = NumberSlots(self.library, 2)
        done = self.library.table_without(
            self.number, 0, address(places), len(places), address(handles.values)
        )
        _whole(answer(done))
        return Table(self.library, handles.take(0))

    def find(self, token: bytes) -> int | None:
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

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.table.tokens if self._whole is None else self._whole)

    @overload
    def get(self, key: bytes, default: None = None, /) -> int | None: ...
    @overload
    def get(self, key: bytes, default: int | T, /) -> int | T: ...
    def get(self, key: bytes, default: int | T | None = None, /) -> int | T | None:
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
        table, sought = self.table, array("I", sorted(n for n in wanted if 0 <= n < 2**32))
        places = numbers(len(sought))
        count = table.library.table_numbered(
            table.number, address(sought), len(sought), address(places)
        )
        found = places[: answer(count)]
        return {
            table.numbers[at]: token for at, token in zip(found, table.some(found), strict=True)
        }

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


class Pairs(Sequence[Pair]):
    """Pairs of tokens of a table; tuples are made of them only once somebody asks for one.

    It equals every sequence with the same pairs. Threads may share it.
    """

    __slots__ = ("__weakref__", "_whole", "merges", "table")

    def __init__(self, table: Table, merges: KernelObject) -> None:
        self.table = table
        self.merges = merges
        self._whole: tuple[Pair, ...] | None = None

    def whole(self) -> tuple[Pair, ...]:
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
        handles = NumberSlots(loaded, 2)
        done = loaded.table_without(
            self.table.number,
            self.merges.number,
            address(places),
            len(places),
            address(handles.values),
        )
        if answer(done) is None:
            return None
        return Pairs(Table(loaded, handles.take(0)), KernelObject(loaded, handles.take(1)))

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


def is_checked(ids: Mapping[bytes, int]) -> bool:
    """Whether the kernel has checked that these are distinct tokens with distinct ids."""
    return isinstance(ids, Numbers)


def are_checked(
    ids: Mapping[bytes, int], merges: Mapping[bytes, int] | Sequence[tuple[bytes, bytes]]
) -> bool:
    """Whether the kernel has found all ranked tokens, or all pairs and products, among tokens."""
    if not isinstance(ids, Numbers):
        return False
    if isinstance(merges, Numbers):
        return merges.table.apart(ids.table)[0] == len(merges)
    return isinstance(merges, Pairs) and merges.table is ids.table


def differing(
    a: Mapping[bytes, int], b: Mapping[bytes, int]
) -> tuple[int, tuple[bytes, ...], tuple[bytes, ...], tuple[bytes, ...]] | None:
    """How many tokens two vocabularies share; those of one only, and those with other ids."""
    if not (isinstance(a, Numbers) and isinstance(b, Numbers)):
        return None
    shared, places = a.table.apart(b.table)
    apart = a.table.some(places)
    moved = tuple(token for token in apart if b.table.place(token) is not None)
    gone = frozenset(moved)
    only_b: tuple[bytes, ...] = ()
    if len(b) > shared:
        there = b.table.some(b.table.apart(a.table)[1])
        only_b = tuple(token for token in there if token not in gone)
    return shared, tuple(token for token in apart if token not in gone), only_b, moved


def without_tokens(
    ids: Mapping[bytes, int], tokens: Collection[bytes]
) -> Mapping[bytes, int] | None:
    """The entries of other tokens than some, which are here."""
    if isinstance(ids, Numbers) and len(tokens) < len(ids):
        return ids.without(tokens)
    return None


def tokens_by_place(ids: Mapping[bytes, int], places: Sequence[int]) -> Sequence[bytes] | None:
    """The tokens at some places of a vocabulary, counted from 0."""
    return ids.table.some(places) if isinstance(ids, Numbers) else None


def tokens_by_id(ids: Mapping[bytes, int], numbers: Set[int]) -> dict[int, bytes] | None:
    """The tokens that have some ids, by id."""
    return ids.numbered(numbers) if isinstance(ids, Numbers) else None


def may_hold(ids: Mapping[bytes, int], part: bytes) -> bool:
    """Whether a token may hold some bytes; False: none does."""
    return not isinstance(ids, Numbers) or part in ids.table.joined()[0]


def in_order(ids: Mapping[bytes, int]) -> bool:
    """Whether the kernel holds these tokens, and their ids grow from one to the next."""
    return isinstance(ids, Numbers) and ids.in_order()


def used_among(pairs: Iterable[tuple[bytes, bytes]], tokens: Iterable[bytes]) -> set[bytes] | None:
    """Which of some tokens are a pair's part or product."""
    return pairs.used(tokens) if isinstance(pairs, Pairs) else None


def table_without(
    pairs: Sequence[tuple[bytes, bytes]], tokens: Iterable[bytes]
) -> tuple[Mapping[bytes, int], Sequence[tuple[bytes, bytes]]] | None:
    """The tokens among which pairs are listed, but for some that no pair names; the same pairs."""
    out = [*tokens]
    left = pairs.without(out) if isinstance(pairs, Pairs) and out else pairs
    return (Numbers(left.table), left) if isinstance(left, Pairs) else None
