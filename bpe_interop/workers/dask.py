"""Dask as workers: a scheduler at an address, or processes of this machine (``local:N``)."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import pickle
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from dataclasses import replace
from types import ModuleType
from typing import Any, TypeVar

from ..errors import EngineError, SourceError
from ..optional import optional
from . import worker
from .orders import Order, Reply
from .worker import perform

LOCAL = "local:"

_CONNECT = 10.0
"""Seconds within which a scheduler must answer."""
_PATIENCE = 2.0
"""Seconds more for what takes a greeting and never answers."""
_WORKERS = 30.0
"""Seconds within which it must have a worker."""
_SAFE_PATH = "PYTHONSAFEPATH"
_PRELOAD = """
import os, signal
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
"""
# A terminal sends Ctrl-C to all processes; the leading one ends those of its cluster. What native
# code prints when it panics arrives as an error too. A process has one core, so tokenizers is to
# use one thread in it.
_LOOK = 0.5
"""Seconds between two questions to the scheduler who is there."""
_FAREWELL = 3.0
"""Seconds that are spent on telling workers to stop."""

T = TypeVar("T")


class DaskWorkers:
    """The workers of a Dask cluster.

    Args:
        client: a ``distributed.Client``.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._tasks: dict[Future[Reply], Any] = {}
        self._threads: dict[str, int] = {}
        self._looked = -_LOOK

    def slots(self, avoid: Collection[str]) -> int:
        """The threads of the workers that are there and not to be avoided."""
        if time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            try:
                self._threads = dict(self._client.nthreads())
            except (OSError, TimeoutError, asyncio.TimeoutError, RuntimeError) as error:
                raise EngineError(
                    f"the scheduler does not answer any more: {error}",
                    fix="begin again when it does; a state (--state) keeps what is done",
                ) from error
        return sum(n for address, n in self._threads.items() if address not in avoid)

    def submit(self, order: Order, avoid: Collection[str]) -> Future[Reply]:
        """Gives an order to a worker that is not to be avoided."""
        # Pickled here, so that Dask neither looks into it nor spells it otherwise.
        task = self._client.submit(
            perform_pickled,
            pickle.dumps(order),
            key=f"bpe-interop-{order.run[-8:]}-{order.part.number}-{uuid.uuid4().hex[:8]}",
            workers=[each for each in self._threads if each not in avoid] if avoid else None,
            pure=False,
            retries=0,
        )
        future: Future[Reply] = Future()
        self._tasks[future] = task
        task.add_done_callback(lambda done: self._fetch(done, future))
        return future

    def stop(self, run: str) -> None:
        """Tells all workers to leave what they do for a run, and takes back what waits."""
        tasks = [*self._tasks.values()]
        self._tasks.clear()

        def tell() -> None:
            with contextlib.suppress(OSError, TimeoutError, asyncio.TimeoutError, RuntimeError):
                self._client.cancel(tasks, force=True)
                self._client.run(worker.stop, run, on_error="ignore")

        # A worker that hangs would keep this waiting.
        telling = threading.Thread(target=tell, daemon=True)
        telling.start()
        telling.join(_FAREWELL)

    def _fetch(self, task: Any, future: Future[Reply]) -> None:
        """Takes an answer from its worker."""
        # In a thread of its own: Dask calls back for all clients of a process in one, and a worker
        # that hangs after its work was done would keep that one waiting.
        threading.Thread(target=self._pass_on, args=(task, future), daemon=True).start()

    def _pass_on(self, task: Any, future: Future[Reply]) -> None:
        """A Dask future's outcome to a future of the standard library."""
        try:
            if future.set_running_or_notify_cancel():
                future.set_result(task.result())
        except BaseException as error:  # Dask's CancelledError is no Exception
            future.set_exception(error)
        finally:
            self._tasks.pop(future, None)


def perform_pickled(data: bytes) -> Reply:
    """What a Dask worker runs: an order, answered under the worker's address."""
    reply = perform(pickle.loads(data))
    return replace(reply, worker=importlib.import_module("distributed").get_worker().address)


@contextlib.contextmanager
def dask_workers(scheduler: str) -> Iterator[DaskWorkers]:
    """The workers of a scheduler while the block runs.

    Args:
        scheduler: its address (``tcp://HOST:PORT``), or ``local:N`` for N processes of this
            machine, which end with the block.

    Raises:
        SourceError: no scheduler of Dask answers there, or none has a worker; it is no address.
        EngineMissingError: distributed is not installed.
    """
    library = optional("distributed", "dask", to="for a scheduler")
    with contextlib.ExitStack() as last:
        if scheduler.startswith(LOCAL):
            address: Any = last.enter_context(_local_cluster(library, scheduler))
        else:
            address = scheduler
        client = _in_time(lambda: library.Client(address, timeout=_CONNECT), scheduler)
        last.callback(_close, client)
        try:
            client.wait_for_workers(1, timeout=_WORKERS)
        except (TimeoutError, asyncio.TimeoutError):
            raise SourceError(
                f"the scheduler has had no worker for {_WORKERS:g} seconds",
                where=scheduler,
                fix="start workers: dask worker ADDRESS",
            ) from None
        yield DaskWorkers(client)


def _close(client: Any) -> None:
    with contextlib.suppress(OSError, TimeoutError, asyncio.TimeoutError):
        client.close(timeout=_FAREWELL)


@contextlib.contextmanager
def _safe_path() -> Iterator[None]:
    """A block whose child processes execute no module of the current folder."""
    # Python 3.10 does not know the variable.
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


@contextlib.contextmanager
def _local_cluster(library: ModuleType, name: str) -> Iterator[Any]:
    count = name.removeprefix(LOCAL)
    if not count.isdecimal() or not int(count):
        raise SourceError(
            "this is no number of processes", where=name, fix="write local:4, or an address"
        )
    # A part whose worker was killed is given out again here, where that is told.
    settings = {"distributed.scheduler.allowed-failures": 0}
    with _safe_path(), importlib.import_module("dask").config.set(settings):
        cluster = library.LocalCluster(
            n_workers=int(count),
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs="CRITICAL",
            preload=[_PRELOAD],
        )
        try:
            yield cluster
        finally:
            with contextlib.suppress(OSError, TimeoutError, asyncio.TimeoutError):
                cluster.close(timeout=_CONNECT)


def _in_time(connect: Callable[[], T], scheduler: str) -> T:
    """A client; what is no scheduler of Dask's may take a greeting and never answer."""
    made: list[T] = []
    failed: list[Exception] = []

    def run() -> None:
        try:
            made.append(connect())
        except (OSError, ValueError, TimeoutError, asyncio.TimeoutError) as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_CONNECT + _PATIENCE)
    if made:
        return made[0]
    reason = f": {failed[0]}" if failed else ""
    raise SourceError(
        f"no scheduler of Dask answers there{reason}",
        where=scheduler,
        fix="give the address that dask scheduler prints, as tcp://HOST:8786, or local:N",
    )
