"""An engine in a process of its own says only whether it gives what our encoder gives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bpe_interop.compare import conversion
from bpe_interop.compare.conversion import (
    EngineProcess,
    Expected,
    expected,
    gives_all,
    without_tokens,
)
from bpe_interop.compare.report import Whose
from bpe_interop.compare.sides import ORDINARY, PARSED, OwnEngine
from bpe_interop.convert import convert
from bpe_interop.engines import from_files
from bpe_interop.errors import CheckFailedError
from bpe_interop.io.reader import find
from bpe_interop.model import BPEModel
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS

TINY = TOKENIZERS / "cl100k-tiny"
TEXTS = ["", "hello world", "a<|endoftext|>b", "é中\n\n x", "don't"]


@pytest.fixture(scope="module")
def model() -> BPEModel:
    return load_source(TINY / "huggingface").model


def _wanted(model: BPEModel) -> list[Expected]:
    wanted = expected(OwnEngine(model), TEXTS, [ORDINARY, PARSED])
    assert wanted is not None
    return wanted


def _build(model: BPEModel) -> Callable[[], Any]:
    files = dict(find(TINY / "huggingface").files)
    return partial(from_files, "tokenizers", "huggingface", files, without_tokens(model))


def _one_id_more(wanted: list[Expected], mode: int) -> list[Expected]:
    ids = [*wanted[mode].ids[:-1], [*wanted[mode].ids[-1], 0]]
    return [*wanted[:mode], replace(wanted[mode], ids=ids), *wanted[mode + 1 :]]


def test_every_id_and_every_text_is_compared(model: BPEModel) -> None:
    wanted, engine = _wanted(model), _build(model)()
    assert gives_all(engine, wanted)
    assert not gives_all(engine, _one_id_more(wanted, 0))
    assert not gives_all(engine, _one_id_more(wanted, 1))
    # The second mode decodes only what it encodes otherwise.
    asked = [[text is not None for text in each.decoded] for each in wanted]
    assert asked == [[True] * 5, [False, False, True, False, False]]
    for place in range(2):
        changed = ["?" if text and "a" in text else text for text in wanted[place].decoded]
        other = replace(wanted[place], decoded=changed)
        assert not gives_all(engine, [*wanted[:place], other, *wanted[place + 1 :]])


def test_what_our_encoder_fails_on_is_not_asked(model: BPEModel) -> None:
    class Fails(OwnEngine):
        def decode(self, ids: Any) -> str:
            raise MemoryError

    assert expected(Fails(model), TEXTS, [ORDINARY]) is None


def _is_broken() -> Any:
    raise ValueError("broken")


def test_a_process_says_whether_all_is_equal(model: BPEModel) -> None:
    wanted = _wanted(model)
    answers = []
    for build, order in (
        (_build(model), wanted),
        (_build(model), _one_id_more(wanted, 1)),
        (_is_broken, wanted),
        (_build(model), None),
    ):
        with EngineProcess("tokenizers") as child:
            child.build(build)
            if order is not None:
                child.ask("target", order)
            answers.append(child.agrees("target"))
    assert answers == [True, False, False, False]


def test_a_process_that_is_asked_nothing_ends() -> None:
    with EngineProcess("json"):
        pass
    with pytest.raises(KeyError), EngineProcess("json"):
        raise KeyError


@pytest.fixture
def engines_in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    few = ["hello world", "a<|endoftext|>"]
    monkeypatch.setattr(conversion, "worth_processes", lambda model: True)
    monkeypatch.setattr(conversion, "awkward", lambda model: few)
    monkeypatch.setattr(conversion, "fixed", lambda: few)


@pytest.mark.long
@pytest.mark.usefixtures("engines_in_processes")
def test_a_conversion_is_checked_in_processes_as_it_is_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[bool]()
    agrees = EngineProcess.agrees

    def noted(child: EngineProcess, of: Whose) -> bool:
        asked.append(agrees(child, of))
        return asked[-1]

    monkeypatch.setattr(EngineProcess, "agrees", noted)
    there = convert(TINY / "huggingface", tmp_path / "there", "huggingface")
    assert asked == [True, True, True]
    monkeypatch.setattr(conversion, "worth_processes", lambda model: False)
    here = convert(TINY / "huggingface", tmp_path / "here", "huggingface")
    assert there.report is not None
    assert here.report is not None
    assert there.report.checks == here.report.checks
    assert replace(there.report, b="") == replace(here.report, b="")
    assert len(asked) == 3


@pytest.mark.usefixtures("engines_in_processes", "misread")
def test_a_difference_that_a_process_met_is_told_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversion, "check_source", lambda *given: ())
    with pytest.raises(CheckFailedError, match="what was written is not the tokenizer that we"):
        convert(TINY / "huggingface", tmp_path / "out", "tiktoken")
    assert not [*tmp_path.iterdir()]


def test_threads_may_ask_tokenizers_in_both_ways(model: BPEModel) -> None:
    engine = _build(model)()
    ways = ("text", "parse")
    right = {way: engine.encode(TEXTS[2], special=way) for way in ways}
    assert right["text"] != right["parse"]
    wrong: list[object] = []

    def ask(way: Any) -> None:
        for _ in range(300):
            ids = engine.encode(TEXTS[2], special=way)
            if ids != right[way]:
                wrong.append(ids)

    threads = [threading.Thread(target=ask, args=(way,)) for way in ways * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not wrong
