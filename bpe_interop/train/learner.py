"""Learns merges from counted pretokens, exactly as a recount before every merge would.

The teaching implementations repeat: count all pairs of neighbours, merge the most frequent one
everywhere, of several the one counted first. Nothing is recounted here; why the merges are the
same is explained in docs/training.md.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from ..kernel import learner_of

BYTES = 256
"""The ids that are not learned: each byte's is its number."""

FALL = 16
"""Pairs that occur this much less often than the most frequent one are not followed yet.

Measured on 10 MB: 4 is slower (more counts of everything), 64 takes more memory.
"""

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
        self._alike = all(count == 1 for count in pretokens.values())
        # A slot for each byte, and a border between pretokens. A token of several slots has its id
        # in its first and its last one, so both of its neighbours are found in one step, and
        # merging moves nothing.
        self._slots: list[int] = [_BORDER]
        for content in pretokens:
            self._slots.extend(content)
            self._slots.append(_BORDER)
        self._weights: Sequence[int] = b""
        if self._alike:
            self._weights = bytes([1]) * len(self._slots)
        else:
            weights = [0]
            for content, count in pretokens.items():
                weights += [count] * len(content)
                weights.append(0)
            self._weights = weights
        self._code = "I" if len(self._slots) < 1 << 32 else "Q"
        self._sizes = [1] * BYTES
        self._floor = 1
        self._counts: dict[Pair, int] = {}
        self._where: dict[Pair, array[int]] = {}
        self._heap: list[_Entry] = []

    def learn(
        self,
        limit: int | None,
        least: int = 1,
        tick: Callable[[int], None] = lambda count: None,
    ) -> list[LearnedMerge]:
        """Merges until ``limit`` were made, or no pair occurs ``least`` times any more.

        ``tick`` is called with the number of merges after each.
        """
        merges: list[LearnedMerge] = []
        while limit is None or len(merges) < limit:
            best = self._best()
            if best is None:
                if not self._recount(least):
                    break
                continue
            pair, count = best
            merges.append(LearnedMerge(*pair, len(self._sizes), count))
            self._merge(pair)
            tick(len(merges))
        return merges

    def tokens(self) -> int:
        """How many tokens all pretokens are now, each counted as often as it came."""
        return sum(self._weights[start] for start in self._starts())

    def _best(self) -> tuple[Pair, int] | None:
        """The most frequent pair, of several the one whose first place is first."""
        heap, counts, slots, sizes = self._heap, self._counts, self._slots, self._sizes
        # A merge makes new pairs with the new token only; all others can only become rarer, and
        # their first place can only move on. So what an old entry promises is never too little:
        # the one on top is checked, and put back with what is true now.
        while heap:
            minus, place, pair, at = heap[0]
            count = counts[pair]
            if count < self._floor:
                heappop(heap)
                del counts[pair], self._where[pair]
                continue
            if count == -minus:  # nothing of it was taken since, its first place neither
                heappop(heap)
                return pair, count
            (left, right), places = pair, self._where[pair]
            while slots[place] != left or slots[place + sizes[left]] != right:
                at += 1
                place = places[at]
            heapreplace(heap, (-count, place, pair, at))
        return None

    def _merge(self, pair: Pair) -> None:
        """Gives the pair's product the next id, wherever the pair stands."""
        (left, right), new = pair, len(self._sizes)
        self._sizes.append(self._sizes[left] + self._sizes[right])
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
        count = len(places)
        if not self._alike:
            count = sum(map(self._weights.__getitem__, places))
        if old in self._counts:
            self._counts[old] -= count
        if count >= self._floor:
            self._counts[new] = count
            self._where[new] = array(self._code, places)
            heappush(self._heap, (-count, places[0], new, 0))

    def _recount(self, least: int) -> bool:
        """Counts all pairs, and follows the frequent ones; False if none occurs often enough."""
        self._compact()
        counts = self._count_all()
        top = max(counts.values(), default=0)
        if top < max(least, 1):
            return False
        # Only pairs that are frequent enough to be next for a while are followed.
        self._floor = floor = max(least, 1, top // FALL)
        self._counts = {pair: count for pair, count in counts.items() if count >= floor}
        where = self._where = {pair: array(self._code) for pair in self._counts}
        for place, pair in enumerate(self._pairs()):
            if pair in where:
                where[pair].append(place)
        self._heap = [(-count, where[pair][0], pair, 0) for pair, count in self._counts.items()]
        heapify(self._heap)
        return True

    def _count_all(self) -> dict[Pair, int]:
        counts: dict[Pair, int]
        if self._alike:
            counts = Counter(self._pairs())
        else:
            counts = defaultdict(int)
            for pair, weight in zip(self._pairs(), self._weights, strict=False):
                counts[pair] += weight
        return {pair: count for pair, count in counts.items() if _BORDER not in pair}

    def _pairs(self) -> Iterator[Pair]:
        """Neighbours in slots, borders among them, while every token has one slot."""
        return pairwise(self._slots)

    def _starts(self) -> Iterator[int]:
        """The first slot of every token."""
        slots, sizes, place, end = self._slots, self._sizes, 0, len(self._slots)
        while place < end:
            token = slots[place]
            if token >= 0:
                yield place
                place += sizes[token]
            else:
                place += 1

    def _compact(self) -> None:
        """Gives every token one slot; the order stays."""
        if len(self._sizes) == BYTES:
            return
        slots, sizes, weights = self._slots, self._sizes, self._weights
        kept: list[int] = []
        weighed: list[int] = []
        place, end = 0, len(slots)
        while place < end:
            token = slots[place]
            kept.append(token)
            if not self._alike:
                weighed.append(weights[place])
            place += sizes[token] if token >= 0 else 1
        self._slots = kept
        self._weights = bytes([1]) * len(kept) if self._alike else weighed
        self._sizes = [1] * len(sizes)


def learned(
    pretokens: Mapping[bytes, int],
    limit: int | None,
    least: int,
    tick: Callable[[int], None],
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
    pretokens: Mapping[bytes, int], limit: int | None, least: int, tick: Callable[[int], None]
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
