"""Learns merges from counted pretokens, exactly as a recount before every merge would.

The teaching implementations repeat: count all pairs of neighbours, merge the most frequent one
everywhere, of several the one counted first. Nothing is recounted here; the merges are the same
(Theorem 33 in docs/theory.md).
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Mapping
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ..kernel.learner import learner_of
from ..ticks import Tick, no_progress

BYTES = 256
"""The ids that are not learned: each byte's is its number."""

_BORDER = -1
_AT_ONCE = 1_024
"""Merges of the kernel between which Ctrl-C is heard, and progress told."""

Pair: TypeAlias = tuple[int, int]
_Places: TypeAlias = "dict[int, list[int]]"
_Entry: TypeAlias = tuple[int, int, Pair, int]
"""Minus a count, a place, the pair, and where among its places this one is."""


class LearnedMerge(NamedTuple):
    """A pair that was merged, the id of its product, and how often the pair was counted."""

    left: int
    right: int
    id: int
    frequency: int


class Learner:
    """Learns merges from pretokens (their bytes, in the order they first came) and their counts."""

    def __init__(self, pretokens: Mapping[bytes, int]) -> None:
        # A slot for each byte, and a border between pretokens. A token of several slots has its id
        # in its first and its last one, so both of its neighbours are found in one step, and
        # merging moves nothing.
        self._slots: list[int] = [_BORDER]
        self._weights: list[int] = [0]
        for content, count in pretokens.items():
            self._slots += [*content, _BORDER]
            self._weights += [count] * len(content) + [0]
        self._code = "I" if len(self._slots) < 1 << 32 else "Q"
        self._sizes = [1] * BYTES
        self._counts: dict[Pair, int] = defaultdict(int)
        self._where: dict[Pair, array[int]] = defaultdict(lambda: array(self._code))
        for place, pair in enumerate(pairwise(self._slots)):
            if _BORDER not in pair:
                self._counts[pair] += self._weights[place]
                self._where[pair].append(place)
        self._heap: list[_Entry] = [
            (-count, self._where[pair][0], pair, 0) for pair, count in self._counts.items()
        ]
        heapify(self._heap)

    def learn(
        self,
        limit: int | None,
        least: int = 1,
        tick: Tick = no_progress,
    ) -> list[LearnedMerge]:
        """Merges until ``limit`` were made, or no pair occurs ``least`` times any more.

        ``tick`` is called with the number of merges after each.
        """
        merges: list[LearnedMerge] = []
        while limit is None or len(merges) < limit:
            pair, count = self._best()
            if count < max(least, 1):
                break
            merges.append(LearnedMerge(*pair, len(self._sizes), count))
            self._merge(pair)
            tick(len(merges))
        return merges

    def tokens(self) -> int:
        """How many tokens all pretokens are now, each counted as often as it came."""
        slots, place, found = self._slots, 0, 0
        while place < len(slots):
            found += self._weights[place]
            # A border is one slot; a token takes as many as it has bytes.
            place += self._sizes[slots[place]] if slots[place] >= 0 else 1
        return found

    def _best(self) -> tuple[Pair, int]:
        """The most frequent pair, of several the one whose first place is first; and its count.

        The count is 0 where no pair is left.
        """
        heap, counts, slots, sizes = self._heap, self._counts, self._slots, self._sizes
        # A merge makes new pairs with the new token only; all others can only become rarer, and
        # their first place can only move on (Theorem 33 in docs/theory.md, 1). So what an old entry
        # promises is never too little: the one on top is checked, and put back with what is true
        # now (2 there).
        while heap:
            minus, place, pair, at = heap[0]
            count = counts[pair]
            if count == 0:
                heappop(heap)
                continue
            if count == -minus:  # nothing of it was taken since, its first place neither
                return pair, count
            (left, right), places = pair, self._where[pair]
            while slots[place] != left or slots[place + sizes[left]] != right:
                at += 1
                place = places[at]
            heapreplace(heap, (-count, place, pair, at))
        return (0, 0), 0

    def _merge(self, pair: Pair) -> None:
        """Gives the pair's product the next id, wherever the pair stands."""
        (left, right), new = pair, len(self._sizes)
        self._sizes.append(self._sizes[left] + self._sizes[right])
        heappop(self._heap)  # it is the top
        del self._counts[pair]
        before, after = self._replace(pair, new, self._where.pop(pair))
        # What stands after first: where the product stands beside itself, its first one was
        # counted with the left part that the second one has taken since.
        for other, places in after.items():
            self._follow((right, other), (new, other), places)
        for other, places in before.items():
            self._follow((other, left), (other, new), places)

    def _replace(self, pair: Pair, new: int, places: array[int]) -> tuple[_Places, _Places]:
        """Writes the new token, and returns the places of the pairs that it makes.

        By the token before it, and by the token after it.
        """
        slots, sizes = self._slots, self._sizes
        left, right = pair
        step, size = sizes[left], sizes[new]
        before: _Places = defaultdict(list)
        after: _Places = defaultdict(list)
        for place in places:
            if slots[place] != left or slots[place + step] != right:
                continue  # gone since, or its left part went to the one before it ("aaa")
            other = slots[place - 1]
            if other >= 0:
                before[other].append(place - sizes[other])
            other = slots[place + size]
            if other >= 0:
                after[other].append(place)
            # No place may find the right part again; its slot can also be the last one.
            slots[place + step] = _BORDER
            slots[place] = slots[place + size - 1] = new
        return before, after

    def _follow(self, old: Pair, new: Pair, places: list[int]) -> None:
        """At these places the new pair stands instead of the old one."""
        count = sum(map(self._weights.__getitem__, places))
        if old in self._counts:  # it is not the pair that is merged, as in "aaa"
            self._counts[old] -= count
        self._counts[new] = count
        self._where[new] = array(self._code, places)
        heappush(self._heap, (-count, places[0], new, 0))


def learned(
    pretokens: Mapping[bytes, int],
    limit: int | None,
    least: int,
    tick: Tick,
) -> tuple[list[LearnedMerge], int]:
    """The merges of :meth:`Learner.learn`, and how many tokens there are then: by the kernel, else
    here.
    """
    by_kernel = _native(pretokens, limit, least, tick)
    if by_kernel is not None:
        return by_kernel
    learner = Learner(pretokens)
    return learner.learn(limit, least, tick), learner.tokens()


def _native(
    pretokens: Mapping[bytes, int], limit: int | None, least: int, tick: Tick
) -> tuple[list[LearnedMerge], int] | None:
    learner = learner_of(pretokens)
    if learner is None:
        return None
    merges: list[LearnedMerge] = []
    while limit is None or len(merges) < limit:
        wanted = _AT_ONCE if limit is None else min(_AT_ONCE, limit - len(merges))
        more = learner.more(wanted, least)
        if more is None:
            return None
        for left, right, frequency in more:
            merges.append(LearnedMerge(left, right, BYTES + len(merges), frequency))
            tick(len(merges))
        if len(more) < wanted:
            break
    tokens = learner.tokens()
    return None if tokens is None else (merges, tokens)
