"""Reading corpora: what their names stand for, how files are cut, and what is wrong with them."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.corpora import (
    Document,
    Mark,
    Place,
    Selection,
    documents,
    find_files,
    identity,
    parse_sample,
    read_documents,
    select,
)
from bpe_interop.errors import EngineMissingError, SourceError, by_extra


def read(corpus: str | Path, **settings: Any) -> list[Document]:
    [file] = find_files([corpus])
    return list(read_documents(file, **settings))


def texts_of(corpus: str | Path, **settings: object) -> list[str]:
    return [document.text for document in read(corpus, **settings)]


def make(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


# Plain text.


@given(
    content=st.text("a\n\r\u0301é中🙂\u2028\x85", max_size=120),
    size=st.integers(8, 30),
    longest=st.integers(8, 30),
)
def test_documents_are_the_file(content: str, size: int, longest: int) -> None:
    """Nothing is lost or changed, lines are whole, and each document can be gone on from."""
    data = content.encode("utf-8")
    file = documents.CorpusFile("x", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "TEXT_BYTES", size)
        patch.setattr(documents, "LONGEST_LINE", longest)

        def cut(start: Place) -> list[Document]:
            stream = io.BytesIO(data[start.offset :])
            return list(documents.texts(file, stream, lambda: 0, start, "strict"))

        found = cut(Place())
        assert "".join(each.text for each in found) == content
        for each in found:
            before = data[: each.place.offset].decode("utf-8")
            assert content[len(before) :].startswith(each.text)
            assert each.place.line == 1 + before.count("\n")
            assert (
                each.size == len(each.text.encode("utf-8")) == each.after.offset - each.place.offset
            )
            assert cut(each.place) == found[found.index(each) :]
            whole = each.text.endswith("\n") or each is found[-1]
            assert whole or each.size >= size
        assert all("\n" not in each.text[:-1] or each.size <= size + longest for each in found)


def test_documents_have_whole_lines_and_about_sixteen_kilobytes(tmp_path: Path) -> None:
    lines = [f"line {number} é\r\n" for number in range(20_000)]
    found = read(make(tmp_path / "a.txt", "".join(lines)))
    assert all(each.text.endswith("\r\n") for each in found)
    assert {1 << 14 <= each.size <= (1 << 14) + 40 for each in found[:-1]} == {True}
    assert found[1].text.startswith(f"line {found[1].place.line - 1} ")
    assert found[-1].read == sum(len(line.encode()) for line in lines)


def test_a_line_without_end_is_cut_between_characters(tmp_path: Path) -> None:
    content = "中" * 1_000_000
    found = read(make(tmp_path / "a.txt", content))
    assert "".join(each.text for each in found) == content
    assert 1 < len(found) < 5


def test_an_empty_file_has_no_documents(tmp_path: Path) -> None:
    assert read(make(tmp_path / "a.txt", "")) == []


@pytest.mark.parametrize(
    ("content", "byte", "offset", "line"),
    [
        (b"caf\xe9", "0xE9", 3, 1),
        (b"one\ntwo\nthr\xffe\n", "0xFF", 11, 3),
        (b"x\n" * 20_000 + b"\xc3(", "0xC3", 40_000, 20_001),
        (b"ends inside \xe4\xb8", "0xE4", 12, 1),
        (b"a" * 2_000_000 + b"\xf0\x9f", "0xF0", 2_000_000, 1),
    ],
)
def test_what_is_not_utf8_is_named_by_its_byte(
    tmp_path: Path, content: bytes, byte: str, offset: int, line: int
) -> None:
    file = make(tmp_path / "a.txt", content)
    with pytest.raises(SourceError) as caught:
        read(file)
    assert caught.value.what == f"not UTF-8: byte {byte} at offset {offset}"
    assert caught.value.where == f"{file}:{line}"
    assert "--errors replace" in caught.value.fix
    found = read(file, errors="replace")
    assert "".join(each.text for each in found) == content.decode("utf-8", "replace")
    assert [each.replaced for each in found][-1] or line < 10
    assert any(each.replaced for each in found)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("text".encode("utf-16"), "UTF-16"),
        (b"\xfd7zXZ\x00\x00\xff", "xz"),
        (b"BZh91AY&SY\xff", "bzip2"),
        (b"PK\x03\x04\x14\xff", "zip"),
        (b"\xff\xff\xff\xff\xf0\x00", "Arrow"),
        (b"ARROW1\x00\x00\xff\xff\xff\xff", "Arrow"),
    ],
)
def test_what_it_looks_like_is_said(tmp_path: Path, content: bytes, kind: str) -> None:
    with pytest.raises(SourceError, match=f"(?s)not UTF-8.*looks like {kind}"):
        read(make(tmp_path / "a.txt", content))


# JSONL.


def test_jsonl_gives_a_field_of_each_line(tmp_path: Path) -> None:
    rows = [{"text": "one\nline"}, {"text": "é🙂", "body": "x"}, {"text": ""}, {"text": "last"}]
    lines = [json.dumps(row) for row in rows]
    content = "\ufeff" + lines[0] + "\r\n" + lines[1] + "\n\n \n" + "\n".join(lines[2:])
    file = make(tmp_path / "a.jsonl", content)
    found = read(file)
    assert [each.text for each in found] == [row["text"] for row in rows]
    assert [each.place.line for each in found] == [1, 2, 5, 6]
    data = content.encode("utf-8")
    assert json.loads(data[found[1].place.offset : found[1].after.offset]) == rows[1]
    [corpus_file] = find_files([file])
    assert list(read_documents(corpus_file, start=found[1].place)) == found[1:]


def test_a_field_is_named_behind_the_file(tmp_path: Path) -> None:
    file = make(tmp_path / "a.jsonl", '{"body": "x", "text": "y"}')
    assert texts_of(f"{file}:body") == ["x"]
    assert texts_of(file) == ["y"]
    assert [corpus_file.field for corpus_file in find_files([file], field="body")] == ["body"]
    both = find_files([f"{file}:body", file, f"{file}:text"])
    assert [document.text for _, document in select(both)] == ["x", "y"]
    other = make(tmp_path / "b.json", '{"body": "x"}')
    assert texts_of(f"{other}:body") == ["x"]
    assert texts_of(f"{tmp_path}/*.jsonl:body") == ["x"]
    odd = make(tmp_path / "a.jsonl:body", "plain")
    assert texts_of(str(odd)) == ["plain"]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ('{"body": "x"}', "no field 'text'; there are: 'body'"),
        ('{"text": 1}', "the field 'text' is no text"),
        ('["text"]', "not a JSON object"),
        ('{"text": "x"', "not JSON: "),
        ('{"text": "\\ud800"}', "a lone surrogate in the text"),
        ("[" * 100_000, "not JSON: "),
        ('{"n": ' + "1" * 5_000 + "}", "not JSON: "),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, what: str) -> None:
    file = make(tmp_path / "a.jsonl", '{"text": "good"}\n' + line)
    with pytest.raises(SourceError) as caught:
        read(file)
    assert caught.value.what.startswith(what)
    assert caught.value.where == f"{file}:2"


def test_malformed_jsonl_can_be_read_on(tmp_path: Path) -> None:
    file = make(tmp_path / "a.jsonl", b'{"text": "caf\xe9"}\n{"text": "x\\udc00y\\ud83d\\ude42"}')
    with pytest.raises(SourceError, match="byte 0xE9 at offset 13"):
        read(file)
    found = read(file, errors="replace")
    assert [(each.text, each.replaced) for each in found] == [
        ("caf\ufffd", True),
        ("x\ufffdy🙂", True),
    ]


def test_a_line_that_cannot_be_held_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "LONGEST_RECORD", 1 << 20)
    file = make(tmp_path / "a.jsonl", '{"text": "' + "a" * (1 << 20) + '"}')
    with pytest.raises(SourceError, match="more than 1 MiB"):
        read(file)


# Parquet.


def write_parquet(path: Path, values: Any, kind: Any = None, **settings: Any) -> Path:
    table = pyarrow.table({"text": pyarrow.array(values, type=kind), "n": range(len(values))})
    pyarrow.parquet.write_table(table, path, **settings)
    return path


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.string(),
        pyarrow.large_string(),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    ],
    ids=str,
)
def test_parquet_gives_a_column(tmp_path: Path, kind: object) -> None:
    values = [f"row {n} é" for n in range(1_000)]
    file = write_parquet(tmp_path / "a.parquet", values, kind, row_group_size=300)
    found = read(file)
    assert [each.text for each in found] == values
    assert all(values[each.place.offset] == each.text for each in found)
    assert {each.place.line - each.place.offset for each in found} == {1}
    assert found[-1].read == file.stat().st_size
    [corpus_file] = find_files([file])
    assert list(read_documents(corpus_file, start=found[700].place)) == found[700:]


def test_a_text_that_is_null_is_no_document_that_is_left_out_in_silence(tmp_path: Path) -> None:
    file = make(tmp_path / "a.jsonl", '{"text": "a"}\n{"text": null}\n{"text": "b"}\n')
    with pytest.raises(SourceError, match="'text' is null") as refused:
        read(file)
    assert refused.value.where.endswith("a.jsonl:2")
    rows = write_parquet(tmp_path / "a.parquet", ["a", None, "b"])
    with pytest.raises(SourceError, match="'text' is null") as refused:
        read(rows)
    assert refused.value.where.endswith("a.parquet, row 2")
    for each in (file, rows):
        found = read(each, errors="skip")
        assert [document.text for document in found if not document.skipped] == ["a", "b"]
        [left_out] = [document for document in found if document.skipped]
        assert (left_out.place.line, left_out.text) == (2, "")


def test_bad_parquet_is_named(tmp_path: Path) -> None:
    bad = pyarrow.array([b"ok", b"caf\xe9"], type=pyarrow.binary()).view(pyarrow.string())
    file = write_parquet(tmp_path / "a.parquet", bad)
    with pytest.raises(SourceError, match=r"row 2: not UTF-8: byte 0xE9 at offset 3"):
        read(file)
    assert texts_of(file, errors="replace") == ["ok", "caf\ufffd"]
    with pytest.raises(SourceError, match="no field 'body'; there are: 'text', 'n'"):
        read(f"{file}:body")
    with pytest.raises(SourceError, match="holds no texts but int64"):
        read(f"{file}:n")
    data = file.read_bytes()
    for name, content in (("cut", data[:-9]), ("junk", b"junk" * 99), ("empty", b"")):
        with pytest.raises(SourceError, match=name):
            read(make(tmp_path / f"{name}.parquet", content))


# Compressed files.


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
@pytest.mark.parametrize("suffix", ["", ".txt", ".gz", ".zst"])
def test_compressed_files_are_told_by_content(
    tmp_path: Path, compress: Callable[[bytes], bytes], suffix: str
) -> None:
    content = "".join(f"line {n}\n" for n in range(10_000))
    half = len(content) // 2
    parts = compress(content[:half].encode()) + compress(content[half:].encode())
    found = read(make(tmp_path / f"a{suffix}", parts))
    assert "".join(each.text for each in found) == content
    assert found[-1].read == len(parts)
    [file] = find_files([tmp_path / f"a{suffix}"])
    assert list(read_documents(file, start=found[3].place)) == found[3:]


def test_compressed_jsonl_keeps_its_kind(tmp_path: Path) -> None:
    line = b'{"text": "x"}\n'
    assert texts_of(make(tmp_path / "a.jsonl.gz", gzip.compress(line))) == ["x"]
    assert texts_of(make(tmp_path / "a.JSONL.zst", zstd(line))) == ["x"]
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    assert texts_of(make(tmp_path / "b.jsonl.zst", skippable + zstd(line))) == ["x"]


@pytest.mark.parametrize("compress", [gzip.compress, zstd])
def test_a_damaged_file_is_named(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    good = compress(os.urandom(5_000).hex().encode())
    flipped = good[:2_000] + bytes(b ^ 0x55 for b in good[2_000:2_100]) + good[2_100:]
    for name, content in (("cut", good[:-20]), ("flipped", flipped), ("more", good + b"junk")):
        with pytest.raises(SourceError, match=name):
            read(make(tmp_path / name, content))


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("content", [b"", b"plain"])
def test_a_suffix_that_is_not_true_is_an_error(tmp_path: Path, suffix: str, content: bytes) -> None:
    with pytest.raises(SourceError, match=f"named {suffix}, but its content is not"):
        read(make(tmp_path / f"a{suffix}", content))


@pytest.mark.parametrize(("name", "library"), [("a.zst", "zstandard"), ("a.parquet", "pyarrow")])
def test_a_missing_library_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, library: str
) -> None:
    file = make(tmp_path / name, zstd(b"x"))
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(EngineMissingError) as caught:
        read(file)
    extra = {"zstandard": "zstd", "pyarrow": "parquet"}[library]
    assert caught.value.fix == by_extra(extra)


@pytest.mark.long
@pytest.mark.parametrize("name", ["a.gz", "a.zst", "a.txt", "a.jsonl", "a.parquet"])
def test_a_file_is_never_held_whole(tmp_path: Path, name: str) -> None:
    size = 40 << 20
    if name == "a.parquet":
        file = write_parquet(tmp_path / name, ["a" * 4_000] * (size // 4_000), row_group_size=2_000)
    else:
        line = b'{"text": "' + b"a" * 4_000 + b'"}\n' if name == "a.jsonl" else b"a" * 4_000 + b"\n"
        data = line * (size // len(line))
        compress = {"a.gz": lambda data: gzip.compress(data, 1), "a.zst": zstd}.get(name, bytes)
        file = make(tmp_path / name, compress(data))
    [corpus_file] = find_files([file])
    tracemalloc.start()
    try:
        total = sum(document.size for document in read_documents(corpus_file))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert total > size * 0.98
    assert peak < size / 5


# Names.


def test_names_stand_for_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b/2.txt", "b/10.txt", "a.txt", "b.txt", ".hidden", "b/.git/x", "c/d/e.jsonl.gz"):
        make(tmp_path / name, gzip.compress(b'{"text": "x"}') if name.endswith("gz") else "x")
    files = find_files([tmp_path])
    assert [file.name for file in files] == [
        "a.txt",
        "b/10.txt",
        "b/2.txt",
        "b.txt",
        "c/d/e.jsonl.gz",
    ]
    assert [file.kind for file in files] == ["text"] * 4 + ["jsonl"]
    monkeypatch.chdir(tmp_path)
    assert [s.label for s in find_files(["*.txt"])] == ["a.txt", "b.txt"]
    deep = ["a.txt", "b/10.txt", "b/2.txt", "b.txt"]
    assert [s.label for s in find_files(["**/*.txt", "a.txt"])] == deep
    folded = ["b.txt", "a.txt", "b/10.txt", "b/2.txt", "c/d/e.jsonl.gz"]
    assert [s.label for s in find_files(["b.txt", "*"])] == folded
    make(tmp_path / "[x].txt", "x")
    assert [s.label for s in find_files(["[x].txt"])] == ["[x].txt"]


def test_names_that_stand_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "gone.txt").symlink_to(tmp_path / "nowhere")
    for name, what in (
        ("nowhere.txt", "No such file"),
        ("nowhere.txt:text", "No such file"),
        ("*.parquet", "no file matches"),
        ("empty", "no files in this directory"),
        ("links", "No such file"),
    ):
        with pytest.raises(SourceError, match=what):
            find_files([tmp_path / name])


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def given_input(data: bytes) -> None:
        stream = io.BufferedReader(io.BytesIO(data))
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))

    given_input(b"one\ntwo\n")
    assert texts_of("-") == ["one\ntwo\n"]
    given_input(gzip.compress(b'{"body": "x"}'))
    assert texts_of("-:body") == ["x"]
    with pytest.raises(SourceError, match="read once"):
        list(select(find_files(["-"]), Selection(sample=3)))
    with pytest.raises(SourceError, match="standard input"):
        identity(find_files(["-"])[0])


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(gzip.compress(b"one\n"),))
    writer.start()
    assert texts_of(pipe) == ["one\n"]
    writer.join()


def test_a_name_that_is_no_utf8_can_be_written(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    with open(path, "wb") as file:
        file.write(b"x")
    [corpus_file] = find_files([tmp_path])
    assert corpus_file.label.encode("utf-8").endswith(b"/caf\\xe9.txt")
    assert [document.text for document in read_documents(corpus_file)] == ["x"]


# Selection.


@pytest.fixture
def corpus(tmp_path: Path) -> list[Path]:
    lines = [json.dumps({"text": f"text {n}"}) for n in range(2_000)]
    return [
        make(tmp_path / "corpus" / f"{part}.jsonl", "\n".join(lines[part * 500 :][:500]))
        for part in range(4)
    ]


def chosen(corpus: list[Path], **settings: Any) -> list[str]:
    selection = Selection(**settings)
    return [document.text for _, document in select(find_files(corpus), selection)]


def test_a_fraction_is_drawn_by_document(corpus: list[Path]) -> None:
    whole = chosen(corpus)
    drawn = chosen(corpus, sample=0.1)
    assert 120 < len(drawn) < 280
    assert [text for text in whole if text in set(drawn)] == drawn
    assert chosen(corpus[:1], sample=0.1) + chosen(corpus[1:], sample=0.1) == drawn
    assert sorted(chosen(corpus[::-1], sample=0.1)) == sorted(drawn)
    assert chosen([corpus[0].parent], sample=0.1) == drawn
    assert chosen(corpus, sample=0.1, seed=1) != drawn
    assert set(chosen(corpus, sample=0.05)) < set(drawn)
    assert chosen(corpus, sample=1.0) == whole


def test_a_count_is_drawn_exactly(corpus: list[Path]) -> None:
    drawn = chosen(corpus, sample=100)
    assert len(drawn) == 100
    assert drawn == [text for text in chosen(corpus) if text in set(drawn)]
    assert set(chosen(corpus, sample=10)) < set(drawn)
    assert len(chosen(corpus, sample=5_000)) == 2_000
    assert len(set(drawn) & {f"text {n}" for n in range(500)}) > 5


def test_bytes_are_limited(corpus: list[Path]) -> None:
    found = chosen(corpus, max_bytes=100)
    size = len("".join(found))
    assert 100 <= size < 110
    assert found == chosen(corpus)[: len(found)]
    assert chosen(corpus, max_bytes=12) == ["text 0", "text 1"]
    assert chosen(corpus, max_bytes=13) == ["text 0", "text 1", "text 2"]
    files = find_files(corpus)
    begun = [document for _, document in select(files)][4]
    limited = select(files, Selection(max_bytes=100), Mark(0, begun.place), taken=95)
    assert [document for _, document in limited] == [begun]


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"sample": 0.0}, "cannot be drawn"),
        ({"sample": 1.5}, "cannot be drawn"),
        ({"sample": -3}, "cannot be drawn"),
        ({"sample": float("nan")}, "cannot be drawn"),
        ({"max_bytes": 0}, "nothing would be read"),
    ],
)
def test_a_selection_that_makes_no_sense(settings: dict[str, Any], what: str) -> None:
    with pytest.raises(SourceError, match=what):
        Selection(**settings)


def test_samples_as_people_write_them() -> None:
    assert [parse_sample(text) for text in ("1%", "0.5", "1.0", "1000", "1")] == [
        0.01,
        0.5,
        1.0,
        1000,
        1,
    ]
    assert isinstance(parse_sample("1"), int)
    for text in ("", "x", "%", "1e"):
        with pytest.raises(SourceError, match="no sample"):
            parse_sample(text)


def test_a_file_is_known_again(tmp_path: Path) -> None:
    file = make(tmp_path / "a.txt", "x" * 10_000)
    [corpus_file] = find_files([file])
    before = identity(corpus_file)
    assert identity(corpus_file) == before
    file.write_text("x" * 9_999 + "y")
    assert identity(corpus_file) != before
    file.write_text("x" * 10_001)
    assert identity(corpus_file) != before


RECORDS = '{"text": "a b"}\n{"text": "c"}\n'


@pytest.mark.parametrize("content", [RECORDS, '[\n {"text": "a"}]', '\n{ "k\\"" : 1}', '[{"a":1'])
@pytest.mark.parametrize("name", ["a.json", "a.txt", "a", "a.txt.gz"])
def test_json_is_not_taken_for_plain_text(tmp_path: Path, name: str, content: str) -> None:
    data = content.encode()
    file = make(tmp_path / name, gzip.compress(data) if name.endswith(".gz") else data)
    with pytest.raises(SourceError, match=r"begins as JSON does.*\n.*:FIELD; .*:-"):
        texts_of(file)
    assert texts_of(f"{file}:-") == [content]
    if content == RECORDS:
        assert texts_of(f"{file}:text") == ["a b", "c"]
    if name.startswith("a.txt"):
        with pytest.raises(SourceError, match="begins as JSON does"):
            texts_of(tmp_path)
    else:
        assert texts_of(tmp_path) == [content]


@pytest.mark.parametrize("content", ["{", "[1, 2]", "{}", "{a: 1}", "[link](x)", 'x {"a": 1}', ""])
def test_what_is_no_json_is_plain_text(tmp_path: Path, content: str) -> None:
    assert "".join(texts_of(make(tmp_path / "a.txt", content))) == content
