"""The same ids, texts, files, losses and proofs on every Python that is named."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from fixtures import ROOT

from .page import made_of, put, table, write_option


@click.command()
@click.argument("pythons", nargs=-1, required=True, metavar="PYTHON...")
@write_option
def interpreters(pythons: tuple[str, ...], page: Path | None) -> None:
    """Compare what each PYTHON answers with what this one does.

    In each the library's own dependencies are installed, such as click; no engine is needed. A
    PYTHON may be several words: 'env BPE_INTEROP_KERNEL=python pypy3'.
    """
    began = time.perf_counter()
    here = answers_of(sys.executable)
    rows = [_row(here, here)]
    for python in pythons:
        found = answers_of(python)
        rows.append(_row(found, here))
        click.echo(" ".join(map(str, rows[-1])), err=True)
    lines = made_of("interpreters PYTHON...", time.perf_counter() - began, {})
    head = ["Python", "kernel", "texts", "answers", "differ"]
    put(page, "interpreters", [*lines, "", *table(head, rows)])
    if any(row[-1] for row in rows):
        raise SystemExit(1)


def answers_of(python: str, only: Sequence[str] = ()) -> dict[str, Any]:
    """What an interpreter prints of itself and its answers; of ``only`` these tokenizers."""
    words = [*python.split(), "-m", "trust.answers", *only]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        raise click.ClickException(f"{python}: {done.stderr.strip()[-2_000:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def differing(found: Mapping[str, Any], here: Mapping[str, Any]) -> tuple[list[str], int]:
    """The answers that are other, and how many were asked of both.

    What needs an engine is not asked where that is not installed.
    """
    unasked = (*found["unasked"], *here["unasked"])
    asked = [
        name
        for name in {**found["answers"], **here["answers"]}
        if not any(name == each or name.startswith(f"{each} ") for each in unasked)
    ]
    other = [name for name in asked if found["answers"].get(name) != here["answers"].get(name)]
    return other, len(asked)


def _row(found: Mapping[str, Any], here: Mapping[str, Any]) -> list[object]:
    other, asked = differing(found, here)
    for name in other:
        click.echo(f"{found['python']}: {name}", err=True)
    return [*(found[key] for key in ("python", "kernel", "texts")), asked, len(other)]
