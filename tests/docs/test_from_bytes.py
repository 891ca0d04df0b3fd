"""docs/from-bytes-to-gpt-4.md is true: its examples run, and give what they say."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Data

PAGE = ROOT / "docs" / "from-bytes-to-gpt-4.md"
BLOCK = re.compile(r"(<!-- example: real -->\n)?```pycon\n(.*?)```", re.DOTALL)
BLOCKS = [(bool(real), text) for real, text in BLOCK.findall(PAGE.read_text("utf-8"))]


def run(blocks: list[str]) -> None:
    names: dict[str, Any] = {}
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), names, PAGE.name, None, 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    result = runner.run(test, out=said.append)
    assert result.attempted > 0
    assert "".join(said) == ""


def test_the_road(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What needs no file but this page, in a folder that is empty."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    plain = [text for real, text in BLOCKS if not real]
    assert len(plain) >= 9
    run(plain)


def test_the_road_with_real_files(
    data: Data, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What needs files of others; it needs nothing of the other examples but the import.

    The page names these files, and no other is there.
    """
    table = PAGE.read_text("utf-8").partition("| file | needed for |")[2].partition("\n\n")[0]
    named = ("unicode_intro.txt", "toy.txt", "gpt2/encoder.json", "gpt2/vocab.bpe")
    assert all(f"`{name}`" in table for name in named)
    data("tiktoken_cache")
    for name in ("seeds/unicode_intro.txt", "seeds/toy.txt"):
        shutil.copy(data(name), tmp_path)
    (tmp_path / "gpt2").mkdir()
    for name in ("gpt2/encoder.json", "gpt2/vocab.bpe"):
        shutil.copy(data(name), tmp_path / "gpt2")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    real = [text for real, text in BLOCKS if real]
    assert len(real) >= 5
    run([">>> import bpe_interop\n", *real])
