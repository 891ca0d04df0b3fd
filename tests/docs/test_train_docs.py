"""docs/training.md is true: its examples run, and print what it says they print."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "training.md").read_text("utf-8")


def test_the_examples_of_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a folder that is empty."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```pycon\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "training.md", None, 0)
    said: list[str] = []
    doctest.DocTestRunner().run(test, out=said.append)
    assert "".join(said) == ""
