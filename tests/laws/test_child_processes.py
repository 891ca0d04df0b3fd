"""Child processes execute nothing that lies in the folder the user works in."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from test_structure import MODULES

from bpe_interop.compare.run import ChildPair
from bpe_interop.compare.sides import ORDINARY, OwnEngine
from bpe_interop.engines.child_process import ChildProcess
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import EngineError
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS

SOURCE = next((TOKENIZERS / "gguf-tiny/gguf").iterdir())
TRAPS = ("bpe_interop", "ctypes", "json", "multiprocessing", "pickle", "struct", "tempfile")
"""What a child imports first, and later."""


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is written when a module of the current folder is imported."""
    trace = tmp_path / "trace"
    for name in TRAPS:
        (tmp_path / f"{name}.py").write_text(f"open({str(trace)!r}, 'a').write(__name__ + ' ')\n")
    monkeypatch.chdir(tmp_path)
    return trace


def test_a_side_in_a_child(trace: Path) -> None:
    model = load_source(SOURCE).model
    pair = ChildPair(partial(OwnEngine, model), partial(OwnEngine, model), [ORDINARY])
    try:
        [answers] = pair.compare(["some text"])
    finally:
        pair.close()
    assert (answers.one_failed, answers.failures_a) == (0, [])
    assert not trace.exists()


class Hangs(OwnEngine):
    def encode_batch(self, texts: Sequence[str], **_: Any) -> list[list[int]]:
        if "hang" in texts:
            time.sleep(600)
        return super().encode_batch(texts)


def test_a_side_that_gives_no_answer_is_an_outcome() -> None:
    model = load_source(SOURCE).model
    pair = ChildPair(partial(OwnEngine, model), partial(Hangs, model), [ORDINARY], seconds=3)
    try:
        fine, hangs = pair.compare(["fine", "hang"])
    finally:
        pair.close()
    assert (fine.compared, fine.failures_b) == (1, [])
    [failure] = hangs.failures_b
    assert (failure.how, failure.what) == ("killed", "gave no answer in 3 seconds")


def test_an_answer_that_nobody_waited_for_is_none_to_the_next_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = load_source(SOURCE).model
    pair = ChildPair(partial(OwnEngine, model), partial(OwnEngine, model), [ORDINARY])

    def interrupt(child: ChildProcess) -> Any:
        raise KeyboardInterrupt

    try:
        assert len(pair.compare(["one"])) == 1
        with monkeypatch.context() as patch:
            patch.setattr(ChildProcess, "_receive", interrupt)
            with pytest.raises(KeyboardInterrupt):
                pair.compare(["one", "two"])
        assert len(pair.compare(["one"])) == 1
    finally:
        pair.close()
    with pytest.raises(EngineError, match="the comparison has ended"):
        pair.compare(["one"])


def test_llama_cpp(trace: Path) -> None:
    engine = LlamaCppEngine(SOURCE.read_bytes())
    assert engine.decode(engine.encode("some text")) == "some text"
    engine.close()
    assert not trace.exists()


def test_children_are_started_in_one_way() -> None:
    named = [path.name for path in MODULES if "sys.executable" in path.read_text("utf-8")]
    assert named == ["child_process.py"]
