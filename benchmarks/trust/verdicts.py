"""Verdicts of ``prove`` and ``verify`` against the engines, over random pairs of tokenizers."""

from __future__ import annotations

import time
from pathlib import Path

import click

from .page import made_of, put, write_option


@click.command()
@click.option("--pairs", default=1000, show_default=True, help="Pairs of tokenizers.")
@click.option("--seed", default=1, show_default=True, help="Draws other pairs.")
@write_option
def verdicts(pairs: int, seed: int, page: Path | None) -> None:
    """Hold verdicts to the engines, over random pairs of tokenizers."""
    began = time.perf_counter()
    lines = made_of("verdicts", time.perf_counter() - began, {"pairs": pairs, "seed": seed})
    put(page, "verdicts", lines)
