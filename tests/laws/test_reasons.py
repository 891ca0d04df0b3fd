"""Reasons follow from the value: what a format can hold, no fault of its writer explains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.model import SequenceTemplate, TemplateText
from bpe_interop.sources import load_source
from bpe_interop.steps import SPACE, Metaspace, Pattern, Replace
from fixtures import TOKENIZERS
from trust import laws
from trust.faults import FAULTS, changed, mutant

FORMATS = ("gpt2", "tiktoken", "huggingface", "sentencepiece", "minbpe", "tekken", "gguf")


def damaged(name: str) -> Iterator[tuple[str, RoundTrip]]:
    """Models that a format has read itself, written with one fault at a time."""
    row = by_name(name)
    exact = (
        source
        for source in laws.sources([row])
        if not source.told and not RoundTrip(source.model, row).losses
    )
    for source in islice(exact, 4):
        for fault, change in FAULTS.items():
            if changed(change, source.model) is not None:
                yield fault, RoundTrip(source.model, mutant(row, "writer", change))


def is_written(trip: RoundTrip) -> bool:
    """Whether a faulty writer gets to its end; not where a token is named that is gone."""
    try:
        return bool(trip.files)
    except KeyError:
        return False


@pytest.mark.long
@pytest.mark.parametrize("name", FORMATS)
def test_every_fault_of_a_writer_is_a_loss(name: str) -> None:
    """It comes back otherwise, so the user is told, and is refused where it changes ids."""
    seen: dict[str, set[str]] = {}
    for fault, trip in damaged(name):
        lost = {loss.field for loss in trip.losses} if is_written(trip) else set()
        for difference in trip.differences if is_written(trip) else ():
            seen.setdefault(fault, set()).add(difference.field)
            assert difference.field in lost, (fault, difference.field)
    assert len(seen) >= 5, seen
    for fault in ("drop a token", "swap two ids"):
        written = (trip for each, trip in damaged(name) if each == fault and is_written(trip))
        trips = [trip for trip in written if trip.differences]
        # minbpe writes no ids: they follow from the order of the merges, and come back right.
        assert trips or (name, fault) == ("minbpe", "swap two ids")
        for trip in trips:
            assert any(loss.grade != "metadata" for loss in trip.losses), fault


ALONE = SequenceTemplate((TemplateText("A"),), (TemplateText("A"), TemplateText("B", 1)))
TINY = TOKENIZERS / "spm-tiny" / "huggingface"


@pytest.mark.parametrize("name", ["gpt2", "sentencepiece", "minbpe", "gguf"])
def test_a_template_that_places_nothing_loses_no_text(name: str) -> None:
    """``$A`` and ``$A $B:1`` say what no template says; a sidecar may spell them out."""
    assert ALONE.places_nothing
    assert ALONE.placed == SequenceTemplate().placed == (("A",), ("A", "B"))
    model = replace(load_source(TINY).model, sequence_template=ALONE)
    trip = RoundTrip(model, by_name(name))
    losses = [loss for loss in trip.losses if loss.field == "sequence_template"]
    assert [(loss.grade, loss.witness) for loss in losses] == [("metadata", None)]


def test_a_text_is_shown_only_where_both_sides_together_differ_on_it() -> None:
    """A normalizer and a pre-tokenizer that only together do what SentencePiece does."""
    doubled = (Replace(Pattern(rf"\A[ {SPACE}]", "oniguruma"), 2 * SPACE), Replace(" ", SPACE))
    prefixed = (Metaspace(SPACE, "always"),)
    model = replace(load_source(TINY).model, normalizer=doubled, pretokenizer=prefixed)
    trip = RoundTrip(model, by_name("gguf"))
    lost = {loss.field: loss for loss in trip.losses if loss.grade != "metadata"}
    assert {*lost} == {"normalizer", "pretokenizer"}
    assert [(loss.witness, loss.shown) for loss in lost.values()] == 2 * [(None, False)]
