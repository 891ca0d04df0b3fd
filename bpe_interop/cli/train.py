"""``bpe-interop train``."""

from __future__ import annotations

import contextlib
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.filesize import decimal

from ..convert import Writing, Written, write_checked, written_lines
from ..corpora import find_files
from ..engines import check_installed
from ..errors import LossyConversionError
from ..formats import check_name
from ..gate import describe, refuse, renamed
from ..io.names import spelled
from ..io.target import Target, check_target, keep_apart
from ..model import BPEModel, PairList
from ..quoting import show
from ..statement import Statement, as_stated
from ..tokenizer import Tokenizer
from ..train import ALGORITHMS, Request, Training, learn, untrained
from ..train.training import Algorithm, Option, StepTick, made_by_trainer
from .manual import DECIDING, command
from .options import (
    OneOf,
    WritingOptions,
    file_names,
    gathers,
    json_option,
    statement_options,
    to_option,
    writing_options,
)
from .outcome import show_how_to_load
from .progress import progress, shown_progress
from .screen import as_json, lines, print_lines

if TYPE_CHECKING:
    from . import documents

FIRST = 10
"""How many of the merges are printed."""


@dataclass(frozen=True, slots=True)
class _TrainOptions:
    vocab_size: int | None
    merges: int | None
    min_frequency: int | None
    pattern: str | None
    special: tuple[str, ...]
    algorithm: Algorithm
    options: tuple[str, ...]
    name: str

    def request(self, said: Statement) -> Request:
        """The settings of the training, with the tokens that only a role names."""
        chosen = dict(map(_option, self.options))
        return Request(
            vocab_size=self.vocab_size,
            merges=self.merges,
            min_frequency=self.min_frequency,
            pattern=self.pattern,
            special_tokens=(*self.special, *_named_by_roles(said, self, chosen)),
            algorithm=self.algorithm,
            options=chosen,
            name=self.name,
        )


@command(
    "train",
    short_help="Learn a tokenizer from FILES, and write it.",
    examples={
        "bpe-interop train story.txt -o out --to hf --merges 9 --pattern gpt2": (
            "Learn from a text, for transformers"
        ),
        "bpe-interop train parts/1.jsonl:body -o a.tiktoken --merges 9 --pattern gpt2": (
            "Learn from a field of JSONL, for tiktoken"
        ),
    },
    codes=DECIDING,
)
@click.argument("files", shell_complete=file_names, metavar="FILES...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="DST",
    required=True,
    type=click.Path(path_type=Path),
    help="A new directory, or a file that ends as those of the format.",
)
@to_option("The format, where DST does not say it: hf, tiktoken, gpt2, spm, gguf, tekken, minbpe.")
@click.option(
    "--vocab-size",
    type=int,
    metavar="N",
    help="The number of ids that are learned, bytes included. Special tokens come on top; another "
    "library's trainer counts them in.",
)
@click.option("--merges", type=int, metavar="N", help="The number of merges, instead.")
@click.option(
    "--min-frequency", type=int, metavar="N", help="End when the best pair occurs less often."
)
@click.option(
    "--pattern",
    metavar="P",
    help="How texts are cut: gpt2, cl100k, o200k or another preset's, or a regular expression.",
)
@click.option(
    "--special",
    multiple=True,
    metavar="TOKEN",
    help="A special token; may be repeated. They are numbered in this order after the learned "
    "tokens (with tokenizers' trainer before them), and then those that only a role names.",
)
@click.option(
    "--algorithm",
    type=OneOf(ALGORITHMS),
    default="tutorial",
    show_default=True,
    help="Whose merges: the teaching implementations', or another library's trainer.",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    metavar="KEY=VALUE",
    help="An option of that library's trainer, by its own name; may be repeated.",
)
@click.option("--name", default="", metavar="NAME", help="The tokenizer's name.")
@statement_options
@writing_options
@json_option
@gathers(asked=_TrainOptions, writing=WritingOptions)
def train_command(
    files: tuple[str, ...],
    target: Path,
    asked: _TrainOptions,
    writing: WritingOptions,
    said: Statement,
    json_output: bool,
) -> None:
    """Learn a tokenizer from FILES and write it.

    FILES are what --corpus of verify takes: files, directories, globs, FILE.jsonl:FIELD, Parquet,
    gzip or zstd, hf:datasets/org/name, - for standard input (JSONL of it: -- -:FIELD, behind all
    options). A file of plain text is one text, a record of JSONL or a row of Parquet is one; no
    pair is counted from one text to the next. The same texts and settings always give the same
    files. What was written is checked and proved as with convert.
    """
    place = Target.of(target, writing.to)
    row = place.format
    check_name(row, asked.name)
    request = replace(asked.request(said), dialect=row.dialect)
    read = [file.local for file in find_files(files) if file.local]
    keep_apart(read, target)
    check_target(place.place, force=writing.force)
    if not writing.no_verify:
        check_installed(row.engine)
    if request.algorithm == "tutorial":
        # What the format cannot hold should not come out after minutes of training.
        with _another_algorithm():
            refuse(as_stated(untrained(request), said), row, writing.drop)
    size = sum(path.stat().st_size for path in read if path.is_file())
    with _progress(request, size) as tick:
        done = learn(list(map(Path, files)), request, tick)
    notes = (*done.notes, *_read_twice(read))
    done = replace(done, model=as_stated(done.model, said), notes=notes)
    model = renamed(done.model, place.stem) if place.stem else done.model
    how = Writing(writing.drop, writing.force, not writing.no_verify)
    with progress("checking") as tick:
        written = write_checked(None, model, place, how, by_user=said.fields, tick=tick)
    if json_output:
        as_json(_as_dict(done, target, written))
    else:
        lines("wrote", [place.listed(written.files)])
        _show(done, written, request, read)
        show_how_to_load(row, written.files, target)


@contextlib.contextmanager
def _another_algorithm() -> Iterator[None]:
    """A block whose refusal names the algorithm that learns from characters, where that helps."""
    try:
        yield
    except LossyConversionError as error:
        if any(loss.field == "alphabet" for loss in error.losses):
            error.fix = (
                "train for a format of bytes, such as --to hf, or learn from characters: "
                "--algorithm sentencepiece"
            )
        raise


def _option(text: str) -> tuple[str, Option]:
    """``KEY=VALUE``, where the value may be a number or true or false."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.UsageError(f"--option {text!r} is not KEY=VALUE")
    if value in ("true", "false"):
        return key, value == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return key, kind(value)
    return key, value


def _named_by_roles(
    said: Statement, asked: _TrainOptions, options: Mapping[str, Option]
) -> list[str]:
    """The tokens that only a role names: they become special tokens as well."""
    there = {*asked.special, *made_by_trainer(asked.algorithm, options)}
    return [text for text in dict.fromkeys(said.roles.values()) if text not in there]


@contextlib.contextmanager
def _progress(request: Request, size: int) -> Iterator[StepTick]:
    """``size`` is that of the files in bytes, 0 if unknown."""
    # Others' trainers say on standard error what they cannot raise.
    with shown_progress("reading") as seen:
        seen.begin("reading", size or None, "bytes")

        def tick(what: str, number: int) -> None:
            if what == "files":
                seen.at(number, seen.said)
            elif what == "reading":
                seen.at(seen.done, f"{decimal(number)} of text")
            else:
                # Of others' trainers only the reading can be watched.
                if seen.phase != "merging":
                    limit = request.limit if request.algorithm == "tutorial" else None
                    seen.begin("merging", limit, "merges")
                seen.at(number)

        yield tick


def _show(done: Training, written: Written, request: Request, read: Sequence[Path]) -> None:
    model = done.model
    of_files = f" in {len(read):,} files" if len(read) > 1 else ""
    asked, size = request.vocab_size or 0, Tokenizer(model).n_vocab
    more = f", beyond the {asked:,} of --vocab-size" if asked < size and asked else ""
    special = sum(token.special for token in model.added or ())
    lines(
        "learned",
        [
            f"{_made(model):,} merges from {done.size:,} bytes{of_files}: {size:,} ids, {special} "
            f"of them special{more}"
        ],
    )
    lines("special", [", ".join(_special(model))] if special else [])
    if done.tokens:
        lines(
            "tokens",
            [f"{done.tokens:,} for these bytes, {done.size / done.tokens:.3f} bytes per token"],
        )
    lines("merged", _first(done))
    if done.unmatched:
        lines(
            "note", [f"{done.unmatched:,} bytes are not matched by the pattern: not learned from"]
        )
    lines("note", done.notes)
    lines("dropped", [describe(loss, happened=True) for loss in written.losses])
    lines("note", written.notes)
    print_lines(written_lines(written.report, to="to what was learned ", has_source=False))


def _special(model: BPEModel) -> list[str]:
    """The first special tokens, with their ids and what they are for."""
    tokens = [token for token in model.added or () if token.special]
    told = [" ".join([show(t.text), str(t.id), *t.roles]) for t in tokens[:FIRST]]
    return [*told, "..."] if tokens[FIRST:] else told


def _read_twice(files: Sequence[Path]) -> Iterator[str]:
    """A note where the largest file holds others again: their text was counted twice."""
    sizes = {path: path.stat().st_size for path in files if path.is_file()}
    largest = max(sizes, key=sizes.__getitem__, default=None)
    if largest is None or not sizes[largest]:
        return
    again = []
    with largest.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        for path in (each for each in sizes if each != largest):
            with path.open("rb") as other:
                head = other.read(_HEAD)
            if len(head) >= _TELLING and whole.find(head) >= 0:
                again.append(path)
    if again:
        names = ", ".join(spelled(str(path)) for path in again[:3])
        more = f" and {len(again) - 3:,} more" if len(again) > 3 else ""
        yield f"{spelled(str(largest))} holds again what {names}{more} begins with"


_HEAD = 4096
_TELLING = 64
"""Files are compared by so many bytes of their beginnings; shorter ones say nothing."""


def _made(model: BPEModel) -> int:
    """How many merges a model has: pairs, or pieces of more than one character."""
    if isinstance(model.merges, PairList):
        return len(model.merges.pairs)
    return sum(len(token.decode("utf-8", "replace")) > 1 for token in model.merges.ranks)


def _first(done: Training) -> list[str]:
    model, rule = done.model, done.model.merges
    ids = model.vocab.ids
    if not isinstance(rule, PairList):
        made = [token for token in rule.ranks if len(token.decode("utf-8", "replace")) > 1]
        made.sort(key=rule.ranks.__getitem__)
        shown = [f"{show(token)} ({ids[token]})" for token in made[:FIRST]]
        return [*shown, *_more(len(made))]
    cut = len(model.affixes.prefix)
    shown = [
        f"{show(left)} + {show(right)} = {show(left + right[cut:])} ({ids[left + right[cut:]]})"
        for left, right in rule.pairs[:FIRST]
    ]
    for place, merge in enumerate((done.merges or ())[:FIRST]):
        shown[place] += f", counted {merge.frequency:,} times"
    return [*shown, *_more(len(rule.pairs))]


def _more(merges: int) -> list[str]:
    return [f"... and {merges - FIRST:,} more"] if merges > FIRST else []


def _as_dict(done: Training, target: Path, written: Written) -> documents.Trained:
    from ..reports.document import written_data

    return {
        "target": spelled(str(target)),
        "algorithm": done.algorithm,
        "bytes": done.size,
        "unmatched_bytes": done.unmatched,
        "tokens": done.tokens,
        "ids": Tokenizer(done.model).n_vocab,
        "merges": _made(done.model),
        "first_merges": [list(merge) for merge in (done.merges or ())[:FIRST]],
        "notes": [*done.notes, *written.notes],
        "losses": list(written.losses),
        "files": list(written.files),
        **written_data(written.report),
    }
