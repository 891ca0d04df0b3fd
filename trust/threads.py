"""One tokenizer shared by threads, by children that are forked meanwhile, and by spawned ones.

Each of them must give the ids that another object of the same files gave alone; and however many
texts are encoded, memory stays within a bound.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import click

from bpe_interop import Tokenizer, load
from fixtures import TOKENIZERS

from .page import made_of, put, table, write_option

SHARED: tuple[str, ...] = (
    "cl100k-tiny/huggingface",
    "o200k-tiny/tiktoken",
    "spm-tiny/sentencepiece",
    "metaspace-tiny/huggingface",
    "clip-tiny/huggingface",
    "minbpe-tiny/minbpe",
    "tekken-tiny/tekken",
    "gguf-llama3-tiny/gguf",
)
"""Tokenizers of every format that states all, as they lie in the fixtures."""

THREADS = 16
MOST_GROWTH = 128
"""Mebibytes by which the process may grow after the first tenth of the texts."""

_KNOWN = 400
"""How many texts of which the ids are known come again and again."""
_CHILD_TEXTS = 50


@dataclass
class Shared:
    """What became of one tokenizer.

    Attributes:
        encodes: how many texts were encoded by the threads.
        forks: how many children were forked while they did, each of which encoded texts.
        spawned: how many texts were encoded in processes that were spawned.
        growth: mebibytes by which the process grew after the first tenth.
        wrong: what was not as it was to be.
    """

    name: str
    encodes: int = 0
    forks: int = 0
    spawned: int = 0
    growth: float = 0.0
    wrong: list[str] = field(default_factory=list)


def shared(name: str, encodes: int, forks: int, seed: int = 0) -> Shared:
    """Shares the tokenizer of a fixture, and looks at every answer.

    Args:
        name: the fixture, ``NAME/FORMAT``.
        encodes: about how many texts the threads encode in all.
        forks: how many children are forked meanwhile.
        seed: draws other texts.
    """
    found = Shared(name)
    alone, tokenizer = (load(TOKENIZERS / name) for _ in "ab")
    known = {text: alone.encode(text, allowed_special="all") for text in _texts(Random(seed))}
    rows = [*known.items()]
    each = max(1, encodes // THREADS)
    in_threads(tokenizer, rows, each // 10, seed, found)
    before = _resident()
    with ThreadPoolExecutor(1) as forking:
        children = forking.submit(in_forked, tokenizer, rows[:_CHILD_TEXTS], forks)
        in_threads(tokenizer, rows, each - each // 10, seed + 1, found)
        failed = children.result()
    found.forks = forks
    found.growth = (_resident() - before) / 1024
    found.wrong += [f"a forked child ended with {status}" for status in failed]
    found.wrong += in_spawned(tokenizer, rows[:_CHILD_TEXTS], found)
    if found.growth > MOST_GROWTH:
        found.wrong.append(f"the process grew by {found.growth:.0f} MiB")
    return found


def _texts(rng: Random) -> list[str]:
    """Texts of several kinds, one of them long."""
    words = [
        "Hello",
        " world",
        "\u00e9t\u00e9",
        "\u4e2d\u6587",
        " 123",
        "\n\n",
        "don't",
        "\U0001f642",
    ]
    words += [" <s>", "a" * 40, "\t x", "\u0301"]
    drawn = ("".join(rng.choices(words, k=rng.randint(0, 12))) for _ in range(_KNOWN * 2))
    return [*list(dict.fromkeys(drawn))[:_KNOWN], "".join(words) * 60]


def in_threads(
    tokenizer: Tokenizer,
    rows: Sequence[tuple[str, list[int]]],
    each: int,
    seed: int,
    found: Shared,
) -> None:
    """So many texts for each thread: one in two is known, the other is new to every cache."""

    def work(number: int) -> list[str]:
        rng = Random(f"{seed}:{number}")
        wrong: list[str] = []
        for turn in range(each):
            text, ids = rng.choice(rows)
            if turn % 2:
                tokenizer.encode(f"{number} {turn} {rng.random()}", allowed_special="all")
            elif tokenizer.encode(text, allowed_special="all") != ids:
                wrong.append(f"in a thread, {text[:40]!a} has other ids")
        return wrong[:3]

    with ThreadPoolExecutor(THREADS) as pool:
        for wrong in pool.map(work, range(THREADS)):
            found.wrong += wrong
    found.encodes += each * THREADS


def in_forked(tokenizer: Tokenizer, rows: Sequence[tuple[str, list[int]]], forks: int) -> list[int]:
    """The exit statuses that are not 0 of children that encode; 14 where one does not end."""
    failed = []
    for _ in range(forks):
        child = os.fork()
        if child == 0:
            import signal

            signal.alarm(120)
            right = all(tokenizer.encode(t, allowed_special="all") == ids for t, ids in rows)
            os._exit(0 if right else 3)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        failed += [status] if status else []
    return failed


def in_spawned(
    tokenizer: Tokenizer, rows: Sequence[tuple[str, list[int]]], found: Shared
) -> list[str]:
    """What processes that know nothing of this one give otherwise."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        given = pool.submit(_encoded, tokenizer, [text for text, _ in rows]).result()
    found.spawned += len(given)
    return [
        f"in a spawned process, {text[:40]!a} has other ids"
        for (text, ids), again in zip(rows, given, strict=True)
        if ids != again
    ][:3]


def _encoded(tokenizer: Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    return [tokenizer.encode(text, allowed_special="all") for text in texts]


def _resident() -> float:
    """Kibibytes of this process in memory (Linux)."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


@click.command("threads")
@click.option("--encodes", default=1_000_000, show_default=True, help="Of each tokenizer.")
@click.option("--forks", default=100, show_default=True, help="Of each tokenizer.")
@click.option("--seed", default=0, show_default=True, help="Draws other texts.")
@click.option("--only", multiple=True, type=click.Choice(SHARED), help="Only this tokenizer.")
@write_option
def threads(encodes: int, forks: int, seed: int, only: tuple[str, ...], page: Path | None) -> None:
    """Share a tokenizer among 16 threads, forked and spawned processes."""
    start = time.monotonic()
    found = []
    for name in only or SHARED:
        found.append(shared(name, encodes, forks, seed))
        click.echo(f"{name}: {found[-1].encodes:,} texts, {len(found[-1].wrong)} wrong", err=True)
    settings: dict[str, object] = {"encodes": encodes, "forks": forks, "seed": seed}
    settings |= {"only": " --only ".join(only)} if only else {}
    wrong = [f"{each.name}: {said}" for each in found for said in each.wrong]
    rows = [
        [
            each.name,
            f"{each.encodes:,}",
            each.forks,
            each.spawned,
            f"{each.growth:.1f}",
            len(each.wrong),
        ]
        for each in found
    ]
    named = ["tokenizer", "texts in 16 threads", "forks", "texts when spawned"]
    put(
        page,
        "threads",
        [
            *made_of("threads", time.monotonic() - start, settings),
            "",
            f"{sum(each.encodes for each in found):,} texts, {len(wrong):,} wrong.",
            "",
            *table([*named, "MiB grown", "wrong"], rows),
        ],
    )
    for said in wrong:
        click.echo(said, err=True)
    if wrong:
        sys.exit(1)
