"""Ctrl-C and SIGTERM: a command that they end has their exit code, wherever they arrive."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

INTERRUPTED, TERMINATED = 130, 143
"""What a shell reports of programs that end by SIGINT and SIGTERM."""

_AGAIN = 0.01
"""Seconds until a signal is sent again whose exception was lost."""


class TerminatedError(SystemExit):
    """Ends by an exception, so that what is half written is removed."""


class Interrupts:
    """Remembers that a signal came, and sends it again where Python lost its exception.

    What is raised in a finalizer or in a callback of a library is printed and forgotten.
    """

    def __init__(self) -> None:
        self.came = 0

    def install(self) -> None:
        """Takes SIGINT and SIGTERM from now on; an ignored SIGINT stays ignored."""
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, self._raise)
        signal.signal(signal.SIGTERM, self._raise)
        sys.unraisablehook = self._lost

    @property
    def code(self) -> int:
        """The exit code of a command that the signal ended; 0 where none came."""
        return {0: 0, signal.SIGTERM: TERMINATED}.get(self.came, INTERRUPTED)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        self.came = number
        if number == signal.SIGTERM:
            raise TerminatedError(TERMINATED)
        raise KeyboardInterrupt

    def _lost(self, lost: sys.UnraisableHookArgs) -> None:
        if isinstance(lost.exc_value, (KeyboardInterrupt, TerminatedError)) and self.came:
            again = threading.Timer(_AGAIN, os.kill, (os.getpid(), self.came))
            again.daemon = True
            again.start()
        else:
            sys.__unraisablehook__(lost)
