"""Every command on files and folders: the short run of ``python -m trust commands``."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bpe_interop.formats import all_formats
from fixtures import TOKENIZERS
from trust import commands
from trust.commands import LONG, Source, some, sources, try_all


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """The command line sets handlers of signals and hooks, which are put back."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    hooks = sys.excepthook, sys.unraisablehook
    yield
    sys.excepthook, sys.unraisablehook = hooks
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_every_command_on_some_sources(seed: int) -> None:
    found = try_all(some(TOKENIZERS, 4, seed), LONG)
    assert found.faults == []
    done = {command for command, code in found.codes if code < 2}
    assert {f"convert {row.name}" for row in all_formats()} < done
    assert {"inspect", "encode", "decode", "view", "extend", "fingerprint"} < done


def test_files_and_folders_are_tried_alone() -> None:
    named = {each.name for each in sources(TOKENIZERS)}
    assert {"gpt2-tiny/gpt2", "gpt2-tiny/gpt2/encoder.json", "gpt2-tiny/gpt2/vocab.bpe"} <= named
    assert [each.preset for each in sources(TOKENIZERS) if each.name == "shuffled-tiny/gpt2"] == [
        None,
        "gpt2",
    ]


@pytest.mark.long
def test_a_refusal_without_a_row_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokenizer.json").write_bytes(b"{}")
    listed = [Source("tokenizer.json", tmp_path / "tokenizer.json")]
    found = try_all(listed, LONG)
    assert len(found.faults) == found.codes.total() - 1  # all but train
    fixture = [Source("cl100k-tiny/tiktoken", TOKENIZERS / "cl100k-tiny" / "tiktoken")]

    def failing() -> None:
        sys.stderr.write("Traceback (most recent call last)")
        sys.exit(1)

    def other() -> None:
        sys.exit(3)

    for main, said in ((failing, "a traceback"), (other, "exit code 3")):
        monkeypatch.setattr(commands, "bpe_interop", main)
        found = try_all(fixture)
        assert len(found.faults) == found.codes.total()
        assert all(said in fault for fault in found.faults)
