"""Two tokenizers in a child process."""

from __future__ import annotations

import contextlib
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from ..engines.child_process import python
from ..errors import EngineError
from .compare import Answers, Decoded
from .sides import Build, Failure, Mismatch, Mode

_START = (
    "import pickle; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from bpe_interop.verify.worker import serve; serve()"
)


class _KilledError(Exception):
    """The child is gone; ``side`` is the one that was working, as far as it said."""

    def __init__(self, side: str, code: int) -> None:
        self.side = side
        self.what = _ended(code)


class ChildPair:
    """Two sides in a process of their own, which a text may kill without killing this one.

    A child that was killed is started again, and the texts that it had are given to it one by
    one, so that the one that kills it is known, and on which side. Ctrl-C does not end it.
    """

    def __init__(self, a: Build, b: Build, modes: Sequence[Mode]) -> None:
        self._sides = a, b, tuple(modes)
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def compare(self, texts: list[str]) -> list[Answers]:
        """What becomes of each text.

        Raises:
            BpeInteropError: a side cannot be built.
        """
        try:
            outcomes: list[Answers] = self._ask("compare", texts)
            return outcomes
        except _KilledError:
            return [self._compare_one(text) for text in texts]

    def shrink(self, text: str, mode: Mode) -> Mismatch | None:
        """A smaller text on which the sides differ; None where a side did not survive it."""
        try:
            mismatch: Mismatch = self._ask("shrink", text, mode)
            return mismatch
        except _KilledError:
            return None

    def decode(self, sequences: list[tuple[int, ...]]) -> list[Decoded]:
        """What each side makes of ids; None where it fails on them, or does not survive them."""
        try:
            texts: list[Decoded] = self._ask("decode", sequences)
            return texts
        except _KilledError:
            if len(sequences) > 1:
                return [self.decode([ids])[0] for ids in sequences]
            return [(None, None)]

    def close(self) -> None:
        """Ends the process at once."""
        self._closed = True
        if self._process is not None:
            self._process.kill()
            self._reap(self._process)

    def _compare_one(self, text: str) -> Answers:
        try:
            outcome: Answers = self._ask("compare one", text)
            return outcome
        except _KilledError as error:
            failure = Failure(error.side, "", error.what, "killed")
            outcome = Answers(alone=1)
            (outcome.failures_b if error.side == "b" else outcome.failures_a).append(failure)
            return outcome

    def _ask(self, *request: Any) -> Any:
        """Sends a request, and waits for the answer."""
        process = self._process or self._start()
        side = ""
        try:
            send(process, request)
            while True:
                kind, value = receive(process)
                if kind == "answer":
                    return value
                if kind == "error":
                    raise value
                side = value
        except (EOFError, OSError, pickle.UnpicklingError):
            raise _KilledError(side, self._reap(process)) from None

    def _start(self) -> subprocess.Popen[bytes]:
        if self._closed:
            raise EngineError("the comparison has ended")
        process = subprocess.Popen(python(_START), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            send(process, sys.path)
            send(process, self._sides)
            kind, value = receive(process)
        except (EOFError, OSError, pickle.UnpicklingError):
            ended = _ended(self._reap(process))
            raise EngineError(f"the process that loads both sides {ended}") from None
        if kind == "error":
            self._reap(process)
            raise value
        if self._closed:
            process.kill()
        self._process = process
        return process

    def _reap(self, process: subprocess.Popen[bytes]) -> int:
        """Waits for the end of a process; its exit code."""
        self._process = None
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was not sent yet
                    stream.close()
        try:
            return process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def send(process: subprocess.Popen[bytes], value: object) -> None:
    """Sends something to a child that reads it with ``pickle.load``."""
    if process.stdin is not None:
        pickle.dump(value, process.stdin, pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()


def receive(process: subprocess.Popen[bytes]) -> tuple[str, Any]:
    """What a child says: of which kind it is, and the value.

    Raises:
        EOFError, OSError, pickle.UnpicklingError: the child is gone.
    """
    if process.stdout is None:
        raise EOFError
    answer: tuple[str, Any] = pickle.load(process.stdout)
    return answer


def _ended(code: int) -> str:
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
