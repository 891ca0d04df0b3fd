"""Reasons follow from the value: what a format can hold, no fault of its writer explains."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.trust import laws
from benchmarks.trust.faults import FAULTS, changed, mutant
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip

FORMATS = ("gpt2", "tiktoken", "huggingface", "sentencepiece", "minbpe", "tekken")


def damaged(name: str) -> Iterator[tuple[str, RoundTrip]]:
    """Models that a format has read itself, written with one fault at a time."""
    row = by_name(name)
    for source in laws.sources([row]):
        if source.told or RoundTrip(source.model, row).losses:
            continue
        for fault, change in FAULTS.items():
            if changed(change, source.model) is not None:
                yield fault, RoundTrip(source.model, mutant(row, "writer", change))


@pytest.mark.parametrize("name", FORMATS)
def test_no_fault_of_a_writer_is_explained(name: str) -> None:
    seen: dict[str, set[str]] = {}
    for fault, trip in damaged(name):
        try:
            differences = trip.differences
        except KeyError:  # a template names a token that the fault took away
            continue
        for difference in differences:
            seen.setdefault(fault, set()).add(difference.field)
            assert difference in trip.unexplained, (fault, difference.field, trip.losses)
    assert len(seen) >= 5, seen


def test_a_difference_without_a_reason_is_a_defect_of_gguf() -> None:
    """Its reasons are told from what came back, so they may explain too much; none is missing."""
    seen = {
        difference.field
        for _, trip in damaged("gguf")
        for difference in trip.unexplained
        if difference.field in ("alphabet", "chat_template")
    }
    assert "chat_template" in seen
