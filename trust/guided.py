"""Readers under a fuzzer that is guided by coverage: atheris, which need not be installed.

One process for each format: libFuzzer ends it when its time is over, and at the first exception
that is not ours. The first byte of an input chooses which file of a small tokenizer the others
replace.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

from .page import made_of, put, table, write_option


@click.command("guided")
@click.option("--seconds", default=600, show_default=True, help="For each format.")
@write_option
def guided(seconds: int, page: Path | None) -> None:
    """Let atheris search for files that make a reader fail (pip install atheris)."""
    from .readers import seeds

    start = time.monotonic()
    rows: list[list[object]] = []
    faults: list[str] = []
    for name in sorted(seeds()):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", __name__, name, str(seconds), folder],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                check=False,
            )
        runs = re.search(r"number_of_executed_units: (\d+)", done.stderr)
        covered = re.findall(r" cov: (\d+)", done.stderr)
        numbers = [int(runs[1]) if runs else 0, int(covered[-1]) if covered else 0]
        rows.append([name, *numbers, done.returncode])
        if done.returncode or not runs:
            faults.append(f"- {name}: {' '.join(done.stderr.splitlines()[-12:])}")
    head = ("format", "inputs", "edges covered", "exit code")
    made = made_of("guided", time.monotonic() - start, {"seconds": seconds})
    put(page, "guided", [*made, "", *table(head, rows), *faults])
    if faults:
        raise SystemExit(1)


def search(name: str, seconds: str, folder: str) -> None:
    """Searches in one format until the time is over or a fault is found; never returns."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["bpe_interop"]):
        from bpe_interop.errors import BpeInteropError
        from bpe_interop.formats import by_name

        from .readers import seeds  # first of all: what is imported before is not instrumented

        row = by_name(name)
        seed = min(seeds()[name], key=lambda files: sum(map(len, files.values())))
        row.load(seed)  # what it imports is instrumented too
    names = sorted(seed)
    for number, each in enumerate(names):
        Path(folder, each).write_bytes(bytes([number]) + seed[each])

    def one(data: bytes) -> None:
        chosen = names[data[0] % len(names)] if data else names[0]
        with contextlib.suppress(BpeInteropError):
            row.load({**seed, chosen: data[1:]})

    limits = [
        "-timeout=5",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        "-max_len=100000",
        "-len_control=0",
    ]
    atheris.Setup([sys.argv[0], f"-max_total_time={seconds}", *limits, folder], one)
    atheris.Fuzz()


if __name__ == "__main__":
    search(*sys.argv[1:])
