"""The page of long tests: its marks, and that every command has its place there."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from benchmarks.trust.__main__ import COMMANDS, main
from benchmarks.trust.page import put, replaced, table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "trust.md"


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
def test_every_long_test_has_its_place_in_the_page(command: click.Command) -> None:
    text = PAGE.read_text("utf-8")
    assert f"`{command.name}`" in text
    replaced(text, str(command.name), "")
    assert CliRunner().invoke(main, [str(command.name), "--help"]).exit_code == 0
