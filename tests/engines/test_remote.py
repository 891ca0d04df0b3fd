"""Corpora by URL: whatever fsspec opens is read as a file on the disk is."""

from __future__ import annotations

import gzip
import io
import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from command_line import Command
from fsspec.implementations.memory import MemoryFileSystem
from out_of_order import Shuffled

from bpe_interop.corpora import PartReader, cut, find_files, identity, read_documents, stamp
from bpe_interop.errors import EngineMissingError, SourceError, by_extra
from bpe_interop.sources import load_source
from bpe_interop.token_files import Settings, Way, check_token_files, encode_corpora
from fixtures import TOKENIZERS

GPT2 = TOKENIZERS / "gpt2-tiny" / "huggingface"
TEXTS = [f"text {number} é\n" * (number % 7 + 1) for number in range(400)]
LINES = "".join(json.dumps({"body": text}, ensure_ascii=False) + "\n" for text in TEXTS).encode()


def parquet() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"body": TEXTS}), file, row_group_size=50)
    return file.getvalue()


CONTENTS = {
    "a.jsonl": LINES,
    "b.jsonl.gz": gzip.compress(LINES),
    "deep/c.parquet": parquet(),
    "deep/d.jsonl.zst": zstandard.compress(LINES),
    ".hidden/x.jsonl": b"no JSON",
}


@pytest.fixture
def memory() -> Iterator[MemoryFileSystem]:
    """``memory://corpus`` holds the files."""
    system = fsspec.filesystem("memory")
    for name, data in CONTENTS.items():
        system.pipe(f"/corpus/{name}", data)
    yield system
    system.store.clear()
    system.pseudo_dirs[:] = [""]


def texts_of(*names: str) -> list[str]:
    return [each.text for file in find_files(names) for each in read_documents(file)]


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("memory://corpus/a.jsonl:body", ["a.jsonl"]),
        ("memory:///corpus/b.jsonl.gz:body", ["b.jsonl.gz"]),
        ("memory://corpus/*.jsonl*:body", ["a.jsonl", "b.jsonl.gz"]),
        ("memory://corpus/deep/c.parquet:body", ["deep/c.parquet"]),
        ("memory://corpus/deep/d.jsonl.zst:body", ["deep/d.jsonl.zst"]),
        (
            "memory://corpus:body",
            ["a.jsonl", "b.jsonl.gz", "deep/c.parquet", "deep/d.jsonl.zst"],
        ),
        ("memory://corpus/**/*.parquet:body", ["deep/c.parquet"]),
    ],
)
def test_every_kind_is_read_whole_and_by_parts(
    memory: MemoryFileSystem, name: str, labels: list[str]
) -> None:
    files = find_files([name])
    assert [file.label for file in files] == [f"memory:///corpus/{each}" for each in labels]
    assert texts_of(name) == TEXTS * len(labels)
    parts = cut(files, 3_000)
    assert len(parts) > 1 or labels[0].endswith(("gz", "zst"))
    found = [each.text for part in parts for each in PartReader(part).documents()]
    assert found == TEXTS * len(labels)


def test_a_url_is_one_file_however_it_is_spelled(memory: MemoryFileSystem) -> None:
    names = ["memory://corpus/a.jsonl:body", "memory:///corpus/a.jsonl:body"]
    assert len(find_files(names)) == 1


def test_a_name_with_a_colon_is_no_field(memory: MemoryFileSystem) -> None:
    memory.pipe("/corpus/at 12:30", b"plain\n")
    assert texts_of("memory://corpus/at 12:30") == ["plain\n"]


def test_plain_text_begins_as_it_does_on_the_disk(memory: MemoryFileSystem) -> None:
    memory.pipe("/t.txt", b'{"a": 1}\n')
    with pytest.raises(SourceError, match="begins as JSON does"):
        texts_of("memory://t.txt")
    assert texts_of("memory://t.txt:-") == ['{"a": 1}\n']


def test_a_file_url_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(LINES)
    url = f"file://{tmp_path}/a.jsonl:body"
    assert find_files([url]) == find_files([f"{tmp_path}/a.jsonl:body"])


def test_what_lies_in_an_archive_is_one_part(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("in/a.jsonl", "in/b.jsonl"):
            archive.writestr(name, LINES)
    files = find_files([f"zip://in/*.jsonl::{tmp_path}/a.zip:body"])
    assert [file.name for file in files] == ["in/a.jsonl", "in/b.jsonl"]
    parts = cut(files, 1_000)
    assert [(part.start, part.end) for part in parts] == [(0, None)] * 2
    assert [each.text for part in parts for each in PartReader(part).documents()] == TEXTS * 2


def test_a_change_is_seen(memory: MemoryFileSystem) -> None:
    [file] = find_files(["memory://corpus/a.jsonl:body"])
    before, at = identity(file), stamp(file)
    assert (identity(file), stamp(file)) == (before, at)
    middle = len(LINES) // 2
    memory.pipe("/corpus/a.jsonl", LINES[:middle] + b"?" + LINES[middle + 1 :])
    assert identity(file) == before
    assert stamp(file) != at


class Unsteady(io.BytesIO):
    """Reads a part, and then fails."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell() >= 20_000:
            raise RuntimeError("503 come back later\nand more")
        return super().read(min(size or 0, 20_000))


class Broken(fsspec.AbstractFileSystem):
    """A store with errors of its own, as those of object stores and web servers are."""

    protocol = "broken"

    def info(self, path: str, **more: Any) -> dict[str, Any]:
        return {"name": path, "size": 50_000, "type": "file"}

    def _open(self, path: str, mode: str = "rb", **more: Any) -> Unsteady:
        return Unsteady(b"text\n" * 10_000)


def test_what_a_store_raises_is_one_error_with_its_place() -> None:
    fsspec.register_implementation("broken", Broken, clobber=True)
    with pytest.raises(SourceError) as raised:
        texts_of("broken://t.txt")
    assert raised.value.what == "RuntimeError: 503 come back later"
    assert raised.value.where == "broken://t.txt"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("memory://corpus/none.txt", "no such file"),
        ("memory://corpus/*.txt", "no file matches"),
        ("nosuchstore://a/b.txt", "Protocol not known"),
        ("https://me:secret@host/a.txt", "holds a password"),
        ("zip://a.txt::memory://corpus/a.jsonl", "not a zip file"),
    ],
)
def test_bad_input_is_one_error(
    memory: MemoryFileSystem, command: Command, name: str, said: str
) -> None:
    done = command("inspect", GPT2, "--corpus", name)
    assert done.code == 2
    assert said in done.err
    assert "secret" not in done.err


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(EngineMissingError, match="fsspec is needed") as raised:
        find_files(["memory://a.txt"])
    assert raised.value.fix == by_extra("fsspec")


def test_a_corpus_by_url_is_encoded_and_checked(memory: MemoryFileSystem, tmp_path: Path) -> None:
    settings, loaded = Settings("npy", special="text"), load_source(GPT2)
    with Shuffled(1) as executor:
        way = Way(executor, 3)
        corpora = ["memory://corpus:body"]
        encode_corpora(loaded, corpora, tmp_path / "ids", settings, shard_bytes=4_000, way=way)
    found = check_token_files(tmp_path / "ids", sample=50)
    assert (found.wrong, found.unread, found.sampled) == ((), (), 50)
    assert found.manifest.counts["documents"] == 4 * len(TEXTS)
    assert found.manifest.origins[0].path == "memory:///corpus/a.jsonl"
