"""Bars of progress on a terminal. Imported for a terminal only: ``rich`` takes long to import."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bars

from ..ticks import StageTick, Unit

if TYPE_CHECKING:
    from ..compare import Progress
    from ..token_files import Step


class _Stages(StageTick):
    """A bar with the stage's name, how many texts are done, and of how many where it is known."""

    def __init__(self, bars: Bars, usual: str) -> None:
        self._bars, self._usual = bars, usual
        self._task = bars.add_task("reading", total=None, said="")
        self._done, self._begun = 0, False
        self._total: int | None = None
        self._unit: Unit = "texts"

    def __call__(self, count: int) -> None:
        if not self._begun:
            self.begin(self._usual)
        self._done += count
        self._bars.update(self._task, completed=self._done, said=self._progress())

    def begin(self, stage: str, total: int | None = None, unit: Unit = "texts") -> None:
        self._begun, self._done, self._total, self._unit = True, 0, total, unit
        self._bars.remove_task(self._task)
        progress = "" if total is None else self._progress()
        self._task = self._bars.add_task(stage, total=total, said=progress)

    def _progress(self) -> str:
        """How much is done, of how much where that is known."""
        if self._unit == "bytes":
            of = "" if self._total is None else f" of {decimal(self._total)}"
            return f"{decimal(self._done)}{of}"
        of = "" if self._total is None else f" of {self._total:,}"
        return f"{self._done:,}{of} {self._unit}"


def _columns() -> tuple[ProgressColumn, ...]:
    return (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )


def counter(what: str) -> Iterator[Callable[[int], None]]:
    """What :func:`screen.counting` yields."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield lambda count: None
        return
    with Bars(*_columns(), console=console, transient=True) as bars:
        yield _Stages(bars, what)


def comparison(usual: str) -> Iterator[tuple[Callable[[int], None], Callable[[Progress], None]]]:
    """What :func:`screen.comparing` yields."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield lambda count: None, lambda progress: None
        return
    with Bars(*_columns(), console=console, transient=True) as bars:
        tick = _Stages(bars, usual)
        corpus = bars.add_task("corpora", total=None, said="", visible=False)

        def watch(seen: Progress) -> None:
            left = time_left(seen.left)
            done = f"{decimal(seen.bytes)}, {decimal(int(seen.rate))}/s{left}"
            # Where the size is not known, as of a pipe, the bar only moves.
            total = seen.total or None
            bars.update(corpus, visible=True, total=total, completed=seen.read, said=done)

        yield tick, watch


def time_left(seconds: float | None) -> str:
    """How long what is left will take; nothing where that is not known."""
    if seconds is None:
        return ""
    hours, rest = divmod(int(seconds), 3600)
    return f", {hours}:{rest // 60:02}:{rest % 60:02} left"


def encoded() -> Iterator[Callable[[Step], None]]:
    """What :func:`screen.encoding` yields."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield lambda step: None
        return
    columns = (
        SpinnerColumn(),
        TextColumn("encoding"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task("encoding", total=None, said="")

        def tick(step: Step) -> None:
            left = time_left(step.left)
            progress = f"{step.tokens:,} ids, {decimal(int(step.rate))}/s{left}"
            bars.update(task, total=step.total or None, completed=step.read, said=progress)

        yield tick
