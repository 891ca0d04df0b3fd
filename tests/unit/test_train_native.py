"""Training in the native kernel gives what training in Python gives."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from bpe_interop.errors import SourceError
from bpe_interop.kernel import running, set_aside
from bpe_interop.kernel.learner import MergeLearner, PretokenCounter, counter_of
from bpe_interop.kernel.splitter import TableSplitter
from bpe_interop.train import learn
from bpe_interop.train import pretokens as counting
from bpe_interop.train.learner import Learner, learned
from bpe_interop.train.pretokens import Content, count, native_splitter
from bpe_interop.train.training import Request, steps

pytestmark = pytest.mark.skipif(
    running().kernel != "native", reason="there is no native kernel to compare"
)

LETTERS = ("a", "ab", "abc", "ab é", "中文字 ", "aA1 '\n")


def _words(chosen: random.Random) -> dict[bytes, int]:
    letters = chosen.choice(LETTERS)
    words = ("".join(chosen.choices(letters, k=chosen.randint(1, 12))) for _ in range(8))
    most = chosen.choice((1, 3, 1 << 40))
    return {word.encode(): chosen.randint(1, most) for word in words}


def test_merges_and_tokens_are_those_of_the_python_learner() -> None:
    chosen = random.Random(20)
    for _ in range(400):
        words = _words(chosen)
        limit, least = chosen.choice((None, 0, 1, 5)), chosen.choice((1, 1, 2, 3))
        learner, ticks, expected = Learner(words), list[int](), list[int]()
        merges = learner.learn(limit, least, expected.append)
        found = learned(words, limit, least, ticks.append)
        assert found == (merges, learner.tokens()), words
        assert ticks == expected


def test_more_merges_than_are_asked_for_at_once() -> None:
    chosen = random.Random(3)
    words = {bytes(chosen.choices(range(256), k=40)): 1 for _ in range(400)}
    learner = Learner(words)
    merges = learner.learn(3_000)
    assert learned(words, 3_000, 1, lambda made: None) == (merges, learner.tokens())
    assert len(merges) == 3_000


PATTERNS = ("gpt2", "cl100k_base", r"\p{L}+", r"a|b", None)


def _text(chosen: random.Random) -> str:
    return "".join(chosen.choices("aab bc  \n\r12é中\u0301'sT.🙂\u2028", k=chosen.randint(0, 400)))


def _contents(texts: Iterable[str]) -> list[Content]:
    return [Content(text.encode()) for text in texts]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_pretokens_are_counted_in_the_same_order(pattern: str | None) -> None:
    chosen = random.Random(5)
    cut = steps(pattern)
    for _ in range(12):
        contents = _contents(_text(chosen) for _ in range(4))
        ours = count(contents, cut)
        with set_aside():
            theirs = count(contents, cut)
        assert ours == theirs
        assert [*ours.counts.items()] == [*theirs.counts.items()]


def _ties(chosen: random.Random) -> str:
    """A text of few words in which most pairs are as frequent as others."""
    words = ["".join(chosen.choices("abcd", k=3)) for _ in range(6)]
    return " ".join(chosen.sample(words * 4, k=24))


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_threads_change_no_merge(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever thread is quick: the later a text is, the sooner it is done."""
    chosen = random.Random(threads)
    cut, request = steps("gpt2"), Request(merges=40, min_frequency=1, pattern="gpt2")
    begun = list[int]()

    def quick(splitter: TableSplitter, data: Sequence[bytes]) -> PretokenCounter | None:
        begun.append(len(data))
        time.sleep(0.004 * (-len(begun) % threads))
        return counter_of(splitter, data)

    monkeypatch.setattr(counting, "counter_of", quick)
    monkeypatch.setattr(counting, "WINDOW", 300)
    monkeypatch.setattr(counting, "THREADS", threads)
    monkeypatch.setattr(os, "cpu_count", lambda: threads)
    for _ in range(6):
        begun.clear()
        texts = [_ties(chosen) for _ in range(60)]
        ours, merges = count(_contents(texts), cut), learn(texts, request).merges
        assert begun == [3] * 40
        with set_aside():
            theirs = count(_contents(texts), cut)
            assert merges == learn(texts, request).merges
        assert [*ours.counts.items()] == [*theirs.counts.items()]
        # That of the last text first would be another order, and give other merges.
        assert merges != learn(texts[::-1], request).merges


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("what", ["counter_of", "absorb"])
def test_python_counts_what_the_kernel_cannot(
    what: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = random.Random(9)
    cut = steps("gpt2")
    texts = [_text(chosen) for _ in range(6)]
    absorb, calls = PretokenCounter.absorb, list[int]()

    def fails() -> bool:
        calls.append(len(calls))
        return calls[-1] == at

    def counted(splitter: TableSplitter, data: Sequence[bytes]) -> PretokenCounter | None:
        return None if fails() else counter_of(splitter, data)

    def absorbed(one: PretokenCounter, other: PretokenCounter) -> bool:
        return not fails() and absorb(one, other)

    if what == "absorb":
        monkeypatch.setattr(PretokenCounter, "absorb", absorbed)
    else:
        monkeypatch.setattr(counting, "counter_of", counted)
    monkeypatch.setattr(counting, "WINDOW", 1)
    monkeypatch.setattr(counting, "THREADS", 1)
    ours = count(_contents(texts), cut)
    with set_aside():
        theirs = count(_contents(texts), cut)
    assert len(calls) >= min(at + 1, 4)
    assert [*ours.counts.items()] == [*theirs.counts.items()]
    assert (ours.size, ours.unmatched) == (theirs.size, theirs.unmatched)


def test_a_counter_is_not_added_to_itself() -> None:
    splitter = native_splitter(steps("gpt2"))
    assert splitter is not None
    counter = counter_of(splitter, [b"a b"])
    assert counter is not None
    assert not counter.absorb(counter)
    assert counter.counts() == {b"a": 1, b" b": 1}


@pytest.mark.parametrize("window", [1, 8, 64, 1 << 20])
def test_what_is_not_utf8_is_refused_where_it_is(
    window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text"
    text = "ab é. " * 30
    path.write_bytes(text.encode() + b"a b \xff c " + text.encode() + b"\xff\xe2\x82")
    monkeypatch.setattr(counting, "WINDOW", window)
    for request in (Request(merges=1, pattern="gpt2"), Request(merges=1)):
        with pytest.raises(SourceError, match=r"byte 0xFF at offset 214\b"):
            learn(path, request)
        with set_aside(), pytest.raises(SourceError, match=r"byte 0xFF at offset 214\b"):
            learn(path, request)


def test_python_begins_anew_where_learning_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    more, asked = MergeLearner.more, list[int]()

    def once(learner: MergeLearner, limit: int, least: int) -> Any:
        asked.append(limit)
        return more(learner, limit, least) if len(asked) == 1 else None

    monkeypatch.setattr(MergeLearner, "more", once)
    words = {bytes(random.Random(3).choices(range(99), k=6_000)): 1}
    learner = Learner(words)
    merges = learner.learn(2_000)
    assert learned(words, 2_000, 1, lambda made: None) == (merges, learner.tokens())
    assert asked == [1_024, 976]


def test_numbers_that_the_kernel_does_not_hold() -> None:
    def none(made: int) -> None:
        """Nobody listens."""

    for huge in (1 << 62, 1 << 63, 1 << 70):
        words = {b"abab": huge, b"ab": 1}
        learner = Learner(words)
        merges = learner.learn(None)
        assert learned(words, None, 1, none) == (merges, learner.tokens())
    assert learned({}, None, 1, none) == ([], 0)


@pytest.mark.parametrize("least", [-1, 1 << 63, (1 << 64) - 1, 1 << 64, (1 << 64) + 1, 1 << 70])
def test_a_frequency_beyond_64_bits_is_none_that_begins_again_at_0(least: int) -> None:
    words = {b"abab": 9, b"ab": 1}
    learner = Learner(words)
    merges = learner.learn(None, least)
    assert bool(merges) is (least < 0)
    assert learned(words, None, least, lambda made: None) == (merges, learner.tokens())


@pytest.mark.parametrize("count", [(1 << 63) // 6, (1 << 63) // 7, 1 << 61])
def test_what_the_kernel_cannot_count_to_the_end_it_does_not_begin(count: int) -> None:
    """Else progress would be told twice: by the kernel, and by Python from the start."""
    ticks: list[int] = []
    words = {b"ccbaac": count}
    learner = Learner(words)
    merges = learner.learn(1)
    assert learned(words, 1, 1, ticks.append) == (merges, learner.tokens())
    assert ticks == [1]


def test_a_whole_training_is_the_same() -> None:
    chosen = random.Random(31)
    text = " ".join(_text(chosen) for _ in range(200))
    request = Request(vocab_size=420, pattern="gpt2")
    ours = learn(text, request)
    with set_aside():
        theirs = learn(text, request)
    assert ours.merges == theirs.merges
    assert (ours.size, ours.unmatched, ours.tokens) == (
        theirs.size,
        theirs.unmatched,
        theirs.tokens,
    )
    assert [*ours.model.vocab.ids.items()] == [*theirs.model.vocab.ids.items()]
