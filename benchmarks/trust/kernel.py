"""The native kernel beside Python: of each input, both answers, to the last entry and message.

Rank files and ``tokenizer.json`` are the repository's small ones, spelled in several ways, with
damage (:mod:`.readers`), and small rank files from scratch. Merges are random systems over three
symbols: ranks and lists in order and out of order, ties, tokens that nothing builds.
"""

from __future__ import annotations

import json
import random
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import click

from bpe_interop.errors import BpeInteropError
from bpe_interop.formats import by_name
from bpe_interop.kernel import LazyDict, Numbers, running, set_aside
from bpe_interop.model import FIELDS, Alphabet, BPEModel, MergeRule, PairList, RankTable, Vocab
from bpe_interop.theory.merges import Canonical, canonical_of

from .page import made_of, put, table, write_option
from .readers import damaged, seeds

_SHOWN = 5


@dataclass(slots=True)
class Tally:
    """What became of the inputs of one work.

    Attributes:
        inputs: how many there were.
        native: of how many the kernel gave the answer.
        answered: of how many there was one, and not an error of ours.
        different: the numbers of the inputs on which the two differ.
    """

    inputs: int = 0
    native: int = 0
    answered: int = 0
    different: list[int] = field(default_factory=list)


def rank_file(rng: random.Random) -> bytes:
    """A rank file, or what is nearly one."""
    lines = []
    for number in range(rng.randrange(12)):
        token = rng.randbytes(rng.choice((1, 1, 2, 3, 4, 5, 30)))
        lines.append(b64encode(token) + b" %d" % rng.choice((number, number, number, 2**32 - 2)))
    data = rng.choice((b"\n", b"\n", b"\r\n")).join(lines) + rng.choice((b"", b"\n", b"\n\n"))
    for _ in range(rng.choice((0, 0, 1, 2))):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice((b"", b" ", b"=", b"0", b"A", b"\r", b"\n")) + data[at + 1 :]
    return data


def merge_system(rng: random.Random) -> tuple[MergeRule, dict[bytes, int], Alphabet]:
    """A rule over a small alphabet: overlaps, ties, ranks out of order, pairs listed twice."""
    alphabet: Alphabet = rng.choice(("byte", "byte", "char"))
    symbols = (
        [b"a", b"b", b"c"] if alphabet == "byte" else [b"a", "\u00e9".encode(), b"\xf0\x9f\x98\x80"]
    )
    tokens, pairs = list(symbols), []
    for _ in range(rng.randrange(1, 14)):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if len(left + right) > 40:
            continue
        pairs.append((left, right))
        if left + right not in tokens:
            tokens.append(left + right)
    if rng.random() < 0.3:
        tokens.append(b"".join(rng.choices(symbols, k=rng.randrange(2, 6))))
    tokens = [token for token in dict.fromkeys(tokens) if len(token) > 1 or rng.random() < 0.9]
    numbers = list(range(len(tokens)))
    if rng.random() < 0.6:
        rng.shuffle(numbers)
    ids = dict(zip(tokens, numbers, strict=True))
    if rng.random() < 0.5:
        if rng.random() < 0.3:
            rng.shuffle(pairs)
        if rng.random() < 0.2 and pairs:
            pairs.append(rng.choice(pairs))
        known = [pair for pair in pairs if {*pair, b"".join(pair)} <= ids.keys()]
        return PairList(tuple(known)), ids, alphabet
    ranks = dict(ids)
    way = rng.random()
    if way < 0.2:
        ranks = {token: rank for token, rank in ids.items() if rng.random() < 0.8}
    elif way < 0.3:
        ranks = {token: rng.choice((rank, 2**32 - 1)) for token, rank in ids.items()}
    elif way < 0.4:
        ranks = {token: rank // 2 for token, rank in ids.items()}
    return RankTable(ids if ranks == ids else ranks), ids, alphabet


def rank_file_read(rng: random.Random) -> Callable[[], object]:
    """Reads a rank file, mostly a small one from scratch."""
    own = {"x.tiktoken": rank_file(rng)}
    if rng.random() < 0.3:
        own = damaged(rng.choice(_seeds()["tiktoken"]), rng)
    return lambda: by_name("tiktoken").load(own)


def document_read(rng: random.Random) -> Callable[[], object]:
    """Reads a ``tokenizer.json`` with the files beside it."""
    own = dict(rng.choice(_seeds()["huggingface"]))
    if rng.random() < 0.5:
        value = json.loads(own["tokenizer.json"])
        indent, ascii_only = rng.choice((None, 1, "\t")), rng.random() < 0.5
        own["tokenizer.json"] = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    if rng.random() < 0.8:
        own = damaged(own, rng)
    return lambda: by_name("huggingface").load(own)


def form_found(rng: random.Random) -> Callable[[], object]:
    """Finds a canonical form."""
    rule, ids, alphabet = merge_system(rng)
    base = ids if rng.random() < 0.3 else None
    return lambda: canonical_of(rule, ids, alphabet, base)


WORKS: dict[str, Callable[[random.Random], Callable[[], object]]] = {
    "rank files": rank_file_read,
    "tokenizer.json": document_read,
    "canonical forms": form_found,
}
"""What the kernel does: from random numbers to a thing that is done."""


@cache
def _seeds() -> Mapping[str, Any]:
    return seeds()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a work answered: the value or the error, with the order of everything in it.

    ``answered``: it was no error. ``native``: the kernel gave it.
    """

    value: object
    answered: bool
    native: bool


def outcome(work: Callable[[], object]) -> Outcome:
    """Does a work."""
    try:
        answer = work()
    except BpeInteropError as error:
        return Outcome((type(error), str(error)), answered=False, native=False)
    return Outcome(seen(answer), answered=True, native=is_native(answer))


def seen(answer: object) -> object:
    """A value in which orders count, and no mapping or sequence is of a kind of its own."""
    if isinstance(answer, BPEModel):
        return [seen(getattr(answer, name)) for name in (*FIELDS, "origin")]
    if isinstance(answer, Vocab):
        return [[*answer.ids.items()], [*answer.kinds.items()], [*answer.scores.items()]]
    if isinstance(answer, RankTable):
        return [*answer.ranks.items()]
    if isinstance(answer, PairList):
        return [*answer.pairs]
    if isinstance(answer, Canonical):
        return [
            [*answer.splits.items()],
            [*answer.priority.items()],
            answer.unreachable,
            answer.disordered,
        ]
    return answer


def is_native(answer: object) -> bool:
    """Whether the kernel gave an answer."""
    if isinstance(answer, BPEModel):
        return isinstance(answer.vocab.ids, Numbers)
    return isinstance(answer, Canonical) and isinstance(answer.splits, LazyDict)


def compare(name: str, count: int, seed: int) -> Tally:
    """Does one work so many times with the kernel and without it."""
    tally = Tally()
    for number in range(count):
        work = WORKS[name](random.Random(f"{name}:{seed}:{number}"))
        tally.inputs += 1
        ours = outcome(work)
        with set_aside():
            expected = outcome(work)
        tally.native += ours.native
        tally.answered += ours.answered
        if ours.value != expected.value:
            tally.different.append(number)
    return tally


@click.command()
@click.option("--inputs", default=100_000, show_default=True, help="Of each work.")
@click.option("--seed", default=1, show_default=True)
@write_option
def kernel(inputs: int, seed: int, page: Path | None) -> None:
    """Answers of the native kernel, beside those of Python."""
    if running().kernel != "native":
        raise click.ClickException(f"there is no native kernel: {running().why_not}")
    began = time.monotonic()
    found = {name: compare(name, inputs, seed) for name in WORKS}
    rows = [
        [name, each.inputs, each.native, each.answered, len(each.different)]
        for name, each in found.items()
    ]
    wrong = {name: each.different for name, each in found.items() if each.different}
    lines = [
        *made_of("kernel", time.monotonic() - began, {"inputs": inputs, "seed": seed}),
        "",
        *table(["work", "inputs", "by the kernel", "not refused", "differences"], rows),
        *(f"- {name}: inputs {each[:_SHOWN]}" for name, each in wrong.items()),
    ]
    put(page, "kernel", lines)
    if wrong:
        raise SystemExit(1)
