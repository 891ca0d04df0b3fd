"""Where two merge systems can differ: tokens and pairs that are so in one of them only.

By Theorem 5 it is enough to list the tokens that only the first system builds, and the pairs that
only it keeps apart. By Theorem 6 the pairs that the second does not keep apart are a union of
rectangles, one for each merge and the spines beside it. Rectangles that both systems have are
passed over unseen; the others are searched in the order of length.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TypeAlias, Union

from ..merging.merger import Priority
from .spines import Spines

Path: TypeAlias = tuple[bytes, ...]
"""Tokens each of which stays as it is beside the next."""
Pair: TypeAlias = tuple[bytes, bytes]
Search: TypeAlias = Iterator[tuple[int, Union[Path, "Search"]]]
"""Single tokens, pairs and further searches, each with a least length, which never decreases."""


class Conflicts:
    """The tokens that only ``ours`` builds, and the pairs that only ``ours`` keeps apart.

    ``size`` gives the length of a token of either. ``symbols`` are what ours has before merging,
    where that is not what theirs has: then each is one of theirs, or built from these.
    ``checked`` counts what was looked at; the search gives up when that reaches ``budget``, and
    is then not ``complete``.
    """

    def __init__(
        self,
        ours: Spines,
        theirs: Spines,
        size: Callable[[bytes], int],
        budget: int,
        symbols: Collection[bytes] | None = None,
    ) -> None:
        self.ours, self.theirs = ours, theirs
        self.checked, self.complete = 0, True
        self.size, self._symbols, self.budget = size, symbols, budget
        a, b = ours.splits, theirs.splits
        # In order, so that of several witnesses the same is found each time.
        self.changed = dict.fromkeys(token for token in b if a.get(token) != b[token])
        self.changed.update(dict.fromkeys(token for token in a if token not in b))

    def paths(self) -> Iterator[Path]:
        """All of them, the shortest first."""
        number = count()
        # Each search waits with what it gave last, and goes on only when that is the least.
        queue: list[tuple[int, int, Search, Path | Search | None]] = []
        for least, search in self._searches():
            heappush(queue, (least, next(number), search, None))
        seen: set[Path] = set()
        while queue:
            _, _, search, path = heappop(queue)
            if isinstance(path, tuple):
                if path not in seen:
                    seen.add(path)
                    self.checked += 1
                    if len(path) == 1 or (
                        self.ours.keeps_apart(*path) and not self.theirs.keeps_apart(*path)
                    ):
                        yield path
            elif path is not None:
                # A further search within this one: it begins at once.
                heappush(queue, (0, next(number), path, None))
            if self.checked > self.budget:
                self.complete = False
                return
            after = next(search, None)
            if after is not None:
                heappush(queue, (after[0], next(number), search, after[1]))

    def builds(self, token: bytes) -> bool:
        """Whether ours can build the token, or has it before merging."""
        if token in self.ours.splits:
            return True
        return token not in self.theirs.splits if self._symbols is None else token in self._symbols

    def _searches(self) -> Iterator[tuple[int, Search]]:
        """The cases of Theorem 5, each with the least length that it can give."""
        size, theirs = self.size, self.theirs
        only = [(token,) for token in self.ours.splits if token not in theirs.splits]
        only += [(t,) for t in self._symbols or () if size(t) > 1 and t not in theirs.splits]
        if only:
            lengths = sorted((size(path[0]), path) for path in only)
            yield lengths[0][0], iter(lengths)
        for token in self.changed:
            if token in theirs.splits:
                # Case 1: it is what merges across.
                reached = theirs.reached_left(token), theirs.reached_right(token)
                yield size(token), self._product(*reached)
                if self.builds(token):
                    yield size(token) + 1, self._beside(token)
        yield from self._reordered()

    def _beside(self, changed: bytes) -> Search:
        """Case 2 of Theorem 5: a changed token stands beside what merges across."""
        size, theirs = self.size, self.theirs
        paths: list[tuple[int, Search]] = []
        # By the topmost changed token of a spine: what also merges across its end in ours, further
        # down, does so in both, unless the other side is changed or reordered and searched itself.
        shared = set(self.ours.crossing_right(changed))
        for token in theirs.crossing_right(changed):
            if token not in shared and token not in self.changed:
                least = size(changed) + size(theirs.splits[token][1])
                paths.append((least, self._after(changed, token)))
        shared = set(self.ours.crossing_left(changed))
        for token in theirs.crossing_left(changed):
            if token not in shared and token not in self.changed:
                least = size(changed) + size(theirs.splits[token][0])
                paths.append((least, self._before(changed, token)))
        yield from sorted(paths, key=lambda item: item[0])

    def _after(self, left: bytes, token: bytes) -> Search:
        """``token`` merges across the end of what has ``left`` on its right spine."""
        yield from self._product(self.theirs.above_right(left), self.theirs.reached_right(token))

    def _before(self, right: bytes, token: bytes) -> Search:
        """``token`` merges across the start of what has ``right`` on its left spine."""
        yield from self._product(self.theirs.reached_left(token), self.theirs.above_left(right))

    def _product(self, lefts: Iterable[bytes], rights: Iterable[bytes]) -> Search:
        ones, others = self._by_size(lefts), self._by_size(rights)
        sums = sorted((one + other, one, other) for one in ones for other in others)
        for total, one, other in sums:
            for left in ones[one]:
                for right in others[other]:
                    yield total, (left, right)

    def _by_size(self, tokens: Iterable[bytes]) -> dict[int, list[bytes]]:
        """Those that ours can build, by length."""
        sizes: dict[int, list[bytes]] = {}
        for token in tokens:
            if self.builds(token):
                sizes.setdefault(self.size(token), []).append(token)
        return sizes

    def _reordered(self) -> Iterator[tuple[int, Search]]:
        """Case 3 of Theorem 5: two unchanged merges overlap, and come in another order."""
        ours, theirs, changed = self.ours, self.theirs, self.changed
        for shared, endings in ours.ending.items():
            starts = ours.starting.get(shared)
            if not starts:
                continue
            ends = endings
            if changed:
                ends = [token for token in ends if token not in changed]
                starts = [token for token in starts if token not in changed]
            if _moved(ours, theirs, ends, starts):
                yield self.size(shared) + 2, self._stages(shared, ends, starts)

    def _stages(self, shared: bytes, ends: list[bytes], starts: list[bytes]) -> Search:
        """The pairs of such merges, the short ones first."""
        # All at once may be millions.
        size, inner = self.size, self.size(shared)
        most = max(map(size, (*ends, *starts))) - inner
        low, high = 0, 1
        while low < most:
            least, limit = inner + low, inner + high
            flips = [
                (left, right)
                for left, right in _inversions(
                    self.ours,
                    self.theirs,
                    [token for token in ends if size(token) <= limit],
                    [token for token in starts if size(token) <= limit],
                )
                if size(left) > least or size(right) > least
            ]
            self.checked += len(flips)
            yield least + 2, self._flips(flips)
            low, high = high, 2 * high

    def _flips(self, flips: list[Pair]) -> Search:
        """What follows from each pair of merges that comes in another order."""
        ours, theirs, size = self.ours, self.theirs, self.size
        searches: list[tuple[int, int, Search]] = []
        for number, (left, right) in enumerate(flips):
            if ours.left_first(left, right):
                least = size(left) + size(theirs.splits[right][1])
                searches.append((least, number, self._after(left, right)))
            else:
                least = size(theirs.splits[left][0]) + size(right)
                searches.append((least, number, self._before(right, left)))
        for least, _, search in sorted(searches, key=lambda item: item[:2]):
            yield least, search


def _moved(ours: Spines, theirs: Spines, ends: list[bytes], starts: list[bytes]) -> bool:
    """Whether a merge that ends in a token and one that starts with it change places."""
    # One pass in the order of ours. The left one is first if its place is not later
    # (`Spines.left_first`), so of equal places the ends, marked 0, come before the starts.
    events = [(ours.before[token], 0, theirs.before[token]) for token in ends]
    events += [(ours.after[token], 1, theirs.after[token]) for token in starts]
    events.sort()
    last_end = last_start = -inf
    for _, side, place in events:
        if side:
            if place < last_end:
                return True
            last_start = max(last_start, place)
        else:
            if place <= last_start:
                return True
            last_end = max(last_end, place)
    return False


def _inversions(
    ours: Spines, theirs: Spines, ends: list[bytes], starts: list[bytes]
) -> Iterator[Pair]:
    """The pairs that :func:`_moved` finds to exist."""
    events = [(ours.before[token], 0, theirs.before[token], token) for token in ends]
    events += [(ours.after[token], 1, theirs.after[token], token) for token in starts]
    events.sort()
    past_ends: list[tuple[Priority, bytes]] = []
    past_starts: list[tuple[Priority, bytes]] = []
    for _, side, place, token in events:
        if side:
            at = bisect_right(past_ends, place, key=lambda item: item[0])
            for _, left in past_ends[at:]:
                yield left, token
            insort(past_starts, (place, token))
        else:
            at = bisect_left(past_starts, place, key=lambda item: item[0])
            for _, right in past_starts[at:]:
                yield token, right
            insort(past_ends, (place, token))
