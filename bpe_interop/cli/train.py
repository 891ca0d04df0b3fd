"""``bpe-interop train``."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from ..gate import describe, refuse
from ..io import check_target, keep_apart, target_format
from ..loss import Loss
from ..model import BPEModel, PairList, show
from ..statement import Statement, restated
from ..tokenizer import Tokenizer
from ..train import ALGORITHMS, Request, Training, learn, untrained
from ..train.reading import files_of
from ..train.request import Algorithm, Option
from ..train.training import Tick
from .options import drop_option, force_option, json_option, statement_options
from .screen import as_json, as_text, lines, read_stdin

FIRST = 10
"""How many of the merges are printed."""


@click.command("train", short_help="Learn a tokenizer from FILES, and write it.")
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    "target",
    metavar="DST",
    required=True,
    type=click.Path(path_type=Path),
    help="A new directory, or NAME.tiktoken.",
)
@click.option("--to", metavar="F", help="The target's format: hf, tiktoken, gpt2, spm, minbpe.")
@click.option("--vocab-size", type=int, metavar="N", help="The number of ids.")
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
    help="A special token; may be repeated. They are numbered after the learned tokens.",
)
@click.option(
    "--algorithm",
    type=click.Choice(ALGORITHMS),
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
@drop_option
@force_option
@json_option
def train_command(
    files: tuple[str, ...],
    target: Path,
    to: str | None,
    vocab_size: int | None,
    merges: int | None,
    min_frequency: int | None,
    pattern: str | None,
    special: tuple[str, ...],
    algorithm: Algorithm,
    options: tuple[str, ...],
    name: str,
    said: Statement,
    drop: tuple[str, ...],
    force: bool,
    json_output: bool,
) -> None:
    """Learn a tokenizer from FILES (files, directories, - for standard input) and write it.

    The same texts and settings always give the same files. A file is one text, UTF-8, and no
    pair is counted from one file to the next.
    """
    request = Request(
        vocab_size=vocab_size,
        merges=merges,
        min_frequency=min_frequency,
        pattern=pattern,
        special_tokens=special,
        algorithm=algorithm,
        options=dict(map(_option, options)),
        name=name,
    )
    row = target_format(target, to)
    keep_apart([file for name in files if name != "-" for file in files_of(Path(name))], target)
    check_target(target, force=force)
    if algorithm == "tutorial":
        # What the format cannot hold should not come out after minutes of training.
        refuse(restated(untrained(request), said), row, drop)
    texts = [as_text(read_stdin()) if file == "-" else Path(file) for file in files]
    with _progress(request) as tick:
        done = learn(texts, request, tick)
    done = replace(done, model=restated(done.model, said))
    losses = Tokenizer(done.model).save(target, format=row.name, drop=drop, force=force)
    if json_output:
        as_json(_as_dict(done, target, losses))
    else:
        _show(done, target, losses)


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


@contextlib.contextmanager
def _progress(request: Request) -> Iterator[Tick]:
    """Bars on a terminal, and nothing in a pipe."""
    console = Console(file=sys.stderr)
    if not console.is_terminal:
        yield lambda what, number: None
        return
    columns = (
        TextColumn("{task.description:<8}"),
        BarColumn(),
        TextColumn("{task.completed:,} {task.fields[unit]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        tasks = {
            "reading": progress.add_task("reading", total=None, unit="bytes"),
            "merging": progress.add_task(
                "merging",
                total=request.limit if request.algorithm == "tutorial" else None,
                unit="merges",
                visible=request.algorithm == "tutorial",
            ),
        }
        yield lambda what, number: progress.update(tasks[what], completed=number)


def _show(done: Training, target: Path, losses: tuple[Loss, ...]) -> None:
    model = done.model
    special = sum(token.special for token in model.added or ())
    lines("wrote", [str(target)])
    lines(
        "learned",
        [
            f"{_made(model):,} merges from {done.size:,} bytes: {Tokenizer(model).n_vocab:,} ids, "
            f"{special} of them special"
        ],
    )
    if done.tokens:
        lines("tokens", [f"{done.tokens:,}, {done.size / done.tokens:.3f} bytes per token"])
    lines("merged", _first(done))
    if done.unmatched:
        lines(
            "note", [f"{done.unmatched:,} bytes are not matched by the pattern: not learned from"]
        )
    lines("note", done.notes)
    lines("dropped", [describe(loss) for loss in losses])


def _made(model: BPEModel) -> int:
    """How many merges a model has: pairs, or pieces of more than one character."""
    if isinstance(model.merges, PairList):
        return len(model.merges.pairs)
    return sum(len(token.decode("utf-8", "replace")) > 1 for token in model.merges.ranks)


def _first(done: Training) -> list[str]:
    """The first merges, for people."""
    model, rule = done.model, done.model.merges
    ids = model.vocab.ids
    if not isinstance(rule, PairList):
        made = [token for token in rule.ranks if len(token.decode("utf-8", "replace")) > 1]
        made.sort(key=rule.ranks.__getitem__)
        return [f"{show(token)} ({ids[token]})" for token in made[:FIRST]]
    cut = len(model.affixes.prefix)
    shown = [
        f"{show(left)} + {show(right)} = {show(left + right[cut:])} ({ids[left + right[cut:]]})"
        for left, right in rule.pairs[:FIRST]
    ]
    for place, merge in enumerate((done.merges or ())[:FIRST]):
        shown[place] += f", counted {merge.frequency:,} times"
    return shown


def _as_dict(done: Training, target: Path, losses: tuple[Loss, ...]) -> dict[str, object]:
    return {
        "target": str(target),
        "algorithm": done.algorithm,
        "bytes": done.size,
        "unmatched_bytes": done.unmatched,
        "tokens": done.tokens,
        "ids": Tokenizer(done.model).n_vocab,
        "merges": _made(done.model),
        "first_merges": [list(merge) for merge in (done.merges or ())[:FIRST]],
        "notes": list(done.notes),
        "losses": [asdict(loss) for loss in losses],
    }
