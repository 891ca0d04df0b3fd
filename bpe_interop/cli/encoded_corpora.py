"""``encode --corpus``: what is asked for, and what was written."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import click

from ..corpora import Errors, Selection, find_files, parse_sample
from ..errors import BpeInteropError
from ..io.reader import TokenizerSource
from ..io.target import check_target, keep_apart
from ..model import BPEModel
from ..text.visible import many
from ..token_files import LAYOUTS, SHARD_BYTES, EncodedCorpus, Settings, Way, encode_corpora
from ..token_files.job import Special
from ..token_files.layouts import Dtype, LayoutName
from ..token_files.writer import UNFINISHED
from .completion import file_names
from .interrupts import INTERRUPTED
from .options import OneOf, corpus_option, scheduler_options, workers_of
from .progress import progress
from .screen import as_json, lines


@dataclass(frozen=True)
class CorpusOptions:
    """The corpora, the folder, and how the one becomes the other, as the options say it."""

    corpora: tuple[str, ...]
    folder: Path | None
    layout: LayoutName
    dtype: Dtype | None
    eos: str | None
    max_length: int | None
    field: str | None
    sample: str | None
    seed: int
    errors: str
    shard_bytes: int
    state: str | None
    scheduler: str | None
    limit: float

    def check(self, text: bool) -> None:
        """Refuses options that do not go together; ``text``: there are some for one text."""
        if self.corpora and text:
            raise click.UsageError("with --corpus there is no TEXT, --lines, --show or --explain")
        if self.corpora and self.folder is None:
            raise click.UsageError("name the folder for the ids with -o")
        about = (self.folder, self.dtype, self.eos, self.max_length, self.field, self.sample)
        if not self.corpora and any(
            each is not None for each in (*about, self.state, self.scheduler)
        ):
            raise click.UsageError(
                "-o, --dtype, --eos, --max-length, --field, --sample, --state and --scheduler are "
                "about corpora: name one with --corpus FILE, or --corpus - for standard input; "
                f"--layout says in which files ({', '.join(LAYOUTS)}). The ids of one text go to "
                "standard output: > FILE"
            )

    def settings(self, special: Special, template: bool) -> Settings:
        """How documents become rows of ids."""
        sample = None if self.sample is None else parse_sample(self.sample)
        errors, most = _rule(self.errors)
        return Settings(
            self.layout,
            self.dtype,
            special,
            template,
            self.eos,
            self.max_length,
            Selection(None, sample, self.seed, errors),
            most,
        )


def _rule(text: str) -> tuple[Errors, int | None]:
    """What is done with what cannot be read, and with how much at most."""
    rule, equals, most = text.partition("=")
    if rule == "skip" and equals and most.isascii() and most.isdigit():
        return "skip", int(most)
    for errors in ERRORS:
        if text == errors:
            return errors, None
    raise click.UsageError(f"--errors {text}: say {', '.join(ERRORS)} or skip=N")


ERRORS: tuple[Errors, ...] = get_args(Errors)


def corpus_options(command: Callable[..., object]) -> Callable[..., object]:
    """The options of ``encode`` that are about corpora: a ``CorpusOptions``."""
    options: list[Callable[[Callable[..., object]], Callable[..., object]]] = [
        corpus_option("Encode these texts to files in the folder -o"),
        click.option(
            "-o",
            "folder",
            type=click.Path(path_type=Path),
            shell_complete=file_names,
            metavar="FOLDER",
            help="The new folder for the ids of --corpus.",
        ),
        click.option(
            "--layout",
            type=OneOf([*LAYOUTS]),
            default="megatron",
            show_default=True,
            help="The files: Megatron-LM's .bin and .idx, arrays for numpy.load, or Parquet.",
        ),
        click.option(
            "--dtype",
            type=OneOf(["uint16", "uint32"]),
            help="The numbers in .bin and .npy; by default the smallest that hold every id.",
        ),
        click.option(
            "--eos",
            metavar="TOKEN",
            help="End each document with this special token. Plain text is cut into documents of "
            "about 16 KiB.",
        ),
        click.option(
            "--max-length",
            type=click.IntRange(min=1),
            metavar="N",
            help="Cut documents into rows of at most N ids; no row has ids of two documents.",
        ),
        click.option(
            "--shard-bytes",
            type=click.IntRange(min=1),
            default=SHARD_BYTES,
            show_default=True,
            metavar="N",
            help="About how many bytes of a file become a shard.",
        ),
        *_read_options(),
        scheduler_options,
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _read_options() -> list[Callable[[Callable[..., object]], Callable[..., object]]]:
    """How corpora are read, and gone on with."""
    return [
        click.option(
            "--field", metavar="NAME", help="The field of JSONL or Parquet with the texts."
        ),
        click.option("--sample", metavar="N", help="Take a part of the documents: 1% or 0.01."),
        click.option("--seed", type=int, default=0, show_default=True, help="Take another sample."),
        click.option(
            "--errors",
            metavar="RULE",
            default="strict",
            show_default=True,
            help="What is not UTF-8, or a record without a text: refuse it (strict), read U+FFFD "
            "for bytes that are not UTF-8 (replace), or leave such records out (skip), or N at "
            "most (skip=N); the manifest lists them.",
        ),
        click.option(
            "--state",
            shell_complete=file_names,
            metavar="FILE",
            help="Keep here which shards are done, and go on from it (default: beside -o).",
        ),
    ]


def write_corpora(
    source: str,
    loaded: TokenizerSource[BPEModel],
    preset: str | None,
    settings: Settings,
    asked: CorpusOptions,
    as_data: bool,
) -> None:
    """Encodes corpora to a folder, and says what is in it."""
    folder = asked.folder
    if folder is None:
        return
    files = find_files(asked.corpora, field=asked.field)
    read: list[str | Path] = [source, *(file.local for file in files if file.local)]
    for output in (folder, *([Path(asked.state)] if asked.state else [])):
        keep_apart(read, output)
    check_target(folder, force=None)
    # What can be read only once is not there for a later run.
    again = all(file.path is not None and file.size is not None for file in files)
    usual = str(folder.with_name(f"{folder.name}{UNFINISHED}.state")) if again else None
    state = asked.state or usual
    with (
        _going_on(asked, state),
        workers_of(asked.scheduler) as workers,
        progress("encoding") as tick,
    ):
        written = encode_corpora(
            loaded,
            asked.corpora,
            folder,
            settings,
            preset=preset,
            field=asked.field,
            shard_bytes=asked.shard_bytes,
            way=Way(workers, None, asked.limit, state, tick.watch, fresh=asked.state is None),
        )
    _show(written, asked, state, as_data)
    if written.interrupted:
        sys.exit(INTERRUPTED)


@contextlib.contextmanager
def _going_on(asked: CorpusOptions, state: str | None) -> Iterator[None]:
    """A block whose errors say what is kept, and how it is gone on with."""
    try:
        yield
    except BpeInteropError as error:
        if asked.state is None and state is not None and Path(state).is_file():
            error.fix = f"{error.fix}; {_kept_beside(asked)}" if error.fix else _kept_beside(asked)
        raise


def _kept_beside(asked: CorpusOptions) -> str:
    return (
        f"the shards that are done are kept in {asked.folder}{UNFINISHED}, and the same command "
        "goes on from there (with another --errors too)"
    )


def _show(written: EncodedCorpus, asked: CorpusOptions, state: str | None, as_data: bool) -> None:
    manifest = written.manifest
    if as_data:
        as_json(
            {
                "folder": str(asked.folder),
                "interrupted": written.interrupted,
                "done": written.done,
                "parts": written.parts,
                "counts": None if manifest is None else manifest.counts,
                "notes": list(written.notes),
            }
        )
        return
    lines("note", list(written.notes))
    if manifest is None:
        went = f"name the same state to go on: {asked.state}" if asked.state else "nothing is kept"
        if asked.state is None and state is not None and Path(state).is_file():
            went = _kept_beside(asked)
        done = f"interrupted: {written.done:,} of {written.parts:,} shards were done; {went}"
        lines("not written", [done])
        return
    counts = manifest.counts
    full = sum(piece.encoded.documents > 0 for piece in manifest.shards)
    lines(
        "wrote",
        [f"{asked.folder}: {many(full, 'shard')}, {manifest.settings.layout}"],
    )
    lines(
        "documents",
        [f"{counts['documents']:,} ({many(counts['bytes'], 'byte')} of UTF-8)"],
    )
    lines("ids", [f"{counts['tokens']:,} in {many(counts['rows'], 'row')}, as {manifest.dtype}"])
    empty, replaced = counts["empty"], counts["replaced"]
    if empty:
        have = "has" if empty == 1 else "have"
        lines("note", [f"{many(empty, 'document')} without ids {have} no row"])
    skips = [(piece, skip) for piece in manifest.shards for skip in piece.encoded.skips]
    if skips:
        piece, first = skips[0]
        where = f"{manifest.origins[piece.file].label}:{first.line}"
        lines(
            "skipped",
            [f"{many(len(skips), 'record')}, listed in manifest.json; {where}: {first.why}"],
        )
    if replaced:
        lines("note", [f"{many(replaced, 'document')} had malformed UTF-8, read as U+FFFD"])
    again = all(origin.path for origin in manifest.origins)
    files_only = "" if again else " --sample 0 (what came from a pipe cannot be read again)"
    lines("check", [f"bpe-interop verify-shards {asked.folder}{files_only}"])
