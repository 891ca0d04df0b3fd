"""Generated blocks of the pages in ``docs/trust/``."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from benchmarks.machine import commit, machine, sources, versions
from benchmarks.marks import replaced

_F = TypeVar("_F", bound=Callable[..., Any])

ENGINES = ("tiktoken", "tokenizers", "sentencepiece", "transformers", "protobuf", "regex")
"""The packages of which a block names the version."""

write_option: Callable[[_F], _F] = click.option(
    "--write",
    "page",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Put the table into this page.",
)
"""The option that every command of the group takes."""


def put(page: Path | None, name: str, lines: Iterable[str]) -> None:
    """Prints a block, and replaces the block of this name in a page.

    Raises:
        click.ClickException: the page has no marks of this name.
    """
    body = "\n".join(lines)
    click.echo(body)
    if page is None:
        return
    text = page.read_text("utf-8")
    try:
        page.write_text(replaced(text, name, body), "utf-8")
    except ValueError as error:
        raise click.ClickException(f"{page}: {error}") from None


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A table in Markdown; numbers stand to the right, with commas."""
    listed = [list(row) for row in rows]
    numeric = [
        bool(listed) and all(isinstance(row[place], int) for row in listed)
        for place in range(len(head))
    ]
    return [
        f"| {' | '.join(head)} |",
        f"|{'|'.join('--:' if right else '---' for right in numeric)}|",
        *(f"| {' | '.join(map(_cell, row))} |" for row in listed),
    ]


def made_of(command: str, seconds: float, settings: Mapping[str, object]) -> list[str]:
    """On what, with what and when a block was made: a sentence for its head."""
    found = versions()
    packages = ", ".join(f"{name} {found[name]}" for name in ENGINES if found.get(name))
    here = machine()
    given = "".join(f" --{name} {value}" for name, value in settings.items())
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    return [
        f"`python -m trust {command}{given}` on {day}, commit {commit()}, "
        f"sources {sources()}, {here['CPU']} ({here['cores']} cores), {here['Python']}, "
        f"{packages}: {seconds:,.0f} s.",
    ]


_MADE_OF = re.compile(r"<!-- (\w+) -->\n.*?, commit (\S+), (?:sources (\S+), )?")


def state(page: str, now: str) -> list[str]:
    """A table of the blocks of a page, which says of each whether it is of these sources."""
    rows = [
        [name, of_commit, digest or "not said", "yes" if digest == now else "no"]
        for name, of_commit, digest in _MADE_OF.findall(page)
    ]
    return table(["table", "commit", "sources", f"of these sources ({now})"], rows)


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", "\\|").replace("\n", " ")
