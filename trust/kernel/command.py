"""``kernel``: rounds of all works in child processes, which a crash may end; runs that add up."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import click

from benchmarks.machine import commit
from bpe_interop.kernel import running

from ..page import made_of, put, table, write_option
from .runs import Chunk, Run, kept
from .works import COUNTS, DRAWN, Tally, compare

_SHOWN = 5


@click.command()
@click.option("--rounds", type=click.IntRange(0), default=50, show_default=True)
@click.option("--minutes", type=float, help="Begin no work after so many minutes.")
@click.option("--jobs", type=click.IntRange(1), default=2, show_default=True, help="Processes.")
@click.option("--seed", type=int, default=1, show_default=True)
@click.option(
    "--keep",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep what this run found here; the table is of all runs that are there.",
)
@write_option
def kernel(
    rounds: int,
    minutes: float | None,
    jobs: int,
    seed: int,
    folder: Path | None,
    page: Path | None,
) -> None:
    """Answers of the native kernel, beside those of Python.

    With --rounds 0, only the table is made of the runs that were kept. 50 rounds are 10,000,000
    texts and 1,000,000 damaged files.
    """
    if running().kernel != "native":
        raise click.ClickException(f"there is no native kernel: {running().why_not}")
    runs = kept(folder)
    if rounds:
        if seed in {run.seed for run in runs}:
            raise click.ClickException(f"seed {seed} was run before; give another --seed")
        runs.append(Run(seed, commit(), running().how))
        _fill(runs[-1], _chunks(seed, rounds, minutes), jobs, folder)
    total = {name: Tally() for name in DRAWN}
    for run in runs:
        for name, tally in run.works.items():
            total[name].add(tally)
    crashes = [crash for run in runs for crash in run.crashes]
    seconds = sum(run.seconds for run in runs)
    put(page, "kernel", [*made_of("kernel", seconds, {}), *_lines(runs, total, crashes)])
    if crashes or any(tally.different for tally in total.values()):
        raise SystemExit(1)


def _chunks(seed: int, rounds: int, minutes: float | None) -> Iterator[Chunk]:
    """The works of all rounds, until the time is over."""
    end = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    for number in range(rounds):
        for name, drawn in DRAWN.items():
            if time.monotonic() > end:
                return
            yield Chunk(name, seed, number * drawn, drawn)


def _fill(run: Run, chunks: Iterator[Chunk], jobs: int, folder: Path | None) -> None:
    """Does works side by side. What ran when a process ended is named, and not counted."""
    began = time.monotonic()
    more = True
    while more:
        waiting: dict[Future[Tally], Chunk] = {}
        try:
            with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
                more = False
                for chunk in chunks:
                    waiting[pool.submit(_compared, chunk)] = chunk
                    if len(waiting) > jobs:
                        _take(run, waiting)
                    run.seconds = time.monotonic() - began
                    run.keep(folder)
                while waiting:
                    _take(run, waiting)
        except BrokenProcessPool:
            run.crashes.append(", ".join(map(str, waiting.values())))
            more = True
    run.seconds = time.monotonic() - began
    run.keep(folder)


def _take(run: Run, waiting: dict[Future[Tally], Chunk]) -> None:
    """Takes what is done by now."""
    done, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in done:
        found = future.result()
        chunk = waiting.pop(future)
        run.works.setdefault(chunk.name, Tally()).add(found)


def _compared(chunk: Chunk) -> Tally:
    return compare(chunk.name, chunk.times, chunk.seed, chunk.first)


def _lines(runs: Sequence[Run], total: dict[str, Tally], crashes: Sequence[str]) -> Iterator[str]:
    """The runs, what they come to, and a row for each work."""
    different = {name: each.different for name, each in total.items() if each.different}
    texts = sum(each.texts for each in total.values())
    files = sum(each.damaged for each in total.values())
    differences = sum(map(len, different.values()))
    yield ""
    yield f"Texts: {texts:,}. Damaged files: {files:,}. Differences: {differences:,}. " + (
        f"Crashes: {len(crashes):,}."
    )
    yield ""
    yield from table(
        ["work", *COUNTS, "differences"],
        [[name, *each.counts(), len(each.different)] for name, each in total.items()],
    )
    yield ""
    for number, run in enumerate(runs, 1):
        yield f"{number}. Seed {run.seed}, commit {run.commit}, {run.how}: {run.seconds:,.0f} s."
    for name, drawn in different.items():
        yield f"- {name}: {drawn[:_SHOWN]}"
    for crash in crashes:
        yield f"- a process ended while these ran: {crash}"
