"""What commands print alike: labelled lines, tables, JSON; and what they read of standard input."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..errors import SourceError, not_utf8
from ..text.visible import LABEL, LabelledLine
from .terminal import is_quiet, say, say_line, shown, wrapped

if TYPE_CHECKING:
    from rich.console import Console


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

    return _Console(
        file=sys.stdout, highlight=False, width=width, soft_wrap=soft_wrap, quiet=is_quiet()
    )


def as_json(value: Any) -> None:
    """Prints one JSON document to stdout, in ASCII, so that any text survives any terminal.

    It is one of :mod:`.documents`; dataclasses in it become objects.
    """
    click.echo(json.dumps(value, ensure_ascii=True, allow_nan=False, indent=2, default=asdict))


def ids_as_json(value: list[int] | list[list[int]]) -> None:
    click.echo(json.dumps(value))


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
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
