"""A real Dask cluster of separate processes: the same bytes, and what happens when one fails."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from harmful_job import Harmful
from reports import few_texts

from bpe_interop.compare.corpus import Corpora, compare_corpora
from bpe_interop.compare.corpus_report import CorpusReport
from bpe_interop.compare.opening import open_source, side_of
from bpe_interop.compare.run import Sides
from bpe_interop.compare.sides import ORDINARY
from bpe_interop.corpora import Part, cut, find_files
from bpe_interop.errors import EngineError, SourceError, TargetError
from bpe_interop.sources import load_source
from bpe_interop.token_files import Settings, Way, check_token_files, encode_corpora, job
from bpe_interop.token_files.job import EncodeJob
from bpe_interop.workers import Run, Workers, carry, dask, pool_of, run_parts
from bpe_interop.workers import run as running
from bpe_interop.workers.dask import DaskWorkers, dask_workers
from bpe_interop.workers.orders import Order
from fixtures import FIXTURES, TOKENIZERS

GPT2, CL100K = (TOKENIZERS / name / "huggingface" for name in ("gpt2-tiny", "cl100k-tiny"))
PART = 300_000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """3 MB in three files."""
    folder = tmp_path_factory.mktemp("corpus")
    seeds = [path.read_bytes().decode() for path in sorted((FIXTURES / "corpora").glob("*.txt"))]
    for number in range(3):
        with (folder / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            for line in range(2100):
                text = seeds[(number + line) % len(seeds)][line : line + 300]
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    return folder


def started(*command: str) -> subprocess.Popen[str]:
    """A scheduler or a worker in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", *command, "--no-dashboard"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.fixture(scope="module")
def empty_scheduler() -> Iterator[str]:
    """The address of a scheduler without workers."""
    with started("distributed.cli.dask_scheduler", "--port", "0") as process:
        assert process.stderr is not None
        address = next(line.split()[-1] for line in process.stderr if "Scheduler at:" in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield address
        process.kill()


def worker(address: str, *more: str) -> subprocess.Popen[str]:
    process = started(
        "distributed.cli.dask_worker", address, "--no-nanny", "--nthreads", "1", *more
    )
    assert process.stderr is not None
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process


@pytest.fixture(scope="module")
def scheduler(empty_scheduler: str) -> Iterator[str]:
    """The same scheduler with two workers, each a process of its own."""
    from distributed import Client  # 30 MB in each worker, were it imported above

    with worker(empty_scheduler) as one, worker(empty_scheduler) as two:
        client = Client(empty_scheduler)
        client.wait_for_workers(2, timeout=60)
        client.close()
        yield empty_scheduler
        one.kill()
        two.kill()


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskWorkers]:
    """Workers that were started in a folder whose ``pickle.py`` must not be executed."""
    folder = tmp_path_factory.mktemp("local")
    for name in ("pickle", "tempfile"):
        (folder / f"{name}.py").write_text("open('trace', 'a')\n")
    with ExitStack() as last:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            workers = last.enter_context(dask_workers("local:2"))
        yield workers
        assert sys.version_info < (3, 11) or not (folder / "trace").exists()


@pytest.fixture(scope="module")
def sides() -> Sides:
    a, b = (side_of(open_source(each)) for each in (GPT2, CL100K))
    return Sides(a, b, (ORDINARY,))


@pytest.fixture(scope="module")
def on_one_core(sides: Sides, corpus: Path) -> str:
    report, _ = compare_corpora(sides, Corpora((corpus,), processes=0))
    return report.to_json()


@pytest.mark.long
def test_nobody_who_answers_is_one_error(
    command: Command,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    empty_scheduler: str,
) -> None:
    monkeypatch.setattr(dask, "_CONNECT", 0.3)
    monkeypatch.setattr(dask, "_PATIENCE", 0.2)
    monkeypatch.setattr(dask, "_WORKERS", 0.5)
    silent = socket.create_server(("127.0.0.1", 0))  # it takes connections, and never answers
    encode = "encode", GPT2, "-o", tmp_path / "ids", "--special", "text"
    for asked, address, said in (
        (encode, "tcp://127.0.0.1:1", "no scheduler of Dask answers"),
        (encode, f"tcp://127.0.0.1:{silent.getsockname()[1]}", "no scheduler of Dask answers"),
        (encode, empty_scheduler, "has had no worker"),
        (("verify", GPT2, CL100K), "tcp://127.0.0.1:1", "no scheduler of Dask answers"),
        (("inspect", GPT2), "tcp://127.0.0.1:1", "no scheduler of Dask answers"),
    ):
        done = command(*asked, "--corpus", corpus, "--scheduler", address)
        assert done.code == 2
        assert said in done.err
        assert done.err.count("\n") <= 3
    silent.close()
    assert [*tmp_path.iterdir()] == []


@pytest.mark.long
def test_the_report_has_the_same_bytes(
    local: DaskWorkers, sides: Sides, corpus: Path, on_one_core: str
) -> None:
    assert by_parts(sides, local, corpus).to_json() == on_one_core


def by_parts(sides: Sides, workers: Workers, corpus: Path) -> CorpusReport:
    report, _ = compare_corpora(sides, Corpora((corpus,)), workers=workers, scope="ordinary")
    return report


def harmed(
    workers: Any,
    corpus: Path,
    tmp_path: Path,
    harm: Any,
    *,
    limit: float = 600.0,
    times: dict[int, int] | None = None,
    tick: Callable[[Part, Any], None] = lambda part, value: None,
) -> tuple[Run[Any], int]:
    """Encodes a corpus, while parts do harm to their workers; how many parts there are."""
    marks, folder = tmp_path / "marks", tmp_path / "ids"
    marks.mkdir(parents=True)
    folder.mkdir()
    carried = carry("gpt2", "huggingface", load_source(GPT2).files)
    inner = EncodeJob(carried.ticket, Settings("npy", special="text"), "uint16", str(folder))
    job = Harmful(inner, harm, tuple((times or {4: 1}).items()), str(marks))
    parts = cut(find_files([corpus]), PART)
    seen: list[tuple[int, Any]] = []

    def took(part: Part, value: Any) -> None:
        seen.append((part.number, value))
        tick(part, value)

    run = run_parts(job, [carried], parts, workers, limit=limit, tick=took)
    run.results = dict(seen)
    assert len(seen) == len(run.results)
    return run, len(parts)


@pytest.fixture(scope="module")
def undisturbed(corpus: Path) -> list[Any]:
    """What each part becomes."""
    carried = carry("gpt2", "huggingface", load_source(GPT2).files)
    folder = corpus.parent / "undisturbed"
    folder.mkdir()
    job = EncodeJob(carried.ticket, Settings("npy", special="text"), "uint16", str(folder))
    work = job.build([carried.files], False)
    return [work.do(part, lambda: None) for part in cut(find_files([corpus]), PART)]


def in_order(run: Run[Any]) -> list[Any]:
    return [run.results[number] for number in sorted(run.results)]


@pytest.mark.long
def test_a_killed_worker_costs_its_part_once_more_and_a_part_that_kills_each_is_named(
    local: DaskWorkers, corpus: Path, tmp_path: Path, undisturbed: list[Any]
) -> None:
    run, parts = harmed(local, corpus, tmp_path, "kill", times={4: 1, 7: 9})
    assert (len(run.results), [*run.failed]) == (parts - 1, [7])
    assert in_order(run) == undisturbed[:7] + undisturbed[8:]
    assert any("was given out again: its worker was lost" in note for note in run.notes)
    with pytest.raises(EngineError, match="not done in two attempts") as raised:
        run.check_whole(parts)
    assert "1.jsonl (bytes 900,000 to the end)" in raised.value.where
    assert f"{parts - 1} of {parts} parts were done" in raised.value.what


def test_a_full_disk_ends_the_run(local: DaskWorkers, corpus: Path, tmp_path: Path) -> None:
    run, parts = harmed(local, corpus, tmp_path, "full")
    assert len(run.results) < parts
    with pytest.raises(TargetError, match="cannot be written"):
        run.check_whole(parts)
    names = {path.name.split(".")[0] for path in (tmp_path / "ids").iterdir()}
    assert names == {job.stem_of(number) for number in run.results}


class Clock:
    """A clock that jumps by an hour, once, when a worker has been harmed and no part comes in.

    Jumping too early on a slow machine costs parts a second attempt, and nothing else.
    """

    def __init__(self, marks: Path) -> None:
        self._marks, self._last, self._jump = marks, time.monotonic(), 0.0

    def monotonic(self) -> float:
        now = time.monotonic()
        if not self._jump and now - self._last > 2 and any(self._marks.glob("*")):
            self._jump = 3_600.0
        return now + self._jump

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def tick(self, part: Part, value: Any) -> None:
        self._last = time.monotonic()


@pytest.mark.long
def test_a_part_whose_worker_hangs_is_done_by_another(
    local: DaskWorkers,
    corpus: Path,
    tmp_path: Path,
    undisturbed: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(tmp_path / "marks")
    monkeypatch.setattr(running, "time", clock)
    # The hour that the clock jumps is no hour without a worker.
    monkeypatch.setattr(running, "_NOBODY", 7_200.0)
    try:
        run, parts = harmed(local, corpus, tmp_path, "stop", limit=1_800, tick=clock.tick)
    finally:
        [mark] = (tmp_path / "marks").iterdir()
        os.kill(int(mark.name.split("-")[0]), signal.SIGKILL)
    run.check_whole(parts)
    assert in_order(run) == undisturbed
    late = "given out again: a worker did not answer within 1800 seconds"
    assert any(late in note for note in run.notes), run.notes


OTHER_VERSION = """
import importlib.metadata

def version(name, real=importlib.metadata.version):  # Dask loads a preload more than once
    return "0.1" if name == "regex" else real(name)

importlib.metadata.version = version
"""


@pytest.mark.long
def test_a_worker_with_another_version_is_given_nothing(
    scheduler: str, corpus: Path, tmp_path: Path, undisturbed: list[Any]
) -> None:
    preload = tmp_path / "other_version.py"
    preload.write_text(OTHER_VERSION)
    with ExitStack() as last:
        old = worker(scheduler, "--preload", str(preload))
        last.callback(old.kill)
        workers = last.enter_context(dask_workers(scheduler))
        workers._client.wait_for_workers(3, timeout=60)
        run, parts = harmed(workers, corpus, tmp_path, "count")
        run.check_whole(parts)
        assert in_order(run) == undisturbed
        assert any("regex 0.1 instead of" in note for note in run.notes)
        [named] = [a for a in workers._threads if any(a in note for note in run.notes)]
        alone = Alone(workers, workers._threads.keys() - {named})
        target, settings, loaded = tmp_path / "new", Settings(special="text"), load_source(GPT2)
        with pytest.raises(EngineError, match=r"regex 0\.1 instead of"):
            encode_corpora(loaded, [corpus], target, settings, way=Way(alone))
        assert not target.exists()


class Alone:
    """A cluster of which some workers are left out."""

    def __init__(self, inner: DaskWorkers, out: set[str]) -> None:
        self._inner, self._out = inner, out
        self.stop = inner.stop

    def slots(self, avoid: Collection[str]) -> int:
        return self._inner.slots({*avoid, *self._out})

    def submit(self, order: Order, avoid: Collection[str]) -> Future[Any]:
        return self._inner.submit(order, {*avoid, *self._out})


@pytest.mark.long
def test_the_command_line_on_a_cluster_says_the_same(
    scheduler: str, command: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_texts(monkeypatch)
    there = "--scheduler", scheduler
    asked: tuple[str | Path, ...] = (
        "verify",
        GPT2,
        CL100K,
        "--scope",
        "ordinary",
        "--corpus",
        corpus,
        "--json",
    )
    one, many = command(*asked), command(*asked, *there)
    assert (one.code, many.code) == (1, 1)
    assert many.out == one.out
    state = tmp_path / "state"
    asked = "inspect", GPT2, CL100K, "--corpus", corpus, "--json"
    one = command(*asked)
    for times in range(2):  # the second time all is in the state
        many = command(*asked, *there, "--state", state)
        assert json.loads(many.out)["statistics"] == json.loads(one.out)["statistics"]
        assert results_in(state) == 3, times
    folder = tmp_path / "ids"
    asked = "encode", GPT2, "--corpus", corpus, "--special", "text", "-o"
    assert command(*asked, folder, *there).code == 0
    assert command("verify-shards", folder).code == 0
    assert command(*asked, tmp_path / "one").code == 0
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    assert all((folder / n).read_bytes() == (tmp_path / "one" / n).read_bytes() for n in names)


@pytest.mark.long
def test_the_executor_of_dask_is_one_of_many(
    scheduler: str, sides: Sides, corpus: Path, on_one_core: str
) -> None:
    from distributed import Client

    with Client(scheduler) as client, client.get_executor() as executor:
        assert isinstance(executor, Executor)
        assert by_parts(sides, pool_of(executor, 2), corpus).to_json() == on_one_core


@pytest.mark.long
def test_a_document_that_one_side_cannot_encode_is_no_equality(
    scheduler: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_texts(monkeypatch)
    names = "all.tiktoken", "fewer.tiktoken"
    ranks = next((TOKENIZERS / "gpt2-tiny" / "tiktoken").glob("*.tiktoken"))
    lines = ranks.read_bytes().splitlines(keepends=True)
    fewer = [each for each in lines if b"~" not in base64.b64decode(each.split()[0])]
    (tmp_path / "all.tiktoken").write_bytes(b"".join(lines))
    (tmp_path / "fewer.tiktoken").write_bytes(b"".join(fewer))
    text = tmp_path / "t.txt"
    text.write_text("good\nbad ~ here\n")
    named = "--scheduler", scheduler, "--corpus", text
    presets = "--preset-a", "gpt2", "--preset-b", "gpt2", "--scope", "ordinary"
    done = command("verify", *map(tmp_path.joinpath, names), *presets, *named)
    assert done.code == 2
    assert done.out.startswith("UNKNOWN")
    assert "a side failed on 1 of the corpora's documents" in " ".join(done.out.split())
    assert 't.txt:1): "~" is not in the vocabulary' in done.out
    one = "--preset", "gpt2", *named
    for asked in (
        ("encode", tmp_path / "fewer.tiktoken", "-o", tmp_path / "ids", "--special", "text"),
        ("inspect", *map(tmp_path.joinpath, names)),
    ):
        done = command(*asked, *one)
        assert done.code == 2
        assert 't.txt:1: "~" is not in the vocabulary' in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [*names, "t.txt"]


def test_an_interrupt_ends_what_workers_are_at(
    scheduler: str, corpus: Path, tmp_path: Path
) -> None:
    def stop(part: Part, value: Any) -> None:
        raise KeyboardInterrupt

    with dask_workers(scheduler) as workers:
        run, parts = harmed(workers, corpus, tmp_path, "wait", times={1: 9}, tick=stop)
        assert run.interrupted
        assert 0 < len(run.results) < parts
        until = time.monotonic() + 120
        while any(workers._client.processing().values()):
            assert time.monotonic() < until
            time.sleep(0.05)
        # Both are free for the next run.
        run, parts = harmed(workers, corpus, tmp_path / "again", "count")
        run.check_whole(parts)


@pytest.mark.long
def test_ctrl_c_of_verify_says_what_was_done(scheduler: str, tmp_path: Path) -> None:
    texts, state = tmp_path / "texts", tmp_path / "state"
    texts.mkdir()
    for number in range(300):
        (texts / f"{number:03}.txt").write_text(f"text {number}\n" * 20)
    asked = "verify", GPT2, GPT2, "--corpus", texts, "--state", state
    _, out = interrupted(*asked, "--scheduler", scheduler)
    assert b"interrupted: not all texts were compared" in out
    assert b" 3 documents" in out
    assert results_in(state) == 3


@pytest.mark.long
def test_ctrl_c_of_inspect_says_what_was_done_and_a_state_goes_on(
    scheduler: str, tmp_path: Path, command: Command
) -> None:
    texts, state, plot = tmp_path / "texts", tmp_path / "state", tmp_path / "plot.svg"
    texts.mkdir()
    for number in range(150):
        (texts / f"{number:03}.txt").write_text(f"text {number}\n" * 20)
    asked = ["inspect", str(GPT2), "--corpus", str(texts), "--plot", str(plot)]
    kept = [*asked, "--state", str(state)]
    _, out = interrupted(*kept, "--scheduler", scheduler)
    assert b"interrupted: 3 of 150 parts were measured" in out
    assert b"name the same state to go on" in out
    assert results_in(state) == 3
    assert not plot.exists()
    whole = command(*kept)
    drawn = plot.read_bytes()
    assert (whole.code, results_in(state)) == (0, 150)
    assert command(*asked).out == whole.out
    assert plot.read_bytes() == drawn


def results_in(state: Path) -> int:
    """How many parts a state has."""
    with closing(sqlite3.connect(state)) as database:
        [(count,)] = database.execute("SELECT count(*) FROM parts").fetchall()
        return int(count)


INTERRUPTED = """
import os, signal, sys
from bpe_interop.cli import main
from bpe_interop.workers.state import State

kept = []

def add(self, number, result, real=State.add):
    real(self, number, result)
    kept.append(number)
    if len(kept) == 3:
        os.killpg(0, signal.SIGINT)  # as a terminal does it: to all processes of the group

State.add = add
main()
"""


def interrupted(*words: object) -> tuple[int, bytes]:
    """A command that gets Ctrl-C when it has three parts: its group, and what it prints.

    It interrupts itself: from outside, a third part is seen only after a commit, and on a slow
    disk there may be none before the last part.
    """
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *map(str, words)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        out, _ = process.communicate()
    assert process.returncode == 130
    return process.pid, out


def ends(group: int) -> bool:
    """Whether no process of a group is left after a while."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    "settings",
    [
        Settings("nanogpt", special="text", validation=0.3),
        Settings("npy", special="text", max_length=50, pack=True, validation=0.3),
    ],
    ids=["nanogpt", "packed"],
)
def test_a_cluster_writes_the_bytes_that_one_process_writes(
    local: DaskWorkers, corpus: Path, tmp_path: Path, settings: Settings
) -> None:
    written = []
    for name, way in (("alone", Way()), ("cluster", Way(local))):
        folder = tmp_path / name
        encode_corpora(load_source(GPT2), [corpus], folder, settings, shard_bytes=20_000, way=way)
        written.append(
            {
                path.relative_to(folder): path.read_bytes()
                for path in folder.rglob("*")
                if path.is_file()
            }
        )
    assert written[0] == written[1]
    assert any("val." in path.name for path in written[0])


@pytest.mark.long
def test_an_interrupt_ends_the_workers_and_a_state_goes_on(corpus: Path, tmp_path: Path) -> None:
    folder, state = tmp_path / "ids", tmp_path / "state"
    asked = ["encode", GPT2, "--corpus", corpus, "-o", folder, "--special", "text"]
    asked += ["--shard-bytes", "20000", "--scheduler", "local:2", "--state", state]
    group, out = interrupted(*asked)
    assert b"name the same state to go on" in out
    assert ends(group)
    assert not folder.exists()
    assert results_in(state) == 3
    seen: list[int] = []
    settings, loaded = Settings(special="text"), load_source(GPT2)
    way = Way(state=state, tick=lambda step: seen.append(step.read))
    written = encode_corpora(loaded, [corpus], folder, settings, shard_bytes=20_000, way=way)
    assert len(seen) == written.parts - 3
    assert check_token_files(folder).wrong == ()


def test_an_address_that_is_none_is_one_error() -> None:
    for name in ("local:0", "local:x", "nonsense"):
        with pytest.raises(SourceError), dask_workers(name):
            raise AssertionError
