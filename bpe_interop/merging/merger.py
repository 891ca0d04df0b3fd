"""Merge systems: what byte-pair encoding does to one pretoken.

A run starts with single symbols and merges, again and again, the adjacent pair of the least
priority, the leftmost of equals, until no adjacent pair may merge.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import islice, pairwise
from math import inf
from typing import Any, TypeAlias, Union

from ..kernel.tables import as_dict
from ..memo import Memo
from ..model import MAX_ID, Affixes, MergeRule, PairList, RankTable
from .symbols import NO_AFFIXES

Priority: TypeAlias = Union[int, float]
"""Least merges first. Equal priorities are ties: the leftmost pair merges."""

Step: TypeAlias = tuple[Priority, int, int, int, bytes, bytes]
"""One merge of a run: its priority, the places of the run's symbols where its left part begins,
its right part begins, and it ends; the two parts."""


@Memo
def _places(rule: PairList) -> Mapping[tuple[bytes, bytes], int]:
    """Each pair with its place, the last one where it is listed twice."""
    return {pair: place for place, pair in enumerate(rule.pairs)}


class Merger:
    """A merge rule, ready to run. Holds no state between runs: threads may share it.

    The product of two symbols is the left one and, after the prefix of ``affixes``, the right.
    """

    __slots__ = ("_cut", "_get", "_products")

    def __init__(self, rule: MergeRule, affixes: Affixes = NO_AFFIXES) -> None:
        self._cut = cut = len(affixes.prefix)
        self._products = isinstance(rule, RankTable) and not cut
        table: Mapping[Any, Priority]
        if isinstance(rule, RankTable):
            table = as_dict(rule.ranks)
            # tiktoken's core reads the largest number as "no merge" (src/lib.rs).
            if MAX_ID in table.values():
                table = {token: rank for token, rank in table.items() if rank != MAX_ID}
        else:
            table = _places(rule)
        self._get: Callable[[Any, Priority], Priority] = table.get
        if cut and isinstance(rule, RankTable):
            self._get = lambda pair, none: table.get(pair[0] + pair[1][cut:], none)

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Merger is rebuilt from its rule, not pickled")

    def run(self, symbols: list[bytes], keep: int = 1) -> list[bytes]:
        """Merges until nothing may merge, or ``keep`` symbols are left. Changes ``symbols``."""
        # Each merge leaves one symbol fewer.
        most = len(symbols) - keep
        if most > 0:
            deque(islice(self.steps(symbols), most), maxlen=0)
        return [symbol for symbol in symbols if symbol]

    def priority(self, left: bytes, right: bytes) -> Priority | None:
        """The priority of a pair, or None if it may not merge."""
        priority = self._get(left + right if self._products else (left, right), inf)
        return None if priority == inf else priority

    def steps(self, symbols: list[bytes]) -> Iterator[Step]:
        """The merges of a run, in order, each made in ``symbols`` before it is given.

        A product stands in the place of its left part, and an empty symbol in that of its right
        one. The run costs ``n log n``: pairs wait in a heap by their priorities and places.
        """
        get, products, cut = self._get, self._products, self._cut
        last = len(symbols)
        ends, before = [*range(1, last + 1)], [*range(-1, last)]
        waiting = [
            (rank, place, place + 1, place + 2)
            for place, (x, y) in enumerate(pairwise(symbols))
            if (rank := get(x + y if products else (x, y), inf)) != inf
        ]
        heapify(waiting)
        while waiting:
            rank, first, middle, end = heappop(waiting)
            if ends[first] != middle or ends[middle] != end:
                continue  # one of its parts has grown since it was put here
            left, right = symbols[first], symbols[middle]
            token = symbols[first] = left + right[cut:]
            symbols[middle] = b""
            # -1: no symbol begins there any more, so that waiting pairs of it are passed over.
            ends[first], ends[middle], before[end] = end, -1, first
            yield rank, first, middle, end, left, right
            if end < last:
                rank = get(token + symbols[end] if products else (token, symbols[end]), inf)
                if rank != inf:
                    heappush(waiting, (rank, first, end, ends[end]))
            previous = before[first]
            if previous >= 0:
                left = symbols[previous]
                rank = get(left + token if products else (left, token), inf)
                if rank != inf:
                    heappush(waiting, (rank, previous, first, end))
