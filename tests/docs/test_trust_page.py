"""The pages of long tests: their marks, and that every command has its place there."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from benchmarks.marks import replaced
from bpe_interop.kernel import running
from fixtures import ROOT
from trust.__main__ import COMMANDS, main
from trust.kernel.runs import Run
from trust.kernel.works import Tally
from trust.page import made_of, put, state, table

needs_kernel = pytest.mark.skipif(
    running().kernel != "native", reason="there is no native kernel to compare"
)
DOCS = ROOT / "docs"
SUMMARY = (DOCS / "trust.md").read_text("utf-8")
TABLES = "\n".join(page.read_text("utf-8") for page in sorted((DOCS / "trust").glob("*.md")))


def test_a_block_is_replaced_and_nothing_else() -> None:
    text = "before\n<!-- x -->\nold\n<!-- /x -->\nafter\n"
    assert replaced(text, "x", "new\\1") == "before\n<!-- x -->\nnew\\1\n<!-- /x -->\nafter\n"
    assert replaced(replaced(text, "x", "1"), "x", "2") == replaced(text, "x", "2")


@pytest.mark.parametrize("text", ["", "<!-- x -->\n", "<!-- x -->\n<!-- x -->\n<!-- /x -->\n"])
def test_marks_that_are_not_there_are_said(text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="<!-- x -->"):
        replaced(text, "x", "new")
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    with pytest.raises(click.ClickException):
        put(page, "x", ["new"])
    assert page.read_text("utf-8") == text


def test_numbers_have_commas_and_stand_to_the_right() -> None:
    assert table(["name", "count"], [["a|b", 12345]]) == [
        "| name | count |",
        "|---|--:|",
        "| a\\|b | 12,345 |",
    ]


@pytest.mark.parametrize("command", COMMANDS, ids=[str(command.name) for command in COMMANDS])
def test_every_long_test_has_its_place_in_the_pages(command: click.Command) -> None:
    assert f"`{command.name}`" in SUMMARY
    replaced(TABLES, str(command.name), "")
    assert CliRunner().invoke(main, [str(command.name), "--help"]).exit_code == 0


def _added_up(name: str, *columns: int) -> str:
    """The sum of columns of a table that a long test wrote."""
    body = TABLES.partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0]
    rows = [row.strip("| ").split(" | ") for row in body.splitlines() if row.startswith("| ")]
    return f"{sum(int(row[at].replace(',', '')) for row in rows[1:] for at in columns):,}"


def test_the_summary_has_the_numbers_of_the_tables() -> None:
    """A run that writes a table anew must be summed up anew."""
    stated = [row.split(" | ")[1] for row in SUMMARY.splitlines() if row.endswith(".py` |")]
    found = [re.findall(r"\d[\d,]{2,}", row) for row in stated]
    assert len(found) > 10
    sums = {_added_up("kills", 1), _added_up("mutations", 1), _added_up("encoders", 1, 2, 3)}
    assert sums < {number for row in found for number in row}
    for number in (number for row in found for number in row if number not in sums):
        assert re.search(rf"(?<![\d,]){number}\b", TABLES), number


def test_a_table_says_of_which_sources_it_is() -> None:
    """The line that ``made_of`` writes is the one that ``state`` reads."""
    [line] = made_of("x", 1.0, {})
    page = f"<!-- x -->\n{line}\n<!-- /x -->\n<!-- y -->\n`y` on a day, commit abc+, AMD\n"
    digest = line.split(", sources ")[1].split(",")[0]
    of_commit = line.split(", commit ")[1].split(",")[0]
    assert state(page, digest)[2:] == [
        f"| x | {of_commit} | {digest} | yes |",
        "| y | abc+ | not said | no |",
    ]
    assert state(page, "other")[2].endswith("| no |")


def _kept(folder: Path, seed: int, **changed: Any) -> None:
    tally = Tally(cases=3, damaged=2, native=1, answered=2)
    run = Run(seed, "abc", "cargo", 60.0, {"rank files": tally, "ids": Tally(1, 0, 1_000)})
    replace(run, **changed).keep(folder)


def _said(folder: Path, *more: str) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["kernel", "--rounds", "0", "--keep", str(folder), *more])
    return done.exit_code, done.output


@needs_kernel
def test_runs_of_the_kernel_add_up(tmp_path: Path) -> None:
    for seed in (1, 2):
        _kept(tmp_path, seed)
    code, text = _said(tmp_path)
    assert code == 0
    assert "Texts: 2,000. Damaged files: 4. Differences: 0. Crashes: 0." in text
    assert "| rank files | 6 | 4 | 0 | 2 | 4 | 0 |" in text
    assert "2. Seed 2, commit abc, cargo: 60 s." in text
    again = CliRunner().invoke(main, ["kernel", "--seed", "2", "--keep", str(tmp_path)])
    assert again.exit_code == 1
    assert "seed 2 was run before" in again.output


@needs_kernel
@pytest.mark.parametrize(
    ("changed", "shown"),
    [
        ({"crashes": ["ids:1:0 and 63 more"]}, "a process ended while these ran: ids:1:0"),
        ({"works": {"ids": Tally(1, different=["ids:1:7"])}}, "- ids: ['ids:1:7']"),
    ],
)
def test_a_crash_and_a_difference_are_failures(
    changed: dict[str, Any], shown: str, tmp_path: Path
) -> None:
    _kept(tmp_path, 1, **changed)
    code, text = _said(tmp_path)
    assert code == 1
    assert shown in text
