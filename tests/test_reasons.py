"""Reasons follow from the value: what a format can hold, no fault of its writer explains."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.trust import laws
from benchmarks.trust.faults import FAULTS, changed, mutant
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip

FORMATS = ("tekken", "minbpe", "sentencepiece")

UNCOUNTED = {("sentencepiece", "extras"), ("sentencepiece", "fallback")}
"""Settings that change no id there, of which the value alone does not say how they come back."""


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
        for difference in trip.differences:
            if (name, difference.field) not in UNCOUNTED:
                seen.setdefault(fault, set()).add(difference.field)
                assert difference in trip.unexplained, (fault, difference.field, trip.losses)
    assert len(seen) >= 5, seen
