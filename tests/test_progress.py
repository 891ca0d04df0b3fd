"""Long runs say at which stage they are, and of how many texts how many are done."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from conftest import FIXTURES
from reports import few_texts
from rich.console import Console

import bpe_interop
from bpe_interop.cli import screen
from bpe_interop.corpora import find_shards
from bpe_interop.statistics import measure
from bpe_interop.ticks import StageTick, Unit
from bpe_interop.verify import RunOptions

GPT2 = FIXTURES / "tokenizers" / "gpt2-tiny"


class Noted(StageTick):
    """The stages in order: name, total, and how many texts were counted."""

    def __init__(self) -> None:
        self.stages: list[tuple[str, int | None, int]] = []

    def __call__(self, count: int) -> None:
        name, total, done = self.stages[-1]
        self.stages[-1] = name, total, done + count

    def begin(self, stage: str, total: int | None = None, unit: Unit = "texts") -> None:
        self.stages.append((stage, total, 0))


def test_verify_counts_to_the_total_that_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    few_texts(monkeypatch)
    noted = Noted()
    report = bpe_interop.verify(
        GPT2 / "tiktoken", GPT2 / "huggingface", options=RunOptions(tick=noted)
    )
    assert [name for name, _, _ in noted.stages] == [
        *("proving", "tokens, each alone", "awkward texts"),
    ]
    assert noted.stages[-1][1:] == (report.texts, report.texts)
    assert [done for _, total, done in noted.stages if total is None] == [0, 0]


def test_convert_counts_to_the_totals_that_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_texts(monkeypatch)
    noted = Noted()
    done = bpe_interop.convert(GPT2 / "huggingface", tmp_path / "x", "tiktoken", tick=noted)
    assert [name for name, _, _ in noted.stages] == [
        *("the source in tokenizers", "what was written in tiktoken", "proving"),
    ]
    checked = [each.texts for each in done.checks]
    assert [(total, count) for _, total, count in noted.stages[:2]] == [(n, n) for n in checked]


def test_a_terminal_shows_the_stage_and_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(
        screen, "Console", lambda file: Console(file=out, force_terminal=True, width=100)
    )
    with screen.counting("checking") as tick:
        assert isinstance(tick, StageTick)
        tick.begin("the source in tokenizers", 1200)
        tick(300)
    shown = out.getvalue()
    assert "reading" in shown  # from the first second
    for part in ("the source in tokenizers", "300 of 1,200 texts"):
        assert part in shown
    with screen.counting("checking") as tick:
        tick(7)
    assert "7 texts" in out.getvalue()


def test_measuring_counts_to_the_bytes_of_all_files() -> None:
    noted = Noted()
    shards = find_shards([FIXTURES / "corpora" / "apostrophes.txt", FIXTURES / "corpora"])
    measure([("tiny", bpe_interop.load(GPT2 / "huggingface"))], shards, noted)
    size = sum(shard.size or 0 for shard in shards)
    assert noted.stages == [("measuring", size, size)]


def test_bytes_are_shown_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(
        screen, "Console", lambda file: Console(file=out, force_terminal=True, width=100)
    )
    with screen.counting("measuring") as tick:
        assert isinstance(tick, StageTick)
        tick.begin("measuring", 3_000_000, "bytes")
        tick(1_500_000)
    assert "1.5 MB of 3.0 MB" in out.getvalue()


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with screen.comparing() as (tick, _):
        tick(3)
    assert capsys.readouterr() == ("", "")
