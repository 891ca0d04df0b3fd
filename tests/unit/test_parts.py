"""Parts of a corpus: each read by itself, they hold what the file holds, cut alike."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.corpora import (
    Document,
    PartReader,
    Selection,
    cut,
    documents,
    find_files,
    parts,
    read_documents,
    select,
)
from bpe_interop.errors import SourceError


def read_by_parts(corpus: list[Path], size: int, selection: Selection) -> list[tuple[str, int]]:
    """Texts and lines, each part read by a reader of its own."""
    found: list[tuple[str, int]] = []
    before: dict[int, int] = {}
    for part in cut(find_files(corpus), size):
        reader = PartReader(part)
        first = before.get(part.file_number, 0)
        numbered = part.file.kind == "parquet"
        found += [
            (each.text, each.place.line + (0 if numbered else first))
            for each in reader.documents(selection)
        ]
        before[part.file_number] = first + reader.lines
    return found


def read_whole(corpus: list[Path], selection: Selection) -> list[tuple[str, int]]:
    return [(each.text, each.place.line) for _, each in select(find_files(corpus), selection)]


EVERY = Selection()


@given(
    content=st.text("a\n\ré中🙂", max_size=300),
    block=st.integers(8, 40),
    size=st.integers(4, 30),
    step=st.integers(1, 3),
)
def test_parts_of_plain_text_hold_the_documents_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, content: str, block: int, size: int, step: int
) -> None:
    """Lines may be longer than a block, and characters may lie across its end."""
    file = tmp_path_factory.getbasetemp() / "text"
    file.write_bytes(content.encode("utf-8"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "TEXT_BYTES", size)
        patch.setattr(documents, "LONGEST_LINE", block - 4)
        patch.setattr(documents, "BLOCK", block)
        by_blocks = documents.BY_BYTES["text"]._replace(step=block)
        patch.setattr(parts, "BY_BYTES", {"text": by_blocks})
        found = read_by_parts([file], step * block, EVERY)
        assert found == read_whole([file], EVERY)
        assert "".join(text for text, _ in found) == content


def test_long_text_is_cut_where_it_says(tmp_path: Path) -> None:
    file = tmp_path / "long.txt"
    lines = b"".join(b"line %d of a text\n" % number for number in range(200_000))
    file.write_bytes(lines + b"x" * 3_000_000 + b"\n" + lines)
    pieces = cut(find_files([file]), 1)
    assert [part.start for part in pieces] == list(range(0, file.stat().st_size, 1 << 22))
    assert read_by_parts([file], 1, EVERY) == read_whole([file], EVERY)


@given(
    lines=st.lists(st.sampled_from(['{"text":"a\\nb"}', "", '{"text":"é中"}', '{"text":null}'])),
    size=st.integers(1, 40),
    end=st.sampled_from(["", "\n"]),
)
def test_parts_of_jsonl_hold_the_records_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], size: int, end: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "records.jsonl"
    file.write_bytes(("\ufeff" + "\n".join(lines) + end).encode("utf-8"))
    skipping = replace(EVERY, errors="skip")
    assert read_by_parts([file], size, skipping) == read_whole([file], skipping)


def test_parts_of_parquet_are_row_groups(tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    texts = [f"row {number}" for number in range(1_000)]
    pq.write_table(pa.table({"text": texts}), file, row_group_size=90)
    pieces = cut(find_files([file]), 1)
    assert [(part.start, part.end) for part in pieces][-2:] == [(900, 990), (990, 1_000)]
    assert len(cut(find_files([file]), 1 << 30)) == 1
    assert read_by_parts([file], 1, EVERY) == read_whole([file], EVERY)
    pq.write_table(pa.table({"text": pa.array([], pa.string())}), file)
    assert read_by_parts([file], 1, EVERY) == []


def test_a_compressed_file_is_one_part(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl.gz"
    file.write_bytes(gzip.compress(b'{"text": "one"}\n{"text": "two"}\n'))
    assert len(cut(find_files([file]), 1)) == 1
    assert read_by_parts([file], 1, EVERY) == read_whole([file], EVERY)


def test_a_sample_is_the_same_by_parts(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.jsonl", "b.jsonl")]
    for file in files:
        file.write_text("".join(json.dumps({"text": f"{n}"}) + "\n" for n in range(500)))
    tenth = Selection(sample=0.1, seed=3)
    found = read_by_parts(files, 100, tenth)
    assert found == read_whole(files, tenth)
    assert 50 < len(found) < 150


@pytest.mark.parametrize("selection", [Selection(max_bytes=10), Selection(sample=5)])
def test_what_depends_on_other_parts_is_refused(tmp_path: Path, selection: Selection) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a")
    [part] = cut(find_files([file]))
    with pytest.raises(SourceError, match="read from its start"):
        next(PartReader(part).documents(selection))


def test_an_error_names_the_line_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"text": "good"}\n' * 50 + b'{"text": "bad\xff"}\n' + b'{"text": "x"}\n' * 9)
    with pytest.raises(SourceError) as whole:
        list(read_documents(find_files([file])[0]))
    with pytest.raises(SourceError) as by_parts:
        read_by_parts([file], 100, EVERY)
    assert str(by_parts.value) == str(whole.value)
    assert "a.jsonl:51" in str(whole.value)


def test_a_file_that_changed_since_it_was_cut_is_an_error(tmp_path: Path) -> None:
    """Documents that are gone must not be equal by omission."""
    file = tmp_path / "a.jsonl"
    file.write_bytes(b'{"text": "some text"}\n' * 50)
    parts = cut(find_files([file]), 200)
    file.write_bytes(b'{"text": "some text"}\n' * 20)
    for part in parts:
        with pytest.raises(SourceError, match="not as it was when it was cut"):
            list(PartReader(part).documents(EVERY))


def test_a_pipe_has_no_parts() -> None:
    with pytest.raises(SourceError, match="only once"):
        cut(find_files(["-"]))


def whole(file: Path) -> list[Document]:
    return list(read_documents(find_files([file])[0]))


def test_documents_begin_near_each_block(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"0123456789\n" * 800_000)
    starts = {each.place.offset for each in whole(file)}
    assert {4_194_311, 8_388_611} <= starts
