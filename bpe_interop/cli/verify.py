"""``bpe-interop verify``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TypedDict

import click
from click.shell_completion import CompletionItem

from ..compare import SCOPES, Corpora, Errors, Report, RunOptions, Scope, Selection, verify
from ..compare.metadata import COVERED
from ..compare.sentences import other_metadata, report_lines, unmet
from ..corpora import find_files, parse_sample
from ..engines import NAMES
from ..engines.rows import is_address
from ..errors import TargetError
from ..io.target import keep_apart
from ..reports import SUFFIXES, Require, check_targets, to_json, write_reports
from ..text.visible import as_text
from .interrupts import INTERRUPTED
from .manual import command, nearest
from .options import (
    Command,
    OneOf,
    corpus_option,
    file_names,
    gathers,
    json_option,
    offline_option,
    preset_names,
    scheduler_options,
    workers_of,
)
from .progress import progress
from .screen import print_lines
from .terminal import is_quiet, say_answer, tell


def _engine(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """An engine, or a server of one by its address.

    Raises:
        click.BadParameter: there is no such engine.
    """
    if value is None or value in NAMES or is_address(value):
        return value
    guess = nearest(value, NAMES).rstrip()
    what = f"{value!r} is none of {', '.join(NAMES)}"
    raise click.BadParameter(f"{what}\n  {guess}" if guess else what, ctx, param)


def _engine_names(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    return [CompletionItem(name) for name in NAMES if name.startswith(incomplete)]


def _preset_option(side: str) -> Callable[[Command], Command]:
    return click.option(
        f"--preset-{side.lower()}",
        shell_complete=preset_names,
        metavar="NAME",
        help=f"Known facts that {side} does not state; a name or FILE.json.",
    )


def _engine_option(side: str) -> Callable[[Command], Command]:
    return click.option(
        f"--engine-{side.lower()}",
        callback=_engine,
        shell_complete=_engine_names,
        metavar="ENGINE",
        help=f"Run {side} in this engine instead of ours: {', '.join(NAMES)}, or "
        "llama.cpp@http://HOST:PORT, a llama-server that runs.",
    )


def _writable(
    context: click.Context, option: click.Parameter, paths: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuses before anything runs what could not be written hours later."""
    try:
        check_targets(paths)
    except TargetError as error:
        raise click.BadParameter(str(error), ctx=context, param=option) from None
    return paths


_report_option = click.option(
    "--report",
    "reports",
    shell_complete=file_names,
    multiple=True,
    metavar="FILE",
    callback=_writable,
    help="Write a report: "
    + ", ".join(f"{what} to FILE{suffix}" for suffix, what in SUFFIXES.items())
    + ". May be repeated.",
)
_CODES = {"proved": 0, "tested": 0, "different": 1, "unknown": 2}
_HELP_CODES = {
    0: "proved, or the same on everything that was run",
    1: "different; with --metadata, also where only the metadata is other",
    2: "could not tell",
    INTERRUPTED: "interrupted before a difference was found",
}


class _Sides(TypedDict):
    """What is compared, as :func:`bpe_interop.verify` takes it."""

    scope: Scope
    engine_a: str | None
    engine_b: str | None
    preset_a: str | None
    preset_b: str | None
    offline: bool


@dataclass(frozen=True, slots=True)
class _CorpusOptions:
    """The corpora that it is compared on, as the options say them."""

    corpora: tuple[str, ...]
    field: str | None
    max_bytes: int | None
    sample: str | None
    seed: int
    errors: Errors
    state: str | None
    processes: int | None

    def read(self) -> Corpora:
        sample = None if self.sample is None else parse_sample(self.sample)
        chosen = Selection(self.max_bytes, sample, self.seed, self.errors)
        return Corpora(self.corpora, self.field, chosen, self.state, self.processes)


@dataclass(frozen=True, slots=True)
class _Required:
    require: Require
    metadata: bool

    def unmet(self, report: Report) -> tuple[str, ...]:
        return unmet(report, self.require, metadata=self.metadata)

    def code(self, report: Report) -> int:
        verdict = report.verdict
        if report.interrupted and verdict != "different":
            return INTERRUPTED
        if self.metadata and verdict != "different" and other_metadata(report):
            return _CODES["different"]
        return _CODES["unknown"] if self.unmet(report) else _CODES[verdict]


@command(
    "verify",
    short_help="Decide whether A and B are equal, and run both on texts.",
    examples={
        "bpe-interop verify my-tok old-tok": "Are the two equal, and if not, where",
        "bpe-interop verify my-tok my-tok --engine-b transformers": (
            "Does transformers serve what the files say"
        ),
        "bpe-interop verify my-tok old-tok --corpus 'parts/*.jsonl:body' --json": (
            "Compare on texts, and write a report"
        ),
    },
    codes=_HELP_CODES,
)
@click.argument("a", shell_complete=file_names, metavar="A")
@click.argument("b", shell_complete=file_names, metavar="B")
@click.option(
    "--scope",
    type=OneOf(list(SCOPES)),
    default="all",
    show_default=True,
    help="What counts: all; ordinary (special tokens are text); text (texts without added tokens).",
)
@click.option(
    "--require",
    type=OneOf(["proved", "tested"]),
    default="tested",
    show_default=True,
    help="With proved, what is only tested ends with exit code 2.",
)
@click.option(
    "--metadata",
    is_flag=True,
    help=f"The same metadata as well, else exit code 1: {COVERED}.",
)
@_preset_option("A")
@_preset_option("B")
@_engine_option("A")
@_engine_option("B")
@corpus_option("Compare on these texts as well")
@click.option("--field", metavar="NAME", help="The field of JSONL or Parquet with the texts.")
@click.option(
    "--max-bytes", type=click.IntRange(min=1), help="End the corpora after so many bytes of UTF-8."
)
@click.option("--sample", metavar="N", help="Take a part of the documents: 1%, 0.01, or a count.")
@click.option("--seed", type=int, default=0, show_default=True, help="Take another sample.")
@click.option(
    "--errors",
    type=OneOf(["strict", "replace"]),
    default="strict",
    show_default=True,
    help="A corpus that is not UTF-8: refuse it, or read U+FFFD there.",
)
@click.option(
    "--state",
    shell_complete=file_names,
    metavar="FILE",
    help="Keep here how far corpora were compared, and go on from it.",
)
@click.option(
    "--processes",
    type=click.IntRange(min=0),
    help="Child processes that compare corpora; by default as many as make it faster.",
)
@scheduler_options
@click.option(
    "--isolate", is_flag=True, help="Run both sides in a child process, which a text may kill."
)
@click.option(
    "--thorough",
    is_flag=True,
    help="Run every code point, and runs of a million letters and spaces; takes minutes.",
)
@_report_option
@click.option("--full", is_flag=True, help="Show long patterns whole.")
@offline_option
@json_option
@gathers(sides=_Sides, corpus_options=_CorpusOptions, options=RunOptions, asked=_Required)
def verify_command(
    a: str,
    b: str,
    sides: _Sides,
    corpus_options: _CorpusOptions,
    options: RunOptions,
    scheduler: str | None,
    asked: _Required,
    reports: tuple[str, ...],
    full: bool,
    json_output: bool,
) -> None:
    """Compare tokenizers A and B: for every text, on awkward texts, and on corpora.

    Does transformers serve what the files say? verify DIR DIR --engine-b transformers runs the
    directory as AutoTokenizer does and compares.
    """
    _check_corpora_are_named(corpus_options, scheduler)
    if scheduler is not None and (corpus_options.processes is not None or options.isolate):
        raise click.UsageError(
            "--processes and --isolate are for this machine; with --scheduler its workers work, "
            "and a text that kills one is found by itself"
        )
    states = [corpus_options.state] if corpus_options.state else []
    for output in (*reports, *states):
        keep_apart([a, b], Path(output))
    if reports:
        corpus_files = find_files(corpus_options.corpora, field=corpus_options.field)
        read = [file.local for file in corpus_files if file.local]
        for output in reports:
            keep_apart([*read, *states], Path(output))
    with workers_of(scheduler) as workers, progress("awkward texts") as tick:
        options = replace(options, tick=tick, watch=tick.watch, executor=workers)
        began = monotonic()
        report = verify(a, b, corpora=corpus_options.read(), options=options, **sides)
        report = replace(report, seconds=monotonic() - began)
    try:
        if json_output:
            click.echo(to_json(report), nl=False)
            _tell_unmet(asked.unmet(report))
        else:
            unmet_reasons = asked.unmet(report)
            said = report_lines(report, unmet_reasons, full=full)
            if not is_quiet():
                print_lines(said)
            elif asked.code(report):
                say_answer(
                    ": ".join(filter(None, (as_text([next(said)]), "; ".join(unmet_reasons))))
                )
    finally:  # a closed pipe must not cost the reports
        write_reports(report, reports, asked.require, metadata=asked.metadata)
    sys.exit(asked.code(report))


def _tell_unmet(reasons: tuple[str, ...]) -> None:
    """JSON is the same whatever is required, so what is not met is told beside it."""
    for each in reasons:
        tell(f"not accepted: {each}")


def _check_corpora_are_named(options: _CorpusOptions, scheduler: str | None) -> None:
    """What says how to read corpora must not be passed over where there are none."""
    read = (options.field, options.max_bytes, options.sample, options.state, options.processes)
    if not options.corpora and any(setting is not None for setting in (*read, scheduler)):
        raise click.UsageError(
            "--field, --max-bytes, --sample, --state, --processes and --scheduler are about "
            "corpora: name one with --corpus"
        )
