"""Child processes execute nothing that lies in the folder the user works in."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from conftest import FIXTURES
from test_structure import MODULES

from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.sources import load_source
from bpe_interop.verify.children import ChildPair
from bpe_interop.verify.sides import ORDINARY, Own

SOURCE = next((FIXTURES / "tokenizers/gguf-tiny/gguf").iterdir())
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
    pair = ChildPair(partial(Own, model), partial(Own, model), [ORDINARY])
    try:
        [answers] = pair.compare(["some text"])
    finally:
        pair.close()
    assert (answers.alone, answers.failures_a) == (0, [])
    assert not trace.exists()


def test_llama_cpp(trace: Path) -> None:
    engine = LlamaCppEngine(SOURCE.read_bytes())
    assert engine.decode(engine.encode("some text")) == "some text"
    engine.close()
    assert not trace.exists()


def test_children_are_started_in_one_way() -> None:
    named = [path.name for path in MODULES if "sys.executable" in path.read_text("utf-8")]
    assert named == ["child_process.py"]
