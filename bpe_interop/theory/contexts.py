"""A shortest content that counts, and on which two merge systems differ (Theorems 1 and 21)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count, islice, product
from math import inf
from typing import TypeAlias

from .conflicts import Path
from .spines import Spines
from .utf8 import ends_inside, is_inside_utf8, starts_inside

_BESIDE = tuple(text.encode() for text in ("", " ", "\u2581", "\n", "a", "1", ".", "\u2581a", "a "))
# The first bytes of characters of two to four bytes, and what may complete them: after E0 the next
# byte is at least A0, after F0 at least 90 (RFC 3629, section 4).
_BEFORE = (b"", b"\xc3", b"\xe4", b"\xe4\xb8", b"\xf0", b"\xf0\x9f", b"\xf0\x9f\x98")
_AFTER = (b"", b"\x80", b"\x80\x80", b"\x80\x80\x80", b"\xa0\x80", b"\x90\x80\x80")
_TRIED = 40
"""Around how many pairs the plainest contexts are tried at once."""
_PATIENCE = 1_000
"""How many more pairs are looked at, once some content is found."""
_MOST_TOKENS = 64
"""Of how many tokens a content is made at most; what needs more is left unseen."""


def _no(content: bytes) -> bool:
    return False


def _yes(content: bytes) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Contents:
    """Which contents count.

    ``never``: nothing that holds this one does. ``open_start``, ``open_end``: it does not, unless
    something is put before it, or after it. ``ok``: it does, where none of these holds.
    ``role``: symbols of one role make the same contents whole. ``beside``: what may be tried on
    either side at once.
    """

    ok: Callable[[bytes], bool] = _yes
    never: Callable[[bytes], bool] = _no
    open_start: Callable[[bytes], bool] = _no
    open_end: Callable[[bytes], bool] = _no
    role: Callable[[bytes], object] = _no
    beside: Sequence[bytes] = _BESIDE

    @classmethod
    def utf8(cls, ok: Callable[[bytes], bool] = _yes) -> Contents:
        """Valid UTF-8 that is accepted."""
        return cls(
            ok,
            lambda content: not is_inside_utf8(content),
            starts_inside,
            ends_inside,
            lambda symbol: not symbol.isascii() and symbol,
        )

    def whole(self, content: bytes) -> bool:
        """Whether nothing has to be put beside it."""
        return not self.open_start(content) and not self.open_end(content)

    def count(self, content: bytes) -> bool:
        """Whether it counts as it is."""
        return not self.never(content) and self.whole(content) and self.ok(content)


@dataclass(slots=True)
class _Node:
    path: Path
    content: bytes
    leftwards: bool
    """Whether tokens may still be put before it: first all of these, then those after it."""


_Growing: TypeAlias = Iterator[tuple[int, _Node]]


class Contexts:
    """Looks for the shortest content that counts around pairs that show a difference.

    ``neighbours`` are the tokens to put beside a pair, ``differs`` runs both systems. ``tried``
    counts. ``complete`` tells whether every shorter content has been looked at, ``possible``
    whether some pair can at least be made whole.
    """

    def __init__(
        self,
        spines: Spines,
        size: Callable[[bytes], int],
        neighbours: Sequence[bytes],
        contents: Contents,
        differs: Callable[[bytes], bool],
        budget: int,
    ) -> None:
        self._spines, self._size, self._contents = spines, size, contents
        self._differs, self._budget = differs, budget
        # Short ones first, so that each growth yields contents in the order of their length.
        self._neighbours = sorted(neighbours, key=size)
        self.tried, self.complete, self.possible = 0, True, False

    def shortest(self, seeds: Iterable[Path]) -> bytes | None:
        """The shortest content, or None if none was found. The seeds come by length."""
        best: bytes | None = None
        waiting: list[_Node] = []
        for path in seeds:
            content = b"".join(path)
            if best is not None and self._size(content) >= self._size(best):
                break
            self.tried += 1
            if self._contents.never(content):
                continue
            if self._contents.count(content):
                best = content
                break
            # The pair alone does not count: it begins inside a character, say, or is looked up
            # whole. By Theorem 1 the two differ on every content of whose tokens it is a part, so
            # tokens are put on either side of it (Theorem 21).
            waiting.append(_Node(path, content, True))
            if len(waiting) <= _TRIED:
                wholes = plain_contexts(content, self._contents.beside)
                showing = (w for w in wholes if self._contents.count(w) and self._differs(w))
                best = self._shorter(best, islice(showing, 1))
            if self.tried > (self._budget if best is None else _PATIENCE):
                self.complete = False
                break
        return self._shorter(best, self._grown(waiting, best))

    def _shorter(self, best: bytes | None, others: Iterable[bytes]) -> bytes | None:
        return min((*(() if best is None else (best,)), *others), key=self._size, default=None)

    def _grown(self, waiting: Iterable[_Node], best: bytes | None) -> Iterator[bytes]:
        """The first content shorter than ``best``, with ever more tokens put on."""
        limit = inf if best is None else self._size(best)
        number = count()
        queue: list[tuple[int, int, _Node, _Growing]] = []

        def advance(growing: _Growing) -> None:
            for length, node in growing:
                heappush(queue, (length, next(number), node, growing))
                return

        for node in waiting:
            self.possible |= self._contents.whole(node.content)
            for growing in self._growths(node):
                advance(growing)
        while queue and queue[0][0] < limit:
            if self.tried > self._budget:
                break
            _, _, node, growing = heappop(queue)
            advance(growing)
            self.possible |= self._contents.whole(node.content)
            if self._contents.count(node.content):
                yield node.content
                return
            for growing in self._growths(node):
                advance(growing)
        if self.tried > self._budget:
            self.complete = False

    def _growths(self, node: _Node) -> Iterator[_Growing]:
        # Each content is grown in one order only: ends are made whole first, then tokens are put
        # before it, then after it.
        if len(node.path) >= _MOST_TOKENS:
            self.complete = False
        elif self._contents.open_start(node.content):
            yield self._before(node)
        elif self._contents.open_end(node.content):
            yield self._after(node)
        else:
            if node.leftwards:
                yield self._before(node)
            yield self._after(_Node(node.path, node.content, False))

    def _before(self, node: _Node) -> _Growing:
        length, never = self._size(node.content), self._contents.never
        for token in self._neighbours:
            if self.tried > self._budget:
                return
            self.tried += 1
            content = token + node.content
            if not never(content) and self._spines.keeps_apart(token, node.path[0]):
                yield (
                    length + self._size(token),
                    _Node((token, *node.path), content, node.leftwards),
                )

    def _after(self, node: _Node) -> _Growing:
        length, never = self._size(node.content), self._contents.never
        for token in self._neighbours:
            if self.tried > self._budget:
                return
            self.tried += 1
            content = node.content + token
            if not never(content) and self._spines.keeps_apart(node.path[-1], token):
                yield (
                    length + self._size(token),
                    _Node((*node.path, token), content, node.leftwards),
                )


def plain_contexts(content: bytes, beside: Sequence[bytes] = _BESIDE) -> Iterator[bytes]:
    """The content, whole characters made of its ends, with little beside it."""
    befores, afters = _completions(content)
    for before, after in product(befores, afters):
        for left, right in product(beside, beside):
            yield left + before + content + after + right


def _completions(content: bytes) -> tuple[list[bytes], list[bytes]]:
    """What makes a part of some UTF-8 whole, before and after it: nothing, where it is whole."""
    for before, after in product(_BEFORE, _AFTER):
        try:
            (before + content + after).decode("utf-8")
        except UnicodeDecodeError:
            continue  # other bytes are tried beside it
        return [before], [after]
    return [], []
