"""A shortest content that is accepted and on which two merge systems differ.

Where two systems differ on a pair of tokens, they differ on every content of whose tokens that
pair is a part (Theorem 1). So where the pair alone is not accepted (it is looked up whole, it is
no text, no pretoken), tokens are put on either side of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count, islice, product
from math import inf
from typing import TypeAlias

from .conflicts import Path
from .spines import Spines

_Growing: TypeAlias = Iterator[tuple[int, Path, bool]]
"""Longer paths with their lengths, and whether they grew to the left."""

_BESIDE = tuple(text.encode() for text in ("", " ", "\u2581", "\n", "a", "1", ".", "\u2581a", "a "))
_BEFORE = (b"", b"\xc3", b"\xe4", b"\xe4\xb8", b"\xf0", b"\xf0\x9f", b"\xf0\x9f\x98")
_AFTER = (b"", b"\x80", b"\x80\x80", b"\x80\x80\x80", b"\xa0\x80", b"\x90\x80\x80")
_TRIED = 40
"""Around how many pairs the plainest contexts are tried at once."""
_PATIENCE = 1_000
"""How many more pairs are looked at, once some content is found."""


class Contexts:
    """Looks for the shortest accepted content around pairs that show a difference.

    ``neighbours`` are the tokens to put beside a pair, ``differs`` runs both systems. ``tried``
    counts; ``complete`` tells whether every shorter content has been looked at, and
    ``rejected`` holds what differs but was not accepted.
    """

    def __init__(
        self,
        spines: Spines,
        size: Callable[[bytes], int],
        neighbours: Sequence[bytes],
        ok: Callable[[bytes], bool],
        differs: Callable[[bytes], bool],
        budget: int,
    ) -> None:
        self._spines, self._size, self._ok, self._differs = spines, size, ok, differs
        self._neighbours = sorted(neighbours, key=size)
        self._budget = budget
        self.tried, self.complete = 0, True
        self.rejected: list[Path] = []

    def shortest(self, seeds: Iterable[Path]) -> bytes | None:
        """The shortest content, or None if none was found. The seeds come by length."""
        best: bytes | None = None
        for path in seeds:
            content = b"".join(path)
            if best is not None and self._size(content) >= self._size(best):
                break
            self.tried += 1
            if self._ok(content):
                best = content
                break
            self.rejected.append(path)
            if len(self.rejected) <= _TRIED:
                best = self._shorter(best, self._plain_contexts(content))
            if self.tried > (self._budget if best is None else _PATIENCE):
                self.complete = False
                break
        if self.rejected:
            best = self._shorter(best, self._extended(best))
        return best

    def _shorter(self, best: bytes | None, found: Iterable[bytes]) -> bytes | None:
        return min((*(() if best is None else (best,)), *found), key=self._size, default=None)

    def _plain_contexts(self, content: bytes) -> Iterator[bytes]:
        wholes = (w for w in plain_contexts(content) if self._ok(w) and self._differs(w))
        return islice(wholes, 1)

    def _extended(self, best: bytes | None) -> Iterator[bytes]:
        """The first accepted content shorter than ``best``, with ever more tokens put on."""
        limit = inf if best is None else self._size(best)
        number = count()
        queue: list[tuple[int, int, Path, bool, _Growing]] = []

        def advance(growing: _Growing) -> None:
            for length, path, leftwards in growing:
                heappush(queue, (length, next(number), path, leftwards, growing))
                return

        for path in self.rejected:
            advance(self._grown(path, leftwards=True))
            advance(self._grown(path, leftwards=False))
        while queue and queue[0][0] < limit:
            self.tried += 1
            if self.tried > self._budget:
                self.complete = False
                return
            _, _, path, leftwards, growing = heappop(queue)
            advance(growing)
            if self._spines.apart(*(path[:2] if leftwards else path[-2:])):
                if self._ok(b"".join(path)):
                    yield b"".join(path)
                    return
                # To the left first, then to the right: each path is met once.
                if leftwards:
                    advance(self._grown(path, leftwards=True))
                advance(self._grown(path, leftwards=False))

    def _grown(self, path: Path, *, leftwards: bool) -> _Growing:
        length = self._size(b"".join(path))
        for token in self._neighbours:
            longer = (token, *path) if leftwards else (*path, token)
            yield length + self._size(token), longer, leftwards


def plain_contexts(content: bytes) -> Iterator[bytes]:
    """The content, whole characters made of its ends, with little beside it."""
    befores, afters = _completions(content)
    for before, after in product(befores, afters):
        for left, right in product(_BESIDE, _BESIDE):
            yield left + before + content + after + right


def _completions(content: bytes) -> tuple[list[bytes], list[bytes]]:
    """What makes a part of some UTF-8 whole, before and after it: nothing, where it is whole."""
    for before, after in product(_BEFORE, _AFTER):
        try:
            (before + content + after).decode("utf-8")
        except UnicodeDecodeError:
            continue
        return [before], [after]
    return [], []
