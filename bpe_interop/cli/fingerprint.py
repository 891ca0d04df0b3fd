"""``bpe-interop fingerprint``."""

from __future__ import annotations

import click

from ..fingerprint import PARTS, fingerprint
from ..sources import SourceOptions, load_source
from .manual import command
from .options import file_names, json_option, source_options
from .screen import as_json
from .terminal import say


@command(
    "fingerprint",
    examples={
        "bpe-interop fingerprint my-tok": "Print five hashes",
        "bpe-interop fingerprint my-tok --json": "The same for a program",
    },
)
@click.argument("source", shell_complete=file_names, metavar="SRC")
@source_options
@json_option
def fingerprint_command(source: str, reading: SourceOptions, json_output: bool) -> None:
    """Print sha256 hashes of what SRC does, whatever its format.

    Equal hashes mean equal: text (the ids of ordinary text), specials (added tokens), template,
    decoder, all. Different hashes mean nothing; bpe-interop verify decides then.
    What special tokens are for (bos, eos ...) and the chat template are in none of them.
    """
    loaded = load_source(source, **reading)
    hashes = fingerprint(loaded.model)
    if json_output:
        as_json(hashes)
        return
    for part in PARTS:
        say(f"{part} {hashes[part]}")
