"""A killed run leaves what was there, what was to be there, or what is refused; and no litter."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Command

from bpe_interop.errors import SourceError, TargetError
from bpe_interop.io.reader import find
from bpe_interop.io.writer import replace_file, staged
from fixtures import TOKENIZERS
from trust.kills import OPERATIONS, kill_everywhere

TINY = TOKENIZERS / "cl100k-tiny"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="forks")


SHORT = ("convert, folder", "convert, new pair", "lock", "view", "verify --state")
"""The others take longer, and call the same: ``python -m trust kills``."""


@pytest.mark.long
@pytest.mark.parametrize("name", SHORT)
def test_a_kill_before_any_call_leaves_the_target_whole_or_refused(name: str) -> None:
    operation = next(each for each in OPERATIONS if each.name == name)
    found = kill_everywhere(operation, again=7)
    assert found.faults == []
    assert found.points >= 5
    assert sum(found.left.values()) == found.points
    assert found.left["old"] > 0
    assert found.left["new"] > 0
    assert (found.left["refused"] > 0) == operation.pair


def test_a_pair_whose_second_step_fails_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "x.tiktoken"
    old = {"x.tiktoken": b"1", "x.tiktoken.json": b"2"}
    with staged(target, old):
        pass
    rename = os.rename
    for refused in range(1, 5):
        calls = itertools.count(1)

        def failing(a: Path, b: Path, at: int = refused, calls: Iterator[int] = calls) -> None:
            if next(calls) == at:
                raise OSError(5, "Input/output error")
            rename(a, b)

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", failing)
            with (
                pytest.raises(TargetError, match="Input/output"),
                staged(target, {"x.tiktoken": b"3", "x.tiktoken.json": b"4"}, force=True),
            ):
                pass
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_ranks_never_stay_with_the_sidecar_of_others(tmp_path: Path) -> None:
    """A file target whose new files lack a sidecar takes the old sidecar away."""
    target = tmp_path / "x.tiktoken"
    with staged(target, {"x.tiktoken": b"1", "x.tiktoken.json": b"2"}):
        pass
    with staged(target, {"x.tiktoken": b"3"}, force=True):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["x.tiktoken"]


def test_a_sidecar_without_its_ranks_says_what_happened(tmp_path: Path) -> None:
    (tmp_path / "x.tiktoken.json").write_bytes(b"{}")
    with pytest.raises(SourceError, match="only its sidecar is here"):
        find(tmp_path / "x.tiktoken")


def test_files_that_are_replaced_while_they_are_read_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bpe_interop.io import reader

    for name in ("encoder.json", "vocab.bpe"):
        (tmp_path / name).write_bytes((TINY.parent / "gpt2-tiny" / "gpt2" / name).read_bytes())
    right = reader.read

    def late(path: Path) -> bytes:
        data = right(path)
        replace_file(tmp_path / "vocab.bpe", b"#version: 0.2\n")
        return data

    monkeypatch.setattr(reader, "read", late)
    with pytest.raises(SourceError, match="was replaced while it was read"):
        find(tmp_path / "encoder.json")


def test_the_stage_of_a_run_that_still_works_is_not_cleaned(
    command: Command, tmp_path: Path
) -> None:
    litter = tmp_path / ".bpe-interop-abcd1234.tmp"
    other = tmp_path / ".bpe-interop-mine"
    litter.mkdir()
    (litter / "file").write_bytes(b"left")
    other.mkdir()
    with staged(tmp_path / "out", {"tokenizer.json": b"{}"}) as stage:
        assert command("lock", TINY / "tiktoken", "-o", tmp_path / "x.lock").code == 0
        assert stage.is_dir()
        assert not litter.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [other.name, "out", "x.lock"]


def test_folders_made_for_a_target_go_where_it_fails(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), staged(tmp_path / "a" / "b" / "out", {"vocab.json": b""}):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
