"""Comparing over corpora: batches, processes, interrupts, going on, and engines that are killed."""

from __future__ import annotations

import json
import os
import pickle
import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bpe_interop.compare import corpus as engine
from bpe_interop.compare.corpus import Corpora
from bpe_interop.compare.corpus_report import CorpusReport, Counts, SideName
from bpe_interop.compare.opening import open_source, side_of
from bpe_interop.compare.run import Sides
from bpe_interop.compare.sides import ORDINARY, PARSED, Build, OwnEngine, Side
from bpe_interop.corpora import Selection, find_files, select
from bpe_interop.engines import Engine, from_files
from bpe_interop.errors import EngineError, FormatError, SourceError, TargetError
from bpe_interop.formats import by_name
from bpe_interop.io.reader import TokenizerSource
from bpe_interop.sources import load_source
from bpe_interop.workers import Progress
from fixtures import ROOT, TOKENIZERS


def compare_corpora(
    sides: Sides,
    names: Iterable[str | Path],
    *,
    isolate: bool = False,
    wanted: engine.Wanted = lambda text: True,
    patience: int = sys.maxsize,
    tick: engine.ProgressTick = lambda progress: None,
    **reading: Any,
) -> CorpusReport:
    texts = Corpora(tuple(names), **reading)
    report, ended = engine.compare_corpora(
        sides, texts, isolate=isolate, wanted=wanted, patience=patience, tick=tick
    )
    assert ended == any("one side alone failed" in note for note in report.notes)
    return report


class Letters:
    """A side that gives code points: ``changes`` are other ones, on ``fails`` it raises, on
    ``kills`` its process dies.
    """

    name = "letters"
    version = "1"
    parses_special = True
    applies_template = True

    def __init__(self, changes: str = "", fails: str = "", kills: str = "") -> None:
        self.changes, self.fails, self.kills = changes, fails, kills

    def encode(
        self, text: str, *, special: str = "text", add_special_tokens: bool = False
    ) -> list[int]:
        if self.kills and self.kills in text:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.fails and self.fails in text:
            raise EngineError("failed")
        return [ord(c) + (c in self.changes) for c in text]

    def encode_batch(
        self, texts: Sequence[str], *, special: str = "text", add_special_tokens: bool = False
    ) -> list[list[int]]:
        return [self.encode(text) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(map(chr, ids))


class Loud(Letters):
    """It prints, as native code does."""

    def encode(
        self, text: str, *, special: str = "text", add_special_tokens: bool = False
    ) -> list[int]:
        os.write(1, b"loud words on standard output\n")
        return super().encode(text)


def broken_build() -> Engine:
    raise EngineError("cannot be built")


def lethal_build() -> Engine:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def faulty_build() -> Engine:
    raise ZeroDivisionError


A = SideName("a", "letters", "1")
B = SideName("b", "letters", "1")


def side(build: Build, name: SideName) -> Side:
    """A side of which only its engine and its name are known."""
    return Side(
        TokenizerSource(name.label, by_name("huggingface"), {}, None), None, build, lambda: name
    )


def letters(a: Callable[[], Engine] = Letters, **b: str) -> Sides:
    return Sides(side(a, A), side(partial(Letters, **b), B), (ORDINARY,))


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="")
    return path


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "BATCH_BYTES", 1 << 15)


def jsonl(path: Path, texts: Sequence[str]) -> Path:
    return write(path, [json.dumps({"text": text}) for text in texts])


# With the reference engines.


def tiny(name: str, format: str, engine: str) -> tuple[Callable[[], Engine], SideName]:
    loaded = load_source(TOKENIZERS / name / format)
    files = dict(loaded.files)
    build = partial(from_files, engine, loaded.format.name, files, loaded.model)
    return build, SideName(f"{name}/{format}", engine, "1")


@pytest.mark.long
@pytest.mark.parametrize("processes", [0, 2])
def test_counts_are_those_of_the_engines(corpora: list[Path], processes: int) -> None:
    (a, name_a), (b, name_b) = (
        tiny("gpt2-tiny", "tiktoken", "tiktoken"),
        tiny("cl100k-tiny", "huggingface", "tokenizers"),
    )
    sides = Sides(side(a, name_a), side(b, name_b), (ORDINARY, PARSED))
    report = compare_corpora(sides, corpora, processes=processes)
    one, two = a(), b()
    texts = [document.text for _, document in select(find_files(corpora))]
    expected = Counts(
        documents=len(texts),
        bytes=sum(path.stat().st_size for path in corpora),
        tokens_a=sum(len(one.encode(text)) for text in texts),
        tokens_b=sum(len(two.encode(text)) for text in texts),
        compared=len(texts),
        differing=sum(one.encode(text) != two.encode(text) for text in texts),
    )
    assert report.counts == expected
    assert {row.documents for row in report.files.values()} <= set(range(1, 6))
    assert sum(row.bytes for row in report.files.values()) == expected.bytes
    assert report.scopes == (ORDINARY.scope, PARSED.scope)
    for found in report.found:
        assert found.shrunk
        assert one.encode(found.text) == list(found.ids_a) != list(found.ids_b)
        assert two.encode(found.text) == list(found.ids_b)


def test_equal_tokenizers_are_equal_over_corpora(corpora: list[Path]) -> None:
    (a, name_a), (b, name_b) = (
        tiny("gpt2-tiny", "tiktoken", "tiktoken"),
        tiny("gpt2-tiny", "huggingface", "tokenizers"),
    )
    sides = Sides(side(a, name_a), side(b, name_b), (ORDINARY, PARSED))
    report = compare_corpora(sides, corpora)
    assert (report.counts.differing, report.found, report.failures) == (0, (), ())
    assert report.counts.compared == report.counts.documents > 0
    assert report.counts.tokens_a == report.counts.tokens_b
    assert not report.interrupted
    assert set(report.versions) == {"python", "tiktoken", "tokenizers"}


def test_our_encoder_goes_to_other_processes(corpora: list[Path]) -> None:
    loaded = load_source(TOKENIZERS / "gpt2-tiny" / "tiktoken")
    b, name_b = tiny("gpt2-tiny", "huggingface", "tokenizers")
    own = side(partial(OwnEngine, loaded.model), SideName("a", "bpe_interop", "1"))
    sides = Sides(own, side(b, name_b), (PARSED,))
    report = compare_corpora(sides, corpora, processes=1)
    assert (report.counts.differing, report.failures) == (0, ())
    assert report == compare_corpora(sides, corpora, processes=0)


@pytest.mark.parametrize("engine", [None, "tokenizers", "transformers"])
def test_a_source_becomes_a_side(engine: str | None) -> None:
    opened = open_source(TOKENIZERS / "template-tiny" / "huggingface")
    made = side_of(opened, engine)
    assert made.name is not None
    name = made.name()
    built = pickle.loads(pickle.dumps(made.build))()
    assert (name.engine, name.version) == (built.name, built.version)
    other = open_source(TOKENIZERS / "template-tiny" / "huggingface" / "tokenizer.json")
    moved = side_of(replace(opened, label="elsewhere"), engine).name
    assert moved is not None
    assert moved().same(name)
    model = replace(opened.model, added=()) if opened.model is not None else None
    changed = side_of(replace(opened, model=model), engine).name
    assert changed is not None
    assert not changed().same(name)
    if engine == "transformers":
        with pytest.raises(SourceError, match="directory"):
            side_of(other, engine)
    with pytest.raises(EngineError, match="does not run"):
        side_of(opened, "tiktoken")


# What is found, and where.


@pytest.mark.usefixtures("small_batches")
def test_a_difference_is_found_in_its_line(tmp_path: Path) -> None:
    lines = [f"line {n} é" for n in range(30_000)]
    lines[12_345] += " z here"
    text = write(tmp_path / "a.txt", lines)
    records = jsonl(tmp_path / "b.jsonl", ["fine", "two\nlines\nz"])
    report = compare_corpora(letters(changes="z"), [text, records])
    assert report.counts.differing == 2
    by_file = {found.source.file: found for found in report.found}
    found = by_file[str(text)]
    assert (found.source.line, found.text, found.ids_a, found.ids_b) == (
        12_346,
        "z",
        (122,),
        (123,),
    )
    before = "".join(f"{line}\n" for line in lines[:12_345]) + "line 12345 é "
    assert found.source.offset == len(before.encode())
    assert (by_file[str(records)].source.line, by_file[str(records)].text) == (2, "z")
    assert report.files[str(text)].differing == report.files[str(records)].differing == 1


@pytest.mark.long
@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("processes", [0, 1, 2])
def test_parts_add_up_to_the_whole(tmp_path: Path, processes: int) -> None:
    words = ["plain", "zebra", "boo é", "z", "fail!", "x" * 300, "long z " * 99]
    files = [
        jsonl(
            tmp_path / f"{part}.jsonl", [words[n * n % 7] + str(n % 50) for n in range(part, 900)]
        )
        for part in range(3)
    ]
    sides = letters(changes="z", fails="!")
    whole = compare_corpora(sides, files, processes=processes)
    assert whole.counts.differing > 30
    assert whole.counts.failed_b > 10
    assert whole.counts.failed_a == 0
    assert len(whole.found) == len(whole.failures) == 10
    parts = [compare_corpora(sides, [file]) for file in files]
    assert parts[2] + parts[0] + parts[1] == whole
    assert (parts[2] + parts[0] + parts[1]).to_json() == whole.to_json()


def test_failures_are_neither_equal_nor_different(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "a.jsonl", ["good", "bad", "good", "x" * 5_000 + "bad"])
    report = compare_corpora(letters(fails="bad"), [file])
    counts = report.counts
    assert (counts.documents, counts.compared, counts.differing, counts.failed_b) == (4, 2, 0, 2)
    assert [(f.side, f.how, f.what, f.source.line) for f in report.failures] == [
        ("b", "failed", "failed", 2),
        ("b", "failed", "failed", 4),
    ]
    assert len(report.failures[1].text) == 1_000
    assert report.failures[1].source.size == 5_003


@pytest.mark.usefixtures("small_batches")
def test_patience_ends(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "a.jsonl", ["bad" * 100] * 5_000)
    report = compare_corpora(letters(fails="bad"), [file], patience=10)
    assert report.interrupted
    assert report.counts.documents < 5_000
    assert "one side alone failed" in report.notes[0]


def test_replaced_documents_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(SourceError, match="not UTF-8"):
        compare_corpora(letters(), [tmp_path / "a.txt"])
    selection = Selection(errors="replace")
    assert (
        compare_corpora(letters(), [tmp_path / "a.txt"], selection=selection).counts.replaced == 1
    )


@pytest.mark.usefixtures("small_batches")
def test_documents_outside_the_scope_are_left_out_and_counted(tmp_path: Path) -> None:
    texts = [f"{'z' if n % 3 else 'added'} text {n} " * 9 for n in range(2_000)]
    file = jsonl(tmp_path / "a.jsonl", texts)

    def wanted(text: str) -> bool:
        return "added" not in text

    settings: dict[str, Any] = {"wanted": wanted, "selection": Selection(max_bytes=150_000)}
    report = compare_corpora(letters(changes="z"), [file], **settings)
    counts = report.counts
    assert counts.bytes >= 150_000
    assert counts.documents == counts.compared + counts.left_out
    assert counts.left_out > 100
    assert counts.differing == counts.compared
    state = tmp_path / "compared.state"
    compare_corpora(letters(changes="z"), [file], **settings, state=state, tick=Stop(1))
    assert compare_corpora(letters(changes="z"), [file], **settings, state=state) == report


# Progress.


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("processes", [0, 2])
def test_progress(tmp_path: Path, processes: int) -> None:
    files = [write(tmp_path / f"{n}.txt", [f"line {i}" for i in range(20_000)]) for n in range(2)]
    files.append(write(tmp_path / "empty.txt", []))
    seen: list[Progress] = []
    report = compare_corpora(letters(), files, processes=processes, tick=seen.append)
    total = sum(file.stat().st_size for file in files)
    assert len(seen) > 5
    assert [p.bytes for p in seen] == sorted(p.bytes for p in seen)
    assert seen[-1].bytes == seen[-1].read == seen[-1].total == report.counts.bytes == total
    assert seen[-1].documents == report.counts.documents
    assert seen[-1].rate > 0
    assert all(p.read <= p.total for p in seen)


# Processes.


@pytest.mark.long
@pytest.mark.parametrize("processes", [1, 2])
def test_a_text_that_kills_is_an_outcome(tmp_path: Path, processes: int) -> None:
    texts = [f"text {n}" for n in range(50)] + ["boom b", "z"] + ["more"] * 20
    file = jsonl(tmp_path / "a.jsonl", texts)
    sides = letters(changes="z", kills="boom")
    report = compare_corpora(sides, [file], processes=processes, isolate=True)
    [failure] = report.failures
    assert (failure.side, failure.how, failure.text) == ("b", "killed", "boom b")
    assert "SIGKILL" in failure.what
    counts = report.counts
    assert (counts.documents, counts.compared, counts.differing) == (72, 71, 1)
    assert [found.text for found in report.found] == ["z"]
    assert not report.interrupted


def test_the_side_that_is_killed_is_named(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "a.jsonl", ["boom a"])
    sides = letters(partial(Letters, kills="boom"))
    report = compare_corpora(sides, [file], isolate=True)
    assert [failure.side for failure in report.failures] == ["a"]
    assert (report.counts.failed_a, report.counts.failed_b) == (1, 0)


def test_a_difference_that_kills_while_it_is_shrunk_stays_long(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "a.jsonl", ["zz"])
    sides = Sides(side(Letters, A), side(partial(KillsOnSingle, changes="z"), B), (ORDINARY,))
    report = compare_corpora(sides, [file], isolate=True)
    [found] = report.found
    assert (found.text, found.shrunk) == ("zz", False)


class KillsOnSingle(Letters):
    def encode(
        self, text: str, *, special: str = "text", add_special_tokens: bool = False
    ) -> list[int]:
        if len(text) == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(text)


def test_an_error_that_is_no_outcome_arrives(tmp_path: Path) -> None:
    """A fault in a side's own code must not look like a text that kills."""
    file = jsonl(tmp_path / "a.jsonl", ["one"])
    with pytest.raises(EngineError, match=r"(?s)test_sweep\.py.*ZeroDivisionError"):
        compare_corpora(letters(Faulty), [file], processes=1)


class Faulty(Letters):
    def encode_batch(
        self, texts: Sequence[str], *, special: str = "text", add_special_tokens: bool = False
    ) -> list[list[int]]:
        raise ZeroDivisionError


def test_what_a_library_prints_is_no_answer(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "a.jsonl", ["one", "two"])
    report = compare_corpora(letters(Loud), [file], processes=1)
    assert report.counts.compared == 2


@pytest.mark.long
@pytest.mark.parametrize(
    ("build", "what"),
    [
        (broken_build, "cannot be built"),
        (lethal_build, "SIGKILL"),
        (faulty_build, "ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("processes", [1, 2])
def test_a_side_that_cannot_be_built_is_an_error(
    tmp_path: Path, build: Callable[[], Engine], what: str, processes: int
) -> None:
    file = jsonl(tmp_path / "a.jsonl", ["one"])
    with pytest.raises(EngineError, match=what):
        compare_corpora(letters(build), [file], processes=processes)


# Going on.


class Stop:
    """Interrupts after some batches, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, progress: Progress) -> None:
        self.after -= 1
        if self.after <= 0:
            raise KeyboardInterrupt


@pytest.mark.long
@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize(("after", "processes"), [(3, 0), (1, 2), (7, 2)])
def test_an_interrupted_comparison_goes_on(tmp_path: Path, after: int, processes: int) -> None:
    words = ["plain", "zebra", "boo é", "fail!", "long z " * 99]
    text = write(tmp_path / "a.txt", [words[n * n % 5] + str(n) for n in range(1_500)])
    records = jsonl(tmp_path / "b.jsonl", [words[n * n % 5] + str(n) for n in range(1_500)])
    sides, state = letters(changes="z", fails="!"), tmp_path / "compared.state"
    whole = compare_corpora(sides, [text, records])
    first = compare_corpora(
        sides, [text, records], processes=processes, state=state, tick=Stop(after)
    )
    assert first.interrupted
    assert 0 < first.counts.documents < whole.counts.documents
    again = compare_corpora(sides, [text, records], processes=processes, state=state)
    assert again == whole
    seen: list[Progress] = []
    assert compare_corpora(sides, [text, records], state=state, tick=seen.append) == whole
    assert seen == []


@pytest.mark.usefixtures("small_batches")
def test_a_limit_and_a_sample_hold_over_runs(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "a.jsonl", [f"text {n} " * 20 for n in range(5_000)])
    selection = Selection(max_bytes=200_000, sample=0.5)
    whole = compare_corpora(letters(), [file], selection=selection)
    assert whole.counts.bytes >= 200_000
    state = tmp_path / "compared.state"
    settings: dict[str, Any] = {"selection": selection, "state": state}
    compare_corpora(letters(), [file], **settings, tick=Stop(2))
    assert compare_corpora(letters(), [file], **settings) == whole


def test_a_state_of_something_else_is_refused(tmp_path: Path) -> None:
    file, state = write(tmp_path / "a.txt", ["one"]), tmp_path / "compared.state"
    compare_corpora(letters(), [file], state=state)
    before = state.read_bytes()
    other = write(tmp_path / "b.txt", ["one"])
    sides = Sides(side(Letters, A), side(Letters, SideName("c", "letters", "1")), (ORDINARY,))
    for compared, corpus, selection, what in (
        (letters(), [other], Selection(), "another corpus"),
        (letters(), [file, other], Selection(), "another corpus"),
        (sides, [file], Selection(), "other tokenizers"),
        (letters(), [file], Selection(seed=2), "or settings"),
    ):
        with pytest.raises(SourceError, match=what):
            compare_corpora(compared, corpus, state=state, selection=selection)
        assert state.read_bytes() == before
    write(file, ["two"])
    with pytest.raises(SourceError, match="another corpus"):
        compare_corpora(letters(), [file], state=state)


def test_a_state_is_refused_where_the_middle_of_a_file_is_another(tmp_path: Path) -> None:
    file, state = write(tmp_path / "a.txt", ["one"] * 9_000), tmp_path / "compared.state"
    compare_corpora(letters(), [file], state=state, tick=Stop(1))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    with pytest.raises(SourceError, match="another corpus"):
        compare_corpora(letters(), [file], state=state)


def test_a_state_of_other_versions_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, state = write(tmp_path / "a.txt", ["one"]), tmp_path / "compared.state"
    compare_corpora(letters(), [file], state=state)
    monkeypatch.setattr(engine, "versions_here", lambda names: {"regex": "0.1"})
    with pytest.raises(SourceError, match="versions"):
        compare_corpora(letters(), [file], state=state)


def test_a_state_that_is_none_is_refused(tmp_path: Path) -> None:
    file, state = write(tmp_path / "a.txt", ["one"]), tmp_path / "compared.state"
    compare_corpora(letters(), [file], state=state)
    whole = state.read_bytes()
    [(number, result)] = results_in(state)
    for content in (
        b"{}",
        b'{"kind": "bpe-interop comparison begun", "schema": 2}',
        b'{"kind": "bpe-interop parts done", "schema": 3}\n',
        whole[:100] + bytes(4_000) + whole[4_100:],
        whole[:5_000],
    ):
        state.write_bytes(content)
        with pytest.raises(FormatError, match="no state"):
            compare_corpora(letters(), [file], state=state)
        assert state.read_bytes() == content
    kept = json.loads(result)
    found = [{"source": {}, "scope": "none"}]
    for other in (
        b"\xff",
        "{}",
        7,
        json.dumps(kept | {"line": 0}),
        json.dumps(kept | {"file_number": 1}),
        json.dumps(kept | {"offset": 1 << 63}),
        json.dumps(kept | {"report": kept["report"] | {"found": found}}),
        json.dumps(kept | {"report": kept["report"] | {"scopes": ["none"]}}),
    ):
        state.write_bytes(whole)
        with closing(sqlite3.connect(state)) as database, database:
            database.execute("UPDATE parts SET result = ? WHERE number = ?", (other, number))
        with pytest.raises(FormatError) as raised:
            compare_corpora(letters(), [file], state=state)
        assert str(state) in str(raised.value)
    for change in (
        "CREATE TABLE more (a)",
        "CREATE TRIGGER t AFTER DELETE ON parts BEGIN SELECT 1; END",
        "PRAGMA user_version = 3",
        "PRAGMA application_id = 1",
    ):
        state.write_bytes(whole)
        with closing(sqlite3.connect(state)) as database, database:
            database.execute(change)
        with pytest.raises(FormatError, match="of another version"):
            compare_corpora(letters(), [file], state=state)


def results_in(state: Path) -> list[tuple[int, str]]:
    """What a state has of parts; it may be at work."""
    with closing(sqlite3.connect(f"file:{state}?immutable=1", uri=True)) as database:
        return database.execute("SELECT number, result FROM parts ORDER BY number").fetchall()


def test_a_state_has_one_run_at_a_time(tmp_path: Path) -> None:
    file, state = write(tmp_path / "a.txt", ["one"]), tmp_path / "compared.state"

    def second(progress: Progress) -> None:
        with pytest.raises(TargetError, match="another run keeps its state there"):
            compare_corpora(letters(), [file], state=state)

    assert compare_corpora(letters(), [file], state=state, tick=second).counts.documents == 1
    assert compare_corpora(letters(), [file], state=state).counts.documents == 1


def test_a_state_that_cannot_be_written_is_said_at_once(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", ["one"])
    called: list[Progress] = []
    with pytest.raises(TargetError):
        compare_corpora(letters(), [file], state=tmp_path / "no" / "state", tick=called.append)
    with pytest.raises(SourceError):
        compare_corpora(letters(), [file], state=tmp_path, tick=called.append)
    assert called == []


@pytest.mark.usefixtures("small_batches")
def test_what_was_done_before_a_bad_shard_is_kept(tmp_path: Path) -> None:
    good = write(tmp_path / "a.txt", [f"line {n}" for n in range(20_000)])
    bad, state = tmp_path / "b.txt", tmp_path / "compared.state"
    bad.write_bytes(b"x\n" * 40_000 + b"\xff\n")
    with pytest.raises(SourceError, match=r"b\.txt:40001: not UTF-8"):
        compare_corpora(letters(), [good, bad], state=state)
    [(_, result)] = results_in(state)
    files = json.loads(result)["report"]["files"]
    assert files[str(good)]["bytes"] == good.stat().st_size
    assert files[str(bad)]["documents"] > 0


SCRIPT = """
    import sys
    sys.path[:0] = [{tests!r}]
    from pathlib import Path
    from test_sweep import Letters, compare_corpora, letters

    def tick(progress):
        print("batch", flush=True)

    report = compare_corpora(letters(changes="z"), [{corpus!r}], processes={processes}, tick=tick)
    print(report.to_json())
"""


@pytest.mark.long
@pytest.mark.parametrize("processes", [0, 2])
def test_control_c_reports_what_was_done(tmp_path: Path, processes: int) -> None:
    corpus = tmp_path / "big.txt"
    corpus.write_bytes(b"a line of text z\n" * 4_000_000)
    script = textwrap.dedent(SCRIPT).format(
        tests=str(Path(__file__).parent), corpus=str(corpus), processes=processes
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "batch\n"
    os.killpg(process.pid, signal.SIGINT)
    said = process.stdout.read()
    assert process.wait(60) == 0
    report = CorpusReport.from_json(said[said.index("{") :])
    assert report.interrupted
    assert 0 < report.counts.documents == report.counts.differing
    assert report.counts.bytes < corpus.stat().st_size
    assert report.plainest is not None
    assert report.plainest.text == "z"
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
