"""Corpora by parts, measured: ``python -m benchmarks.scale`` writes its tables to docs/scale.md.

CPU seconds are compared where a busy machine would spoil the others. Real files are read from the
folder that BPE_INTEROP_DATA names.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import random
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bpe_interop.corpora import PART_BYTES, Part, PartReader, cut, find_files
from bpe_interop.engines.choice import exact_engine
from bpe_interop.formats import Files
from bpe_interop.sources import load_source
from bpe_interop.token_files import Settings
from bpe_interop.token_files.job import EncodeJob, EncodeWork
from bpe_interop.tokenizer import Tokenizer
from bpe_interop.workers import Carried, Ticket, carry, opened_from, run_parts
from bpe_interop.workers.dask import dask_workers
from bpe_interop.workers.orders import Check, Order
from bpe_interop.workers.worker import perform, versions_here

from .marks import replaced

DOC = Path(__file__).resolve().parent.parent / "docs" / "scale.md"

TOKENIZERS = (
    ("tiktoken", "cl100k_base/cl100k_base.tiktoken", "cl100k_base"),
    ("tokenizers", "gpt2/tokenizer.json", None),
    (None, "gpt2/tokenizer.json", None),
)
"""Engines, files of real tokenizers, presets; None is our own kernel."""


def make_corpus(folder: Path, size: int) -> Path:
    """Plain text of about so many bytes, made of the pages of docs."""
    pages = sorted(DOC.parent.glob("*.md"))
    words = [word for page in pages for word in page.read_text("utf-8").split(" ")]
    chosen, path = random.Random(0), folder / "corpus.txt"
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < size:
            start = chosen.randrange(len(words) - 200)
            file.write(" ".join(words[start : start + 200]) + "\n")
    return path


def cpu() -> float:
    """CPU seconds of this process so far, in all its threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def cpu_of(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The least CPU seconds of each call, by turns: a busy machine is as busy for all of them."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, seconds, strict=True):
            before = cpu()
            call()
            taken.append(cpu() - before)
    return [min(taken) for taken in seconds]


def batch_speeds(name: str | None, carried: Carried, part: Part, rounds: int) -> list[float]:
    """CPU seconds of our whole work on a part, and of an engine's own batch calls, one thread."""
    model = opened_from(carried.ticket, carried.files)
    texts = [document.text for document in PartReader(part).documents()]
    if name is None:
        ours = Tokenizer(model)
        batches: list[Callable[[list[str]], object]] = [
            partial(ours.encode_ordinary_batch, num_threads=1),
            partial(ours.encode_to_arrays, num_threads=1, disallowed_special=()),
        ]
    else:
        batches = [exact_engine(name, model).encode_batch]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings("npy", special="text")
        job = EncodeJob(carried.ticket, settings, "uint32", folder)
        work = EncodeWork(job, Tokenizer(model, engine=name))
        for batch in batches:
            batch(texts[:50])
        alone = [partial(batch, texts) for batch in batches]
        return cpu_of([lambda: work.do(part, lambda: None), *alone], rounds)


def speeds(data: Path, corpus: Path, rounds: int) -> Iterator[str]:
    """The table of speeds of one worker."""
    yield "| engine | its own batch call | reading, encoding, writing, sha256 | share |"
    yield "|---|---|---|---|"
    [part] = cut(find_files([corpus]), 1 << 40)
    size = corpus.stat().st_size / 1e6
    for name, file, preset in TOKENIZERS:
        carried = _carried(data / file, preset)
        # What is quick is measured oftener: a disturbance is a larger part of it.
        more = 1 if name else 5
        whole, *alone = batch_speeds(name, carried, part, more * rounds)
        shown = [name] if name else ["our kernel, as lists", "our kernel, as arrays"]
        for one, seconds in zip(shown, alone, strict=True):
            yield (
                f"| {one} | {size / seconds:.1f} MB/s | {size / whole:.1f} MB/s | "
                f"{seconds / whole:.2f} |"
            )


def _carried(path: Path, preset: str | None) -> Carried:
    loaded = load_source(path, preset=preset)
    return carry(path.name, loaded.format.name, loaded.files, preset)


@dataclass(frozen=True)
class Timed:
    """Another job, of which each part is done with its CPU seconds."""

    inner: EncodeJob

    @property
    def tokenizers(self) -> tuple[Ticket, ...]:
        return self.inner.tokenizers

    @property
    def libraries(self) -> tuple[str, ...]:
        return self.inner.libraries

    def build(self, files: Sequence[Files], isolate: bool) -> TimedWork:
        return TimedWork(self.inner.build(files, isolate))


class TimedWork:
    """Its work."""

    def __init__(self, inner: EncodeWork) -> None:
        self._inner = inner

    def do(self, part: Part, check: Check) -> float:
        before = cpu()
        self._inner.do(part, check)
        return cpu() - before

    def close(self) -> None:
        self._inner.close()


@dataclass(frozen=True)
class Spread:
    """What some workers took for a corpus: seconds, CPU seconds, bytes of the largest."""

    seconds: float
    cpu: float
    busy: float
    memory: int


def spread_once(carried: Carried, corpus: Path, count: int) -> Spread:
    """A corpus encoded by so many workers that have their tokenizer already."""
    parts = cut(find_files([corpus]), PART_BYTES)
    with dask_workers(f"local:{count}") as workers, tempfile.TemporaryDirectory() as out:
        job = Timed(EncodeJob(carried.ticket, Settings("npy", special="text"), "uint32", out))
        [warm, *_] = cut(find_files([make_corpus(Path(out), 10_000)]))
        first = [replace(warm, number=10**6 + number) for number in range(8)]
        run_parts(job, [carried], first, workers).check_whole(len(first))
        began = time.monotonic()
        run = run_parts(job, [carried], parts, workers)
        seconds = time.monotonic() - began
        run.check_whole(len(parts))
    busy = run.seconds / count / seconds
    return Spread(seconds, sum(run.results.values()), busy, run.memory)


def spread(data: Path, folder: Path, size: int, rounds: int) -> Iterator[str]:
    """One and two workers by turns, and what a worker holds."""
    yield (
        "| workers | corpus | seconds | times as fast | CPU seconds | by these | at work | "
        "largest worker |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    carried = _carried(data / TOKENIZERS[0][1], TOKENIZERS[0][2])
    corpora = {
        times: make_corpus(folder, size * times).rename(folder / f"{times}.txt") for times in (1, 2)
    }
    kinds = (1, 1), (2, 1), (2, 2)
    taken: dict[tuple[int, int], list[Spread]] = {kind: [] for kind in kinds}
    for _ in range(rounds):
        for count, times in kinds:
            taken[count, times].append(spread_once(carried, corpora[times], count))
    least = {
        kind: Spread(
            min(each.seconds for each in runs),
            min(each.cpu for each in runs),
            max(each.busy for each in runs),
            max(each.memory for each in runs),
        )
        for kind, runs in taken.items()
    }
    one = least[1, 1]
    for (count, times), each in least.items():
        yield (
            f"| {count} | {size * times / 1e6:.0f} MB | {each.seconds:.1f} | "
            f"{times * one.seconds / each.seconds:.2f} | {each.cpu:.1f} | "
            f"{count * times * one.cpu / each.cpu:.2f} | {each.busy:.0%} | "
            f"{each.memory / 1e6:.0f} MB |"
        )


def encode_alone(carried: Carried, part: Part, repeated: int, ready: Any) -> None:
    """The engine and nothing else, in a process of its own, which says when it may begin."""
    tokenizer = Tokenizer(opened_from(carried.ticket, carried.files))
    texts = [document.text for document in PartReader(part).documents()]
    batches = [texts[first : first + 32] for first in range(0, len(texts), 32)]
    for number in range(repeated + 1):
        if number == 1:
            ready.send(None)
            ready.recv()
            began, before = time.monotonic(), cpu()
        for batch in batches:
            tokenizer.encode_to_arrays(batch, num_threads=1, disallowed_special=())
    ready.send((began, time.monotonic(), cpu() - before))


def alone_once(carried: Carried, part: Part, repeated: int, count: int) -> tuple[float, float]:
    """Seconds and CPU seconds of so many processes, each of which does the same work."""
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(count)]
    processes = [
        context.Process(target=encode_alone, args=(carried, part, repeated, theirs))
        for _, theirs in pipes
    ]
    for process in processes:
        process.start()
    for ours, _ in pipes:
        ours.recv()
    for ours, _ in pipes:
        ours.send(None)
    told = [ours.recv() for ours, _ in pipes]
    for process in processes:
        process.join()
    began, ended, used = zip(*told, strict=True)
    return max(ended) - min(began), sum(used)


def ceiling(data: Path, corpus: Path, size: int, rounds: int) -> Iterator[str]:
    """What two cores of this machine are, against one, where nothing is shared but the memory."""
    yield "| processes of the engine alone | text of each | seconds | times as fast | by CPU |"
    yield "|---|---|---|---|---|"
    carried = _carried(data / TOKENIZERS[0][1], TOKENIZERS[0][2])
    [part] = cut(find_files([corpus]), 1 << 40)
    repeated = max(1, size // corpus.stat().st_size)
    taken: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for _ in range(rounds):
        for count, runs in taken.items():
            runs.append(alone_once(carried, part, repeated, count))
    least = {
        count: [min(each) for each in zip(*runs, strict=True)] for count, runs in taken.items()
    }
    for count, (seconds, used) in least.items():
        yield (
            f"| {count} | {repeated * corpus.stat().st_size / 1e6:.0f} MB | {seconds:.1f} | "
            f"{count * least[1][0] / seconds:.2f} | {count * count * least[1][1] / used:.2f} |"
        )


class Nothing:
    """A work that does nothing: what is left is the cost of a part."""

    def do(self, part: Part, check: Check) -> int:
        return part.number

    def close(self) -> None:
        return


class NoJob:
    """The job of it."""

    tokenizers: tuple[Ticket, ...] = ()
    libraries: tuple[str, ...] = ()

    def build(self, files: Sequence[Files], isolate: bool) -> Nothing:
        return Nothing()


def costs(data: Path, corpus: Path) -> Iterator[str]:
    """What a part costs besides its work."""
    carried = _carried(data / TOKENIZERS[0][1], TOKENIZERS[0][2])
    [part, *_] = cut(find_files([corpus]), 1 << 40)
    job = EncodeJob(carried.ticket, Settings(special="text"), "uint32", "/folder")
    order = Order(job, part, "0" * 32, versions_here(job.libraries))
    full = replace(order, contents={carried.ticket.sha256: carried.files})
    with tempfile.TemporaryDirectory() as folder:
        there = replace(full, job=replace(job, folder=folder))
        reply = perform(there)
    count = 200
    with dask_workers("local:2") as workers:
        parts = [replace(part, number=number) for number in range(count)]
        before, began = cpu(), time.monotonic()
        run_parts(NoJob(), [], parts, workers)
        used, seconds = cpu() - before, time.monotonic() - began
    yield "| what | how much |"
    yield "|---|---|"
    yield f"| an order | {len(pickle.dumps(order)):,} bytes |"
    label = carried.ticket.label
    yield f"| an order with the files of {label} | {len(pickle.dumps(full)):,} bytes |"
    yield f"| a reply | {len(pickle.dumps(reply)):,} bytes |"
    yield f"| a part that does nothing, on two workers | {1e3 * seconds / count:.1f} ms |"
    yield f"| CPU of the leading process and scheduler for it | {1e3 * used / count:.1f} ms |"


def main() -> None:
    """Measures, prints the tables, and writes them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=200, help="of the corpus for workers")
    parser.add_argument("--rounds", type=int, default=3, help="of each measurement")
    given = parser.parse_args()
    data = Path(os.environ["BPE_INTEROP_DATA"])
    size = given.megabytes * 1_000_000
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        small = make_corpus(Path(folder), min(size, 6_000_000))
        lines = [*speeds(data, small, given.rounds), "", *costs(data, small), ""]
        lines += [*ceiling(data, small, size, given.rounds), ""]
        lines += [*spread(data, Path(folder), size, given.rounds), ""]
    cores, after_all = os.cpu_count(), os.getloadavg()[0]
    lines.append(f"{cores} cores; {load:.1f} processes wanted them before, {after_all:.1f} after.")
    print("\n".join(lines))
    made = "\n".join(["", *lines, ""])
    DOC.write_text(replaced(DOC.read_text("utf-8"), "measured", made), "utf-8")


if __name__ == "__main__":
    main()
