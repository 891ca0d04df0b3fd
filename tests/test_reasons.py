"""Reasons follow from the value: what a format can hold, no fault of its writer explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.trust import laws
from benchmarks.trust.faults import FAULTS, changed, mutant
from bpe_interop.diff import diff
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.model import SequenceTemplate, TemplateText
from bpe_interop.sources import load_source

FORMATS = ("gpt2", "tiktoken", "huggingface", "sentencepiece", "minbpe", "tekken", "gguf")


def damaged(name: str) -> Iterator[tuple[str, RoundTrip]]:
    """Models that a format has read itself, written with one fault at a time."""
    row = by_name(name)
    for source in laws.sources([row]):
        if source.told or RoundTrip(source.model, row).losses:
            continue
        for fault, change in FAULTS.items():
            if changed(change, source.model) is not None:
                yield fault, RoundTrip(source.model, mutant(row, "writer", change))


def is_written(trip: RoundTrip) -> bool:
    """Whether a faulty writer gets to its end; not where a token is named that is gone."""
    try:
        return bool(trip.files)
    except KeyError:
        return False


@pytest.mark.parametrize("name", FORMATS)
def test_no_fault_of_a_writer_is_explained(name: str) -> None:
    seen: dict[str, set[str]] = {}
    for fault, trip in damaged(name):
        for difference in trip.differences if is_written(trip) else ():
            seen.setdefault(fault, set()).add(difference.field)
            assert difference in trip.unexplained, (fault, difference.field, trip.losses)
    assert len(seen) >= 5, seen


FOREIGN = {
    "gpt2": ("clip-tiny/huggingface", "drop-tiny/huggingface"),
    "tiktoken": (
        "clip-tiny/huggingface",
        "drop-tiny/huggingface",
        "spm-charsmap-tiny/huggingface",
    ),
    "huggingface": ("minbpe-tiny/minbpe", "spm-charsmap-tiny/sentencepiece"),
    "gguf": ("gpt2-tiny/tiktoken", "drop-tiny/huggingface"),
    "sentencepiece": ("drop-tiny/huggingface", "never-tiny/huggingface", "cl100k-tiny/tiktoken"),
    "minbpe": ("drop-tiny/huggingface", "gpt2-tiny/huggingface"),
    "tekken": ("cl100k-tiny/huggingface", "spm-charsmap-tiny/huggingface"),
}
"""Models of other formats, which have losses in some fields and none in others."""


@pytest.mark.parametrize("name", FOREIGN)
def test_what_came_back_gives_no_reason_of_its_own(name: str) -> None:
    """A faulty writer makes no field a loss that a right one does not lose."""
    row, shown = by_name(name), 0
    sources = {source.label: source for source in laws.sources()}
    for label in FOREIGN[name]:
        model = sources[label].model
        lost = {loss.field for loss in RoundTrip(model, row).losses}
        for fault in FAULTS.keys() & BREAKING:
            if changed(FAULTS[fault], model) is None:
                continue
            trip = RoundTrip(model, mutant(row, "writer", FAULTS[fault]))
            if not is_written(trip):
                continue
            assert {loss.field for loss in trip.losses} <= lost, (label, fault)
            shown += bool(trip.unexplained)
    assert shown >= 2


@pytest.mark.parametrize("name", FOREIGN)
def test_no_loss_that_a_value_has_hides_a_fault(name: str) -> None:
    """Where a right writer loses a field, another value in it is a defect all the same."""
    row, shown = by_name(name), 0
    sources = {source.label: source for source in laws.sources()}
    for label in FOREIGN[name]:
        right = RoundTrip(sources[label].model, row)
        assert not right.unexplained
        lost = {loss.field for loss in right.losses}
        for fault in FAULTS.keys() & BREAKING:
            if changed(FAULTS[fault], right.model) is None:
                continue
            trip = RoundTrip(right.model, mutant(row, "writer abroad", FAULTS[fault]))
            if not is_written(trip):
                continue
            otherwise = {each.field for each in diff(right.again, trip.again)}
            otherwise &= {each.field for each in trip.differences} - {"extras"}
            defects = {each.field for each in trip.unexplained}
            assert otherwise <= defects, (label, fault, trip.losses)
            shown += bool(lost & otherwise)
    assert shown


BREAKING = {
    "drop a token",
    "swap two ids",
    "swap two merges",
    "drop special tokens",
    "forget the pattern",
}
"""Faults of which something comes back that reading it back could be taken for a reason."""

ALONE = SequenceTemplate((TemplateText("A"),), (TemplateText("A"), TemplateText("B", 1)))
TINY = Path(__file__).parent.parent / "fixtures" / "tokenizers" / "spm-tiny" / "huggingface"


@pytest.mark.parametrize("name", ["gpt2", "sentencepiece", "minbpe", "gguf"])
def test_a_template_that_places_nothing_loses_no_text(name: str) -> None:
    """``$A`` and ``$A $B:1`` say what no template says; a sidecar may spell them out."""
    assert ALONE.places_nothing
    assert ALONE.placed == SequenceTemplate().placed == (("A",), ("A", "B"))
    model = replace(load_source(TINY).model, sequence_template=ALONE)
    trip = RoundTrip(model, by_name(name))
    losses = [loss for loss in trip.losses if loss.field == "sequence_template"]
    assert [(loss.grade, loss.witness) for loss in losses] == [("metadata", None)]
