"""A real Dask cluster of separate processes: the same bytes, and what happens when one fails."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from conftest import FIXTURES
from harmful_job import Harmful

from bpe_interop.corpora import cut, find_shards
from bpe_interop.errors import EngineError, SourceError, TargetError
from bpe_interop.shards import Run, carry, dask, run_parts
from bpe_interop.shards.dask import DaskWorkers, dask_workers
from bpe_interop.sources import load_source
from bpe_interop.token_files import Settings, Way, check_token_files, encode_corpora, encoding
from bpe_interop.token_files.encoding import EncodeJob
from bpe_interop.verify.by_parts import ByParts, compare_by_parts
from bpe_interop.verify.sides import ORDINARY, open_side, side_of
from bpe_interop.verify.sweep import Corpora, Sides, compare_corpora

GPT2, CL100K = (
    FIXTURES / "tokenizers" / name / "huggingface" for name in ("gpt2-tiny", "cl100k-tiny")
)
PART = 100_000


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1 MB in three files."""
    folder = tmp_path_factory.mktemp("corpus")
    seeds = [path.read_bytes().decode() for path in sorted((FIXTURES / "corpora").glob("*.txt"))]
    for number in range(3):
        with (folder / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            for line in range(700):
                text = seeds[(number + line) % len(seeds)][line : line + 300]
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
    return folder


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a scheduler in a process of its own, without workers."""
    with subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        address = next(line.split()[-1] for line in process.stderr if "Scheduler at:" in line)
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield address
        process.kill()


@pytest.fixture(scope="module")
def local() -> Iterator[DaskWorkers]:
    with dask_workers("local:2") as workers:
        yield workers


@pytest.fixture(scope="module")
def sides() -> Sides:
    (build_a, name_a), (build_b, name_b) = (side_of(open_side(each)) for each in (GPT2, CL100K))
    return Sides(build_a, build_b, name_a, name_b, (ORDINARY,))


@pytest.fixture(scope="module")
def on_one_core(sides: Sides, corpus: Path) -> str:
    return compare_corpora(sides, Corpora((corpus,), processes=0)).to_json()


def test_the_report_has_the_same_bytes(
    local: DaskWorkers, sides: Sides, corpus: Path, on_one_core: str
) -> None:
    left, right = (
        carry(str(each), "huggingface", load_source(each).files) for each in (GPT2, CL100K)
    )
    report = compare_by_parts(
        sides,
        Corpora((corpus,)),
        ByParts(local, (left, right), (None, None)),
        "ordinary",
        patience=1_000,
        tick=lambda progress: None,
    )
    assert report.to_json() == on_one_core


def harmed(
    workers: Any, corpus: Path, tmp_path: Path, harm: Any, *, limit: float = 60.0, times: int = 1
) -> tuple[Run[Any], int]:
    """Encodes a corpus, while one part does harm to its worker; how many parts there are."""
    marks, folder = tmp_path / "marks", tmp_path / "ids"
    marks.mkdir()
    folder.mkdir()
    carried = carry("gpt2", "huggingface", load_source(GPT2).files)
    inner = EncodeJob(carried.ticket, Settings("npy", special="text"), "uint16", str(folder))
    job = Harmful(inner, harm, 4, str(marks), times)
    parts = cut(find_shards([corpus]), PART)
    seen: list[int] = []
    run = run_parts(
        job, [carried], parts, workers, limit=limit, tick=lambda part, _: seen.append(part.number)
    )
    assert len(seen) == len({*seen})
    return run, len(parts)


@pytest.fixture(scope="module")
def undisturbed(corpus: Path) -> list[Any]:
    """What each part becomes."""
    carried = carry("gpt2", "huggingface", load_source(GPT2).files)
    folder = corpus.parent / "undisturbed"
    folder.mkdir()
    job = EncodeJob(carried.ticket, Settings("npy", special="text"), "uint16", str(folder))
    work = job.build([carried.files], False)
    return [work.do(part, lambda: None) for part in cut(find_shards([corpus]), PART)]


def in_order(run: Run[Any]) -> list[Any]:
    return [run.results[number] for number in sorted(run.results)]


def test_a_killed_worker_costs_its_part_once_more(
    local: DaskWorkers, corpus: Path, tmp_path: Path, undisturbed: list[Any]
) -> None:
    run, parts = harmed(local, corpus, tmp_path, "kill")
    run.check_whole(parts)
    assert in_order(run) == undisturbed
    assert any("was given out again: its worker was lost" in note for note in run.notes)
    assert any("the worker tcp://" in note and "was lost" in note for note in run.notes)


def test_a_part_that_kills_each_worker_is_named(
    local: DaskWorkers, corpus: Path, tmp_path: Path
) -> None:
    run, parts = harmed(local, corpus, tmp_path, "kill", times=9)
    assert (len(run.results), [*run.failed]) == (parts - 1, [4])
    with pytest.raises(EngineError, match="not done in two attempts") as raised:
        run.check_whole(parts)
    assert "1.jsonl (bytes" in raised.value.where
    assert f"{parts - 1} of {parts} parts were done" in raised.value.what


def test_a_full_disk_ends_the_run(local: DaskWorkers, corpus: Path, tmp_path: Path) -> None:
    run, parts = harmed(local, corpus, tmp_path, "full")
    assert len(run.results) < parts
    with pytest.raises(TargetError, match="cannot be written"):
        run.check_whole(parts)
    names = {path.name.split(".")[0] for path in (tmp_path / "ids").iterdir()}
    assert names == {encoding.stem_of(number) for number in run.results}


def test_a_worker_that_hangs_is_left_alone(
    local: DaskWorkers, corpus: Path, tmp_path: Path, undisturbed: list[Any]
) -> None:
    run, parts = harmed(local, corpus, tmp_path, "stop", limit=3.0)
    run.check_whole(parts)
    assert in_order(run) == undisturbed
    assert any("did not answer within 3 seconds" in note for note in run.notes)
    [mark] = (tmp_path / "marks").iterdir()
    os.kill(int(mark.name.split("-")[0]), signal.SIGKILL)


OTHER_VERSION = """
import importlib.metadata

def version(name, real=importlib.metadata.version):  # Dask loads a preload more than once
    return "0.1" if name == "regex" else real(name)

importlib.metadata.version = version
"""


def worker(address: str, *more: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny"]
    return subprocess.Popen(
        [*command, "--nthreads", "1", "--no-dashboard", *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def test_a_worker_with_another_version_is_given_nothing(
    scheduler: str, corpus: Path, tmp_path: Path, undisturbed: list[Any]
) -> None:
    preload = tmp_path / "other_version.py"
    preload.write_text(OTHER_VERSION)
    target = tmp_path / "new"
    with ExitStack() as last:
        old = worker(scheduler, "--preload", str(preload))
        last.callback(old.kill)
        workers = last.enter_context(dask_workers(scheduler))
        settings, loaded = Settings("npy", special="text"), load_source(GPT2)
        with pytest.raises(EngineError, match=r"regex 0\.1 instead of"):
            encode_corpora(loaded, [corpus], target, settings, way=Way(workers))
        assert not target.exists()
        last.callback(worker(scheduler).kill)
        workers._client.wait_for_workers(2, timeout=30)
        run, parts = harmed(workers, corpus, tmp_path, "count")
        run.check_whole(parts)
        assert in_order(run) == undisturbed
        assert any("regex 0.1 instead of" in note for note in run.notes)


def test_nobody_who_answers_is_one_error(
    command: Command, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: str
) -> None:
    monkeypatch.setattr(dask, "_CONNECT", 1.0)
    monkeypatch.setattr(dask, "_WORKERS", 1.0)
    silent = socket.create_server(("127.0.0.1", 0))  # it takes connections, and never answers
    for address, said in (
        ("tcp://127.0.0.1:1", "no scheduler of Dask answers"),
        (f"tcp://127.0.0.1:{silent.getsockname()[1]}", "no scheduler of Dask answers"),
        (scheduler, "has had no worker"),
    ):
        for asked in (
            ("encode", GPT2, "-o", tmp_path / "ids", "--special", "text"),
            ("verify", GPT2, CL100K),
        ):
            done = command(*asked, "--corpus", corpus, "--scheduler", address)
            assert done.code == 2
            assert said in done.err
            assert done.err.count("\n") <= 3
    silent.close()
    assert [*tmp_path.iterdir()] == []


def ends(group: int) -> bool:
    """Whether no process of a group is left after a while."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def test_an_interrupt_ends_the_workers_and_a_state_goes_on(corpus: Path, tmp_path: Path) -> None:
    folder, state = tmp_path / "ids", tmp_path / "state"
    asked = ["encode", str(GPT2), "--corpus", str(corpus), "-o", str(folder), "--special", "text"]
    asked += ["--shard-bytes", "20000", "--scheduler", "local:2", "--state", str(state)]
    command = [sys.executable, "-m", "bpe_interop", *asked]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        until = time.monotonic() + 60
        while not (state.exists() and state.read_bytes().count(b"\n") > 3):
            assert time.monotonic() < until
            assert process.poll() is None
            time.sleep(0.02)
        # As a terminal does it: to all processes of the group.
        os.killpg(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"name the same state to go on" in out
    assert ends(process.pid)
    assert not folder.exists()
    done = state.read_bytes().count(b"\n") - 1
    seen: list[int] = []
    settings, loaded = Settings(special="text"), load_source(GPT2)
    way = Way(state=state, tick=lambda step: seen.append(step.read))
    written = encode_corpora(loaded, [corpus], folder, settings, shard_bytes=20_000, way=way)
    assert len(seen) == written.parts - done
    assert check_token_files(folder).wrong == ()


def test_an_address_that_is_none_is_one_error() -> None:
    for name in ("local:0", "local:x", "nonsense"):
        with pytest.raises(SourceError), dask_workers(name):
            raise AssertionError
