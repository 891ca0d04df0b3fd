"""An object in a Python process of its own, which a crash takes with it, and which ends at once.

One protocol for all of them. The parent sends pickles: ``sys.path``, then what makes the object,
then requests: the name of a method and what it is given. The child answers each with
``("answer", value)`` or ``("error", error)``, and may say more before it does (``"said"``). It
ends with its input. What it prints is no answer: it goes where errors go.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any, TypeAlias

from ..errors import BpeInteropError, EngineError
from ..ticks import PART_SECONDS

Say: TypeAlias = Callable[[object], None]
Make: TypeAlias = Callable[[Say], object]
"""Makes the object in the child; what it says there is the parent's ``said``."""

# For -c and -m the interpreter looks for modules in the current folder first. That may be a
# model's folder from somewhere, with a pickle.py in it, so it goes before anything is imported
# (sys is part of the interpreter). -P takes it out too, and Python 3.10 does not have it; -I would
# leave PYTHONPATH out.
_START = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    "import pickle; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from bpe_interop.engines.child_process import work; work()"
)
_GLANCE = 0.2
"""Seconds between two looks at the clock."""
_GRACE = 10.0
"""Seconds in which a process that has closed its output must be gone."""


def cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class EndedError(Exception):
    """The child is gone: how, its exit code (or minus the signal), whether it was ended for its
    silence, and what it said last.
    """

    def __init__(self, code: int, late: bool, seconds: float, said: object) -> None:
        self.code, self.late, self.said = code, late, said
        self.what = f"gave no answer in {seconds:g} seconds" if late else _ended(code)
        super().__init__(self.what)


def _ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


class ChildProcess:
    """A child and the object in it. One thread asks at a time; any thread may close it.

    Args:
        make: makes the object; it is pickled, so it is a function of a module or a ``partial``.
        seconds: a child that does not answer for so long is ended.
        quiet: nothing that it prints is shown.
        env: variables of its environment besides those of this process.
    """

    def __init__(
        self,
        make: Make,
        *,
        seconds: float = PART_SECONDS,
        quiet: bool = False,
        env: dict[str, str] | None = None,
    ) -> None:
        self._seconds, self._said = seconds, None
        self._deadline: float | None = None
        self._late = self.ended = False
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if quiet else None,
            env={**os.environ, **env} if env else None,
        )
        # A daemon, or an interrupted program would wait for it to end. One for all answers: it
        # takes longer to start a thread than some engines take for a text.
        threading.Thread(target=self._watch, daemon=True).start()
        self._send([each for each in sys.path if isinstance(each, str)])
        self._send(make)

    @property
    def pid(self) -> int:
        return self._process.pid

    def call(self, method: str, *given: Any, seconds: float | None = None) -> Any:
        """What a method of the object gives.

        Raises:
            EndedError: the child is gone, or was ended because it gave no answer.
            BpeInteropError: the method raised it, or anything else; then the child is gone too.
        """
        self._send((method, *given))
        return self.answer(seconds)

    def answer(self, seconds: float | None = None) -> Any:
        """The next answer; the first one says that the object is made."""
        limit = self._seconds if seconds is None else seconds
        self._said = None
        self._deadline = time.monotonic() + limit
        try:
            kind, value = self._receive()
            while kind == "said":
                self._said = value
                kind, value = self._receive()
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            code = self._reap()
            raise EndedError(code, self._late, limit, self._said) from None
        except BaseException:  # the answer that comes later is not that of the next question
            self.close()
            raise
        finally:
            self._deadline = None
        if kind == "error":
            self._reap()
            error: BaseException = value
            raise error
        return value

    def close(self) -> None:
        """Ends the process at once."""
        self._process.kill()
        self._reap()

    def _receive(self) -> tuple[str, Any]:
        if self._process.stdout is None:
            raise EOFError
        answer: tuple[str, Any] = pickle.load(self._process.stdout)
        return answer

    def _send(self, value: object) -> None:
        # Pickled first: what cannot be must not be half sent.
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        # A child that has ended is told of by its answer.
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                self._process.stdin.write(data)
                self._process.stdin.flush()

    def _reap(self) -> int:
        """Waits for the end of the process; its exit code."""
        self.ended = True
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not sent yet
                    stream.close()
        try:
            return self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _watch(self) -> None:
        """Ends a process that does not answer in time."""
        while self._process.poll() is None:
            until = self._deadline
            if until is not None and time.monotonic() > until:
                self._late = True
                self._process.kill()
            time.sleep(_GLANCE)


def work() -> None:
    """What a child does: it makes an object, and calls its methods until its input ends."""
    # The parent is interrupted as well, and ends this process when it is ready to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def tell(kind: str, value: object) -> None:
        data = pickle.dumps((kind, value), pickle.HIGHEST_PROTOCOL)
        answers.write(data)
        answers.flush()

    def tell_fault(*raised: Any) -> None:
        lines = "".join(traceback.format_exception(*raised))
        tell("error", EngineError(f"the child process failed: {lines}"))

    # The parent raises it: nobody reads the stderr of this process.
    sys.excepthook = tell_fault
    try:
        made = pickle.load(requests)(lambda value: tell("said", value))
        tell("answer", None)
        while True:
            try:
                method, *given = pickle.load(requests)
            except EOFError:
                return
            tell("answer", getattr(made, method)(*given))
    except BpeInteropError as error:
        tell("error", error)
