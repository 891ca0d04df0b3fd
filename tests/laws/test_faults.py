"""Faults in formats are caught by a law: a part of ``python -m trust faults``."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bpe_interop.formats import all_formats, by_name
from bpe_interop.testing.laws import BrokenError, LawCase, LawSource, home
from trust import faults, laws
from trust.faults import (
    FAULTS,
    Stage,
    changed,
    drop_long_tokens,
    drop_special,
    lines_of,
    mutant,
    run,
)

SHORT_STAGES: tuple[Stage, ...] = ("writer abroad", *("writer", "reader") * 3)
"""In the order of the formats: conversions from all others, of the one where they are fewest."""

SHORT = {"minbpe": "drop a merge"}  # it writes no ids
"""A fault of a format that is not ``swap two ids``; the command has all of them."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "stage"), [*zip((row.name for row in all_formats()), SHORT_STAGES, strict=False)]
)
def test_a_law_catches_each_fault(name: str, stage: Stage) -> None:
    """One stage of each format; the command has all."""
    outcomes = list(run([by_name(name)], [SHORT.get(name, "swap two ids")], [stage]))
    assert outcomes
    assert [each for each in outcomes if each.missed] == []


@pytest.mark.long
def test_a_writer_that_drops_special_tokens_and_long_merges_is_caught_in_every_format() -> None:
    """What it drops is a loss that is not in the table."""
    for row in all_formats():
        sources = [each for each in laws.sources([row]) if not each.told]
        for change in (drop_special, drop_long_tokens):
            if not any(changed(change, source.model) for source in sources):
                continue
            faulty = mutant(row, "writer", change)
            broken = [source for source in sources if _is_broken(replace(source, format=faulty))]
            assert broken, (row.name, change.__name__)


def _is_broken(source: LawSource) -> bool:
    try:
        home(source)
        laws.decided(LawCase(source, source.format))
    except (BrokenError, LookupError):  # or the writer does not get to its end
        return True
    return False


def test_a_law_that_is_not_there_catches_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table says so, and the command fails."""
    for module, name in ((faults, "home"), (laws, "repeated")):
        monkeypatch.setattr(module, name, lambda source: None)
    monkeypatch.setattr(laws, "LAWS", {})
    monkeypatch.setattr(laws, "enough", lambda cases, least: None)
    outcomes = list(run([by_name("minbpe")], ["swap two ids"]))
    assert outcomes
    assert all(each.missed for each in outcomes)
    assert "| **none** |" in lines_of(outcomes)[-1]


def test_every_fault_says_what_it_is() -> None:
    assert all(change.__doc__ for change in FAULTS.values())
