"""What all commands show alike: consoles, progress, JSON, labelled lines, texts and tokens."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import SourceError, not_utf8
from ..text.visible import LABEL, LabelledLine
from ..ticks import StageTick, Unit
from .terminal import say, say_line, shown, tell, wrapped

if TYPE_CHECKING:
    from rich.console import Console

    from ..compare import Progress
    from ..token_files import Step


def lines(label: str, texts: Iterable[str]) -> None:
    """Prints each text on a line of its own behind a label, to stdout."""
    print_lines(LabelledLine(label, text) for text in texts)


def print_lines(listed: Iterable[LabelledLine]) -> None:
    """Prints labelled lines to stdout, wrapped where a terminal is narrow."""
    for line in listed:
        text = line.text.removesuffix("\n")
        if line.label is None:
            say(text)
            continue
        # What is laid out already stays: rows of a table, and several lines, as code to copy is.
        if line.row or "\n" in text:
            wide = text.split("\n")
        else:
            wide = [*wrapped(shown(text), sys.stdout, used=LABEL)]
        for number, part in enumerate(wide):
            say_line(f"{'' if number else line.label:<{LABEL}}{part}", bold=line.marked)


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
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for at, heading in enumerate(headings):
        table.add_column(
            heading, no_wrap=True, justify="right" if numbers and at >= names else "left"
        )
    for row in rows:
        table.add_row(*map(Text, row))
    console = console_on_stdout()
    needed = Measurement.get(console, console.options.update(max_width=100_000), table).maximum
    if not console.is_terminal or needed <= console.width:
        console_on_stdout(width=max(needed, 1)).print(table)
        return
    width = max(map(len, headings[names:]))
    for row in rows:
        say_line("  ".join(row[:names]))
        for heading, cell in zip(headings[names:], row[names:], strict=True):
            say_line(f"  {heading:<{width}}  {cell}")


def console_on_stdout(*, width: int | None = None, soft_wrap: bool = False) -> Console:
    """A console for stdout. On a closed pipe ``rich`` itself would end with 1, which means "no"."""
    from rich.console import Console  # it takes long to import, and most commands need none of it

    class _Console(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return _Console(file=sys.stdout, highlight=False, width=width, soft_wrap=soft_wrap)


def as_json(value: Any) -> None:
    """Prints one JSON document to stdout, in ASCII, so that any text survives any terminal."""
    click.echo(json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2))


def ids_as_json(value: list[int] | list[list[int]]) -> None:
    """Prints ids as one JSON document on one line."""
    click.echo(json.dumps(value))


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """A counter that shows progress: bars on a terminal, elsewhere a line now and then."""
    with _quiet_engines():
        if not may_show_bars():
            with _Beats(what).going() as beats:
                yield beats
            return
        from .bars import counter

        yield from counter(what)


@contextlib.contextmanager
def comparing(
    usual: str = "awkward texts",
) -> Iterator[tuple[Callable[[int], None], Callable[[Progress], None]]]:
    """Shows how many texts, and how much of a corpus at which rate, are done.

    The first function counts texts, as ``usual`` where no stage was begun; the second says how
    far a corpus is.
    """
    with _quiet_engines():
        if not may_show_bars():
            with _Beats(usual).going() as beats:
                yield beats, beats.watch
            return
        from .bars import comparison

        yield from comparison(usual)


@contextlib.contextmanager
def encoding() -> Iterator[Callable[[Step], None]]:
    """Shows how much of a corpus was encoded, at which rate, and the time left."""
    with _quiet_engines():
        if not may_show_bars():
            with _Beats("encoding").going() as beats:
                yield beats.watch
            return
        from .bars import encoded

        yield from encoded()


BEAT = 10.0
"""Seconds after which a long run says how far it is, where there is no terminal."""


class _Beats(StageTick):
    """Says on standard error every so often how far a run is; nothing of a short one."""

    def __init__(self, usual: str) -> None:
        self._stage = usual
        self._total: int | None = None
        self._unit: Unit = "texts"
        self._done, self._seen = 0, "reading"

    def __call__(self, count: int) -> None:
        self._done, self._seen = self._done + count, ""

    def begin(self, stage: str, total: int | None = None, unit: Unit = "texts") -> None:
        self._stage, self._total, self._unit = stage, total, unit
        self._done, self._seen = 0, ""

    def watch(self, seen: Progress) -> None:
        """How far a corpus is."""
        of = f" of {seen.total:,}" if seen.total else ""
        self._seen = f"corpora: {seen.read:,}{of} bytes read, {int(seen.rate):,} a second"

    def _line(self) -> str:
        of = "" if self._total is None else f" of {self._total:,}"
        return self._seen or f"{self._stage}: {self._done:,}{of} {self._unit}"

    @contextlib.contextmanager
    def going(self) -> Iterator[_Beats]:
        """A block while which it speaks."""
        ended, began = threading.Event(), time.monotonic()

        def speak() -> None:
            while not ended.wait(BEAT):
                tell(f"{time.monotonic() - began:,.0f} s: {self._line()}")

        threading.Thread(target=speak, daemon=True).start()
        try:
            yield self
        finally:
            ended.set()


def may_show_bars() -> bool:
    """Whether ``rich`` may take stderr for a terminal; it decides, and takes long to import."""
    return sys.stderr.isatty() or bool(_SAYING_SO & os.environ.keys())


_SAYING_SO = {"FORCE_COLOR", "TTY_COMPATIBLE"}
"""Variables by which ``rich`` takes a pipe for a terminal."""


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
