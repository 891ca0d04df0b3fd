"""``bpe-interop formats``."""

from __future__ import annotations

import click
from rich.console import Console
from rich.table import Table

from ..formats import all_formats
from ..model import FIELDS
from .options import json_option
from .screen import as_json


@click.command("formats", short_help="Show what each format can hold, and its engine.")
@json_option
def formats_command(json_output: bool) -> None:
    """Show the formats: what each can hold, and the engine it is checked in."""
    rows = all_formats()
    if json_output:
        as_json(
            [
                {
                    "name": row.name,
                    "aliases": row.aliases,
                    "title": row.title,
                    "spec": row.spec,
                    "engine": row.engine,
                    "reads": True,
                    "writes": True,
                    "holds": sorted(row.holds),
                }
                for row in rows
            ]
        )
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("", *(row.name for row in rows)):
        table.add_column(heading)
    table.add_row("alias", *(", ".join(row.aliases) or "-" for row in rows))
    table.add_row("reads, writes", *("yes, yes" for _ in rows))
    table.add_row("engine", *(row.engine for row in rows))
    for field in FIELDS:
        table.add_row(field, *("holds" if field in row.holds else "-" for row in rows))
    console = Console()
    # A pipe has no width that could be too small.
    (console if console.is_terminal else Console(width=1000)).print(table)
