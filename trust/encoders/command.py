"""``encoders``: many damaged files, in child processes that an engine may end."""

from __future__ import annotations

import resource
import textwrap
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import click

from ..page import made_of, put, table, write_option
from .comparing import FORMATS, Found, run

_CHUNK = 1000
_LIMIT = 600
"""Seconds of CPU for the files of one process, which a call that never returns ends."""


@click.command()
@click.option("--files", "count", type=click.IntRange(1), default=20_000, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@write_option
def encoders(count: int, seed: int, page: Path | None) -> None:
    """Damage files of every format: the same ids and texts as the engine, or we refuse."""
    begun = time.monotonic()
    total = Found()
    chunks = [(min(_CHUNK, count - at), seed + at) for at in range(0, count, _CHUNK)]
    for size, first in chunks:
        try:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                part = pool.submit(_limited, size, first).result()
        except BrokenProcessPool:
            total.failures.append(f"the process ended early: {size} files of seed {first}")
            continue
        total.outcomes += part.outcomes
        total.texts += part.texts
        total.decoded += part.decoded
        total.failures += part.failures
    seconds = time.monotonic() - begun
    settings = {"files": count, "seed": seed}
    put(page, "encoders", [*made_of("encoders", seconds, settings), "", *_rows(total), ""])
    for failure in total.failures:
        click.echo(failure, err=True)
    if total.failures:
        raise SystemExit(1)


def _limited(count: int, seed: int) -> Found:
    resource.setrlimit(resource.RLIMIT_CPU, (_LIMIT, _LIMIT))
    return run(count, seed)


def _rows(found: Found) -> list[str]:
    outcomes = sorted({outcome for _, outcome in found.outcomes})
    per: Counter[tuple[str, str]] = found.outcomes
    rows = [[format, *(per[format, outcome] for outcome in outcomes)] for format in FORMATS]
    ways = "; ".join(f"{scope}: {number:,}" for scope, number in sorted(found.texts.items()))
    said = (
        f"Texts with the same ids in both: {ways}. {found.decoded:,} sequences of ids were decoded "
        f"to the same text by both. {len(found.failures):,} failures."
    )
    return [*table(["format", *outcomes], rows), "", *textwrap.wrap(said, 98)]
