"""Comparing and counting by parts, in any executor: the same bytes as on one core."""

from __future__ import annotations

import gzip
import importlib
import json
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from out_of_order import Shuffled

from bpe_interop.compare import Corpora, RunOptions, verify
from bpe_interop.compare.corpus import check_corpora, compare_corpora
from bpe_interop.compare.corpus_report import CorpusReport
from bpe_interop.compare.opening import open_source, side_of
from bpe_interop.compare.run import Sides
from bpe_interop.compare.sides import ORDINARY, PARSED
from bpe_interop.corpora import find_files, read_documents
from bpe_interop.errors import EngineError, FormatError, SourceError, TargetError
from bpe_interop.reports import to_json
from bpe_interop.sources import load_source
from bpe_interop.statistics import measure
from bpe_interop.token_files.job import Encoded
from bpe_interop.tokenizer import Tokenizer
from bpe_interop.workers import Carried, carry, opened_from, pool_of, run, worker
from bpe_interop.workers.state import keeping
from fixtures import FIXTURES, TOKENIZERS

RUNS = importlib.import_module("bpe_interop.compare.comparison")
GPT2 = TOKENIZERS / "gpt2-tiny" / "huggingface"
CL100K = TOKENIZERS / "cl100k-tiny" / "huggingface"


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several files with texts on which the two differ, late in them too."""
    folder = tmp_path_factory.mktemp("corpus")
    seeds = [path.read_text("utf-8") for path in sorted((FIXTURES / "corpora").glob("*.txt"))]
    for number in range(6):
        with (folder / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            for line in range(40):
                text = seeds[(number + line) % len(seeds)][line * 7 : line * 7 + 90]
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n\n")
    (folder / "plain.txt").write_text("".join(seeds)[:30_000], "utf-8")
    return folder


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bpe_interop.corpora.parts.PART_BYTES", 2_000)
    monkeypatch.setattr("bpe_interop.corpora.parts.cut.__defaults__", (2_000,))
    monkeypatch.setattr("bpe_interop.corpora.parts.CutCorpus.__init__.__defaults__", (2_000,))


def executors() -> Iterator[Any]:
    yield pytest.param(lambda: ProcessPoolExecutor(1, get_context("spawn")), 1, id="one process")
    yield pytest.param(lambda: ProcessPoolExecutor(2, get_context("spawn")), 2, id="two processes")
    yield pytest.param(lambda: Shuffled(1), 5, id="five in another order")
    yield pytest.param(lambda: Shuffled(2), 50, id="fifty in another order")


def compare(
    corpus: Path,
    executor: Executor,
    *,
    slots: int | None = None,
    state: Path | None = None,
    limit: float = 60.0,
    folders: tuple[Path, Path] = (GPT2, CL100K),
) -> CorpusReport:
    report, _ = compare_corpora(
        prepared(folders),
        Corpora((corpus,), state=state),
        workers=pool_of(executor, slots),
        limit=limit,
        patience=1_000,
    )
    return report


def prepared(folders: tuple[Path, Path] = (GPT2, CL100K)) -> Sides:
    a, b = (side_of(open_source(folder)) for folder in folders)
    return Sides(a, b, (ORDINARY, PARSED))


@pytest.fixture(scope="module")
def on_one_core(corpus: Path) -> str:
    report, _ = compare_corpora(prepared(), Corpora((corpus,), processes=0))
    return report.to_json()


@pytest.mark.long
@pytest.mark.parametrize(("make", "slots"), [*executors()])
def test_the_report_has_the_same_bytes(
    corpus: Path, on_one_core: str, make: Callable[[], Executor], slots: int
) -> None:
    with make() as executor:
        report = compare(corpus, executor, slots=slots)
    assert report.to_json() == on_one_core
    lines = {each.source.line for each in report.found}
    assert report.counts.differing > 10
    assert max(lines) > 20


def test_verify_takes_an_executor(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("awkward", "every_token"):
        monkeypatch.setattr(RUNS, name, lambda *given, **more: ["a"])
    texts = Corpora((corpus,), processes=0)
    one = verify(GPT2, CL100K, scope="ordinary", corpora=texts)
    with Shuffled(0) as executor:
        options = RunOptions(executor=executor, slots=3)
        many = verify(GPT2, CL100K, scope="ordinary", corpora=texts, options=options)
    assert to_json(many) == to_json(one)


def carried(folder: Path) -> Carried:
    loaded = load_source(folder)
    return carry(folder.parent.name, loaded.format.name, loaded.files)


@pytest.mark.parametrize(("make", "slots"), [*executors()][2:3])
def test_statistics_are_the_same(corpus: Path, make: Callable[[], Executor], slots: int) -> None:
    files = find_files([corpus])
    named = [(each.parent.name, Tokenizer(load_source(each).model)) for each in (GPT2, CL100K)]
    with make() as executor:
        of_files = [carried(GPT2), carried(CL100K)]
        found = measure(of_files, files, executor=executor, slots=slots)
    assert (
        found.statistics == measure(named, files).statistics == measure(of_files, files).statistics
    )
    assert len(found.statistics) == 2 * (len(files) + 1)
    assert found.done == found.parts > len(files)


def test_a_state_is_gone_on_from(
    corpus: Path, on_one_core: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    with Shuffled(3) as executor:
        compare(corpus, executor, state=state)
        parts = results_in(state)
        assert parts > 20
        # As a kill leaves it: some of the parts.
        with closing(sqlite3.connect(state)) as database, database:
            database.execute("DELETE FROM parts WHERE number > 7")
        done = _counted(executor, monkeypatch)
        report = compare(corpus, executor, state=state)
    assert report.to_json() == on_one_core
    assert sorted(done) == [*range(8, parts)]
    assert results_in(state) == parts


def results_in(state: Path) -> int:
    """How many parts a state has."""
    with closing(sqlite3.connect(state)) as database:
        [(count,)] = database.execute("SELECT count(*) FROM parts").fetchall()
        return int(count)


def _counted(executor: Executor, patch: pytest.MonkeyPatch) -> list[int]:
    """Counts what an executor is given and does."""
    done: list[int] = []
    submit = executor.submit

    def counting(fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done.append(args[0].part.number)
        return submit(fn, *args, **kwargs)

    patch.setattr(executor, "submit", counting)
    return done


def test_a_state_of_another_run_is_refused(corpus: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with Shuffled(3) as executor:
        compare(corpus, executor, state=state)
        with pytest.raises(SourceError, match="other tokenizers"):
            compare(corpus, executor, state=state, folders=(CL100K, GPT2))
        state.write_text('{"kind": "another"}\n')
        with pytest.raises(FormatError, match="no state of"):
            compare(corpus, executor, state=state)


def test_a_state_of_other_versions_is_refused(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    with Shuffled(3) as executor:
        compare(corpus / "0.jsonl", executor, state=state)
        real = worker.versions_here
        for place in ("compare.corpus", "workers.worker", "workers.run"):
            monkeypatch.setattr(
                importlib.import_module(f"bpe_interop.{place}"),
                "versions_here",
                lambda names: {**real(names), "regex": "0.1"},
            )
        with pytest.raises(SourceError, match="other tokenizers, versions"):
            compare(corpus / "0.jsonl", executor, state=state)


def test_a_state_has_one_run_at_a_time(corpus: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with Shuffled(3) as executor, closing(sqlite3.connect(state)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TargetError, match="another run keeps its state there"):
            compare(corpus / "0.jsonl", executor, state=state)
    assert state.read_bytes() == b""


def test_a_killed_run_loses_no_part_that_was_written(corpus: Path, tmp_path: Path) -> None:
    """And the lock of a process that is gone holds nobody up."""
    state = tmp_path / "state"
    script = f"""
import os, sys
sys.path[:0] = [{str(Path(__file__).parent)!r}]
from pathlib import Path
from bpe_interop.corpora import find_files
from bpe_interop.workers.state import keeping
from bpe_interop.token_files.job import Encoded
with keeping({str(state)!r}, {{"parts": [1]}}, find_files([{str(corpus)!r}]), Encoded) as kept:
    for number in range(9):
        kept.add(number, Encoded(number, 0, 0, 0, 0, 0, ()))
        kept._took = 0.0 if number < 5 else 1e9
    os.kill(os.getpid(), 9)
"""
    killed = subprocess.run([sys.executable, "-c", script], check=False)
    assert killed.returncode == -9
    with keeping(state, {"parts": [1]}, find_files([corpus]), Encoded) as kept:
        assert [each.documents for each in kept.results.values()] == [*range(6)]


def test_other_versions_are_said(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = worker.versions_here
    monkeypatch.setattr(worker, "versions_here", lambda names: {**real(names), "regex": "0.1"})
    with Shuffled(4) as executor, pytest.raises(EngineError, match=r"regex 0\.1 instead of"):
        compare(corpus, executor)


@pytest.mark.parametrize("slots", [1, 7])
def test_a_damaged_file_is_the_same_error(corpus: Path, tmp_path: Path, slots: int) -> None:
    good = (corpus / "0.jsonl").read_bytes()
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(good[: len(good) // 2] + b'\n{"text": "\xff"}\n' + good[len(good) // 2 :])
    with pytest.raises(SourceError) as one:
        list(read_documents(find_files([bad])[0]))
    with Shuffled(5) as executor, pytest.raises(SourceError) as many:
        compare(bad, executor, slots=slots)
    assert one.value.where == many.value.where
    assert many.value.what.startswith(one.value.what)
    assert "parts were done" in many.value.what


@pytest.mark.parametrize("kind", ["gz", "parquet"])
def test_a_damaged_container_is_an_error_after_the_others_are_done(
    corpus: Path, tmp_path: Path, kind: str
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "good.jsonl").write_bytes((corpus / "0.jsonl").read_bytes())
    bad, lines = texts / f"bad.{kind}", (corpus / "1.jsonl").read_bytes()
    if kind == "gz":
        bad.write_bytes(gzip.compress(lines * 9))
    else:
        table = pa.table({"text": [str(line * 9) for line in lines.splitlines()]})
        pq.write_table(
            *(table, bad, 10), compression="none", use_dictionary=False, write_page_checksum=True
        )
    at = bad.stat().st_size // 2
    if kind == "parquet":  # where texts are: what no reader looks at may be damaged
        column = pq.ParquetFile(bad).metadata.row_group(1).column(0)
        at = column.data_page_offset + column.total_compressed_size - 60
    data = bad.read_bytes()
    bad.write_bytes(data[:at] + bytes(40) + data[at + 40 :])
    state = tmp_path / "state"
    with Shuffled(5) as executor, pytest.raises(SourceError, match="parts were done") as raised:
        compare(texts, executor, state=state, folders=(GPT2, GPT2))
    assert raised.value.where.startswith(str(bad))
    done = results_in(state)
    assert f"({done:,} of " in raised.value.what
    assert done > 1


def test_a_state_on_a_full_disk_is_one_error(corpus: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, before[1]))
    try:
        with Shuffled(3) as executor, pytest.raises(TargetError, match="cannot be written"):
            compare(corpus, executor, state=state)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    with Shuffled(3) as executor:  # what was written is gone on from
        assert compare(corpus, executor, state=state).counts.documents > 100


def test_a_device_is_no_state(corpus: Path) -> None:
    with Shuffled(3) as executor, pytest.raises(SourceError, match="regular file"):
        compare(corpus, executor, state=Path("/dev/zero"))


class Deaf(Executor):
    """Never answers the first order of some parts; and the clock that their limit is told by.

    It jumps by an hour at each look, while all other orders have been answered.
    """

    def __init__(self, inner: Executor, deaf_to: set[int], times: int = 1) -> None:
        self._inner, self._deaf, self._times = inner, deaf_to, times
        self._asked: dict[int, int] = {}
        self._heard: list[Future[Any]] = []
        self._jump = 0.0

    def monotonic(self) -> float:
        if self._asked.keys() & self._deaf and all(each.done() for each in self._heard):
            self._jump += 3_600
        return time.monotonic() + self._jump

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        number = args[0].part.number
        if args[0].contents or number != 0:
            self._asked[number] = self._asked.get(number, 0) + 1
            if number in self._deaf and self._asked[number] <= self._times:
                return Future()
        self._heard.append(self._inner.submit(fn, *args, **kwargs))
        return self._heard[-1]


def test_a_part_without_an_answer_is_given_out_once_more(
    corpus: Path, on_one_core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Shuffled(6) as executor:
        deaf = Deaf(executor, {3, 8})
        monkeypatch.setattr(run, "time", deaf)
        report = compare(corpus, deaf, slots=4, limit=1_800)
    assert len(report.notes) == 2
    assert "did not answer within 1800 seconds" in report.notes[0]
    one = json.loads(report.to_json())
    assert json.dumps({**one, "notes": []}, sort_keys=True, indent=2) + "\n" in on_one_core


def test_a_part_that_is_never_answered_is_no_equality(
    corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Shuffled(6) as executor:
        deaf = Deaf(executor, {3}, times=2)
        monkeypatch.setattr(run, "time", deaf)
        with pytest.raises(EngineError, match="not done in two attempts"):
            compare(corpus, deaf, slots=4, limit=1_800, folders=(GPT2, GPT2))


class Slow(Executor):
    """Answers the first order of a part when it is given out again, and the second never."""

    def __init__(self, inner: Executor, number: int) -> None:
        self._inner, self._number = inner, number
        self._held: Callable[[], None] | None = None
        self._heard: list[Future[Any]] = []
        self._asked, self._jump = 0, 0.0

    def monotonic(self) -> float:
        if self._asked == 1 and all(each.done() for each in self._heard):
            self._jump += 3_600
        return time.monotonic() + self._jump

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if args[0].part.number != self._number:
            self._heard.append(self._inner.submit(fn, *args, **kwargs))
            return self._heard[-1]
        self._asked += 1
        future: Future[Any] = Future()
        if self._asked == 1:
            self._held = lambda: future.set_result(fn(*args, **kwargs))
        elif self._held is not None:
            self._held()
        return future


def test_the_first_answer_counts_whoever_it_is_from(
    corpus: Path, on_one_core: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Shuffled(6) as executor:
        slow = Slow(executor, 5)
        monkeypatch.setattr(run, "time", slow)
        report = compare(corpus, slow, slots=2, limit=1_800)
    assert any("did not answer within 1800 seconds" in note for note in report.notes)
    assert replace(report, notes=()).to_json() == on_one_core


def test_workers_that_all_hang_are_an_error(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Shuffled(6) as executor:
        deaf = Deaf(executor, {1}, times=9)
        monkeypatch.setattr(run, "time", deaf)
        with pytest.raises(EngineError, match=r"two attempts.*\(1 of \d+ parts were done"):
            compare(corpus, deaf, slots=1, limit=1_800)


def test_an_engine_that_reads_a_directory_does_not_travel(corpus: Path) -> None:
    source = open_source(GPT2)
    sides = Sides(side_of(source), side_of(source, "transformers"), (ORDINARY,))
    with Shuffled(7) as executor, pytest.raises(SourceError, match="reads a directory"):
        check_corpora(sides, Corpora((corpus,)), workers=pool_of(executor, 1))


def test_no_documents_are_no_equality(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"\n\n")
    with Shuffled(8) as executor:
        with pytest.raises(SourceError, match="there are no documents"):
            compare(empty, executor)
        with pytest.raises(SourceError, match="there are no documents"):
            measure([carried(GPT2)], find_files([empty]), executor=executor)
        with pytest.raises(TypeError, match="carry"):
            measure([("a", Tokenizer(load_source(GPT2).model))], (), executor=executor)


def test_a_tokenizer_is_opened_once_and_told_by_its_ticket() -> None:
    loaded = load_source(TOKENIZERS / "gpt2-tiny" / "huggingface")
    files = dict(loaded.files)
    ticket = carry("one", loaded.format.name, files).ticket
    model = opened_from(ticket, files)
    assert opened_from(ticket, dict(files)) is model
    assert opened_from(replace(ticket, label="two"), files) is not model
    name = next(iter(files))
    with pytest.raises(EngineError, match="another sha256"):
        opened_from(ticket, {**files, name: files[name] + b" "})
