"""Merge systems: what byte-pair encoding does to one pretoken.

A run starts with single symbols and merges, again and again, the adjacent pair of the least
priority, the leftmost of equals, until no adjacent pair may merge. All engines do this; nothing
is assumed about the order of priorities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from itertools import pairwise
from math import inf
from typing import Any, TypeAlias, Union

from ..kernel import as_dict
from ..memo import Memo
from ..model import MAX_ID, Affixes, MergeRule, PairList, RankTable
from .symbols import NO_AFFIXES

Priority: TypeAlias = Union[int, float]
"""Least merges first. Equal priorities are ties: the leftmost pair merges."""


@Memo
def _places(rule: PairList) -> Mapping[tuple[bytes, bytes], int]:
    """Each pair with its place, the last one where it is listed twice."""
    return {pair: place for place, pair in enumerate(rule.pairs)}


_SHORT = 150
"""Up to this many symbols, looking through all of them at each step is the fastest."""


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
        if len(symbols) > _SHORT:
            return self._link(symbols, keep)
        if self._products:
            return self._scan_products(symbols, keep)
        return self._scan_pairs(symbols, keep)

    def priority(self, left: bytes, right: bytes) -> Priority | None:
        """The priority of a pair, or None if it may not merge."""
        priority = self._get(left + right if self._products else (left, right), inf)
        return None if priority == inf else priority

    def _scan_products(self, symbols: list[bytes], keep: int) -> list[bytes]:
        get = self._get
        ranks = [get(x + y, inf) for x, y in pairwise(symbols)]
        left = len(ranks)
        while left >= keep:
            least = min(ranks)
            if least == inf:
                break
            left -= 1
            at = ranks.index(least)
            symbols[at] = token = symbols[at] + symbols.pop(at + 1)
            del ranks[at]
            if at < left:
                ranks[at] = get(token + symbols[at + 1], inf)
            if at:
                ranks[at - 1] = get(symbols[at - 1] + token, inf)
        return symbols

    def _scan_pairs(self, symbols: list[bytes], keep: int) -> list[bytes]:
        get, cut = self._get, self._cut
        ranks = [get(pair, inf) for pair in pairwise(symbols)]
        left = len(ranks)
        while left >= keep:
            least = min(ranks)
            if least == inf:
                break
            left -= 1
            at = ranks.index(least)
            symbols[at] = token = symbols[at] + symbols.pop(at + 1)[cut:]
            del ranks[at]
            if at < left:
                ranks[at] = get((token, symbols[at + 1]), inf)
            if at:
                ranks[at - 1] = get((symbols[at - 1], token), inf)
        return symbols

    def _link(self, symbols: list[bytes], keep: int) -> list[bytes]:
        """The same with a linked list and, for each priority, a heap of places.

        A place is that of the left symbol; what a heap says is checked against ``ranks``,
        which always holds the present pair's priority.
        """
        get, products, cut = self._get, self._products, self._cut
        last = len(symbols)
        ranks = [get(x + y if products else (x, y), inf) for x, y in pairwise(symbols)]
        ranks += (inf, inf)
        following, previous = list(range(1, last + 2)), list(range(-1, last))
        waiting: dict[Priority, list[int]] = {}
        for place, rank in enumerate(ranks):
            if rank != inf:
                waiting.setdefault(rank, []).append(place)
        order = sorted(waiting)
        spare = last - keep
        while order and spare > 0:
            least = order[0]
            places = waiting[least]
            while places and spare > 0:
                at = heappop(places)
                if ranks[at] != least:
                    continue
                spare -= 1
                second = following[at]
                after = following[at] = following[second]
                token = symbols[at] = symbols[at] + symbols[second][cut:]
                previous[after] = at
                ranks[second] = rank = inf
                symbols[second] = b""
                if after < last:
                    right = symbols[after]
                    rank = get(token + right if products else (token, right), inf)
                ranks[at] = sooner = rank
                if rank != inf:
                    _wait(waiting, order, rank, at)
                before = previous[at]
                if before >= 0:
                    left = symbols[before]
                    rank = get(left + token if products else (left, token), inf)
                    ranks[before] = rank
                    if rank != inf:
                        _wait(waiting, order, rank, before)
                        sooner = min(rank, sooner)
                if sooner < least:
                    break
            else:
                del waiting[least]
                heappop(order)
        return [symbol for symbol in symbols if symbol]


def _wait(
    waiting: dict[Priority, list[int]], order: list[Priority], rank: Priority, place: int
) -> None:
    places = waiting.get(rank)
    if places is None:
        waiting[rank] = [place]
        heappush(order, rank)
    else:
        heappush(places, place)
