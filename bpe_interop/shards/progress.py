"""How far a run over a corpus is."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace

from ..corpora import Part


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    ``documents`` and ``bytes`` (of UTF-8) were done in ``seconds``; ``read`` of ``total`` bytes of
    the files on disk were read, ``before`` of them by a run before. ``total`` is 0 where it is
    not known.
    """

    documents: int
    bytes: int
    read: int
    total: int
    seconds: float
    before: int = 0

    @property
    def rate(self) -> float:
        """Bytes of UTF-8 per second."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at the rate so far; None where that cannot be told."""
        now = self.read - self.before
        if now <= 0 or self.read > self.total:
            return None
        return (self.total - self.read) * self.seconds / now


class Advance:
    """Counts what is done of a corpus, part by part, and tells it.

    Args:
        parts: of the corpus.
        done: the numbers of those that a run before did.
        tick: is told.
    """

    def __init__(
        self, parts: Iterable[Part], done: Container[int], tick: Callable[[Progress], None]
    ) -> None:
        parts = [*parts]
        before = sum(part.size for part in parts if part.number in done)
        total = sum(part.size for part in parts)
        self._tick, self._began = tick, time.monotonic()
        self._seen = Progress(0, 0, before, total, 0.0, before)

    def took(self, part: Part, documents: int, size: int) -> None:
        """A part is done: so many documents, and bytes of UTF-8."""
        seen = self._seen
        self._seen = replace(
            seen,
            documents=seen.documents + documents,
            bytes=seen.bytes + size,
            read=seen.read + part.size,
            seconds=time.monotonic() - self._began,
        )
        self._tick(self._seen)
