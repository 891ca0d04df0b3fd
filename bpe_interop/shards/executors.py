"""Who works: any ``concurrent.futures.Executor``, or a cluster that says more of itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from concurrent.futures import Executor, Future
from typing import Any, Protocol

from . import worker
from .orders import Order, Reply


class Workers(Protocol):
    """Those who work on parts."""

    def slots(self, late: int, avoid: Collection[str]) -> int:
        """How many parts can be worked on at once, now.

        Args:
            late: how many orders were given up, though a worker may still be at them.
            avoid: the workers that are given no more.
        """
        ...

    def submit(self, order: Order, avoid: Collection[str]) -> Future[Reply]:
        """Gives an order to a worker; not to those to be avoided, where one can choose."""
        ...

    def holder(self, future: Future[Reply]) -> str:
        """The worker that has an order; empty where that cannot be known."""
        ...

    def lost(self) -> list[str]:
        """The workers that went away since this was asked last."""
        ...

    def stop(self, run: str) -> None:
        """Ends what is being done for a run, as far as the workers can be told."""
        ...


class Here(Executor):
    """Runs in this process what it is given, at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The outcome of a call. What no worker expects passes through."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Pool:
    """An executor as it is: it chooses who works, and what runs in it runs to its end.

    Args:
        executor: any executor whose workers can import this package and read the corpus.
        slots: how many parts are given to it at once; by default as many as there are cores.
    """

    def __init__(self, executor: Executor, slots: int | None = None) -> None:
        self._executor = executor
        self._slots = slots or os.cpu_count() or 1

    def slots(self, late: int, avoid: Collection[str]) -> int:
        """As many as were given, without those that hang.

        Where all hang, one more is tried: the executor may have another process.
        """
        return max(1, self._slots - late)

    def submit(self, order: Order, avoid: Collection[str]) -> Future[Reply]:
        """Gives an order to the executor, which chooses the worker."""
        return self._executor.submit(worker.perform, order)

    def holder(self, future: Future[Reply]) -> str:
        """Not known."""
        return ""

    def lost(self) -> list[str]:
        """Not known."""
        return []

    def stop(self, run: str) -> None:
        """Threads of this process are told; other processes end the part that they have."""
        worker.stop(run)


def pool_of(workers: Workers | Executor, slots: int | None = None) -> Workers:
    """Executors as workers; workers as they are."""
    return Pool(workers, slots) if isinstance(workers, Executor) else workers
