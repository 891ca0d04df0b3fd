"""docs/conversions.md's matrix on the real files: what is refused, what is written and runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bpe_interop.compare.stress import around_added, fixed
from bpe_interop.encode import Encoder
from bpe_interop.engines import from_files
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.presets import fill
from fixtures import ROOT
from fixtures.code_points import WHOLE_SWEEP
from trust.matrix import FORMATS, REAL, Real, opened, refusal

PAGE = (ROOT / "docs" / "conversions.md").read_text("utf-8")


def cells(real: Real) -> dict[str, str]:
    """What the page says of a tokenizer, by format."""
    table = PAGE.partition("| source |")[2].splitlines()
    [line] = [line for line in table if line.startswith(f"| {real.name} |")]
    return dict(zip(FORMATS, (cell.strip() for cell in line.split("|")[2:-1]), strict=True))


SAME = {"o200k_base", "o200k_harmony", "Qwen rank file", "Llama-3 rank file", "p50k_edit"}
"""Tokens and merges of another row: only the whole sweep and ``trust matrix`` run these."""

ROWS = [real for real in REAL if WHOLE_SWEEP or real.name not in SAME]


def test_rows_that_are_left_out_are_on_the_page() -> None:
    assert {*SAME} < {real.name for real in REAL}
    for real in REAL:
        assert set(cells(real)) == {*FORMATS}


@pytest.mark.parametrize("real", ROWS, ids=lambda real: real.name)
def test_each_row_is_as_the_page_says(real: Real, data: Callable[[str], Path]) -> None:
    data(real.path)
    model = opened(real, data("")).model
    for target, said in cells(real).items():
        if target == real.format:
            assert said == "(source)"
            continue
        trip = RoundTrip(model, by_name(target))
        if refused := refusal(trip):
            assert said == f"refused: {refused}"
        else:
            assert said in ("proved", "tested")
            row, again = trip.format, fill(trip.again, None)
            engine = from_files(row.engine, row.name, trip.files, again)
            encoder = Encoder(model)
            for text in [*fixed(), *around_added(model, 20)]:
                assert engine.encode(text) == encoder.encode(text)
