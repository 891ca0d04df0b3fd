"""Equal ranks: lists of pairs that may do the same, and circles that none can do (Theorem 7)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import accumulate

from ..merging.merger import Priority
from ..merging.symbols import symbols_of
from ..model import Alphabet, PairList
from .core import System
from .spines import Spines


def tied_lists(
    system: System, ids: Mapping[bytes, int], headless: Collection[bytes] = ()
) -> list[System]:
    """Lists that may do what a rank table with equal ranks does, all but ``headless`` in them.

    First the splits, in an order as in Theorem 7; then, where a token's rank is also that of a
    part of it, all its splits, by id: that is how runs of spaces are published.
    """
    spines, place = system.spines, ids.__getitem__
    levels = [_ordered(spines, level, place) for level in _levels(spines)]
    plain = [spines.splits[t] for level in levels for t in level if t not in headless]
    lists = [plain]
    if spines.loose:
        every: list[tuple[bytes, bytes]] = []
        for level in levels:
            if spines.loose.isdisjoint(level):
                every += (spines.splits[t] for t in level if t not in headless)
            else:
                for token in sorted(level, key=place):
                    every += _every_split(token, system.alphabet, ids)
        lists.append(every)
    return [System(PairList(tuple(pairs)), system.tokens, system.alphabet, ids) for pairs in lists]


def _every_split(
    token: bytes, alphabet: Alphabet, ids: Mapping[bytes, int]
) -> list[tuple[bytes, bytes]]:
    places = [*accumulate(map(len, symbols_of(token, alphabet)))]
    pairs = [(token[:at], token[at:]) for at in places[:-1]]
    known = [pair for pair in pairs if pair[0] in ids and pair[1] in ids]
    return sorted(known, key=lambda pair: (ids[pair[0]], ids[pair[1]]))


def _levels(spines: Spines) -> Iterator[list[bytes]]:
    """The tokens of each rank."""
    levels: dict[Priority, list[bytes]] = {}
    for token, priority in spines.priority.items():
        levels.setdefault(priority, []).append(token)
    return (level for _, level in sorted(levels.items()))


def _ordered(spines: Spines, level: list[bytes], place: Callable[[bytes], int]) -> list[bytes]:
    """Parts before wholes, winners before losers, otherwise by id, as where it is a circle."""
    if len(level) == 1:
        return level
    members = set(level)
    after: dict[bytes, list[bytes]] = {token: [] for token in level}
    waits = dict.fromkeys(level, 0)

    def add(first: bytes, second: bytes) -> None:
        if first != second:
            after[first].append(second)
            waits[second] += 1

    for token in level:
        left, right = spines.splits[token]
        for part in {left, right} & members:
            add(part, token)
        for other in spines.starting.get(right, ()):
            if other in members:
                add(*((token, other) if spines.left_first(token, other) else (other, token)))
    free = [(place(token), token) for token in level if not waits[token]]
    heapify(free)
    stuck = {token: place(token) for token in level}
    order: list[bytes] = []
    while stuck:
        token = heappop(free)[1] if free else min(stuck, key=stuck.__getitem__)
        if stuck.pop(token, None) is None:
            continue
        order.append(token)
        for later in after[token]:
            waits[later] -= 1
            if not waits[later] and later in stuck:
                heappush(free, (stuck[later], later))
    return order


def forced_circle(system: System) -> list[bytes]:
    """Two-symbol tokens of equal rank each of which must merge before the next, in a circle.

    ``l x r`` ends in ``lx r`` in the system: a list that does the same has ``lx`` before ``xr``,
    for it has no other pairs there. So no list goes round the circle (Theorem 7).
    """
    spines, size = system.spines, system.size
    short = dict.fromkeys(token for token in spines.splits if size(token) == 2)
    before: dict[bytes, dict[bytes, None]] = {}
    for token in short:
        for other in spines.starting.get(spines.splits[token][1], ()):
            tied = spines.priority[token] == spines.priority[other] and token != other
            if tied and other in short and spines.apart(token, spines.splits[other][1]):
                before.setdefault(other, {})[token] = None
    for token, earlier in before.items():
        for other in earlier:
            if token in before.get(other, ()):
                return [other, token]
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        return list(error.args[1][1:])
    return []
