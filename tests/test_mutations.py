"""The tool that removes comparisons of the proof: some of them, and the tests that see it."""

from __future__ import annotations

import pytest

from benchmarks.trust.mutations import TESTS, is_seen, mutants


@pytest.mark.parametrize(
    ("stage", "removed", "test"),
    [
        ("numbering", "left[t] != right[t]", "test_prove_affixes.py"),
        ("splitting", "found is None", "test_prove_cuts.py"),
    ],
)
def test_a_removed_comparison_is_seen(stage: str, removed: str, test: str) -> None:
    mutant = next(each for each in mutants(stage) if each.removed == removed)
    assert is_seen(mutant, f"tests/{test}", "-k", "refuted or condition")


@pytest.mark.parametrize("stage", TESTS)
def test_every_stage_has_comparisons_to_remove(stage: str) -> None:
    found = list(mutants(stage))
    assert len({(each.line, each.source) for each in found}) == len(found) > 0
    for each in found:
        compile(each.source, stage, "exec")
