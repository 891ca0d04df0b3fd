"""The native kernel beside Python: of each input, both answers, to the last entry and message.

Rank files and ``tokenizer.json`` are the repository's small ones, spelled in several ways, with
damage (:mod:`.readers`), and small rank files from scratch. Merges are random systems over three
symbols: ranks and lists in order and out of order, ties, tokens that nothing builds. Pretokens and
ids are those of :mod:`.kernel_texts`.
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

from bpe_interop.diff import diff
from bpe_interop.diff.entries import compare_entries, numbered, without
from bpe_interop.errors import BpeInteropError
from bpe_interop.formats import by_name
from bpe_interop.formats.tiktoken.ranks import read_ranks
from bpe_interop.kernel import LazyDict, Numbers, running, set_aside
from bpe_interop.merging.canonical import Canonical, canonical_of
from bpe_interop.model import FIELDS, Alphabet, BPEModel, MergeRule, PairList, RankTable, Vocab
from bpe_interop.presets import PRESETS, fill
from bpe_interop.text.bytechars import to_chars
from bpe_interop.verify.prove import prove

from .kernel_pieces import decoded_pieces, encoded_pieces, pieces_read
from .kernel_texts import Answered, cut, decoded, encoded
from .page import made_of, put, table, write_option
from .readers import damaged, seeds

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Compared:
    """What was found of two things, and whether the kernel held them."""

    found: object
    native: bool


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


def pair_of_files_read(rng: random.Random) -> Callable[[], object]:
    """Reads GPT-2's two files, mostly with damage."""
    own = dict(rng.choice(_seeds()["gpt2"]))
    if rng.random() < 0.6:
        own = dumped_pair(byte_level(rng), rng)
    if rng.random() < 0.7:
        own = damaged(own, rng)
    return lambda: by_name("gpt2").load(own)


def dumped_pair(own: ByteLevel, rng: random.Random) -> dict[str, bytes]:
    """The two files, spelled in one of several ways."""
    vocab = {to_chars(token): number for number, token in enumerate(own.tokens)}
    if rng.random() < 0.4:
        vocab["<|endoftext|>"] = len(vocab)
    end = rng.choice(("\n", "\n", "\r\n"))
    lines = [" ".join(map(to_chars, pair)) for pair in own.pairs]
    lines.insert(rng.randrange(2), rng.choice(("#version: 0.2", "#version", "")))
    text = end.join(lines) + rng.choice((end, end, ""))
    spelled = json.dumps(vocab, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
    return {"encoder.json": spelled.encode(), "vocab.bpe": text.encode()}


def form_found(rng: random.Random) -> Callable[[], object]:
    """Finds a canonical form."""
    rule, ids, alphabet = merge_system(rng)
    some = frozenset(token for token in ids if rng.random() < 0.9)
    base = rng.choice((None, None, None, ids, ids, {**ids}, some))
    return lambda: canonical_of(rule, ids, alphabet, base)


def entries_compared(rng: random.Random) -> Callable[[], object]:
    """Compares two small vocabularies of which most entries are the same."""
    tokens = list(dict.fromkeys(rng.randbytes(rng.choice((1, 1, 2, 3, 20))) for _ in range(12)))
    files = []
    for _ in range(2):
        own = [token for token in tokens if rng.random() < 0.9] or tokens[:1]
        if rng.random() < 0.3:
            rng.shuffle(own)
        step = rng.choice((1, 1, 1, 3, 40_000))
        moved = rng.choice((0, 0, 1))
        numbered_so = [token for token in own if rng.random() < 0.9] or own[:1]
        lines = [b64encode(t) + b" %d" % (tokens.index(t) * step + moved) for t in numbered_so]
        files.append(b"\n".join(lines))
    out = rng.sample(tokens, rng.randrange(len(tokens) + 1))
    wanted = {rng.randrange(14) for _ in range(4)}

    def compared() -> Compared:
        a, b = (read_ranks(data, "x") for data in files)
        here = [token for token in out if token in a]
        rest = without(a, here)
        found = [compare_entries(a, b), compare_entries(rest, b), a == b, rest == a, b != rest]
        named = sorted(numbered(b, wanted).items()), sorted(numbered(rest, wanted).items())
        return Compared([found, named, [*rest.items()]], isinstance(a, Numbers))

    return compared


def models_compared(rng: random.Random) -> Callable[[], object]:
    """Proves two small byte-level tokenizers to be the same, or not, and says how they differ."""
    files = byte_level(rng), byte_level(rng)
    if rng.random() < 0.7:
        files = files[0], changed(files[0], rng)
    as_ranks = [rng.random() < 0.3 for _ in files]

    def compared() -> Compared:
        a, b = (
            _ranked(own) if ranked else by_name("huggingface").load(_listed(own))
            for own, ranked in zip(files, as_ranks, strict=True)
        )
        proof = prove(a, b, "ordinary")
        same = a.merges == b.merges, a.vocab == b.vocab
        return Compared([same, diff(a, b), proof], isinstance(a.vocab.ids, Numbers))

    return compared


def files_written(rng: random.Random) -> Callable[[], object]:
    """Writes a small byte-level tokenizer in every format that spells bytes."""
    own = byte_level(rng)
    for token in (b'"\\\x7f\xa0\xad', b"#version", b"<s>", b"\xc4\xa0"):
        if rng.random() < 0.4:
            own.tokens.insert(rng.randrange(len(own.tokens) + 1), token)
    if rng.random() < 0.2 and b"#version" in own.tokens:
        own.pairs.append((b"#version", b"a"))
        own.tokens.append(b"#versiona")
    files, ranked = _listed(own), rng.random() < 0.3
    value = json.loads(files["tokenizer.json"])
    listed = value["model"]["vocab"]
    for text in ("<|a|>", "\u00e9\u4e2d", "\U0001f642"):
        way = rng.random()
        number = max(listed.values()) + rng.choice((1, 1, 1, 5))
        if way < 0.6:
            value["added_tokens"].append({**_ADDED, "id": number, "content": text})
        if way < 0.2 or way > 0.8:
            listed[text] = number
    if rng.random() < 0.4:
        order = [*listed.items()]
        rng.shuffle(order)
        value["model"]["vocab"] = dict(order)
    files["tokenizer.json"] = json.dumps(value).encode()

    def written() -> Compared:
        model = _ranked(own) if ranked else by_name("huggingface").load(files)
        found = [dumped(model, name) for name in ("huggingface", "gpt2", "tiktoken")]
        return Compared(found, isinstance(model.vocab.ids, Numbers))

    return written


def dumped(model: BPEModel, name: str) -> object:
    """The files of a model in a format, or why there are none; and what would be lost."""
    target = by_name(name)
    try:
        return target.dump(model), target.losses(model)
    except BpeInteropError as error:
        return str(error)


_ADDED = {
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}


@dataclass(slots=True)
class ByteLevel:
    """A small byte-level tokenizer: its tokens in the order of their ids, and its merges."""

    tokens: list[bytes]
    pairs: list[tuple[bytes, bytes]]
    lookup_first: bool
    strings: bool


def byte_level(rng: random.Random) -> ByteLevel:
    """All bytes, some merges over a few of them, and perhaps a token that nothing builds."""
    tokens = [bytes([byte]) for byte in range(256)]
    pairs: list[tuple[bytes, bytes]] = []
    built: list[bytes] = []
    for _ in range(rng.randrange(1, 8)):
        left, right = rng.choice((b"a", b"b", b" ", *built)), rng.choice((b"a", b"b", *built))
        if left + right not in built and len(left + right) < 12:
            pairs.append((left, right))
            built.append(left + right)
    tokens += built
    if rng.random() < 0.2:
        tokens.append(b"c a")
    return ByteLevel(tokens, pairs, rng.random() < 0.5, rng.random() < 0.5)


def changed(own: ByteLevel, rng: random.Random) -> ByteLevel:
    """The same, or nearly so."""
    tokens, pairs = [*own.tokens], [*own.pairs]
    way = rng.random()
    if way < 0.25 and len(pairs) > 1:
        at = rng.randrange(1, len(pairs))
        pairs[at - 1], pairs[at] = pairs[at], pairs[at - 1]
    elif way < 0.35:
        one, two = rng.sample(range(len(tokens)), 2)
        tokens[one], tokens[two] = tokens[two], tokens[one]
    elif way < 0.45:
        tokens.append(b"zz")
    elif way < 0.55:
        del pairs[rng.randrange(len(pairs))]
    return ByteLevel(tokens, pairs, rng.random() < 0.5, rng.random() < 0.5)


_SPLITTER = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def _listed(own: ByteLevel) -> dict[str, bytes]:
    pairs = [[*map(to_chars, pair)] for pair in own.pairs]
    step = {**_SPLITTER, "use_regex": True}
    model = {
        "type": "BPE",
        "ignore_merges": own.lookup_first,
        "vocab": {to_chars(token): number for number, token in enumerate(own.tokens)},
        "merges": [" ".join(pair) for pair in pairs] if own.strings else pairs,
    }
    file = {"version": "1.0", "added_tokens": [], "pre_tokenizer": step, "decoder": step}
    return {"tokenizer.json": json.dumps({**file, "model": model}).encode()}


def _ranked(own: ByteLevel) -> BPEModel:
    lines = [b64encode(token) + b" %d" % rank for rank, token in enumerate(own.tokens)]
    model = by_name("tiktoken").load({"x.tiktoken": b"\n".join(lines)})
    return fill(model, PRESETS["gpt2"])


WORKS: dict[str, Callable[[random.Random], Callable[[], object]]] = {
    "rank files": rank_file_read,
    "tokenizer.json": document_read,
    "pairs of files": pair_of_files_read,
    "pieces of models": pieces_read,
    "canonical forms": form_found,
    "entries compared": entries_compared,
    "models compared": models_compared,
    "pretokens": cut,
    "ids": lambda rng: encoded(rng, merge_system),
    "ids of characters": encoded_pieces,
    "ids decoded": lambda rng: decoded(rng, merge_system),
    "ids of characters decoded": decoded_pieces,
    "files written": files_written,
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
    if isinstance(answer, Compared):
        return answer.found
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
    if isinstance(answer, Answered):
        return answer.value
    return answer


def is_native(answer: object) -> bool:
    """Whether the kernel gave an answer."""
    if isinstance(answer, Compared):
        return answer.native
    if isinstance(answer, BPEModel):
        return isinstance(answer.vocab.ids, Numbers)
    if isinstance(answer, Answered):
        return answer.native
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
