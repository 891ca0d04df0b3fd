"""What all commands show alike: consoles, progress, JSON, labelled lines, texts and tokens."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from ..errors import SourceError, not_utf8
from ..model import show
from ..text.visible import is_ambiguous
from .terminal import say_line, shown, wrapped

if TYPE_CHECKING:
    from rich.console import Console

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
    if is_ambiguous(text) and not shown.isascii():
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
        if not may_show_bars():
            yield lambda count: None
            return
        from .bars import counter

        yield from counter(what)


@contextlib.contextmanager
def comparing(
    usual: str = "awkward texts",
) -> Iterator[tuple[Callable[[int], None], Callable[[Progress], None]]]:
    """Shows on a terminal how many texts, and how much of a corpus at which rate, are done.

    The first function counts texts, as ``usual`` where no stage was begun; the second says how
    far a corpus is.
    """
    with _quiet_engines():
        if not may_show_bars():
            yield lambda count: None, lambda progress: None
            return
        from .bars import comparison

        yield from comparison(usual)


@contextlib.contextmanager
def encoding() -> Iterator[Callable[[Step], None]]:
    """Shows on a terminal how much of a corpus was encoded, at which rate, and the time left."""
    with _quiet_engines():
        if not may_show_bars():
            yield lambda step: None
            return
        from .bars import encoded

        yield from encoded()


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
