"""What all commands show alike: consoles, progress, JSON, labelled lines, texts and tokens."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.filesize import decimal
from rich.measure import Measurement
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from ..errors import SourceError, not_utf8
from ..model import show
from ..text.visible import is_ambiguous
from ..ticks import StageTick, Unit
from .terminal import say_line, shown, wrapped

if TYPE_CHECKING:
    from ..token_files import Step
    from ..verify import Progress

LABEL = 12
"""Columns that the label of a line takes."""


def lines(label: str, texts: list[str] | tuple[str, ...]) -> None:
    """Prints each text on a line of its own behind a label, to stdout."""
    for text in texts:
        laid = text.removesuffix("\n")
        # What has several lines is laid out already, as code to copy is.
        wide = laid.split("\n") if "\n" in laid else wrapped(shown(laid), sys.stdout, used=LABEL)
        for number, line in enumerate(wide):
            say_line(f"{'' if number else label:<{LABEL}}{line}")


def show_text(text: str) -> str:
    """A text for people; with its escapes behind it where a mark or an unseen sign is in it."""
    shown = show(text)
    if is_ambiguous(text):
        shown += f" = {text!a}"
    return shown


def short_text(text: str, limit: int = 100) -> str:
    """A text for people, cut in its middle where it is long."""
    if len(text) <= limit:
        return show_text(text)
    half = limit // 2
    return f"{show(text[:half])} ... {show(text[-half:])} ({len(text):,} characters)"


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], names: int, numbers: bool = True
) -> None:
    """Prints a table; where a terminal is too narrow for it, a block of lines for each row.

    Args:
        headings: of all columns.
        rows: their cells.
        names: how many columns, from the left, name the row.
        numbers: whether the others hold numbers.
    """
    table = Table(box=None, pad_edge=False)
    for at, heading in enumerate(headings):
        table.add_column(
            heading, no_wrap=True, justify="right" if numbers and at >= names else "left"
        )
    for row in rows:
        table.add_row(*map(Text, row))
    console = Console(file=sys.stdout, highlight=False)
    needed = Measurement.get(console, console.options.update(max_width=100_000), table).maximum
    if not console.is_terminal or needed <= console.width:
        Console(file=sys.stdout, highlight=False, width=max(needed, 1)).print(table)
        return
    width = max(map(len, headings[names:]))
    for row in rows:
        say_line("  ".join(row[:names]))
        for heading, cell in zip(headings[names:], row[names:], strict=True):
            say_line(f"  {heading:<{width}}  {cell}")


def folded(text: str, limit: int = 100) -> str:
    """A text that is too long to be read, without its middle; its end says how it is meant."""
    if len(text) <= limit:
        return text
    left, right = limit - 60, 45  # the end of a step has its pattern's dialect and its settings
    return f"{text[:left]} ... {text[-right:]} ({len(text):,} characters; --full shows them)"


def as_json(value: Any) -> None:
    """Prints one JSON document to stdout, in ASCII, so that any text survives any terminal."""
    click.echo(json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2))


def ids_as_json(value: list[int] | list[list[int]]) -> None:
    """Prints ids as one JSON document on one line."""
    click.echo(json.dumps(value))


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """A counter that shows progress on a terminal, and nothing in a pipe."""
    with _quiet_engines():
        yield from _counter(what)


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


def _counter(what: str) -> Iterator[Callable[[int], None]]:
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield lambda count: None
        return
    with Bars(*_columns(), console=console, transient=True) as bars:
        yield _Stages(bars, what)


@contextlib.contextmanager
def comparing(
    usual: str = "awkward texts",
) -> Iterator[tuple[Callable[[int], None], Callable[[Progress], None]]]:
    """Shows on a terminal how many texts, and how much of a corpus at which rate, are done.

    The first function counts texts, as ``usual`` where no stage was begun; the second says how
    far a corpus is.
    """
    with _quiet_engines():
        yield from _comparing(usual)


def _comparing(usual: str) -> Iterator[tuple[Callable[[int], None], Callable[[Progress], None]]]:
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


@contextlib.contextmanager
def encoding() -> Iterator[Callable[[Step], None]]:
    """Shows on a terminal how much of a corpus was encoded, at which rate, and the time left."""
    with _quiet_engines():
        yield from _encoding()


def _encoding() -> Iterator[Callable[[Step], None]]:
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


def read_stdin() -> bytes:
    """All of standard input, as it is."""
    return sys.stdin.buffer.read()


def stdin_lines() -> Iterator[bytes]:
    """The lines of standard input as they come, cut at LF only, without the LF."""
    for line in sys.stdin.buffer:
        yield line.removesuffix(b"\n")


def as_text(data: bytes, *, where: str = "standard input") -> str:
    """Bytes as UTF-8 text.

    Raises:
        SourceError: they are not UTF-8.
    """
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            not_utf8(error),
            where=where,
            fix="a tokenizer encodes text, so make it UTF-8 first",
        ) from None


def write_stdout(data: bytes) -> None:
    """Writes bytes to standard output, as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
