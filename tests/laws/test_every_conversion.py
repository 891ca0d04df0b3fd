"""What the gate lets through is written, and its check holds: every second source in one format.

``python -m trust conversions`` tries all.
"""

from __future__ import annotations

import hashlib
import importlib
from pathlib import Path

import pytest

from bpe_interop.formats import all_formats
from trust.conversions import fixtures, one_of_twenty, run

FORMATS = [row.name for row in all_formats()]


def part(source: str, target: str) -> bool:
    """One format for each source."""
    return FORMATS[hashlib.sha256(source.encode()).digest()[0] % len(FORMATS)] == target


@pytest.fixture(autouse=True)
def a_part_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    checking = importlib.import_module("bpe_interop.compare.conversion")
    monkeypatch.setattr(checking, "awkward", one_of_twenty)


@pytest.mark.long
@pytest.mark.parametrize(
    "source", fixtures()[::2], ids=lambda path: f"{path.parent.name}-{path.name}"
)
def test_no_check_fails(source: Path) -> None:
    outcomes = list(run([source], part))
    assert outcomes
    assert [str(each) for each in outcomes if each.is_fault] == []
