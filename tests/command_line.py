"""Runs the command line in the test's own process."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeAlias

import pytest

from bpe_interop.cli import main


class Outcome(NamedTuple):
    """How a command ended: its exit code, and what it wrote to stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def raw(self) -> bytes:
        """stdout as it is, which need not be UTF-8."""
        return self.out.encode("utf-8", "surrogateescape")


Command: TypeAlias = Callable[..., Outcome]


@contextmanager
def in_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """``call(*arguments, stdin=b"")`` runs ``bpe-interop``, with pipes for its streams."""
    hooks = sys.excepthook, sys.unraisablehook
    handlers = {n: signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT)}

    def call(*arguments: object, stdin: bytes = b"") -> Outcome:
        out, err = io.BytesIO(), io.BytesIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["bpe-interop", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), "utf-8"))
            patch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8", write_through=True))
            patch.setattr(sys, "stderr", io.TextIOWrapper(err, "utf-8", write_through=True))
            with pytest.raises(SystemExit) as done:
                main()
            code = int(done.value.code or 0)
            # What is written must be read before the wrappers close the streams.
            said = out.getvalue().decode("utf-8", "surrogateescape"), err.getvalue().decode("utf-8")
        assert "Traceback" not in said[1]
        return Outcome(code, *said)

    yield call
    sys.excepthook, sys.unraisablehook = hooks
    for number, handler in handlers.items():
        signal.signal(number, handler)
