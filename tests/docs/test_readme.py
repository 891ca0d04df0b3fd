"""README's numbers and picture are those of what was run; its examples are tested beside."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.marks import replaced
from benchmarks.readme import PERFORMANCE, PICTURE, SHOWN, drawn, numbers

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_numbers_are_those_of_the_page_of_performance() -> None:
    page = PERFORMANCE.read_text("utf-8")
    assert replaced(README, "numbers", numbers(page)) == README
    assert numbers(page).count("\n| ") == 1 + len(SHOWN)


def test_the_picture_is_the_example_that_is_run_here() -> None:
    """``python -m benchmarks.readme`` draws it; what the example prints is tested below."""
    assert PICTURE.read_text("utf-8") == drawn(README)
    assert f"](docs/{PICTURE.name})" in README
    assert len(PICTURE.read_bytes()) < 10_000
    shown = "".join(ElementTree.parse(PICTURE).getroot().itertext())
    assert "PROVED      equal for every text" in shown
    with pytest.raises(ValueError, match="no example"):
        drawn(README.replace("<!-- picture -->", ""))


def test_what_comes_first_fits_on_two_screens() -> None:
    assert len(README.partition("\n|")[0].splitlines()) <= 90
