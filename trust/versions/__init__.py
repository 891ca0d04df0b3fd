"""The same answers with every version of the engines that is admitted."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from fixtures import ROOT

from ..page import made_of, put, table, write_option
from .environments import (
    PACKAGES,
    Environment,
    InstallError,
    Made,
    admitted,
    corners,
    make,
    pythons,
    singles,
)
from .running import Outcome, run_directories, run_tests, write_directories

Row = tuple[Made, Outcome]


@click.command()
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="An environment, or how its name begins (lowest, newest-3.12); may be repeated.",
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the environments here and take them again; else they are made for this run.",
)
@click.option("--no-tests", is_flag=True, help="Only load the directories.")
@write_option
def versions(only: tuple[str, ...], folder: Path | None, no_tests: bool, page: Path | None) -> None:
    """Run the same tests with the lowest and the newest engines, on every Python.

    Needs pip. The directories that transformers loads are those of BPE_INTEROP_DATA, if it is set.
    """
    began = time.perf_counter()
    asked = admitted((ROOT / "pyproject.toml").read_text("utf-8"))
    found = pythons()
    chosen = [each for each in corners(found, asked) if not only or each.name.startswith(only)]
    if not chosen:
        raise click.UsageError(f"no environment is named so; there is Python {', '.join(found)}")
    with tempfile.TemporaryDirectory(prefix="versions-") as temporary:
        place = Path(temporary, "environments") if folder is None else folder
        place.mkdir(parents=True, exist_ok=True)
        written = Path(temporary, "directories")
        written.mkdir()
        due = _directories(written)

        def run(environment: Environment) -> Row:
            python = found[environment.python]
            row = _row(environment, python, asked, place, written, due, not no_tests)
            click.echo("\n".join([*summary([row])[2:], *told([row])]), err=True)
            return row

        rows = [run(each) for each in chosen]
        if not only and differ(rows):
            rows += [run(each) for each in singles(chosen[-1].python)]
    asked_for = [*(f"--only {name}" for name in only), *(["--no-tests"] if no_tests else [])]
    command = " ".join(["versions", *asked_for])
    lines = made_of(command, time.perf_counter() - began, {})
    put(page, "versions", [*lines, "", *summary(rows), "", *told(rows)])
    if any(outcome.differences for _, outcome in rows):
        raise SystemExit(1)


def _directories(written: Path) -> Mapping[str, Any]:
    data = os.environ.get("BPE_INTEROP_DATA")
    if not data:
        click.echo("BPE_INTEROP_DATA is not set: no directories are loaded", err=True)
        return {}
    click.echo("writing the directories", err=True)
    return write_directories(Path(data), written)


def _row(
    environment: Environment,
    python: str,
    asked: Mapping[str, str],
    place: Path,
    written: Path,
    due: Mapping[str, Any],
    with_tests: bool,
) -> Row:
    click.echo(f"{environment.name}: installing", err=True)
    try:
        made = make(environment, python, asked, place)
    except InstallError as error:
        made = Made(environment, Path(python), {"Python": environment.python})
        return made, Outcome(differences={"installing": str(error)})
    click.echo(f"{environment.name}: testing", err=True)
    tests, failed = run_tests(made) if with_tests else (0, {})
    wrong = run_directories(made, written, due) if due else {}
    return made, Outcome(tests, len(due), {**failed, **wrong})


def differ(rows: Iterable[Row]) -> bool:
    """Whether some environments differ in something that others do not."""
    names = [frozenset(outcome.differences) for _, outcome in rows]
    return len(set(names)) > 1


def summary(rows: Iterable[Row]) -> list[str]:
    """The table: versions, and how much was run and differs."""
    head = ["environment", "Python", *PACKAGES, "tests", "directories", "differ"]
    return table(
        head,
        [
            [
                made.environment.name,
                *(made.versions.get(name, "") for name in ("Python", *PACKAGES)),
                outcome.tests,
                outcome.directories,
                len(outcome.differences),
            ]
            for made, outcome in rows
        ],
    )


def told(rows: Iterable[Row]) -> Iterator[str]:
    """Every difference by name, with the environments that show it."""
    listed = list(rows)
    names = dict.fromkeys(name for _, outcome in listed for name in outcome.differences)
    if not names:
        yield "Nothing differs."
    for name in names:
        where = [made.environment.name for made, out in listed if name in out.differences]
        why = next(out.differences[name] for _, out in listed if name in out.differences)
        yield f"- `{name}`: {', '.join(where)}: {why}"
