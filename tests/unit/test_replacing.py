"""What may be replaced: what was written once, never what was read, never anything else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Command

from bpe_interop.errors import TargetError
from bpe_interop.io.target import keep_apart
from bpe_interop.io.writer import staged
from fixtures import TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

TINY = TOKENIZERS / "cl100k-tiny"
HUB, RANKS = TINY / "huggingface", TINY / "tiktoken"
NAME = "cl100k-tiny.tiktoken"


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, through links too."""
    below = [Path(root, name) for root, _, names in os.walk(folder) for name in names]
    return {str(path.relative_to(folder)): path.read_bytes() for path in below}


def links(source: Path, folder: Path) -> Path:
    """A folder of links into another, as the hub's cache has for each snapshot."""
    folder.mkdir(parents=True)
    for path in source.iterdir():
        (folder / path.name).symlink_to(os.path.relpath(path, folder))
    return folder


def a_link_to_the_ranks(root: Path) -> tuple[Path, Path]:
    shutil.copytree(RANKS, root / "blobs")
    (root / "tt").mkdir()
    shutil.copy(RANKS / f"{NAME}.json", root / "tt")
    (root / "tt" / NAME).symlink_to("../blobs/" + NAME)
    return root / "tt" / NAME, root / "tt"


def a_snapshot_of_links(root: Path) -> tuple[Path, Path]:
    shutil.copytree(HUB, root / "blobs")
    snapshot = links(root / "blobs", root / "snapshots" / "main")
    return snapshot / "tokenizer.json", snapshot


def a_link_from_outside(root: Path) -> tuple[Path, Path]:
    shutil.copytree(HUB, root / "tok")
    (root / "name.json").symlink_to("tok/tokenizer.json")
    return root / "name.json", root / "tok"


def a_folder_linked_inside(root: Path) -> tuple[Path, Path]:
    shutil.copytree(HUB, root / "blobs")
    (root / "tok").mkdir()
    (root / "tok" / "inner").symlink_to("../blobs")
    return root / "tok" / "inner" / "tokenizer.json", root / "tok"


def the_target_is_a_link_to_the_source(root: Path) -> tuple[Path, Path]:
    shutil.copytree(HUB, root / "tok")
    (root / "name").symlink_to("tok")
    return root / "tok", root / "name"


REACHED: list[Callable[[Path], tuple[Path, Path]]] = [
    a_link_to_the_ranks,
    a_snapshot_of_links,
    a_link_from_outside,
    a_folder_linked_inside,
    the_target_is_a_link_to_the_source,
]


@pytest.mark.parametrize("made", REACHED)
@pytest.mark.parametrize("name", ["convert", "extend"])
def test_force_never_deletes_a_source_that_links_reach(
    command: Command, tmp_path: Path, made: Callable[[Path], tuple[Path, Path]], name: str
) -> None:
    source, target = made(tmp_path)
    before = contents(tmp_path)
    more = ("--special", "<new>") if name == "extend" else ()
    done = command(name, source, target, "--to", "hf", "--force", "--no-verify", *more)
    assert done.code == 2, done.out
    assert "the target holds the source" in done.err
    assert contents(tmp_path) == before


def test_force_refuses_a_rank_file_that_is_its_own_source(command: Command, tmp_path: Path) -> None:
    shutil.copytree(RANKS, tmp_path / "in")
    before = contents(tmp_path)
    for target in (NAME, f"../in/{NAME}"):
        done = command("convert", tmp_path / "in" / NAME, tmp_path / "in" / target, "--force")
        assert done.code == 2
        assert "the target holds the source" in done.err
    (tmp_path / "other.tiktoken.json").symlink_to(f"in/{NAME}.json")
    done = command("convert", tmp_path / "in", tmp_path / "other.tiktoken", "--force")
    assert done.code == 0
    assert contents(tmp_path / "in") == {key[3:]: data for key, data in before.items()}


def test_force_never_deletes_what_was_learned_from(command: Command, tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "merges.txt").write_bytes(b"abab")
    (tmp_path / "corpus" / "vocab.json").write_bytes(b"{}")
    before = contents(tmp_path)
    asked = ("--to", "hf", "--merges", "1", "--pattern", "gpt2", "--force")
    for read in (tmp_path / "corpus", tmp_path / "corpus" / "merges.txt"):
        done = command("train", read, "-o", tmp_path / "corpus", *asked)
        assert done.code == 2
        assert "the target holds the source" in done.err
    assert contents(tmp_path) == before


def test_extend_never_deletes_the_configuration_it_reads(command: Command, tmp_path: Path) -> None:
    shutil.copytree(HUB, tmp_path / "out")
    (tmp_path / "out" / "config.json").write_bytes(b'{"vocab_size": 2000}')
    before = contents(tmp_path)
    asked = ("--special", "<new>", "--config", tmp_path / "out" / "config.json", "--force")
    done = command("extend", RANKS, tmp_path / "out", "--to", "hf", *asked)
    assert done.code == 2
    assert "the target holds the source" in done.err
    assert contents(tmp_path) == before


def test_a_repository_of_the_hub_is_no_target(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of that name would be written, and taken for the repository."""
    monkeypatch.chdir(tmp_path)
    for asked in (
        ("convert", HUB, "hf:org/name", "--to", "hf"),
        ("extend", HUB, "hf:org/name", "--special", "<x>", "--force"),
    ):
        done = command(*asked)
        assert done.code == 2
        assert "hf upload org/name FOLDER" in done.err
    assert not [*tmp_path.iterdir()]


OTHER: dict[str, dict[str, bytes]] = {
    "a note beside": {"tokenizer.json": b"{}", "notes.md": b"mine"},
    "weights": {"tokenizer.json": b"{}", "config.json": b"{}", "model.safetensors": b"w"},
    "a folder": {"tokenizer.json": b"{}", "src/main.py": b"pass"},
    "an empty name's twin": {"tokenizer.json": b"{}", "tokenizer.json.bak": b"{}"},
    "a hidden file": {"tokenizer.json": b"{}", ".env": b"secret"},
    "another kind of model": {"word2vec.model": b"\x80\x04pickle"},
    "a listing of nothing": {"tokenizer.json": b"{}", "words.vocab": b"a\n"},
    "only configuration": {"config.json": b"{}"},
    "a link": {"tokenizer.json": b"{}", "vocab.json": b"->"},
    "templates of others": {"tokenizer.json": b"{}", "additional_chat_templates/x.py": b""},
}


@pytest.mark.parametrize("what", OTHER)
def test_force_refuses_a_folder_that_holds_other_things(
    command: Command, tmp_path: Path, what: str
) -> None:
    for name, data in OTHER[what].items():
        path = tmp_path / "out" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        if data == b"->":
            path.unlink()
            (tmp_path / "elsewhere").write_bytes(data)
            path.symlink_to("../elsewhere")
    done = command("convert", RANKS, tmp_path / "out", "--to", "hf", "--force", "--no-verify")
    assert done.code == 2
    assert list(OTHER[what])[-1].split("/")[0] in done.err
    assert contents(tmp_path / "out") == OTHER[what]


def test_force_refuses_what_came_while_it_worked(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with staged(target, {"tokenizer.json": b"{}"}):
        pass
    with (
        pytest.raises(TargetError, match="late"),
        staged(target, {"tokenizer.json": b"new"}, force=True),
    ):
        (target / "late").write_bytes(b"mine")
    assert contents(tmp_path) == {"out/tokenizer.json": b"{}", "out/late": b"mine"}


@pytest.mark.parametrize(
    "written",
    [
        ("hf",),
        ("gpt2", "--drop", "pretokenizer", "--drop", "added", "--drop", "lookup_first"),
        ("gpt2", "--names", "vocab", "--drop", "pretokenizer", "--drop", "added"),
        ("tiktoken", "--plugin"),
        ("spm", "--pretoken-level", "--vocab-listing"),
    ],
)
def test_force_replaces_whatever_was_written_once(
    command: Command, tmp_path: Path, written: tuple[str, ...]
) -> None:
    asked = ("convert", RANKS, tmp_path / "out")
    assert command(*asked, "--to", *written, "--no-verify").code == 0
    done = command(*asked, "--to", "hf", "--no-verify", "--force")
    assert done.code == 0, done.err
    assert (tmp_path / "out" / "tokenizer.json").exists()


def test_force_through_a_link_replaces_the_folder_and_not_the_link(tmp_path: Path) -> None:
    with staged(tmp_path / "real", {"tokenizer.json": b"old"}):
        pass
    (tmp_path / "name").symlink_to("real")
    with staged(tmp_path / "name", {"tokenizer.json": b"new"}, force=True):
        pass
    assert (tmp_path / "name").is_symlink()
    assert (tmp_path / "real" / "tokenizer.json").read_bytes() == b"new"


FILES_OUT: list[tuple[str, ...]] = [
    ("lock", "tok/tokenizer.json", "-o", "tok/tokenizer.json"),
    ("lock", "tok", "-o", "link.json"),
    ("view", "tok", "-o", "link.html", "--text", "text.md"),
    ("view", "tok", "-o", "text.html", "--text", "text.html"),
    ("verify", "tok", "tok", "--report", "tok/tokenizer.json"),
    ("verify", "tok", "tok", "--corpus", "text.md", "--report", "text.md"),
    ("verify", "tok", "tok", "--corpus", "text.md", "--state", "tok/tokenizer_config.json"),
    ("verify", "tok.lock.json", "tok", "--report", "tok.lock.json"),
    ("inspect", "tok", "--corpus", "text.svg", "--plot", "text.svg"),
]


@pytest.mark.parametrize("asked", FILES_OUT, ids=" ".join)
def test_a_file_that_was_read_is_never_written_over(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: tuple[str, ...]
) -> None:
    shutil.copytree(HUB, tmp_path / "tok")
    monkeypatch.chdir(tmp_path)
    for name in ("text.md", "text.svg", "text.html"):
        Path(name).write_bytes(b"some text\n")
    for name in ("link.json", "link.html"):
        Path(name).symlink_to("tok/tokenizer.json")
    assert command("lock", "tok", "-o", "tok.lock.json").code == 0
    before = contents(tmp_path)
    done = command(*asked)
    assert done.code == 2, done.out
    assert contents(tmp_path) == before


def test_places_that_only_look_alike_are_apart(tmp_path: Path) -> None:
    shutil.copytree(HUB, tmp_path / "tok")
    for target in ("tok-2", "to", "tok.tiktoken", "tok/new.tiktoken"):
        keep_apart([tmp_path / "tok" / "tokenizer.json"], tmp_path / target)
