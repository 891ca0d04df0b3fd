"""Training: ours, the loop of the tutorials, and tokenizers' trainer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from .texts import read

Side: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], object]]"
Pair: TypeAlias = "tuple[int, int]"

FIRST = 10
"""How many merges the loop makes; the others are extrapolated."""


@dataclass(frozen=True)
class Extrapolated:
    """Seconds that nobody waited for, and how they were found."""

    seconds: float
    note: str
    merges: list[Pair]


def _text(corpus: str) -> str:
    return Path(corpus).read_bytes().decode("utf-8")


def _request(size: str) -> Any:
    return import_module("bpe_interop.train").Request(vocab_size=int(size), pattern="gpt2")


def ours(corpus: str, size: str) -> Side:
    """``bpe_interop.train.learn``: the tutorials' merges."""
    learn, text, request = import_module("bpe_interop.train").learn, _text(corpus), _request(size)

    def first(done: Any) -> object:
        return {"merges": [[merge.left, merge.right] for merge in done.merges[:FIRST]]}

    return lambda: learn(text, request), first


def ours_of_file(corpus: str, size: str) -> Side:
    """The same of a file, which is read in windows."""
    learn, request = import_module("bpe_interop.train").learn, _request(size)
    return lambda: learn(Path(corpus), request), lambda result: None


def loop(corpus: str, size: str) -> Side:
    """Count all pairs, merge the most frequent one everywhere, and again: the first merges.

    The time of a merge is taken to be proportional to the number of tokens that it goes over,
    which is known for every merge, because ours says how often each pair was merged. What the
    loop needs for each pretoken, however short, is so left out, which favours it.
    """
    pattern = import_module("bpe_interop.presets").by_name("gpt2").pattern
    regex, text = import_module("regex"), _text(corpus)
    chunks = [list(part.encode("utf-8")) for part in regex.findall(pattern, text)]

    def run() -> Extrapolated:
        merges: list[Pair] = []
        walked, began = 0, time.perf_counter()
        for number in range(256, 256 + FIRST):
            walked += sum(map(len, chunks))
            counts: dict[Pair, int] = {}
            for ids in chunks:
                count_pairs(ids, counts)
            best = max(counts, key=counts.__getitem__)
            chunks[:] = [merge_pair(ids, best, number) for ids in chunks]
            merges.append(best)
        taken = time.perf_counter() - began
        return extrapolated(taken, walked, merges, _lengths(text, size))

    return run, lambda found: {"merges": [list(pair) for pair in found.merges]}


def extrapolated(taken: float, walked: int, merges: list[Pair], lengths: list[int]) -> Extrapolated:
    """The time of all merges, at the cost for each token of those that were timed."""
    note = (
        f"extrapolated from its first {len(merges)} merges ({taken:.1f} s) by the number of "
        "tokens that each merge goes over"
    )
    return Extrapolated(taken / walked * sum(lengths), note, merges)


def _lengths(text: str, size: str) -> list[int]:
    """How many tokens there are before each merge."""
    done = import_module("bpe_interop.train").learn(text, _request(size))
    left, lengths = done.size, []
    for merge in done.merges:
        lengths.append(left)
        left -= merge.frequency
    return lengths


def count_pairs(ids: list[int], counts: dict[Pair, int]) -> None:
    """As the tutorials write it."""
    for pair in pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1


def merge_pair(ids: list[int], pair: Pair, number: int) -> list[int]:
    """As the tutorials write it."""
    merged = []
    at = 0
    while at < len(ids):
        if at + 1 < len(ids) and ids[at] == pair[0] and ids[at + 1] == pair[1]:
            merged.append(number)
            at += 2
        else:
            merged.append(ids[at])
            at += 1
    return merged


def tokenizers(corpus: str, size: str) -> Side:
    """``tokenizers.trainers.BpeTrainer`` behind a byte-level pre-tokenizer."""
    library, texts = import_module("tokenizers"), read(corpus)
    made = library.Tokenizer(library.models.BPE())
    made.pre_tokenizer = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = library.trainers.BpeTrainer(
        vocab_size=int(size),
        show_progress=False,
        initial_alphabet=library.pre_tokenizers.ByteLevel.alphabet(),
    )
    return lambda: made.train_from_iterator(texts, trainer=trainer), lambda result: None


def gigatoken(corpus: str, size: str) -> Side:
    """``gigatoken.train_bpe``."""
    train, data = import_module("gigatoken").train_bpe, Path(corpus).read_bytes()
    return lambda: train(data, int(size), []), lambda result: None


def gigabpe(corpus: str, size: str) -> Side:
    """``gigabpe.train_bpe``."""
    train = import_module("gigabpe").train_bpe
    return lambda: train([corpus], int(size), special_tokens=[]), lambda result: None
