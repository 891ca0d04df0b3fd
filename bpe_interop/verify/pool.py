"""Batches given to pairs of sides: to one in this process, or to several in child processes."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TypeVar

from .outcomes import Outcome
from .pairs import Pair

B = TypeVar("B")


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run(
    pairs: list[Pair], batches: Iterable[B], texts: Callable[[B], list[str]]
) -> Generator[tuple[B, list[Outcome]], None, None]:
    """Each batch with its outcomes, in order, and no more batches read than are worked on.

    One pair works in this thread; several work each in a thread of its own, which waits for a
    child process. An iterator that is closed before its end closes the pairs that are at work.
    """
    if len(pairs) > 1:
        yield from _spread(pairs, batches, texts)
        return
    for batch in batches:
        yield batch, pairs[0].compare(texts(batch))


def _spread(
    pairs: list[Pair], batches: Iterable[B], texts: Callable[[B], list[str]]
) -> Generator[tuple[B, list[Outcome]], None, None]:
    idle: SimpleQueue[Pair] = SimpleQueue()
    for pair in pairs:
        idle.put(pair)

    def work(batch: list[str]) -> list[Outcome]:
        pair = idle.get()
        try:
            return pair.compare(batch)
        finally:
            idle.put(pair)

    threads = ThreadPoolExecutor(len(pairs))
    waiting: deque[tuple[B, Future[list[Outcome]]]] = deque()
    try:
        for batch in batches:
            waiting.append((batch, threads.submit(work, texts(batch))))
            # One more than there are pairs, so that none waits for this thread.
            if len(waiting) > len(pairs) + 1:
                first, outcomes = waiting.popleft()
                yield first, outcomes.result()
        while waiting:
            first, outcomes = waiting.popleft()
            yield first, outcomes.result()
    finally:
        if waiting:  # threads that wait for an answer end when there is none
            for pair in pairs:
                pair.close()
        threads.shutdown(cancel_futures=True)
