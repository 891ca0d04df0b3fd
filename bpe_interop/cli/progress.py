"""How far a long run is: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..ticks import PhaseTick, Unit
from .terminal import is_quiet, tell

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

    from ..compare import Progress
    from ..token_files import Step

BEAT = 10.0
"""Seconds after which a long run says how far it is, where there is no terminal."""

_SAYING_SO = {"FORCE_COLOR", "TTY_COMPATIBLE"}
"""Variables by which ``rich`` takes a pipe for a terminal."""


class Seen(PhaseTick):
    """What is known of a run: its phase, how much of that is done, and what is said of it."""

    def __init__(self, usual: str) -> None:
        self.phase, self.said = "reading", ""
        self.done = 0
        self.total: int | None = None
        self._usual, self._begun = usual, False
        self._unit: Unit = "texts"

    def __call__(self, count: int) -> None:
        """So much more is done, of the usual phase where none was begun."""
        if not self._begun:
            self.begin(self._usual)
        self.at(self.done + count)

    def begin(self, phase: str, total: int | None = None, unit: Unit = "texts") -> None:
        self._begun, self.phase, self.total, self._unit = True, phase, total, unit
        self.done, self.said = 0, ""
        if total is not None:
            self.at(0)

    def at(self, done: int, said: str = "") -> None:
        """So much is done in all; what is said is the number, where nothing else is given."""
        of = "" if self.total is None else f" of {amount(self.total, self._unit)}"
        self.done, self.said = done, said or f"{amount(done, self._unit)}{of}"
        if not said and self._unit != "bytes":
            self.said += f" {self._unit}"

    def watch(self, seen: Progress | Step) -> None:
        """How far a corpus is that is compared, measured or encoded."""
        ids = getattr(seen, "tokens", None)
        phase = "corpora" if ids is None else "encoding"
        if self.phase != phase:
            # Where the size is not known, as of a pipe, the bar only moves.
            self.begin(phase, seen.total or None, "bytes")
        of = f" of {amount(seen.total, 'bytes')}" if seen.total else ""
        parts = [] if ids is None else [f"{ids:,} ids"]
        parts += [f"{amount(seen.read, 'bytes')}{of}", f"{amount(int(seen.rate), 'bytes')}/s"]
        if seen.left is not None:
            hours, rest = divmod(int(seen.left), 3600)
            parts.append(f"{hours}:{rest // 60:02}:{rest % 60:02} left")
        self.at(seen.read, ", ".join(parts))


def amount(number: int, unit: Unit) -> str:
    """A number as people read it; bytes in units of 1,000."""
    if unit != "bytes":
        return f"{number:,}"
    from rich.filesize import decimal

    return decimal(number)


@contextlib.contextmanager
def progress(usual: str) -> Iterator[Seen]:
    """A block that says how far it is; what native code prints in it is kept off the screen.

    Args:
        usual: the phase that is counted where none was begun.
    """
    with _quiet_engines(), shown_progress(usual) as seen:
        yield seen


@contextlib.contextmanager
def shown_progress(usual: str) -> Iterator[Seen]:
    """The same, and native code may print."""
    if is_quiet():
        yield Seen(usual)
        return
    if may_show_bars():
        from rich.console import Console  # it takes long to import

        console = Console(file=sys.stderr)
        if console.is_terminal:
            with _bar(usual, console) as seen:
                yield seen
            return
    seen, ended, began = Seen(usual), threading.Event(), time.monotonic()

    def speak() -> None:
        while not ended.wait(BEAT):
            said = f": {seen.said}" if seen.said else ""
            tell(f"{time.monotonic() - began:,.0f} s: {seen.phase}{said}")

    threading.Thread(target=speak, daemon=True).start()
    try:
        yield seen
    finally:
        ended.set()


@contextlib.contextmanager
def _bar(usual: str, console: Console) -> Iterator[Seen]:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield _Bar(usual, bars)


class _Bar(Seen):
    def __init__(self, usual: str, bars: Bars) -> None:
        super().__init__(usual)
        self._bars = bars
        self._task = bars.add_task(self.phase, total=None, said="")

    def begin(self, phase: str, total: int | None = None, unit: Unit = "texts") -> None:
        super().begin(phase, total, unit)
        self._bars.remove_task(self._task)  # the total of a task cannot become unknown
        self._task = self._bars.add_task(phase, total=total, said=self.said)

    def at(self, done: int, said: str = "") -> None:
        super().at(done, said)
        self._bars.update(self._task, completed=done, said=self.said)


def may_show_bars() -> bool:
    """Whether ``rich`` may take stderr for a terminal; it decides, and takes long to import."""
    return sys.stderr.isatty() or bool(_SAYING_SO & os.environ.keys())


@contextlib.contextmanager
def _quiet_engines() -> Iterator[None]:
    """Keeps off the screen what native code prints when it panics: it arrives as an error too."""
    try:
        number = sys.stderr.fileno()
    except OSError:  # a stream without a file: nothing native can write there
        yield
        return
    sys.stderr.flush()
    talk = os.dup(number)
    with open(talk, "w", encoding="utf-8", errors="backslashreplace", buffering=1) as stream:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), number)
        try:
            with contextlib.redirect_stderr(stream):
                yield
        finally:
            os.dup2(talk, number)
