"""``bpe-interop convert``."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..convert import Conversion, convert
from ..formats import FormatOption, all_formats, by_name, way_of_writing
from ..io.target import Target
from ..loss import Field
from ..sources import SourceOptions
from ..statement import Statement
from .manual import DECIDING, command
from .options import (
    OneOf,
    WritingOptions,
    corpus_option,
    format_option,
    gathers,
    json_option,
    offline_option,
    preset_option,
    source_and_target,
    statement_options,
    to_option,
    writing_options,
)
from .outcome import refusals, show_how_to_load
from .progress import progress
from .screen import as_json, print_lines

if TYPE_CHECKING:
    from ..cost import Cost
    from . import documents

_PRETOKENS = "pretoken-level"


@dataclass(frozen=True, slots=True)
class _ConvertOptions(WritingOptions):
    names: str | None
    plugin: bool
    name: str
    vocab_listing: bool
    pretoken_level: bool
    into: Path | None
    corpora: tuple[str, ...]

    @property
    def options(self) -> list[FormatOption]:
        asked: dict[FormatOption, bool] = {
            "vocab-names": self.names == "vocab",
            "plugin": self.plugin,
            "vocab-listing": self.vocab_listing,
        }
        return [option for option, given in asked.items() if given]

    def check(self, target: Path) -> None:
        """Raises TargetError where the target's format has no such option, as it was typed."""
        for option in self.options:
            typed = _TYPED.get(option, f"--{option}")
            way_of_writing(Target.of(target, self.to).format, option, typed)


_TYPED = {"vocab-names": "--names vocab"}
"""How an option is asked for that is not called as here."""


@command(
    "convert",
    short_help="Convert SRC to DST, and check the result.",
    examples={
        "bpe-interop convert my-tok out --to hf": "Write what transformers loads",
        "bpe-interop convert my-tok mine.tiktoken": "Write a rank file for tiktoken",
        "bpe-interop convert my-tok a.gguf --corpus story.txt": "Say what it costs if it loses ids",
        "bpe-interop convert old-tok new.gguf --into old.gguf": "Mend the tokenizer in a GGUF file",
    },
    codes=DECIDING,
)
@source_and_target
@to_option("The target's format: hf, tiktoken, gpt2, spm, gguf, tekken, minbpe.")
@format_option
@preset_option
@writing_options
@click.option(
    "--names",
    type=OneOf(["encoder", "vocab"]),
    help="How to name a GPT-2 pair: encoder.json + vocab.bpe, or vocab.json + merges.txt.",
)
@click.option("--plugin", is_flag=True, help="Write an installable tiktoken plugin as well.")
@click.option("--name", default="", metavar="NAME", help="The tokenizer's name in the target.")
@click.option(
    "--vocab-listing", is_flag=True, help="Write the .vocab listing as well (spm, minbpe)."
)
@click.option(
    "--pretoken-level",
    is_flag=True,
    help="For spm: write a byte-level tokenizer for single pretokens in GPT-2's byte alphabet.",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="MODEL.gguf",
    help="Write DST as this file with the tokenizer of SRC in it; MODEL.gguf is not changed.",
)
@corpus_option("Say what is refused, or dropped, costs on these texts")
@statement_options
@offline_option
@json_option
@gathers(asked=_ConvertOptions, reading=SourceOptions)
def convert_command(
    source: str,
    target: Path,
    asked: _ConvertOptions,
    reading: SourceOptions,
    said: Statement,
    json_output: bool,
) -> None:
    """Convert SRC to DST, a new directory, and check the result.

    A DST that ends as a file of the format (NAME.tiktoken, NAME.gguf; with --to also NAME.json,
    NAME.model) is that one file.

    What the target cannot hold is refused, with what would be lost. What was written is read
    back and run in the target's own engine before it takes its place. The line "verdict" says
    whether the two are proved equal for every text.

    --template, --eos and the like say what SRC does not state. What it states, extend changes.

    With --corpus, what is refused, or dropped with --drop, has its cost for each file: how many
    lines have other ids, and how many tokens more they take; for GGUF under each of the nearest
    names.

    With --into, DST is a copy of a GGUF file with another tokenizer in it. Tensors and all other
    keys are copied as they are, and compared.

    With --json: what was kept, rewrote, lost, checked and proved; where it is refused,
    "refused" lists the losses.
    """
    _check_corpora(asked.corpora)
    measured = partial(_measured, source, target, asked, reading)
    told = refusals(source, target, json_output=json_output, costs=measured)
    with told:
        asked.check(target)
        with progress("checking") as tick:
            done = convert(
                source,
                target,
                asked.to,
                drop=(*asked.drop, *_dropped(asked)),
                force=asked.force,
                verify=not asked.no_verify,
                options=asked.options,
                into=asked.into,
                name=asked.name,
                tick=tick,
                said=said,
                **reading,
            )
        costs = measured() if done.losses else []
    if json_output:
        as_json(_as_dict(done, costs))
    else:
        print_lines(done.lines(costs, sys.argv[1:]))
        show_how_to_load(by_name(done.target_format), done.files, target)


def _check_corpora(corpora: tuple[str, ...]) -> None:
    """Names a corpus that is not there before anything is written."""
    if corpora:
        from ..corpora import find_files  # most conversions need none

        find_files(corpora)


def _measured(
    source: str, target: Path, asked: _ConvertOptions, reading: SourceOptions
) -> list[Cost]:
    """What is lost, on the corpora that were named."""
    if not asked.corpora:
        return []
    from ..cost import costs  # it reads corpora, and most conversions none

    with progress("measuring") as tick:
        return costs(source, Target.of(target, asked.to).format, asked.corpora, tick, **reading)


def _as_dict(done: Conversion, costs: list[Cost]) -> documents.Converted:
    from ..reports.document import written_data

    written = written_data(done.report)
    told: documents.Converted = {
        "source": done.source,
        "source_format": done.source_format,
        "target": done.target,
        "target_format": done.target_format,
        "files": list(done.files),
        "kept": list(done.kept),
        "rewrote": list(done.rewrote),
        "losses": list(done.losses),
        "notes": list(done.notes),
        "checks": written["checks"],
        "verdict": written["verdict"],
        "source_served": written["source_served"],
        "to_check": done.to_check,
    }
    if costs:
        told["costs"] = costs
    return told


def _dropped(asked: _ConvertOptions) -> tuple[Field, ...]:
    """The fields that are lost by an option that is asked for knowing that."""
    if not asked.pretoken_level:
        return ()
    for row in all_formats():
        if asked.to in (row.name, *row.aliases) and _PRETOKENS in row.drops:
            return row.drops[_PRETOKENS]
    raise click.UsageError(f"--{_PRETOKENS} belongs to --to spm")
