"""Gives the parts of a corpus to workers, and takes what becomes of each, once.

Who does which part, what is stolen and what is begun again when a machine is gone, is the
executor's business. Ours is what depends on tokenizers: a part whose process died is done once
more with the engines in a child process, so that the text that kills one is found; and a worker
with other versions is given none.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from ..corpora import CutCorpus, Part, no_documents
from ..errors import BpeInteropError, EngineError, TargetError
from ..formats import Files
from ..ticks import PART_SECONDS
from . import worker
from .orders import (
    Carried,
    FailedPart,
    Finished,
    Job,
    Missing,
    Order,
    OtherVersions,
    Reply,
    Stopped,
    WorkItem,
)
from .state import digest_of, keeping
from .worker import versions_here

W = TypeVar("W", bound=WorkItem)
R = TypeVar("R")

LIMIT = PART_SECONDS

_LOOK = 0.5
"""Seconds between two looks at the clock and at the workers."""
_REFUSALS = 20
"""How often a part may come back from workers with other versions."""
_NOBODY = 60.0
"""Seconds without any worker after which a run ends."""
_MOST_FAILED = 20
_SHOWN = 5


class Workers(Protocol):
    """Those who work on parts."""

    def slots(self, avoid: Collection[str]) -> int:
        """How many parts can be worked on at once, now, without the workers to be avoided."""
        ...

    def submit(self, order: Order, avoid: Collection[str]) -> Future[Reply]:
        """Gives an order to a worker; not to those to be avoided, where one can choose."""
        ...

    def stop(self, run: str) -> None:
        """Ends what is being done for a run, and gives back what was built for it, as far as the
        workers can be told.
        """
        ...


class _SameProcess(Executor):
    """Runs in this process what it is given, at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """The outcome of a call. What no worker expects passes through."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class _Pool:
    """An executor as it is: it chooses who works, and what runs in it runs to its end."""

    def __init__(self, executor: Executor, slots: int) -> None:
        self._executor, self._slots = executor, slots

    def slots(self, avoid: Collection[str]) -> int:
        """As many as were given."""
        return self._slots

    def submit(self, order: Order, avoid: Collection[str]) -> Future[Reply]:
        """Gives an order to the executor, which chooses the worker."""
        return self._executor.submit(worker.perform, order)

    def stop(self, run: str) -> None:
        """Threads of this process are told; other processes end the part that they have."""
        worker.stop(run)


def pool_of(workers: Workers | Executor | None, slots: int | None = None) -> Workers:
    """An executor as workers, or this process alone; workers as they are.

    Args:
        workers: any executor whose workers can import this package and read the corpus.
        slots: how many parts are given to it at once; by default as many as there are cores.
    """
    if workers is None:
        return _Pool(_SameProcess(), 1)
    if isinstance(workers, Executor):
        return _Pool(workers, slots or os.cpu_count() or 1)
    return workers


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


PartTick: TypeAlias = Callable[[Any, Any], None]


@dataclass
class Run(Generic[R]):
    """What became of the parts.

    ``done`` are their numbers, ``results`` by the number what :func:`run_corpus` was given.
    ``notes`` says what happened on the way that changed no result: workers lost, slow or refused.
    ``interrupted``: Ctrl-C ended it. ``seconds`` is the time that workers were at work, ``memory``
    the largest size of one, in bytes.
    """

    done: set[int] = field(default_factory=set)
    results: dict[int, R] = field(default_factory=dict)
    failed: dict[int, BpeInteropError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0
    memory: int = 0

    def check_whole(self, parts: int) -> None:
        """Raises the error of the first part that failed, if not all parts are done.

        Raises:
            BpeInteropError: that error; it says how many parts are done.
        """
        done = len(self.done)
        if done + len(self.failed) == parts and not self.failed:
            return
        if not self.failed:
            raise EngineError(f"{parts - done:,} of {parts:,} parts were not done")
        first = self.failed[min(self.failed)]
        others = len(self.failed) - 1
        more = f"; {others} more failed" if others else ""
        happened = "".join(f"; {note}" for note in self.notes[:_SHOWN])
        first.what += f" ({done:,} of {parts:,} parts were done{more}{happened})"
        raise first


@dataclass(eq=False)
class _Attempt:
    """A part to be given out.

    ``tries`` counts the workers that were lost or slow with it, ``refused`` those that had other
    versions.
    """

    part: WorkItem
    isolate: bool
    tries: int = 0
    refused: int = 0
    contents: bool = False


@dataclass
class _Flight:
    """A part that was given out. Where it is ``late``, it was given out once more: the first
    answer counts, and until there is one the order keeps its slot.
    """

    attempt: _Attempt
    since: float
    late: bool = False


class _Runner(Generic[R]):
    def __init__(
        self,
        job: Job[W, R],
        carried: Iterable[Carried],
        parts: Iterable[W],
        workers: Workers,
        limit: float,
        tick: PartTick,
        isolate: bool,
        most_failed: int,
        enough: Callable[[], bool],
    ) -> None:
        self._job, self._workers, self._limit, self._tick = job, workers, limit, tick
        self._contents: Mapping[str, Files] = {each.ticket.sha256: each.files for each in carried}
        self._versions = versions_here(job.libraries)
        self._id = f"{worker.name_of_worker()} {uuid.uuid4().hex}"
        self._fresh: Iterator[_Attempt] = (_Attempt(part, isolate) for part in parts)
        self._again: deque[_Attempt] = deque()
        self._flying: dict[Future[Reply], _Flight] = {}
        self._avoid: set[str] = set()
        self._most_failed, self._enough = most_failed, enough
        self._ended = False
        self._unread: BpeInteropError | None = None
        self._seen = time.monotonic()
        self.run: Run[R] = Run()

    def work(self) -> Run[R]:
        try:
            while not self._enough():
                self._give_out()
                if not self._is_waited_for():
                    break
                self._take_in()
                self._look_at_the_clock()
        except KeyboardInterrupt:
            self.run.interrupted = True
        finally:
            self._stop()
        if self._unread is not None and not self.run.interrupted:
            raise self._unread
        return self.run

    def _is_waited_for(self) -> bool:
        """Whether a part is to be given out yet, or is at work and not done elsewhere."""
        # One that is late was given out again, or failed.
        out = [each.attempt.part.number for each in self._flying.values() if not each.late]
        settled = self.run.done | self.run.failed.keys()
        return bool(self._again and not self._ended) or any(n not in settled for n in out)

    def _next(self) -> _Attempt | None:
        """The next part; None where there is none, or none is to be begun any more."""
        while self._again and not self._ended:
            attempt = self._again.popleft()
            if attempt.part.number not in self.run.done:
                return attempt
        if self._ended:
            return None
        try:
            return next(self._fresh, None)
        except BpeInteropError as error:  # what was read before is done first
            self._unread, self._ended = error, True
            return None

    def _room(self) -> int:
        """How many parts may be given out."""
        # As many as there are slots: the clock of each runs from the time that it is worked on, and
        # no more are read than are worked on.
        slots = self._workers.slots(self._avoid)
        late = sum(flight.late for flight in self._flying.values())
        # Where all that were given out are late, one more: the executor may have another process.
        return max(1, slots - late) - (len(self._flying) - late) if slots > 0 else 0

    def _give_out(self) -> None:
        while self._room() > 0:
            attempt = self._next()
            if attempt is None:
                return
            contents = self._contents if attempt.contents else {}
            order = Order(
                self._job, attempt.part, self._id, self._versions, contents, attempt.isolate
            )
            try:
                future = self._workers.submit(order, self._avoid)
            except (BrokenExecutor, RuntimeError) as error:
                raise _broken(error) from error
            self._flying[future] = _Flight(attempt, time.monotonic())

    def _take_in(self) -> None:
        if self._flying or self._workers.slots(self._avoid) > 0:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > _NOBODY:
            raise EngineError(
                f"there was no worker for {_NOBODY:g} seconds",
                fix="start workers; a state (--state) keeps what is done",
            )
        if not self._flying:
            time.sleep(_LOOK)
            return
        ready, _ = wait(self._flying, timeout=_LOOK, return_when=FIRST_COMPLETED)
        for future in ready:
            self._take(future, self._flying.pop(future))

    def _take(self, future: Future[Reply], flight: _Flight) -> None:
        attempt, number = flight.attempt, flight.attempt.part.number
        if number in self.run.done:
            return
        try:
            reply = future.result()
        except BrokenExecutor as error:
            raise _broken(error) from error
        except CancelledError:
            self._retry(flight, "its worker was lost")
            return
        except Exception as error:  # what an executor raises for a worker that died is its own
            self._retry(flight, f"its worker was lost or failed: {_told(error)}", error)
            return
        if isinstance(reply, Finished):
            self.run.seconds += reply.seconds
            self.run.memory = max(self.run.memory, reply.memory)
            self.run.done.add(number)
            self.run.failed.pop(number, None)
            self._tick(attempt.part, reply.value)
        elif flight.late:
            return
        elif isinstance(reply, Stopped):
            self._retry(flight, f"the worker {reply.worker} was told to stop")
        elif isinstance(reply, Missing):
            attempt.contents = True
            self._again.appendleft(attempt)
        elif isinstance(reply, OtherVersions):
            self._refused(attempt, reply)
        elif isinstance(reply, FailedPart):
            self._fail(attempt, reply.error)

    def _refused(self, attempt: _Attempt, reply: OtherVersions) -> None:
        self._note(f"{reply}, and was given no more")
        self._avoid.add(reply.worker)
        attempt.refused += 1
        if attempt.refused < _REFUSALS and self._workers.slots(self._avoid) > 0:
            self._again.append(attempt)
            return
        error = EngineError(str(reply), fix="install the same versions wherever workers run")
        self._fail(attempt, error)
        self._ended = True

    def _retry(self, flight: _Flight, why: str, error: Exception | None = None) -> None:
        """Once more, and with engines in a child process, which a text may kill."""
        if flight.late:
            return
        attempt = flight.attempt
        attempt.tries += 1
        if attempt.tries < 2:
            self._note(f"{attempt.part} was given out again: {why}")
            attempt.isolate = True
            self._again.appendleft(attempt)
            return
        failure = EngineError(
            f"it was not done in two attempts: {why}",
            where=str(attempt.part),
            fix="look at the worker's log; a state (--state) keeps what is done",
        )
        failure.__cause__ = error
        self._fail(attempt, failure)

    def _fail(self, attempt: _Attempt, error: BpeInteropError) -> None:
        self.run.failed[attempt.part.number] = error
        # What cannot be written for one part cannot be for the next either.
        if isinstance(error, TargetError) or len(self.run.failed) >= self._most_failed:
            self._ended = True

    def _look_at_the_clock(self) -> None:
        now = time.monotonic()
        for future, flight in self._flying.items():
            if flight.late or now - flight.since <= self._limit or future.done():
                continue
            self._retry(flight, f"a worker did not answer within {self._limit:g} seconds")
            flight.late = True
        if self._flying and self.run.failed and all(each.late for each in self._flying.values()):
            self._ended = True  # nobody answers any more

    def _note(self, what: str) -> None:
        if what not in self.run.notes:
            self.run.notes.append(what)

    def _stop(self) -> None:
        """What still runs is told to end; what waits in the executor is taken back."""
        self._workers.stop(self._id)
        for future in self._flying:
            future.cancel()


def _told(error: BaseException) -> str:
    message = str(error).strip().splitlines()
    return f"{type(error).__name__}: {message[0]}" if message else type(error).__name__


def _broken(error: BaseException) -> EngineError:
    return EngineError(
        f"the executor takes no more parts: {_told(error)}",
        fix="begin again; a state (--state) keeps what is done",
    )


def run_parts(
    job: Job[W, R],
    carried: Iterable[Carried],
    parts: Iterable[W],
    workers: Workers,
    *,
    limit: float = LIMIT,
    tick: PartTick = lambda part, value: None,
    isolate: bool = False,
    most_failed: int = _MOST_FAILED,
    enough: Callable[[], bool] = lambda: False,
) -> Run[R]:
    """Does a job with each part.

    A part whose worker is lost, or does not answer within ``limit`` seconds, is given out once
    more; whichever answers first counts. Interrupted with Ctrl-C, it stops the workers and returns
    what was done.

    Args:
        job: what is done with each part.
        carried: the tokenizers that it needs, with their files.
        parts: the parts that are not done yet.
        workers: who works.
        limit: seconds for a part.
        tick: called with each part and its result, as they come.
        isolate: run engines in child processes from the beginning.
        most_failed: after so many parts that failed, no more are begun.
        enough: whether it is to end, asked after each part.

    Raises:
        EngineError: the executor is broken.
        BpeInteropError: the parts could not be read on; those before are done.
    """
    runner = _Runner(job, carried, parts, workers, limit, tick, isolate, most_failed, enough)
    return runner.work()


class Result(Protocol):
    """What became of a part: of so many documents, and bytes of UTF-8."""

    @property
    def documents(self) -> int:
        """How many documents were done."""

    @property
    def bytes(self) -> int:
        """How many bytes they have."""


K = TypeVar("K", bound=Result)


def run_corpus(
    job: Job[Part, K],
    carried: Iterable[Carried],
    corpus: CutCorpus,
    workers: Workers,
    *,
    state: str | Path | None,
    about: Mapping[str, object],
    kind: type[K],
    limit: float = LIMIT,
    tick: Callable[[Progress, K], None],
    is_there: Callable[[K], bool] = lambda result: True,
    fresh: bool = False,
) -> Run[K]:
    """Does a job with each part of a corpus that a run before did not do.

    Args:
        job: what is done.
        carried: the tokenizers, with their files.
        corpus: the parts.
        workers: who works.
        state: a file in which it is kept what is done.
        about: what the run does, as :func:`.state.keeping` takes it.
        kind: the dataclass that a result is.
        limit: seconds after which a part is given out once more.
        tick: is told how far it is, and what became of the last part.
        is_there: whether what a run before did is still there.
        fresh: begin again where the state is of another run.

    Raises:
        SourceError: a file changed meanwhile, there are no documents, or the state is of another
            run.
        TargetError: the state cannot be written.
        BpeInteropError: a part failed.
    """
    about = {**about, "parts": digest_of(corpus.parts)}
    with keeping(state, about, corpus.files, kind, fresh=fresh) as kept:
        before = {number: each for number, each in kept.results.items() if is_there(each)}
        results = dict(before)
        read = sum(part.size for part in corpus.parts if part.number in before)
        seen = Progress(0, 0, read, sum(part.size for part in corpus.parts), 0.0, read)
        began = time.monotonic()

        def took(part: WorkItem, result: K) -> None:
            nonlocal seen
            results[part.number] = result
            kept.add(part.number, result)
            documents, size = seen.documents + result.documents, seen.bytes + result.bytes
            took_so_far = time.monotonic() - began
            read = seen.read + part.size
            seen = Progress(documents, size, read, seen.total, took_so_far, seen.before)
            tick(seen, result)

        left = [part for part in corpus.parts if part.number not in before]
        run = run_parts(job, carried, left, workers, limit=limit, tick=took)
    run.results = results
    run.done |= before.keys()
    if not run.interrupted:
        run.check_whole(len(corpus.parts))
        corpus.check_unchanged()
        if not any(each.documents for each in run.results.values()):
            raise no_documents(corpus.files)
    return run
