"""Folders whose names are no UTF-8: files of ours that name them are JSON, and are read again."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pyarrow.parquet
import pytest
from command_line import Command

from bpe_interop import load
from bpe_interop.proof.prove import prove
from fixtures import TOKENIZERS

TINY = TOKENIZERS / "cl100k-tiny"
TEXTS = ["low lower lowest", "Hello w\u00f6rld", "one\ntwo"]

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names"),
    pytest.mark.usefixtures("few_texts"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the byte FF in its name, and in it a tokenizer and a corpus in two forms."""
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/f\xff"))
    odd.mkdir()
    for name in ("tiktoken", "huggingface"):
        shutil.copytree(TINY / name, odd / name)
    (odd / "corpus.txt").write_text("\n".join(TEXTS), "utf-8")
    with (odd / "corpus.parquet").open("wb") as file:
        pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), file)
    return odd


@pytest.mark.parametrize(
    ("corpus", "layout"),
    [("corpus.txt", "npy"), ("corpus.txt", "megatron"), ("corpus.parquet", "parquet")],
)
def test_token_files_are_written_and_checked(
    command: Command, folder: Path, corpus: str, layout: str
) -> None:
    out, state = folder / "out", folder / "state"
    asked = ("encode", folder / "tiktoken", "--corpus", folder / corpus, "--layout", layout)
    for _ in range(2):
        done = command(*asked, "-o", out, "--state", state)
        assert (done.code, done.err) == (0, "")
        checked = command("verify-shards", out)
        assert (checked.code, checked.err) == (0, "")
        shutil.rmtree(out)


def test_a_source_is_never_the_target(command: Command, folder: Path) -> None:
    """What reports call a source is text, and no path: the path itself is looked at."""
    before = sorted(path.name for path in (folder / "tiktoken").iterdir())
    done = command("encode", folder / "tiktoken", "--corpus", folder / "corpus.txt", "-o", folder)
    assert done.code == 2
    assert "the target holds the source" in done.err
    assert sorted(path.name for path in (folder / "tiktoken").iterdir()) == before


def test_reports_are_json_that_every_reader_takes(command: Command, folder: Path) -> None:
    """A run is read again from its state."""
    report, source = folder / "report.json", folder / "tiktoken"
    asked = ("verify", source, source, "--scope", "text", "--corpus", folder / "corpus.parquet")
    assert command("lock", source, "-o", folder / "my.lock").code == 0
    outcomes = [
        command(*asked, "--state", folder / "state", "--report", report, "--json"),
        command(*asked, "--state", folder / "state", "--json"),
        command("verify", folder / "my.lock", source, "--json"),
        command("inspect", source, "--json"),
    ]
    for done in outcomes:
        assert (done.code, done.err) == (0, "")
    for written in (report.read_bytes(), *(done.raw for done in outcomes)):
        again = json.dumps(json.loads(written), ensure_ascii=False)
        assert rb"f\\xff" in again.encode("utf-8")


def test_a_target_and_a_source_are_named_in_json_that_every_reader_takes(
    command: Command, folder: Path
) -> None:
    source, plain = folder / "huggingface", TINY / "huggingface"
    again = source / "tokenizer.json"
    learned = ("--to", "hf", "--vocab-size", "260", "--pattern", "gpt2")
    outcomes = [
        command("convert", source, folder / "new.json", "--to", "hf", "--json"),
        command("convert", again, folder / "folder", "--to", "hf", "--json"),
        command("convert", source, folder / "gpt2", "--to", "gpt2", "--json"),
        command("extend", plain, folder / "more", "--special", "<x>", "--json"),
        command("train", folder / "corpus.txt", "-o", folder / "own", *learned, "--json"),
    ]
    for done in outcomes:
        told = json.loads(done.raw or "null")
        assert told is not None, done.err
        assert "f\\xff" in told["target"], done.err
        json.dumps(told, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("name", ["x\udcff", "a b", "\u00e9", "-x", ""])
@pytest.mark.parametrize("ending", ["tiktoken", "gguf"])
def test_one_file_can_have_any_name(
    command: Command, tmp_path: Path, name: str, ending: str
) -> None:
    target = tmp_path / f"{name}.{ending}"
    beside = [tmp_path / f"{name}.tiktoken.json"] if ending == "tiktoken" else []
    source = TINY / "tiktoken"
    assert command("convert", source, target, "--no-verify").code == 0
    assert {*tmp_path.iterdir()} == {target, *beside}
    assert prove(load(source).model, load(target).model).outcome == "proved"
