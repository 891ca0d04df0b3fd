"""``python -m trust verdicts``."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import click

from ..page import made_of, put, write_option
from .running import Lost, trials
from .shrinking import shrunk
from .tally import Tally, as_json


@click.command()
@click.option("--pairs", default=1000, show_default=True, help="Pairs of tokenizers.")
@click.option("--seed", default=1, show_default=True, help="Draws other pairs.")
@click.option("--first", default=0, show_default=True, help="Begin with the pair of this number.")
@click.option("--minutes", type=float, help="End after so long, with the pairs that were tried.")
@click.option("--processes", default=os.cpu_count() or 1, show_default=True)
@click.option(
    "--verify-every", default=500, show_default=True, help="Verify the files of every so many."
)
@click.option(
    "--failures",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep the pairs with a wrong verdict here, one JSON object a line.",
)
@write_option
def verdicts(
    pairs: int,
    seed: int,
    first: int,
    minutes: float | None,
    processes: int,
    verify_every: int,
    failures: Path | None,
    page: Path | None,
) -> None:
    """Hold verdicts to the engines, over random pairs of tokenizers."""
    began = time.perf_counter()
    tally, written = Tally(), 0
    found = trials(seed, pairs, first=first, processes=processes, verify_every=verify_every)
    for number, each in found:
        tally.add(number, each)
        if isinstance(each, Lost):
            click.echo(f"pair {number}: it {each.how}", err=True)
        if failures is not None and len(tally.wrong) > written:
            mode = "a" if written else "w"
            with failures.open(mode, encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in as_json(tally.wrong[written:]))
            written = len(tally.wrong)
        if tally.pairs % 100 == 0:
            said = f"\r{tally.pairs:,} pairs, {tally.texts:,} texts, {len(tally.wrong):,} wrong"
            print(said, end="", file=sys.stderr, flush=True)
        if minutes is not None and time.perf_counter() - began > 60 * minutes:
            break
    settings = {"pairs": tally.pairs, "seed": seed} | ({"first": first} if first else {})
    lines = [*made_of("verdicts", time.perf_counter() - began, settings), "", *tally.lines()]
    put(page, "verdicts", lines)
    for number, pair in tally.wrong[:20]:
        wrong = pair.wrong[0]
        click.echo(f"pair {number} ({pair.change}): {wrong.kind}: {wrong.text!r}", err=True)
        [made_small] = as_json([(number, shrunk(pair, f"{seed}:{number}"))])
        click.echo(f"  made small: {made_small}", err=True)
    if tally.wrong or any(tally.holes()):
        raise SystemExit(1)
