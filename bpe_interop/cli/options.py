"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import click

from ..model import FIELDS

Command = TypeVar("Command", bound=Callable[..., object])

format_option = click.option(
    "--from", "format", metavar="F", help="The source's format, where it cannot be told."
)
preset_option = click.option(
    "--preset", metavar="NAME", help="Says what the source leaves unsaid: pattern, special tokens."
)
drop_option = click.option(
    "--drop",
    multiple=True,
    metavar="FIELD",
    type=click.Choice(FIELDS),
    help="Write although this field is lost; may be repeated.",
)
force_option = click.option("--force", is_flag=True, help="Replace the target as a whole.")
no_verify_option = click.option("--no-verify", is_flag=True, help="Do not check what was written.")
offline_option = click.option("--offline", is_flag=True, help="Never use the network.")
json_option = click.option("--json", "json_output", is_flag=True, help="Print JSON.")


def corpus_option(does: str) -> Callable[[Command], Command]:
    """``--corpus``; ``does`` is what the help says first."""
    return click.option(
        "--corpus",
        "corpora",
        multiple=True,
        metavar="FILE",
        help=f"{does}: a file, a directory, a glob, FILE.jsonl:FIELD; plain text, JSONL or "
        "Parquet, gzip or zstd. May be repeated.",
    )
