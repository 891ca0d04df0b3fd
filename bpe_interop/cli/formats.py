"""``bpe-interop formats``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import click

from ..formats import all_formats
from ..formats.gguf.pre_names import table
from ..formats.gguf.splitters import SOURCE
from ..model import FIELDS
from .manual import command
from .options import json_option
from .screen import as_json, lines, print_table
from .terminal import say_line

if TYPE_CHECKING:
    from ..loss import Field
    from . import documents


@command(
    "formats",
    short_help="Show what each format can hold, and its engine.",
    examples={
        "bpe-interop formats": "Show the table",
        "bpe-interop formats --json": "The same for a program",
        "bpe-interop formats --pre": "Show which of llama.cpp's splitters are the same",
    },
)
@click.option("--pre", is_flag=True, help="Show llama.cpp's names of splitters, grouped by proof.")
@json_option
def formats_command(pre: bool, json_output: bool) -> None:
    """Show the formats: what each can hold, and the engine it is checked in.

    With --pre: the names that a GGUF file can have in tokenizer.ggml.pre. Names on one line are
    proved to cut every text alike; between any two lines there is a text that tells them apart.
    """
    if pre:
        _show_pre(json_output)
        return
    rows = all_formats()
    if json_output:
        document: list[documents.FormatRow] = [
            {
                "name": row.name,
                "aliases": list(row.aliases),
                "title": row.title,
                "spec": row.spec,
                "engine": row.engine,
                "reads": True,
                "writes": True,
                "holds": cast("list[Field]", sorted(row.holds)),
            }
            for row in rows
        ]
        as_json(document)
        return
    shown = [(row.name, ", ".join(row.aliases) or "-", "yes, yes", row.engine) for row in rows]
    print_table(["format", "alias", "reads, writes", "engine"], shown, names=1, numbers=False)
    say_line("")
    # Short names, so that the table fits into 80 columns.
    short = [row.aliases[0] if row.aliases else row.name for row in rows]
    cells = [[field, *("holds" if field in row.holds else "-" for row in rows)] for field in FIELDS]
    print_table(["", *short], cells, names=1, numbers=False)


def _show_pre(json_output: bool) -> None:
    rows = table()
    if json_output:
        as_json(rows)
        return
    for row in rows:
        names = [f"{name}{_flags(flags)}" for name, flags in _mapping(row.get("names")).items()]
        if names:
            lines(f"{len(names)} name{'s' * (len(names) > 1)}", [", ".join(names)])
            lines("", _patterns(row))
        if row.get("over_characters"):
            lines("", ["merges characters, not bytes; spaces become U+2581"])
        for name, why in _mapping(row.get("refused")).items():
            lines("refused", [f"{name}: {why}"])
    say_line(f"Read in {SOURCE}.")
    say_line(
        "(b): BOS by default; (l): a pretoken that is a token is not merged. --json shows all."
    )


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _flags(flags: dict[str, bool]) -> str:
    letters = "b" * flags["bos"] + "l" * flags["lookup_first"]
    return f" ({letters})" if letters else ""


def _patterns(row: dict[str, Any]) -> list[str]:
    spelled = ["; then ".join(spelling) for spelling in row["spellings"]]
    return [text if len(text) <= _WIDTH else f"{text[:_WIDTH]} ..." for text in spelled]


_WIDTH = 84
"""Columns of a pattern that are shown."""
