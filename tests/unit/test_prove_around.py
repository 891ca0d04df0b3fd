"""What is placed around a text, and what a side does not say: each comparison alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from small_documents import Json, Side, document

from bpe_interop.proof.prove import prove

VOCABULARY = {"a": 0, "b": 1, "x": 2}


def placed(single: str, pair: str) -> Side:
    """Templates by letters: ``A`` and ``B`` are the texts, others are tokens."""

    def parts(letters: str) -> list[Json]:
        return [
            {"Sequence" if letter in "AB" else "SpecialToken": {"id": letter, "type_id": 0}}
            for letter in letters
        ]

    known = {
        letter: {"id": letter, "ids": [VOCABULARY[letter]], "tokens": [letter]} for letter in "bx"
    }
    processor = {"type": "TemplateProcessing", "single": parts(single), "pair": parts(pair)}
    return Side(document(VOCABULARY, post_processor=processor | {"special_tokens": known}))


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        (("xA", "xAB"), ("xA", "xAB"), "proved"),
        (("A", "AB"), ("A", "AB"), "proved"),
        (("xA", "xAB"), ("bA", "xAB"), "refuted"),
        (("xA", "xAB"), ("A", "xAB"), "refuted"),
        (("xA", "xAB"), ("xA", "xABx"), "unknown"),
        (("A", "AB"), ("A", "AxB"), "unknown"),
    ],
)
def test_templates_are_compared(one: tuple[str, str], other: tuple[str, str], outcome: str) -> None:
    left, right = placed(*one), placed(*other)
    assert (left.ids("a") != right.ids("a")) is (outcome == "refuted")
    assert prove(left.model, right.model).outcome == outcome
    assert prove(left.model, right.model, "ordinary").outcome == "proved"


@pytest.mark.parametrize("field", ["added", "sequence_template"])
def test_what_one_side_does_not_say_is_not_proved(field: str) -> None:
    said = placed("xA", "xAB").model
    nothing: dict[str, Any] = {field: None}
    unsaid = replace(said, **nothing)
    assert prove(said, unsaid).outcome == "unknown"
    assert prove(unsaid, said).outcome == "unknown"
