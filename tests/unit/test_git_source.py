"""``git:REV:PATH``: what a commit holds, and not what the folder holds now."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from command_line import Command

import bpe_interop
from bpe_interop.errors import BpeInteropError, SourceError
from fixtures import TOKENIZERS


def git(*arguments: str) -> None:
    own = ["-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *own, *arguments], check=True, capture_output=True)


def same(name: str, place: Path) -> bool:
    """Whether no field of the two differs."""
    return not bpe_interop.diff(bpe_interop.load(name).model, bpe_interop.load(place).model)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A commit with two tokenizers, and other ones in the folder since."""
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    git("init", "-q")
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "huggingface", "in/hub")
    shutil.copytree(TOKENIZERS / "gpt2-tiny" / "gpt2", "pair")
    git("add", "-A")
    git("commit", "-qm", "first")
    for path in (tmp_path / "in" / "hub", tmp_path / "pair"):
        shutil.rmtree(path)
    shutil.copytree(TOKENIZERS / "o200k-tiny" / "huggingface", "in/hub")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("git:HEAD:in/hub", "cl100k-tiny/huggingface"),
        ("git:HEAD:in/hub/tokenizer.json", "cl100k-tiny/huggingface"),
        ("git:HEAD:pair/", "gpt2-tiny/gpt2"),
        ("git:HEAD:pair/encoder.json", "gpt2-tiny/gpt2"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_a_source_is_as_it_was_committed(name: str, place: str) -> None:
    assert same(name, TOKENIZERS / place)


@pytest.mark.usefixtures("repository")
def test_it_is_compared_with_the_folder(command: Command) -> None:
    done = command("verify", "git:HEAD:in/hub", "in/hub", "--json")
    assert done.code == 1
    assert '"git:HEAD:in/hub"' in done.out


def test_paths_begin_where_one_is(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository / "in")
    assert same("git:HEAD:../pair", TOKENIZERS / "gpt2-tiny" / "gpt2")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("git:HEAD:none", "does not exist"),
        ("git:none:pair", "invalid object name"),
        ("git:HEAD:", "write git:REV:PATH"),
        ("git:--help:pair", "write git:REV:PATH"),
        ("git:pair", "write git:REV:PATH"),
        ("git:HEAD:.", "no tokenizer is here"),
    ],
)
@pytest.mark.usefixtures("repository")
def test_what_is_not_there_is_said(name: str, said: str) -> None:
    with pytest.raises(SourceError, match=said) as found:
        bpe_interop.load(name)
    assert str(found.value).startswith(f"{name}: ")


@pytest.mark.usefixtures("repository")
def test_a_malformed_file_is_named_as_in_the_commit() -> None:
    Path("broken").mkdir()
    Path("broken/tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": [}}')
    git("add", "-A")
    git("commit", "-qm", "second")
    with pytest.raises(BpeInteropError) as found:
        bpe_interop.load("git:HEAD:broken")
    assert "/tmp" not in str(found.value)
    assert "git:HEAD:broken" in str(found.value)
