"""``encoders``: many damaged files, in child processes that an engine may end."""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import click

from ..page import made_of, put, table, write_option
from .comparing import FORMATS, Found, run

_CHUNK = 200


@click.command()
@click.option("--files", "count", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@write_option
def encoders(count: int, seed: int, page: Path | None) -> None:
    """Damage files of every format: the same ids as the engine, or we refuse."""
    begun = time.monotonic()
    total, ended = Found(), 0
    chunks = [(min(_CHUNK, count - at), seed + at) for at in range(0, count, _CHUNK)]
    for size, first in chunks:
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                part = pool.submit(run, size, first).result()
        except BrokenProcessPool:
            ended += 1
            total.failures.append(f"the engine ended the process: {size} files of seed {first}")
            continue
        total.outcomes += part.outcomes
        total.texts += part.texts
        total.failures += part.failures
    seconds = time.monotonic() - begun
    settings = {"files": count, "seed": seed}
    put(page, "encoders", [*made_of("encoders", seconds, settings), "", *_rows(total), ""])
    for failure in total.failures:
        click.echo(failure, err=True)
    if total.failures:
        raise SystemExit(1)


def _rows(found: Found) -> list[str]:
    outcomes = sorted({outcome for _, outcome in found.outcomes})
    per: Counter[tuple[str, str]] = found.outcomes
    rows = [[format, *(per[format, outcome] for outcome in outcomes)] for format in FORMATS]
    said = f"{found.texts:,} texts were encoded by both, {len(found.failures):,} failures."
    return [*table(["format", *outcomes], rows), "", said]
