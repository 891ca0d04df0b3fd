"""``bpe-interop formats``."""

from __future__ import annotations

from ..formats import all_formats
from ..model import FIELDS
from .manual import command
from .options import json_option
from .screen import as_json, print_table


@command(
    "formats",
    short_help="Show what each format can hold, and its engine.",
    examples={
        "bpe-interop formats": "Show the table",
        "bpe-interop formats --json": "The same for a program",
    },
)
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
    cells = [
        ["alias", *(", ".join(row.aliases) or "-" for row in rows)],
        ["reads, writes", *("yes, yes" for _ in rows)],
        ["engine", *(row.engine for row in rows)],
        *([field, *("holds" if field in row.holds else "-" for row in rows)] for field in FIELDS),
    ]
    print_table(["", *(row.name for row in rows)], cells, names=1, numbers=False)
