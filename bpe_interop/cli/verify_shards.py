"""``bpe-interop verify-shards``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from ..text.visible import many
from ..token_files import check_token_files
from .manual import NO, UNKNOWN, YES, command
from .options import file_names, json_option
from .progress import progress
from .screen import as_json, lines
from .terminal import is_quiet, say_answer

if TYPE_CHECKING:
    from . import documents

_CODES = {
    YES: "all is as the manifest says",
    NO: "something is not",
    UNKNOWN: "no answer; the message says why",
}

_LEFT = (
    "whether the ids are those of the texts; --sample 0 checks the files only, without the texts"
)


@command(
    "verify-shards",
    short_help="Check what encode --corpus wrote.",
    examples={
        "bpe-interop verify-shards ids": "Check all files, and a sample of documents",
        "bpe-interop verify-shards ids --sample 0": "Check the files only, without the texts",
    },
    codes=_CODES,
)
@click.argument("folder", shell_complete=file_names, metavar="FOLDER")
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    metavar="N",
    help="Compare so many documents with their source; 0 for none.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Take another sample.")
@json_option
def verify_shards_command(folder: str, sample: int, seed: int, json_output: bool) -> None:
    """Check a folder of token files: each file's sha256, and a sample against the texts.

    The ids of each document of the sample must be those of our own encoder, and they are decoded
    and compared with the source's text.
    """
    with progress("checking") as tick:
        checked = check_token_files(folder, sample=sample, seed=seed, tick=tick)
    faults = [*checked.wrong, *checked.unread]
    if json_output:
        document: documents.CheckedShards = {
            "files": checked.files,
            "counts": checked.manifest.counts,
            "sampled": checked.sampled,
            "same_bytes": checked.same_bytes,
            "wrong": list(checked.wrong),
            "unread": list(checked.unread),
        }
        as_json(document)
    elif is_quiet() and faults:
        say_answer(f"{'wrong' if checked.wrong else 'not read'}: {faults[0]}")
    else:
        counts = checked.manifest.counts
        lines("files", [f"{checked.files:,}, {counts['tokens']:,} ids"])
        same = f"{checked.same_bytes:,} of {checked.sampled:,} decode to the source's text"
        if checked.same_bytes < checked.sampled:
            same += "; the tokenizer does not give the others back"
        have = "has" if checked.sampled == 1 else "have"
        compared = f"{many(checked.sampled, 'document')} {have} the right ids; {same}"
        lines("sample", [compared if checked.sampled else "no document was compared"])
        lines("not read", list(checked.unread))
        nothing = "nothing in the files" if checked.unread or not sample else "nothing"
        lines("wrong", list(checked.wrong) or [nothing])
        if checked.unread and not checked.wrong:
            lines("not known", [_LEFT])
    sys.exit(NO if checked.wrong else UNKNOWN if checked.unread else YES)
