"""Corpora as files of ids: what loaders read, whole or not at all, and checked again."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import random
import resource
import shutil
import sqlite3
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from command_line import Command
from in_tokenizers import id_of
from out_of_order import Shuffled
from tokenizers import Tokenizer as Engine
from tokenizers.processors import TemplateProcessing

from bpe_interop.corpora import CorpusFile, Document, Place
from bpe_interop.errors import ArgumentError, FormatError, SourceError, TargetError
from bpe_interop.model import AddedToken, BPEModel, PairList, Vocab
from bpe_interop.sources import load_source
from bpe_interop.token_files import LAYOUTS, Settings, Way, check_token_files, encode_corpora
from bpe_interop.token_files.job import eos_id, rows_of, with_ends
from bpe_interop.token_files.layouts import Dtype, LayoutName, Rows, narrowed
from fixtures import FIXTURES, TOKENIZERS

GPT2 = TOKENIZERS / "gpt2-tiny" / "huggingface"
EOS = "<|endoftext|>"

# Written by the IndexedDatasetBuilder of megatron-core 0.16.1 for ROWS.
ROWS = [[[1, 2, 3], [4]], [], [[65535]], [[7] * 5, [8, 9]]]
MEGATRON = (
    "0100020003000400ffff0700070007000700070008000900",
    "4d4d494449445800000100000000000000080500000000000000050000000000000003000000010000000100"
    "000005000000020000000000000000000000060000000000000008000000000000000a000000000000001400"
    "00000000000000000000000000000200000000000000020000000000000003000000000000000500000000000000",
)
WIDE_ROWS = [[[1, 2, 3], [4]], [], [[200_000]], [[7] * 5, [8, 9]]]
MEGATRON_INT32 = (
    "01000000020000000300000004000000400d030007000000070000000700000007000000070000000800000009"
    "000000",
    "4d4d494449445800000100000000000000040500000000000000050000000000000003000000010000000100"
    "000005000000020000000000000000000000" + "0c0000000000000010000000000000001400000000000000"
    "2800000000000000000000000000000002000000000000000200000000000000030000000000000005000000"
    "00000000",
)


def write(folder: Path, layout: LayoutName, dtype: Dtype, documents: list[list[list[int]]]) -> None:
    """Writes documents, three at a time."""
    with LAYOUTS[layout].writer(folder, "x", dtype) as writer:
        for first in range(0, len(documents), 3):
            some = documents[first : first + 3]
            places = [Place(number + 1, number) for number in range(first, first + len(some))]
            rows = [row for document in some for row in document]
            writer.add(
                [Document("", 0, CorpusFile("f", None), place, place) for place in places],
                Rows(
                    array("I", chain.from_iterable(rows)),
                    array("q", accumulate(map(len, rows))),
                    array("q", accumulate(map(len, some))),
                ),
            )


@pytest.mark.parametrize(
    ("dtype", "rows", "expected"),
    [("uint16", ROWS, MEGATRON), ("uint32", WIDE_ROWS, MEGATRON_INT32)],
)
def test_the_index_is_the_one_that_megatron_writes(
    tmp_path: Path, dtype: Dtype, rows: list[list[list[int]]], expected: tuple[str, str]
) -> None:
    write(tmp_path, "megatron", dtype, rows)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.bin", "x.idx"]
    assert (tmp_path / "x.bin").read_bytes().hex() == expected[0]
    assert (tmp_path / "x.idx").read_bytes().hex() == expected[1]


def test_numpy_reads_arrays(tmp_path: Path) -> None:
    write(tmp_path, "npy", "uint32", WIDE_ROWS)
    ids, rows, documents = (
        np.load(tmp_path / f"x.{name}.npy", mmap_mode="r") for name in ("ids", "rows", "documents")
    )
    assert (ids.dtype, rows.dtype) == (np.uint32, np.int64)
    assert ids.tolist() == [1, 2, 3, 4, 200_000, 7, 7, 7, 7, 7, 8, 9]
    found = [
        [ids[rows[at] : rows[at + 1]].tolist() for at in range(first, end)]
        for first, end in pairwise(documents)
    ]
    assert found == WIDE_ROWS


@pytest.mark.parametrize("layout", ["megatron", "npy"])
def test_many_documents_are_written_piece_by_piece(tmp_path: Path, layout: LayoutName) -> None:
    chosen = random.Random(1)
    documents = [
        [[chosen.randrange(60_000)] * chosen.randrange(1, 900)] * chosen.randrange(3)
        for _ in range(3_000)
    ]
    write(tmp_path, layout, "uint16", documents)
    wanted = dict.fromkeys((0, 7, 1500, 2999), "")
    read = LAYOUTS[layout].read
    assert read is not None
    found = read(tmp_path, "x", "uint16", wanted)
    assert found == {n: [each for row in documents[n] for each in row] for n in wanted}
    data = (tmp_path / ("x.bin" if layout == "megatron" else "x.ids.npy")).read_bytes()
    flat = array("H", [each for rows in documents for row in rows for each in row])
    assert data.endswith(flat.tobytes())


def test_an_id_that_does_not_fit_is_never_cut_off() -> None:
    assert narrowed(array("I", [0, 1, 65_535]), "H") == array("H", [0, 1, 65_535])
    assert narrowed(array("I", [1 << 16]), "I") == array("I", [1 << 16])
    for ids in ([1 << 16], [5, 0x01000000], [65_535, 70_000, 1]):
        with pytest.raises(OverflowError, match="65535"):
            narrowed(array("I", ids), "H")


@pytest.mark.parametrize(
    ("end", "longest", "rows"),
    [
        (None, None, [[[1, 2, 3, 4]], [], [[5]]]),
        (None, 2, [[[1, 2], [3, 4]], [], [[5]]]),
        (None, 3, [[[1, 2, 3], [4]], [], [[5]]]),
        (9, None, [[[1, 2, 3, 4, 9]], [[9]], [[5, 9]]]),
        (9, 2, [[[1, 2], [3, 4], [9]], [[9]], [[5, 9]]]),
        (9, 1, [[[1], [2], [3], [4], [9]], [[9]], [[5], [9]]]),
    ],
)
def test_documents_become_rows(
    end: int | None, longest: int | None, rows: list[list[list[int]]]
) -> None:
    ids, ends = array("I", [1, 2, 3, 4, 5]), array("q", [4, 4, 5])
    made = rows_of(*(ids, ends) if end is None else with_ends(ids, ends, end), longest)
    each = [made.ids[a:b].tolist() for a, b in pairwise((0, *made.ends))]
    assert [each[a:b] for a, b in pairwise((0, *made.lasts))] == rows


# A corpus.


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    seeds = [path.read_bytes().decode() for path in sorted((FIXTURES / "corpora").glob("*.txt"))]
    for number in range(3):
        with (folder / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            for line in range(60):
                text = seeds[(number + line) % len(seeds)][line * 7 : line * 7 + 120]
                text = "" if line == 5 else text
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    (folder / "empty.txt").write_bytes(b"")
    return folder


def texts_of(corpus: Path) -> list[str]:
    return [
        json.loads(line)["text"]
        for path in sorted(corpus.glob("*.jsonl"))
        for line in path.read_text("utf-8").split("\n")
        if line
    ]


def expected_ids(corpus: Path) -> list[list[int]]:
    """By tokenizers, with what ends a document."""
    engine = Engine.from_file(str(GPT2 / "tokenizer.json"))
    engine.encode_special_tokens = True
    eos = id_of(engine, EOS)
    return [[*engine.encode(t, add_special_tokens=False).ids, eos] for t in texts_of(corpus)]


def encode(corpus: Path, target: Path, settings: Settings, **more: Any) -> Any:
    shard_bytes = more.pop("shard_bytes", 3_000)
    way = Way(**more)
    return encode_corpora(
        load_source(GPT2), [corpus], target, settings, shard_bytes=shard_bytes, way=way
    )


def stored_ids(folder: Path, layout: str) -> list[list[int]]:
    """The ids of each document as other libraries read them."""
    found: list[list[int]] = []
    if layout == "parquet":
        last = ""
        for path in sorted(folder.glob("*.parquet")):
            for row in pq.read_table(path).to_pylist():
                if row["document_id"] != last:
                    found.append([])
                last = row["document_id"]
                assert last.startswith(row["source"])
                found[-1] += row["input_ids"]
        return found
    for path in sorted(folder.glob("*.ids.npy" if layout == "npy" else "*.bin")):
        stem = path.name.split(".")[0]
        if layout == "npy":
            ids = np.load(path, mmap_mode="r")
            rows, ends = (np.load(folder / f"{stem}.{n}.npy") for n in ("rows", "documents"))
        else:
            ids = np.memmap(path, dtype=np.uint16, mode="r")
            index = (folder / f"{stem}.idx").read_bytes()
            count, documents = np.frombuffer(index, "<u8", 2, 18)
            lengths = np.frombuffer(index, "<i4", count, 34)
            rows = np.concatenate([[0], np.cumsum(lengths)])
            ends = np.frombuffer(index, "<i8", documents, 34 + 12 * int(count))
        for first, end in pairwise(ends):
            found.append(ids[rows[first] : rows[end]].tolist())
    return found


@pytest.mark.parametrize("layout", ["megatron", "npy", "parquet"])
def test_every_document_has_the_ids_of_the_engine(
    corpus: Path, tmp_path: Path, layout: LayoutName
) -> None:
    settings = Settings(layout, special="text", eos=EOS, max_length=10)
    written = encode(corpus, tmp_path / "ids", settings)
    assert stored_ids(tmp_path / "ids", layout) == expected_ids(corpus)
    assert written.manifest.counts["documents"] == 180
    assert written.parts > 8
    found = check_token_files(tmp_path / "ids", sample=40)
    assert (found.wrong, found.unread) == ((), ())
    assert (found.sampled, found.same_bytes) == (40, 40)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(("seed", "slots"), [(1, 1), (2, 2), (3, 5)])
def test_the_folder_has_the_same_bytes_whoever_works(
    corpus: Path, tmp_path: Path, seed: int, slots: int
) -> None:
    settings = Settings("npy", special="text")
    encode(corpus, tmp_path / "one", settings)
    with Shuffled(seed) as executor:
        encode(corpus, tmp_path / "many", settings, executor=executor, slots=slots)
    assert contents(tmp_path / "many") == contents(tmp_path / "one")


def test_a_text_that_is_cut_is_told_of(tmp_path: Path) -> None:
    """Each part of it is a document; a file that is one document needs no word."""
    source = load_source(TOKENIZERS / "template-tiny" / "huggingface")
    for size, told in ((100, 0), (40_000, 1)):
        text = tmp_path / f"{size}.txt"
        text.write_text("one text\n" * (size // 9), "ascii")
        written = encode_corpora(source, [text], tmp_path / f"ids-{size}", Settings("npy"))
        assert [f"{size}.txt" in note for note in written.notes] == [True] * told


def test_a_template_is_applied_to_each_document(tmp_path: Path) -> None:
    folder = TOKENIZERS / "template-tiny" / "huggingface"
    engine = Engine.from_file(str(folder / "tokenizer.json"))
    lines = ["one text", "another", ""]
    texts = tmp_path / "t.jsonl"
    texts.write_text("".join(json.dumps({"text": each}) + "\n" for each in lines))
    for template in (True, False):
        target = tmp_path / f"ids-{template}"
        encode_corpora(load_source(folder), [texts], target, Settings("npy", template=template))
        expected = [engine.encode(each, add_special_tokens=template).ids for each in lines]
        assert stored_ids(target, "npy") == expected
        assert check_token_files(target).wrong == ()


def test_rows_hold_one_document_and_at_most_so_many_ids(corpus: Path, tmp_path: Path) -> None:
    encode(corpus, tmp_path / "ids", Settings("parquet", special="text", max_length=10))
    tables = [pq.read_table(path) for path in sorted((tmp_path / "ids").glob("*.parquet"))]
    rows = [row for table in tables for row in table.to_pylist()]
    assert max(len(row["input_ids"]) for row in rows) == 10
    ids = {row["document_id"] for row in rows}
    assert len(ids) == len([text for text in texts_of(corpus) if text])


# Packed rows, one file, and a part for validation.


def shards_of(folder: Path, documents: list[list[int]]) -> list[list[int]]:
    """The ids of each shard, one after another, by how many documents the manifest says it has."""
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    ends = [0, *accumulate(each["encoded"]["documents"] for each in manifest["shards"])]
    return [[*chain.from_iterable(documents[a:b])] for a, b in pairwise(ends)]


@pytest.mark.parametrize("layout", ["megatron", "npy", "parquet"])
@pytest.mark.parametrize("length", [1, 7, 64, 100_000])
def test_packed_rows_are_full_but_the_last_of_a_shard(
    corpus: Path, tmp_path: Path, layout: LayoutName, length: int
) -> None:
    settings = Settings(layout, special="text", eos=EOS, max_length=length, pack=True)
    written = encode(corpus, tmp_path / "ids", settings)
    expected = [
        flat[at : at + length]
        for flat in shards_of(tmp_path / "ids", expected_ids(corpus))
        for at in range(0, len(flat), length)
    ]
    if layout == "parquet":
        tables = [pq.read_table(path) for path in sorted((tmp_path / "ids").glob("*.parquet"))]
        assert [row["input_ids"] for table in tables for row in table.to_pylist()] == expected
    else:
        assert stored_ids(tmp_path / "ids", layout) == expected
    assert written.manifest.counts["rows"] == len(expected)
    found = check_token_files(tmp_path / "ids", sample=40)
    assert (found.wrong, found.unread, found.same_bytes) == ((), (), 40)


def test_a_packed_row_names_the_document_in_which_it_begins(tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    texts = ["", "abc def", "", "g", "", "hij klm nop"] * 300  # several batches
    corpus.write_text("".join(json.dumps({"text": each}) + "\n" for each in texts), "utf-8")
    settings = Settings("parquet", max_length=5, pack=True)
    encode(corpus, tmp_path / "ids", settings, shard_bytes=1 << 20)
    engine = Engine.from_file(str(GPT2 / "tokenizer.json"))
    starts = [0, *accumulate(len(json.dumps({"text": each})) + 1 for each in texts)]
    origins = [s for s, t in zip(starts, texts, strict=False) for _ in engine.encode(t).ids]
    [shard] = (tmp_path / "ids").glob("*.parquet")
    named = [row["document_id"] for row in pq.read_table(shard).to_pylist()]
    assert [int(name.rpartition(":")[2]) for name in named] == origins[::5]


@pytest.mark.parametrize("shard_bytes", [2_000, 9_000, 1 << 20])
def test_nanogpt_has_one_file_however_the_corpus_is_cut(
    corpus: Path, tmp_path: Path, shard_bytes: int
) -> None:
    settings = Settings("nanogpt", special="text", eos=EOS)
    encode(corpus, tmp_path / "ids", settings, shard_bytes=shard_bytes)
    assert left(tmp_path / "ids") == ["manifest.json", "tokenizer", "train.bin"]
    found = np.memmap(tmp_path / "ids" / "train.bin", np.uint16, "r")
    assert found.tolist() == [*chain.from_iterable(expected_ids(corpus))]
    checked = check_token_files(tmp_path / "ids", sample=60)
    assert (checked.wrong, checked.same_bytes, checked.files) == ((), 60, 1)
    _flip(tmp_path / "ids" / "train.bin")
    assert check_token_files(tmp_path / "ids").wrong == ("train.bin: its sha256 is another",)
    os.truncate(tmp_path / "ids" / "train.bin", 100)
    assert any("bytes, and not" in each for each in check_token_files(tmp_path / "ids").wrong)


def side_by_hash(text: str, part: float, seed: int = 0) -> str:
    digest = hashlib.blake2b(
        text.encode("utf-8"), digest_size=8, salt=b"validation", key=b"%d" % seed
    ).digest()
    return "val" if int.from_bytes(digest, "big") / 2**64 < part else "train"


@pytest.mark.parametrize("workers", ["one", "many", "resumed"])
def test_a_hash_of_the_text_says_what_is_for_validation(
    corpus: Path, tmp_path: Path, workers: str
) -> None:
    settings = Settings("nanogpt", special="text", eos=EOS, validation=0.3)
    target, more = tmp_path / "ids", {}
    if workers == "resumed":
        more = {"state": tmp_path / "state"}

        def stop(step: Any) -> None:
            if step.documents > 60:
                raise KeyboardInterrupt

        assert encode(corpus, target, settings, tick=stop, **more).interrupted
        assert not target.exists()
    if workers == "many":
        with Shuffled(1) as executor:
            written = encode(corpus, target, settings, executor=executor, slots=3)
    else:
        written = encode(corpus, target, settings, **more)
    sides: dict[str, list[int]] = {"train": [], "val": []}
    for text, ids in zip(texts_of(corpus), expected_ids(corpus), strict=True):
        sides[side_by_hash(text, 0.3)] += ids
    for side, ids in sides.items():
        found = np.memmap(target / f"{side}.bin", np.uint16, "r").tolist()
        assert found == ids
        assert len(found) > 1_000  # there is something of both
    assert written.manifest.counts["val_tokens"] == len(sides["val"])
    checked = check_token_files(target, sample=180)
    assert (checked.wrong, checked.same_bytes, checked.files) == ((), 180, 2)


@pytest.mark.parametrize("layout", ["megatron", "npy", "parquet"])
@pytest.mark.parametrize("pack", [False, True])
def test_both_parts_are_in_shards_of_their_own(
    corpus: Path, tmp_path: Path, layout: LayoutName, pack: bool
) -> None:
    length = 20 if pack else None
    settings = Settings(
        layout, special="text", eos=EOS, validation=0.3, pack=pack, max_length=length
    )
    encode(corpus, tmp_path / "ids", settings)
    for side in ("train", "val"):
        alone = tmp_path / side
        alone.mkdir()
        for path in (tmp_path / "ids").glob(f"*.{side}.*"):
            shutil.copy(path, alone / path.name.replace(f".{side}", ""))
        expected = [
            ids
            for text, ids in zip(texts_of(corpus), expected_ids(corpus), strict=True)
            if side_by_hash(text, 0.3) == side
        ]
        found = stored_ids(alone, layout)
        if pack:
            assert [*chain.from_iterable(found)] == [*chain.from_iterable(expected)]
        else:
            assert found == expected
    found_wrong = check_token_files(tmp_path / "ids", sample=100)
    assert (found_wrong.wrong, found_wrong.same_bytes) == ((), 100)


def test_a_run_that_ends_while_shards_are_joined_is_gone_on_with(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shards that are joined already are gone by then, and made again."""
    settings, state = Settings("nanogpt", special="text", eos=EOS), tmp_path / "state"
    read: list[Path] = []

    def full(path: Path) -> Iterator[bytes]:
        read.append(path)
        if len(read) > 3:
            raise OSError(28, "No space left on device")
        yield path.read_bytes()

    with monkeypatch.context() as patch:
        patch.setattr(importlib.import_module("bpe_interop.token_files.writer"), "chunks", full)
        with pytest.raises(TargetError, match="No space left"):
            encode(corpus, tmp_path / "ids", settings, state=state)
    assert left(tmp_path) == ["ids.unfinished", "state"]
    assert not (tmp_path / "ids.unfinished" / read[0].name).exists()
    encode(corpus, tmp_path / "ids", settings, state=state)
    found = np.memmap(tmp_path / "ids" / "train.bin", np.uint16, "r")
    assert found.tolist() == [*chain.from_iterable(expected_ids(corpus))]


def test_what_an_earlier_layout_left_is_no_part_of_the_folder(corpus: Path, tmp_path: Path) -> None:
    """A run that is killed while shards are joined leaves a part of train.bin."""
    (tmp_path / "ids.unfinished").mkdir()
    (tmp_path / "ids.unfinished" / "train.bin").write_bytes(b"half")
    encode(corpus, tmp_path / "ids", Settings("npy", special="text"), state=tmp_path / "state")
    assert not (tmp_path / "ids" / "train.bin").exists()


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("layout", ["megatron", "nanogpt"])
@pytest.mark.parametrize(
    ("part", "side", "other"), [("0.1%", "validation", "larger"), ("99.9%", "training", "smaller")]
)
def test_a_side_without_documents_is_an_error_that_leaves_nothing(
    command: Command, tmp_path: Path, part: str, side: str, other: str, layout: str, named: bool
) -> None:
    texts = [f"line {n}" for n in range(8)]
    limit = float(part.rstrip("%")) / 100
    [only] = {side_by_hash(text, limit) for text in texts}
    assert only == ("train" if side == "validation" else "val")
    corpus = tmp_path / "c.jsonl"
    corpus.write_text("".join(json.dumps({"text": each}) + "\n" for each in texts), "utf-8")
    given = ["encode", GPT2, "--corpus", corpus, "-o", tmp_path / "ids", "--layout", layout]
    given += ["--validation", part, "--shard-bytes", "40"]
    refused = command(*given, *(["--state", tmp_path / "state"] if named else []))
    assert refused.code == 2
    assert f"--validation: of 8 documents none is for {side}" in refused.err
    # 44 % of 8 documents: 0.56 ** 8 is 1 in 100.
    enough = {"larger": 44, "smaller": 56}[other]
    assert f"give a {other} part, such as {enough}%, another --seed" in refused.err
    assert "the same command goes on" not in refused.err
    assert left(tmp_path) == ["c.jsonl"]


def test_what_does_not_go_together_is_refused() -> None:
    for settings, said in (
        ({"pack": True}, "give --max-length N"),
        ({"layout": "nanogpt", "max_length": 5}, "has no rows"),
        ({"validation": 1.0}, "no fraction between 0 and 1"),
        ({"validation": 0}, "no fraction between 0 and 1"),
    ):
        with pytest.raises(ArgumentError, match=said):
            Settings(**settings)


# What is not written.


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_ids_that_do_not_fit_are_refused(corpus: Path, tmp_path: Path) -> None:
    source = tmp_path / "wide.json"
    document = json.loads((GPT2 / "tokenizer.json").read_text("utf-8"))
    vocab = document["model"]["vocab"]
    vocab[max(vocab, key=vocab.get)] = 65_536
    source.write_text(json.dumps(document), "utf-8")
    loaded = load_source(source)
    settings = Settings("npy", "uint16", special="text")
    with pytest.raises(TargetError, match=r"the highest id is 6553\d, and uint16 ends at 65535"):
        encode_corpora(loaded, [corpus], tmp_path / "ids", settings)
    assert left(tmp_path) == ["wide.json"]
    written = encode_corpora(loaded, [corpus], tmp_path / "ids", Settings("npy", special="text"))
    assert written.manifest is not None
    assert written.manifest.dtype == "uint32"


@pytest.mark.parametrize(
    ("content", "settings", "said"),
    [
        ("", Settings(), "there are no documents"),
        ("good\nbad \udcff\n", Settings(), "not UTF-8"),
        (f"good\n{EOS}\n", Settings(), "t.txt:1"),
        ("good", Settings(eos="<none>"), "there is no special token"),
        ("good", Settings("parquet", "uint16"), "holds ids as int32"),
    ],
)
def test_nothing_is_written_where_something_is_wrong(
    tmp_path: Path, content: str, settings: Settings, said: str
) -> None:
    corpus = tmp_path / "t.txt"
    corpus.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(Exception, match=said):
        encode(corpus, tmp_path / "ids", settings)
    assert left(tmp_path) == ["t.txt"]


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (0, "there are none"),
        (2, 'there are 2: "<0>", "<1>"'),
        (256, "there are 256: " + "".join(f'"<{n}>", ' for n in range(20)) + "..."),
    ],
)
def test_an_unknown_end_is_answered_with_how_many_there_are(count: int, said: str) -> None:
    added = tuple(AddedToken(f"<{n}>", n + 1) for n in range(count))
    model = BPEModel(Vocab({b"a": 0}), PairList(()), added=added)
    with pytest.raises(SourceError) as raised:
        eos_id(Settings(eos="</s>"), model)
    assert raised.value.fix == (
        f"name one by its text; {said}; or add it first: "
        "bpe-interop extend SRC NEW --special '</s>' --eos '</s>'"
    )


@contextmanager
def _files_end_at(size: int) -> Iterator[None]:
    """As on a full disk: what writes more to a file gets an error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_one_error_and_no_folder(corpus: Path, tmp_path: Path) -> None:
    (corpus_size,) = {path.stat().st_size for path in [corpus / "0.jsonl"]}
    settings = Settings("npy", special="text")
    with _files_end_at(4_096), pytest.raises(TargetError, match="cannot be written"):
        encode(corpus, tmp_path / "ids", settings, shard_bytes=corpus_size)
    assert left(tmp_path) == []


def test_a_state_keeps_what_is_done(corpus: Path, tmp_path: Path) -> None:
    bad = corpus.parent / "corpus-with-one-bad"
    bad.mkdir()
    for path in corpus.glob("*.jsonl"):
        (bad / path.name).write_bytes(path.read_bytes())
    whole = (bad / "2.jsonl").read_bytes()
    settings = Settings("npy", special="text")
    state = tmp_path / "state"
    (bad / "2.jsonl").write_bytes(whole[:-30] + b"\xff" * 30)
    with pytest.raises(SourceError, match=r"2\.jsonl"):
        encode(bad, tmp_path / "ids", settings, state=state)
    assert left(tmp_path) == ["ids.unfinished", "state"]
    with pytest.raises(SourceError, match="other tokenizers, versions or settings"):
        encode(bad, tmp_path / "ids", Settings("parquet", special="text"), state=state)
    with closing(sqlite3.connect(state)) as database:
        [(done,)] = database.execute("SELECT count(*) FROM parts").fetchall()
    assert done > 5
    # One shard is lost, and is made again.
    next((tmp_path / "ids.unfinished").glob("shard-00001.*")).unlink()
    stamps = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "ids.unfinished").glob("*.npy")}
    with pytest.raises(SourceError, match=r"2\.jsonl"):
        encode(bad, tmp_path / "ids", settings, state=state)
    again = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "ids.unfinished").glob("*.npy")}
    same = [name for name in stamps if stamps[name] == again[name]]
    assert len(same) == len(stamps) - 2
    # The file is another now, which the state must not be gone on with.
    (bad / "2.jsonl").write_bytes(whole)
    with pytest.raises(SourceError, match="the files have changed"):
        encode(bad, tmp_path / "ids", settings, state=state)


def test_shards_of_another_run_are_made_again(corpus: Path, tmp_path: Path) -> None:
    def stop(step: Any) -> None:
        if step.documents > 60:
            raise KeyboardInterrupt

    settings = Settings("npy", special="text")
    state, folder = tmp_path / "state", tmp_path / "ids.unfinished"
    encode(corpus, tmp_path / "ids", settings, tick=stop, state=state)
    shard = next(folder.glob("shard-00000.*"))
    shard.write_bytes(bytes(shard.stat().st_size))
    (folder / "notes.txt").write_text("mine", "utf-8")
    with pytest.raises(TargetError, match=r"no run of ours left.*notes\.txt"):
        encode(corpus, tmp_path / "ids", settings, state=state)
    (folder / "notes.txt").unlink()
    encode(corpus, tmp_path / "ids", settings, state=state)
    encode(corpus, tmp_path / "at once", settings)
    assert contents(tmp_path / "ids") == contents(tmp_path / "at once")


def test_an_interrupt_says_what_was_done(corpus: Path, tmp_path: Path) -> None:
    settings = Settings("npy", special="text")

    def stop(step: Any) -> None:
        if step.documents > 60:
            raise KeyboardInterrupt

    written = encode(corpus, tmp_path / "ids", settings, tick=stop)
    assert written.interrupted
    assert 0 < written.done < written.parts
    assert left(tmp_path) == []
    state = tmp_path / "state"
    first = encode(corpus, tmp_path / "ids", settings, tick=stop, state=state)
    assert left(tmp_path) == ["ids.unfinished", "state"]
    seen: list[int] = []
    last = encode(
        corpus, tmp_path / "ids", settings, state=state, tick=lambda s: seen.append(s.documents)
    )
    assert len(seen) == last.parts - first.done
    assert left(tmp_path) == ["ids"]
    encode(corpus, tmp_path / "at once", settings)
    assert contents(tmp_path / "ids") == contents(tmp_path / "at once")


def test_a_file_that_is_written_to_meanwhile_is_one_error(tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    text.write_bytes(b"as it was\n" * 5_000)

    def change(step: Any) -> None:
        with text.open("r+b") as file:
            file.seek(25_000)
            file.write(b"*")

    with pytest.raises(SourceError, match="not as it was"):
        encode(text, tmp_path / "ids", Settings(), tick=change)
    assert left(tmp_path) == ["t.txt"]


def test_what_cannot_be_read_is_skipped_and_listed(command: Command, tmp_path: Path) -> None:
    """And what was done before is kept, and gone on with by the same command."""
    good = [json.dumps({"text": f"line {n} " * 30}) for n in range(400)]
    bad = ['{"text": null}', '{"te', '{"other": 1}', '{"text": "\\ud800"}']
    corpus = tmp_path / "c.jsonl"
    corpus.write_text("\n".join([*good, *bad]) + "\n", "utf-8")
    given = ("encode", GPT2, "--corpus", corpus, "-o", tmp_path / "ids", "--shard-bytes", "20000")
    refused = command(*given)
    assert refused.code == 2
    assert "c.jsonl:401: the field 'text' is null" in refused.err
    assert "the same command goes on" in refused.err
    assert left(tmp_path) == ["c.jsonl", "ids.unfinished", "ids.unfinished.state"]
    first = (tmp_path / "ids.unfinished" / "shard-00000.bin").stat().st_ino
    refused = command(*given, "--errors", "skip=3")
    assert refused.code == 2
    assert "c.jsonl:404: more than 3 records would be skipped" in refused.err
    done = command(*given, "--errors", "skip=4")
    assert done.code == 0, done.err
    assert left(tmp_path) == ["c.jsonl", "ids"]
    assert (tmp_path / "ids" / "shard-00000.bin").stat().st_ino == first  # it was not made again
    manifest = json.loads((tmp_path / "ids" / "manifest.json").read_text("utf-8"))
    skips = [each for shard in manifest["shards"] for each in shard["encoded"]["skips"]]
    assert [each["line"] for each in skips] == [401, 402, 403, 404]
    assert "4 records, listed in manifest.json" in done.out
    alone = tmp_path / "good.jsonl"
    alone.write_text("\n".join(good) + "\n", "utf-8")
    same = command("encode", GPT2, "--corpus", alone, "-o", tmp_path / "same", "--json")
    counts = json.loads(same.out)["counts"]
    assert manifest["counts"] == counts
    assert command("verify-shards", tmp_path / "ids").code == 0


def test_a_run_that_did_nothing_leaves_nothing(command: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"text": null}\n', "utf-8")
    assert command("encode", GPT2, "--corpus", corpus, "-o", tmp_path / "ids").code == 2
    assert left(tmp_path) == ["c.jsonl"]


@pytest.mark.parametrize("corpus", ["nowhere.jsonl", "c.jsonl"])
def test_what_another_left_there_stays(command: Command, tmp_path: Path, corpus: str) -> None:
    """Also where its state says that nothing is done yet: it may be about to."""
    (tmp_path / "c.jsonl").write_text('{"text": null}\n', "utf-8")
    (tmp_path / "ids.unfinished").mkdir()
    (tmp_path / "ids.unfinished" / "mine.txt").write_text("x", "utf-8")
    (tmp_path / "ids.unfinished.state").write_text("{}\n", "utf-8")
    before = left(tmp_path)
    done = command("encode", GPT2, "--corpus", tmp_path / corpus, "-o", tmp_path / "ids")
    assert done.code == 2
    assert left(tmp_path) == before
    assert (tmp_path / "ids.unfinished" / "mine.txt").read_text("utf-8") == "x"


def test_a_state_is_refused_where_the_middle_of_a_file_is_another(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    for name in "ab":
        (tmp_path / "texts" / name).write_bytes(b"as it was\n" * 5_000)

    def stop(step: Any) -> None:
        raise KeyboardInterrupt

    state = tmp_path / "state"
    encode(tmp_path / "texts", tmp_path / "ids", Settings(), tick=stop, state=state)
    with (tmp_path / "texts" / "a").open("r+b") as file:
        file.seek(25_000)
        file.write(b"*")
    with pytest.raises(SourceError, match="the files have changed"):
        encode(tmp_path / "texts", tmp_path / "ids", Settings(), state=state)


def test_two_runs_do_not_write_to_one_folder(corpus: Path, tmp_path: Path) -> None:
    settings = Settings("npy", special="text")

    def again(step: Any) -> None:
        with pytest.raises(TargetError, match="another run writes there"):
            encode(corpus, tmp_path / "ids", settings, state=tmp_path / "other")

    written = encode(corpus, tmp_path / "ids", settings, state=tmp_path / "state", tick=again)
    assert written.manifest is not None
    assert check_token_files(tmp_path / "ids", sample=180).wrong == ()


def test_a_model_that_was_changed_in_memory_is_refused(corpus: Path, tmp_path: Path) -> None:
    loaded = load_source(GPT2)
    for changed in (
        loaded.with_model(replace(loaded.model, added=())),
        replace(loaded, files={}),
    ):
        with pytest.raises(SourceError, match="not what its files say"):
            encode_corpora(changed, [corpus], tmp_path / "ids", Settings(special="text"))
    assert left(tmp_path) == []


def test_each_document_has_an_id_of_its_own(tmp_path: Path) -> None:
    texts = tmp_path / "t.jsonl"
    texts.write_text('{"a": "one", "b": "two"}\n{"a": "three", "b": "four"}\n')
    names = [f"{texts}:a", f"{texts}:b"]
    settings, target = Settings("parquet"), tmp_path / "ids"
    encode_corpora(load_source(GPT2), names, target, settings)
    rows = [row for path in target.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    assert len({row["document_id"] for row in rows}) == 4
    assert check_token_files(target).same_bytes == 4


# The check.


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _lie(folder: Path) -> None:
    """An id is changed, and the manifest says that this is right."""
    path = next(folder.glob("shard-00000.ids.npy"))
    old = json.loads((folder / "manifest.json").read_text())["shards"][0]["encoded"]["files"]
    _flip(path)
    new = hashlib.sha256(path.read_bytes()).hexdigest()
    [said] = [each["sha256"] for each in old if each["name"] == path.name]
    place = folder / "manifest.json"
    place.write_text(place.read_text().replace(said, new))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda f: _flip(f / "shard-00001.rows.npy"), "its sha256 is another"),
        (lambda f: (f / "shard-00001.ids.npy").unlink(), "it is missing"),
        (lambda f: (f / "more.npy").touch(), "the manifest does not know it"),
        (lambda f: os.truncate(f / "shard-00000.ids.npy", 150), "bytes, and not"),
        (lambda f: _flip(f / "tokenizer" / "tokenizer.json"), "its sha256 is another"),
        (_lie, "has other ids from the id"),
    ],
)
def test_what_was_changed_is_found(
    corpus: Path, tmp_path: Path, harm: Callable[[Path], None], said: str
) -> None:
    encode(corpus, tmp_path / "ids", Settings("npy", special="text"))
    harm(tmp_path / "ids")
    found = check_token_files(tmp_path / "ids", sample=180)
    assert any(said in each for each in found.wrong)


def test_a_source_that_changed_is_said(corpus: Path, tmp_path: Path) -> None:
    text = tmp_path / "t.txt"
    text.write_text("as it was")
    encode(text, tmp_path / "ids", Settings())
    text.write_text("as it is!")
    found = check_token_files(tmp_path / "ids")
    assert found.wrong == ()
    assert "not as it was" in found.unread[0]


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no folder of token files"):
        check_token_files(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(FormatError):
        check_token_files(tmp_path)


# The command line.


def test_one_document_is_counted_as_one(command: Command, tmp_path: Path) -> None:
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"text": ""}\n{"text": "a"}\n')
    done = command("encode", GPT2, "--corpus", corpus, "-o", tmp_path / "one")
    assert "ids         1 in 1 row, as uint16\n" in done.out
    assert "1 document without ids has no row" in done.out
    corpus.write_bytes(b'{"text": ""}\n{"text": ""}\n{"text": "a\xff"}\n')
    done = command("encode", GPT2, "--corpus", corpus, "-o", tmp_path / "two", "--errors=replace")
    assert "2 documents without ids have no row" in done.out
    assert "1 document had malformed UTF-8" in done.out


@pytest.mark.parametrize(
    ("template", "options", "said"),
    [
        ("<b> $A", [], 'places "<b>" before each text, which is left out here; --add-special'),
        ("<b> $A", ["--eos", "<e>"], 'places "<b>" before each text, which is left out here'),
        ("<b> $A <e>", [], 'places "<b>" before and "<e>" after each text, which are left out'),
        ("<b> $A <e>", ["--eos", "<e>"], 'places "<b>" before each text, which is left out here'),
        ("$A <e> <b>", ["--eos", "<e>"], 'places "<e>" "<b>" after each text, which are left out'),
        ("$A <e>", ["--eos", "<e>"], ""),
        ("$A", [], ""),
        ("<b> $A <e>", ["--add-special-tokens"], ""),
    ],
)
def test_what_the_template_places_and_is_left_out_is_told(
    command: Command, tmp_path: Path, template: str, options: list[str], said: str
) -> None:
    """It is told where tokenizers places more around a text than there is in the shard."""
    engine = Engine.from_file(str(GPT2 / "tokenizer.json"))
    engine.add_special_tokens(["<b>", "<e>"])
    numbers = [(text, id_of(engine, text)) for text in ("<b>", "<e>")]
    engine.post_processor = TemplateProcessing(
        single=template, pair="$A $B", special_tokens=numbers
    )
    engine.save(str(tmp_path / "tokenizer.json"))
    corpus = tmp_path / "c.jsonl"
    corpus.write_text('{"text": "abab"}\n')
    given = ("encode", tmp_path / "tokenizer.json", "--corpus", corpus, "--layout", "npy")
    done = command(*given, "-o", tmp_path / "ids", *options)
    assert done.code == 0, done.err
    notes = [line for line in done.out.splitlines() if "the sequence template places" in line]
    assert len(notes) == bool(said)
    assert said in "".join(notes)
    whole = engine.encode("abab").ids
    written = np.load(tmp_path / "ids" / "shard-00000.ids.npy").tolist()
    assert (written == whole) == (not said)
    as_data = json.loads(command(*given, "-o", tmp_path / "more", "--json", *options).out)
    assert [said in note for note in as_data["notes"]] == [True] * bool(said)


def test_packed_rows_and_a_part_for_validation_on_the_command_line(
    command: Command, corpus: Path, tmp_path: Path
) -> None:
    given = ("encode", GPT2, "--corpus", corpus, "--special", "text", "--validation", "30%")
    rows = ("--layout", "npy", "--max-length", "50", "--pack")
    done = command(*given, "-o", tmp_path / "npy", *rows)
    assert done.code == 0, done.err
    ids = [np.load(path) for path in (tmp_path / "npy").glob("*.ids.npy")]
    full = sum(len(each) // 50 for each in ids)
    shorter = sum(len(each) % 50 > 0 for each in ids)
    assert f" in {full + shorter:,} rows ({full:,} of 50), as uint16\n" in done.out
    in_val = sum(len(np.load(path)) for path in (tmp_path / "npy").glob("*.val.ids.npy"))
    assert f" documents, {in_val:,} ids\n" in done.out
    assert "no id stands between documents" in done.out
    done = command(*given, "-o", tmp_path / "one", "--layout", "nanogpt", "--eos", EOS)
    assert "one: train.bin and val.bin, nanogpt\n" in done.out
    assert "note " not in done.out
    refused = command(*given, "-o", tmp_path / "two", "--pack")
    assert refused.code == 2
    assert "--pack: rows are packed to a length: give --max-length N" in refused.err


def test_encode_and_check_on_the_command_line(
    command: Command, corpus: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "ids"
    done = command("encode", GPT2, "--corpus", corpus, "-o", folder, "--special", "text")
    assert done.code == 0
    assert "180 (" in done.out
    assert " rows, as uint16" in done.out
    done = command("verify-shards", folder, "--json")
    assert done.code == 0
    assert json.loads(done.out)["same_bytes"] == 100
    _flip(next(folder.glob("*.bin")))
    assert command("verify-shards", folder).code == 1
    quiet = command("verify-shards", folder, "-q")
    assert (quiet.code, quiet.out.count("\n")) == (1, 1)
    assert quiet.out.startswith("wrong: ")
    again = command("encode", GPT2, "--corpus", corpus, "-o", folder)
    assert again.code == 2
    assert "already there" in again.err
    assert "choose a new one" in again.err
    assert "--force" not in again.err  # there is none


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--corpus", "{corpus}"], "-o"),
        (["-o", "x"], "--corpus"),
        (["-o", "x"], "--corpus -"),
        (["-o", "x"], "--layout"),
        (["--corpus", "{corpus}", "-o", "{corpus}"], "the target holds the source"),
        (["--corpus", "{corpus}", "-o", "{new}", "--scheduler", "local:0"], "number of processes"),
        (["--corpus", "{corpus}", "-o", "{new}", "--scheduler", "nonsense"], "no scheduler"),
        (["--corpus", "{corpus}", "-o", "{new}"], "--special parse"),
        (["--corpus", "{new}", "-o", "{new}"], "no such file"),
    ],
)
def test_bad_input_is_one_error(
    command: Command, corpus: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    special = tmp_path / "special.txt"
    special.write_text(EOS)
    given = special if said == "--special parse" else corpus
    filled = [each.format(corpus=given, new=tmp_path / "new") for each in arguments]
    done = command("encode", GPT2, *filled)
    assert done.code == 2
    assert said in done.err.lower() or said in done.err
    assert "Traceback" not in done.err
    assert left(tmp_path) == ["special.txt"]


def test_a_state_that_nobody_named_begins_again_for_other_settings_and_only_ours(
    command: Command, tmp_path: Path
) -> None:
    lines = [json.dumps({"text": f"line {n} " * 30}) for n in range(300)]
    (tmp_path / "c.jsonl").write_text("\n".join([*lines, "{"]), "utf-8")
    given = ("encode", GPT2, "--corpus", tmp_path / "c.jsonl", "-o", tmp_path / "ids")
    small = ("--shard-bytes", "20000")
    assert command(*given, *small).code == 2
    state = tmp_path / "ids.unfinished.state"
    first = state.read_bytes()
    done = command(*given, *small, "--layout", "npy", "--errors", "skip")
    assert done.code == 0, done.err
    assert left(tmp_path) == ["c.jsonl", "ids"]
    assert not list((tmp_path / "ids").glob("*.bin"))
    shutil.rmtree(tmp_path / "ids")
    state.write_bytes(b"not ours\n" + first)
    refused = command(*given, *small)
    assert refused.code == 2
    assert "ids.unfinished.state: " in refused.err
    assert state.read_bytes() == b"not ours\n" + first
