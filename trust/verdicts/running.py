"""Many pairs, in processes of their own: an engine may die of a pair, or never come back."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait

from .trial import Trial, trial

SECONDS = 20
"""How many seconds of CPU a pair may take before its process is ended."""

MEMORY = 6 << 30
"""How many bytes a process may address."""


@dataclass
class Lost:
    """A pair that its process did not survive."""

    number: int
    how: str


def trials(
    seed: int, pairs: int, *, first: int = 0, processes: int = 1, verify_every: int = 0
) -> Iterator[tuple[int, Trial | Lost]]:
    """Every pair of a run, in no order; of each ``verify_every``-th the files are verified too."""
    step = max(1, processes)
    todo = [range(first + place, first + pairs, step) for place in range(step)]
    workers = [_Worker(seed, numbers, verify_every) for numbers in todo]
    while workers:
        ready = wait([worker.answers for worker in workers], timeout=1)
        for worker in [*workers]:
            yield from worker.taken(worker.answers in ready)
            if worker.ended:
                workers.remove(worker)


class _Worker:
    """A process that tries some pairs, and is started anew where it dies of one."""

    def __init__(self, seed: int, numbers: range, verify_every: int) -> None:
        self._seed, self._numbers, self._every = seed, numbers, verify_every
        self._at: int | None = None
        self.ended = False
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.answers, end = context.Pipe(duplex=False)
        arguments = (end, self._seed, self._numbers, self._every)
        self._process = context.Process(target=_work, args=arguments, daemon=True)
        self._process.start()
        end.close()

    def taken(self, ready: bool) -> Iterator[tuple[int, Trial | Lost]]:
        """What the process has answered since."""
        if not ready:
            return
        try:
            number, found = self.answers.recv()
        except EOFError:
            yield from self._lost()
            return
        if isinstance(found, Exception):
            raise found
        if found is None:
            self._at = number
        elif number < 0:
            self._process.join()
            self.ended = True
        else:
            yield number, found

    def _lost(self) -> Iterator[tuple[int, Trial | Lost]]:
        """Goes on with the next pair; a process that dies before any is not started again."""
        self._process.join()
        self.answers.close()
        ended = self._process.exitcode == -signal.SIGPROF
        how = f"did not come back in {SECONDS} s" if ended else "died"
        if self._at is None:
            raise RuntimeError(f"a process {how} before its first pair")
        yield self._at, Lost(self._at, how)
        self._numbers = range(self._at + self._numbers.step, self._numbers.stop, self._numbers.step)
        self._at = None
        if self._numbers:
            self._start()
        else:
            self.ended = True


def _work(answers: Connection, seed: int, numbers: range, every: int) -> None:
    quiet()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    from .searching import search_less

    search_less()
    for number in numbers:
        answers.send((number, None))
        # The signal ends the process, inside an engine too.
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            found: Trial | Exception = trial(
                seed, number, verified=bool(every) and number % every == 0
            )
        except Exception as error:
            found = error
        answers.send((number, found))
    answers.send((-1, 0))


def quiet() -> None:
    """Engines write panics to standard error, and make threads for small batches."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RUST_BACKTRACE"] = "0"
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
