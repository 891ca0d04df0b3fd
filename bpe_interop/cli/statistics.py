"""``inspect --corpus``: statistics of corpora as tables, JSON, and a drawing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ..corpora import find_files
from ..io.reader import TokenizerSource
from ..io.target import keep_apart
from ..io.writer import replace_file
from ..model import BPEModel, escaped
from ..statistics import Measurement, Statistics, measure
from ..tokenizer import Tokenizer
from ..view.plot import to_svg
from ..workers import Carried, Workers, carry
from .interrupts import INTERRUPTED
from .progress import progress
from .screen import as_json, lines, print_table
from .terminal import say

_LENGTHS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (7, 8), (9, 12), (13, 16))
"""Bytes of tokens, from and to, that are counted together in a table."""


def show_statistics(
    sources: Sequence[tuple[str, TokenizerSource[BPEModel]]],
    corpora: Sequence[str],
    plot: Path | None,
    as_data: bool,
    presets: Sequence[str | None],
    workers: Workers | None,
    limit: float,
    state: str | None,
) -> None:
    """Measures tokenizers on corpora, and prints tables or JSON; draws a plot where asked to.

    ``presets`` are those of the sources, ``limit`` is in seconds.
    """
    files = find_files(corpora)
    read = [file.local for file in files if file.local]
    for target in (plot, None if state is None else Path(state)):
        if target is not None:
            keep_apart([*(name for name, _ in sources), *read], target)
    with progress("measuring") as tick:
        tokenizers: list[tuple[str, Tokenizer] | Carried] = []
        for (name, loaded), preset in zip(sources, presets, strict=True):
            if workers is None and state is None:
                tokenizers.append((name, Tokenizer(loaded.model, engine="auto")))
            else:
                own, beside = loaded.files, loaded.beside
                tokenizers.append(carry(name, loaded.format.name, own, preset, beside))
        done = measure(
            *(tokenizers, files),
            executor=workers,
            limit=limit,
            state=state,
            tick=tick,
            watch=tick.watch,
        )
    if plot is not None and not done.interrupted:
        replace_file(plot, to_svg(done.statistics).encode("utf-8"))
    if as_data:
        as_json(_report(done))
    else:
        _show(done, plot, state)
    if done.interrupted:
        sys.exit(INTERRUPTED)


def _report(done: Measurement) -> dict[str, Any]:
    """Where it was measured by parts, how many are done, and what happened on the way."""
    by_parts = {"interrupted": done.interrupted, "done": done.done, "parts": done.parts}
    return {
        "statistics": [_as_data(each) for each in done.statistics],
        **({**by_parts, "notes": list(done.notes)} if done.parts else {}),
    }


def _show(done: Measurement, plot: Path | None, state: str | None) -> None:
    for headings, rows in (_numbers(done.statistics), _lengths(done.statistics)):
        print_table(headings, rows, names=2)
        say("")
    lines("note", list(done.notes))
    if done.interrupted:
        went = f"name the same state to go on: {state}" if state else "nothing is kept"
        so_far = f"{done.done:,} of {done.parts:,} parts were measured"
        lines("not whole", [f"interrupted: {so_far}; {went}"])
    else:
        lines("drawn", [] if plot is None else [str(plot)])


_Table: TypeAlias = tuple[list[str], list[list[str]]]
"""Headings, and rows of cells."""


def _named(each: Statistics) -> list[str]:
    return [escaped(each.file or "all files"), escaped(each.tokenizer)]


def _numbers(statistics: Sequence[Statistics]) -> _Table:
    headings = ["bytes", "words", "tokens", "bytes/token", "tokens/word", "unused tokens"]
    rows: list[list[str]] = []
    for each in statistics:
        counts = [f"{number:,}" for number in (each.bytes, each.words, each.tokens)]
        rates = [_rate(each.bytes_per_token), _rate(each.tokens_per_word)]
        unused = f"{len(each.unused):,} of {each.usable:,}"
        rows.append([*_named(each), *counts, *rates, unused])
    return ["file", "tokenizer", *headings], rows


def _rate(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def _lengths(statistics: Sequence[Statistics]) -> _Table:
    """Of all tokens, the parts that have so many bytes."""
    ranges = [f"{first}" if first == last else f"{first}-{last}" for first, last in _LENGTHS]
    most = _LENGTHS[-1][1]
    headings = ["bytes: " + ranges[0], *ranges[1:], f"over {most}"]
    rows: list[list[str]] = []
    for each in statistics:
        lengths = each.lengths.items()
        counts = [sum(n for size, n in lengths if a <= size <= b) for a, b in _LENGTHS]
        # A token without bytes is in no column.
        counts.append(sum(n for size, n in lengths if size > most))
        parts = [f"{n / each.tokens:.1%}" if each.tokens else "-" for n in counts]
        rows.append([*_named(each), *parts])
    return ["file", "tokenizer", *headings], rows


def _as_data(each: Statistics) -> dict[str, Any]:
    """``file`` is null for all files together; ``lengths`` counts tokens by their bytes."""
    return {
        "file": each.file or None,
        "tokenizer": each.tokenizer,
        "documents": each.documents,
        "bytes": each.bytes,
        "words": each.words,
        "tokens": each.tokens,
        "bytes_per_token": each.bytes_per_token,
        "tokens_per_word": each.tokens_per_word,
        "usable": each.usable,
        "unused": each.unused,
        "lengths": {str(length): count for length, count in each.lengths.items()},
    }
