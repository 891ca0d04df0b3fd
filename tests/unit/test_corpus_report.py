"""Reports over parts of a corpus: they add up to the report over the whole, and survive JSON."""

from __future__ import annotations

import contextlib
import json
from dataclasses import fields, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.compare.corpus_report import (
    EXAMPLES_KEPT,
    CorpusReport,
    Counts,
    FailedDocument,
    Found,
    SideName,
    Source,
    keep,
)
from bpe_interop.errors import FormatError, SourceError

A = SideName("a", "tiktoken", "1", "aa")
B = SideName("b", "tokenizers", "2", "bb")
SCOPES = ("plain", "parsed")

numbers = st.integers(0, 1 << 40)
names = st.sampled_from(["x.txt", "y.txt", "z.txt"])
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
counts = st.builds(Counts, *[numbers] * len(fields(Counts)))
# Few values, so that many are alike.
sources = st.builds(
    Source,
    names,
    st.integers(1, 3),
    st.integers(0, 2),
    st.integers(0, 9),
    st.booleans(),
    st.sampled_from(["d1", "d2", "d3"]),
)
ids = st.lists(st.integers(0, 3), max_size=2).map(tuple)
found = st.builds(
    Found,
    sources,
    st.sampled_from(SCOPES),
    st.integers(0, 1),
    texts,
    ids,
    ids,
    st.none() | st.tuples(texts, texts),
    st.booleans(),
)
failed = st.builds(
    FailedDocument,
    sources,
    st.sampled_from("ab"),
    st.sampled_from(["failed", "killed"]),
    texts,
    texts,
)
reports = st.builds(
    CorpusReport,
    st.sampled_from([A, replace(A, label="other")]),
    st.just(B),
    st.just(SCOPES),
    counts,
    st.dictionaries(names, counts),
    st.lists(found, max_size=30).map(keep),
    st.lists(failed, max_size=30).map(keep),
    st.dictionaries(st.sampled_from(["python", "tiktoken"]), st.just(("1",)) | st.just(("2",))),
    st.lists(texts, max_size=2, unique=True).map(lambda notes: tuple(sorted(notes))),
    st.booleans(),
)


@pytest.mark.long
@given(reports, reports, reports)
def test_addition_is_associative_and_commutative(
    x: CorpusReport, y: CorpusReport, z: CorpusReport
) -> None:
    assert (x + y) + z == x + (y + z)
    assert x + y == y + x
    assert (x + y).to_json() == (y + x).to_json()
    assert sum([x, y, z]) == x + y + z
    empty = CorpusReport(A, B, SCOPES)
    assert x + empty == replace(x, a=(x + empty).a)


@given(st.lists(found, max_size=60), st.lists(st.integers(0, 60), max_size=6))
def test_what_is_kept_of_parts_is_what_is_kept_of_the_whole(
    items: list[Found], cuts: list[int]
) -> None:
    edges = [0, *sorted(min(cut, len(items)) for cut in cuts), len(items)]
    parts = [keep(items[one:two]) for one, two in pairwise(edges)]
    assert reduce(lambda one, two: keep([*one, *two]), parts) == keep(items)
    assert len(keep(items)) <= EXAMPLES_KEPT
    assert len({item.group for item in keep(items)}) == len(keep(items))


@pytest.mark.long
@given(reports)
def test_json_gives_the_report_back(report: CorpusReport) -> None:
    text = report.to_json()
    assert text.isascii()
    assert CorpusReport.from_json(text) == report
    assert CorpusReport.from_json(text.encode("ascii")).to_json() == text


def test_counts_add() -> None:
    x = CorpusReport(A, B, SCOPES, Counts(1, 10), {"x": Counts(1, 10)})
    y = CorpusReport(A, B, SCOPES, Counts(2, 7), {"x": Counts(1, 3), "y": Counts(1, 4)})
    assert (x + y).counts == Counts(3, 17)
    assert (x + y).files == {"x": Counts(2, 13), "y": Counts(1, 4)}


@pytest.mark.parametrize(
    "other",
    [
        CorpusReport(B, A, SCOPES),
        CorpusReport(replace(A, version="3"), B, SCOPES),
        CorpusReport(A, replace(B, digest="cc"), SCOPES),
        CorpusReport(A, B, SCOPES[:1]),
    ],
)
def test_reports_on_other_tokenizers_are_not_added(other: CorpusReport) -> None:
    with pytest.raises(SourceError, match="cannot be added"):
        CorpusReport(A, B, SCOPES) + other


def test_a_label_tells_tokenizers_apart_only_where_nothing_else_does() -> None:
    moved = CorpusReport(replace(A, label="elsewhere"), B, SCOPES)
    assert (CorpusReport(A, B, SCOPES) + moved).a.label == "a"
    with pytest.raises(SourceError):
        CorpusReport(replace(A, digest=""), B, SCOPES) + replace(moved, a=SideName("x", *"ab"))
    number: Any = 1
    with pytest.raises(TypeError):
        moved + number


def source(digest: str, size: int, *, plain: bool = True, line: int = 1) -> Source:
    return Source("x.txt", line, 0, size, plain, digest)


def test_the_plainest_differences_are_kept() -> None:
    def made(number: int, rank: int = 0, *, plain: bool = True) -> Found:
        at = source(str(number), 100 - number, plain=plain)
        return Found(at, SCOPES[rank], rank, "t" * (number + 1), (1,), (2,))

    items = [made(n) for n in range(40)] + [made(99, 1), made(98, plain=False)]
    kept = keep(items)
    assert [item.source.size for item in kept] == list(range(61, 61 + EXAMPLES_KEPT))
    report = CorpusReport(A, B, SCOPES, found=kept)
    assert report.plainest == made(30)
    assert CorpusReport(A, B, SCOPES).plainest is None


def test_witnesses_are_distinct_texts() -> None:
    def made(text: str, line: int, rank: int = 0) -> Found:
        return Found(source(text + str(line), 9, line=line), SCOPES[rank], rank, text, (1,), (2,))

    items = (made("é", 1), made("zz", 2), made("z", 3), made("z", 2), made("z", 1, 1))
    report = CorpusReport(A, B, SCOPES, found=keep(items))
    shown = [(each.text, each.source.line, each.rank) for each in report.witnesses]
    assert shown == [("z", 2, 0), ("zz", 2, 0), ("é", 1, 0), ("z", 1, 1)]
    assert report.plainest == report.witnesses[0]


def test_equal_documents_are_kept_once_with_their_first_place() -> None:
    items = [Found(source("d", 5, line=n), "plain", 0, "t", (1,), (2,)) for n in (7, 3, 9)]
    assert [item.source.line for item in keep(items)] == [3]


REPORT = CorpusReport(
    A,
    B,
    SCOPES,
    Counts(3, 30),
    {"x.txt": Counts(3, 30)},
    (Found(source("d", 1), "plain", 0, "t", (1,), (1,), ("x", "y"), True),),
    (FailedDocument(source("e", 2), "a", "killed", "SIGKILL", "t"),),
)


@pytest.mark.parametrize(
    ("path", "value", "what"),
    [
        (["schema"], 2, "its schema is 2"),
        (["schema"], 0, "its schema is 0"),
        (["kind"], "other", "this is no"),
        (["counts", "bytes"], "1", r"\$\.counts\.bytes: expected an integer"),
        (["files", "x.txt", "more"], 1, "the key 'more' is not known"),
        (["found", 0, "decoding"], ["x"], "expected 2 members, found 1"),
        (["found", 0, "ids_a", 0], None, r"ids_a\[0\]"),
        (["found", 0, "source", "plain"], 1, "expected true or false"),
        (["found", 0, "scope"], "x", r"found\[0\]\.scope: this is none of the ways to ask: plain"),
        (["failures", 0, "how"], None, "how"),
        (["interrupted"], None, "interrupted"),
        (["surprise"], 1, "the key 'surprise' is not known"),
    ],
)
def test_json_of_another_kind_is_refused(path: list[str | int], value: object, what: str) -> None:
    data = json.loads(REPORT.to_json())
    *before, last = path
    reduce(lambda inner, key: inner[key], before, data)[last] = value
    with pytest.raises(FormatError, match=what):
        CorpusReport.from_json(json.dumps(data), "report.json")


@given(st.data())
def test_damaged_json_is_an_error_of_ours(data: st.DataObject) -> None:
    text = REPORT.to_json()
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    damaged = (
        text[:start] + data.draw(st.sampled_from(["", "null", "{}", "[]", "-1", '"'])) + text[end:]
    )
    with contextlib.suppress(FormatError):
        CorpusReport.from_json(damaged)


def test_schemas_are_told_apart_in_words() -> None:
    data = json.loads(REPORT.to_json()) | {"schema": 9}
    with pytest.raises(FormatError, match="upgrade bpe-interop"):
        CorpusReport.from_json(json.dumps(data))


def test_a_missing_key_is_an_error() -> None:
    for key in json.loads(REPORT.to_json()):
        data = json.loads(REPORT.to_json())
        del data[key]
        with pytest.raises(FormatError):
            CorpusReport.from_json(json.dumps(data))


def test_adding_is_what_sum_does() -> None:
    whole = sum([REPORT] * 3)
    assert isinstance(whole, CorpusReport)
    assert reduce(add, [REPORT] * 3).counts == whole.counts == Counts(9, 90)
