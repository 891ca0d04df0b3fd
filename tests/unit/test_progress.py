"""Long runs say at which stage they are, and of how many texts how many are done."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

import pytest
from reports import few_texts
from rich.console import Console

import bpe_interop
from bpe_interop.cli import progress as module
from bpe_interop.cli.progress import progress
from bpe_interop.compare import Progress, RunOptions
from bpe_interop.corpora import find_files
from bpe_interop.statistics import measure
from bpe_interop.ticks import PhaseTick, Unit
from bpe_interop.token_files import Step
from fixtures import FIXTURES, TOKENIZERS

GPT2 = TOKENIZERS / "gpt2-tiny"


class Noted(PhaseTick):
    """The phases in order: name, total, and how many texts were counted."""

    def __init__(self) -> None:
        self.phases: list[tuple[str, int | None, int]] = []

    def __call__(self, count: int) -> None:
        name, total, done = self.phases[-1]
        self.phases[-1] = name, total, done + count

    def begin(self, phase: str, total: int | None = None, unit: Unit = "texts") -> None:
        self.phases.append((phase, total, 0))


def test_verify_counts_to_the_total_that_it_said(monkeypatch: pytest.MonkeyPatch) -> None:
    few_texts(monkeypatch)
    noted = Noted()
    report = bpe_interop.verify(
        GPT2 / "tiktoken", GPT2 / "huggingface", options=RunOptions(tick=noted)
    )
    assert [name for name, _, _ in noted.phases] == [
        *("proving", "tokens, each alone", "awkward texts"),
    ]
    assert noted.phases[-1][1:] == (report.texts, report.texts)
    assert [done for _, total, done in noted.phases if total is None] == [0, 0]


def test_convert_counts_to_the_totals_that_it_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_texts(monkeypatch)
    noted = Noted()
    source = GPT2 / "huggingface" / "tokenizer.json"
    done = bpe_interop.convert(source, tmp_path / "x", "tiktoken", tick=noted)
    assert [name for name, _, _ in noted.phases] == [
        *("running the source in tokenizers", "running what was written in tiktoken", "proving"),
    ]
    assert done.report is not None
    checked = [each.texts for each in done.report.checks]
    assert [(total, count) for _, total, count in noted.phases[:2]] == [(n, n) for n in checked]


def show_bars(monkeypatch: pytest.MonkeyPatch, out: io.StringIO) -> None:
    """Lets bars go to a text, as if it were a terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    console = Console(file=out, force_terminal=True, width=140)
    monkeypatch.setattr("rich.console.Console", lambda file: console)


def test_a_terminal_shows_the_stage_and_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    show_bars(monkeypatch, out)
    with progress("checking") as tick:
        assert isinstance(tick, PhaseTick)
        tick.begin("the source in tokenizers", 1200)
        tick(300)
    shown = out.getvalue()
    assert "reading" in shown  # from the first second
    for part in ("the source in tokenizers", "300 of 1,200 texts"):
        assert part in shown
    with progress("checking") as tick:
        tick(7)
    assert "7 texts" in out.getvalue()


def test_measuring_counts_to_the_bytes_of_all_files() -> None:
    noted = Noted()
    files = find_files([FIXTURES / "corpora" / "apostrophes.txt", FIXTURES / "corpora"])
    measure([("tiny", bpe_interop.load(GPT2 / "huggingface"))], files, tick=noted)
    size = sum(file.size or 0 for file in files)
    assert noted.phases == [("measuring", size, size)]


def test_bytes_are_shown_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    show_bars(monkeypatch, out)
    with progress("measuring") as tick:
        assert isinstance(tick, PhaseTick)
        tick.begin("measuring", 3_000_000, "bytes")
        tick(1_500_000)
    assert "1.5 MB of 3.0 MB" in out.getvalue()


@pytest.mark.parametrize("of_ids", [False, True])
def test_a_terminal_shows_how_far_a_corpus_is(
    monkeypatch: pytest.MonkeyPatch, of_ids: bool
) -> None:
    out = io.StringIO()
    show_bars(monkeypatch, out)
    # A run before read 20 of the 100 MB; this one reads 20 more in ten seconds.
    seen = Progress(10, 30_000_000, 40_000_000, 100_000_000, 10.0, 20_000_000)
    with progress("awkward texts") as tick:
        tick.watch(Step(**asdict(seen), tokens=7_654_321) if of_ids else seen)
    phase, ids = ("encoding", "7,654,321 ids, ") if of_ids else ("corpora", "")
    assert phase in out.getvalue()
    assert f"{ids}40.0 MB of 100.0 MB, 3.0 MB/s, 0:00:30 left" in out.getvalue()


def test_time_left_is_not_guessed() -> None:
    assert Progress(0, 0, 20, 100, 3.0, 20).left is None
    assert Progress(1, 9, 40, 0, 3.0).left is None
    assert Progress(1, 9, 40, 40, 3.0).left == 0


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("awkward texts") as tick:
        tick(3)
    assert capsys.readouterr() == ("", "")


def test_without_a_terminal_a_long_run_says_now_and_then_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    spoken = threading.Event()

    def tell(line: str) -> None:
        print(line, file=sys.stderr)
        spoken.set()

    monkeypatch.setattr(module, "BEAT", 0.01)
    monkeypatch.setattr(module, "tell", tell)
    with progress("checking") as tick:
        tick.begin("the source in tokenizers", 1200)
        steps: list[Callable[[], None]] = [
            partial(tick, 300),
            partial(tick.watch, Step(2, 50, 100, 400, 2.0)),
            partial(tick.watch, Progress(2, 50, 100, 400, 2.0)),
        ]
        for step in steps:
            step()
            for _ in range(2):  # the first line may have been made before
                spoken.clear()
                assert spoken.wait(30)
    said = capfd.readouterr().err
    assert " s: the source in tokenizers: 300 of 1,200 texts\n" in said
    how_far = "100 bytes of 400 bytes, 25 bytes/s, 0:00:06 left\n"
    assert f" s: encoding: 0 ids, {how_far}" in said
    assert f" s: corpora: {how_far}" in said
