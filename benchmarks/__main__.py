"""``python -m benchmarks``: one command that measures everything."""

from __future__ import annotations

import datetime
import sys
import time
from pathlib import Path
from typing import NamedTuple

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import converting, encoding, exact, loading, training, verifying
from .corpora import documents
from .growth import GROUP, NAMES, curves
from .machine import commit, machine, versions
from .made import AbsentDataError, Place, place
from .page import as_text, markdown, read, write
from .results import Run
from .running import Tick, put_off, run_work, selected
from .works import Work

WORKS: tuple[Work, ...] = (
    *loading.WORKS,
    *converting.WORKS,
    *verifying.WORKS,
    *encoding.WORKS,
    *training.WORKS,
)


def in_a_folder(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    """A file that can be written when all is measured: its folder is there."""
    if path is not None and not path.absolute().parent.is_dir():
        raise click.BadParameter(f"there is no folder for {path}")
    return path


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=in_a_folder,
    help="Keep the run here.",
)
@click.option(
    "--only", multiple=True, metavar="NAME", help="A work, a curve or a group; may be repeated."
)
@click.option("--quick", is_flag=True, help="Few rounds, small corpora: does everything run?")
@click.option("--list", "listed", is_flag=True, help="Name the works and groups.")
@click.option(
    "--write",
    "page",
    type=click.Path(path_type=Path, dir_okay=False),
    callback=in_a_folder,
    help="Write the page, its pictures, and its data beside it.",
)
@click.option(
    "--from",
    "kept",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Measure nothing: take a run that was kept. With --only exact, that is found anew.",
)
@click.option("--growth/--no-growth", "growing", default=None, help="How cost grows, too.")
@click.option(
    "--long",
    is_flag=True,
    help="Learn from 10 GB of text, and verify 1 GB, too; takes many minutes.",
)
def main(
    json_file: Path | None,
    only: tuple[str, ...],
    quick: bool,
    listed: bool,
    page: Path | None,
    kept: Path | None,
    growing: bool | None,
    long: bool,
) -> None:
    """Measure this library beside others, in one run.

    Real tokenizers and texts come from the folder that BPE_INTEROP_DATA names. Tables in
    Markdown go to standard output.
    """
    if listed:
        _list()
        return
    try:
        asked = chosen(only, growing)
    except KeyError as error:
        raise click.UsageError(f"there is no work {error}; --list names them") from None
    if kept is not None and only not in ((), (exact.GROUP,)):
        raise click.UsageError("with --from, only exact is found anew: times are of one run")
    try:
        run = measure(asked, quick=quick, long=long) if kept is None else read(kept)
        if kept is not None and only:
            with place(quick=quick) as here, _progress() as progress:
                run.exactness = exact.exactness(here, versions(), _ticking(progress, 1))
    except (ValueError, AbsentDataError) as error:
        raise click.ClickException(str(error)) from None
    if json_file is not None:
        json_file.write_text(as_text(run), "utf-8")
    if page is not None:
        for file in write(run, page):
            click.echo(f"wrote {file}", err=True)
    else:
        click.echo(markdown(run))


def _list() -> None:
    for work in WORKS:
        click.echo(f"{work.group:10} {work.name:24} {work.title}")
    for name in NAMES:
        click.echo(f"{GROUP:10} {name:24} how cost grows")
    click.echo(f"{exact.GROUP:10} {exact.GROUP:24} whose ids are right")


class Chosen(NamedTuple):
    """What is asked for: works, names of curves, and whether everybody's ids are compared."""

    works: tuple[Work, ...]
    growing: tuple[str, ...]
    exact: bool


def chosen(only: tuple[str, ...], growing: bool | None) -> Chosen:
    """What is asked for.

    Raises:
        KeyError: a name that no work, no curve and no group has.
    """
    named = tuple(name for name in NAMES if name in only or GROUP in only)
    rest = tuple(name for name in only if name not in (*NAMES, GROUP, exact.GROUP))
    if growing is not None:
        named = (named or NAMES) if growing else ()
    elif not only:
        named = NAMES
    works = selected(WORKS, rest) if rest or not only else ()
    return Chosen(works, named, not only or exact.GROUP in only)


def measure(asked: Chosen, *, quick: bool, long: bool) -> Run:
    """Measures works, curves of how cost grows, and whose ids are right.

    Raises:
        AbsentDataError: the folder of real files is needed, and not named.
    """
    began = time.perf_counter()
    found = versions()
    run = Run(
        date=datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        commit=commit(),
        quick=quick,
        machine=machine(),
        packages=found,
    )
    with place(quick=quick) as here, _progress() as progress:
        if any(_needs_data(work) for work in asked.works) or asked.growing or asked.exact:
            _ = here.data
        tick = _ticking(progress, len(asked.works))
        for work in asked.works:
            off = work.long and not long
            run.works.append(put_off(work) if off else run_work(work, here, found, tick))
            progress.advance(progress.task_ids[0])
        for curve in curves(here, asked.growing, long=long, tick=tick):
            run.growth.append(curve)
        if asked.exact:
            run.exactness = exact.exactness(here, found, tick)
        run.corpora = _corpora(here)
    run.seconds = time.perf_counter() - began
    return run


def _needs_data(work: Work) -> bool:
    return bool(work.corpus) or any(
        "{" in value for side in work.sides for value in side.settings.values()
    )


def _corpora(here: Place) -> list[dict[str, object]]:
    """The texts that were used, if any were."""
    return [
        {
            "name": corpus.name,
            "bytes": corpus.bytes,
            "documents": len(documents(corpus.text)),
            "sha256": corpus.sha256,
            "made_of": corpus.made_of,
        }
        for corpus in here.used()
    ]


def _ticking(progress: Progress, steps: int) -> Tick:
    task = progress.add_task("", total=steps)
    return lambda what: progress.update(task, description=what)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )


if __name__ == "__main__":
    main()
