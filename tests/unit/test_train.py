"""Training: the merges of the teaching implementations, of a recount before every merge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
import tiktoken
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.errors import SourceError
from bpe_interop.model import PairList
from bpe_interop.text.spellings import R50K
from bpe_interop.tokenizer import Tokenizer
from bpe_interop.train import Request, Training, learn, train
from bpe_interop.train import pretokens as counting
from bpe_interop.train.learner import LearnedMerge, Learner
from bpe_interop.train.training import steps
from fixtures import FIXTURES
from fixtures.spellings import SPELLINGS


def naive(pretokens: list[bytes], limit: int) -> tuple[list[LearnedMerge], list[list[int]]]:
    """Counts everything before every merge, as the tutorials do."""
    sequences = [list(pretoken) for pretoken in pretokens]
    merges: list[LearnedMerge] = []
    while len(merges) < limit:
        counts: dict[tuple[int, int], int] = {}
        for ids in sequences:
            for pair in pairwise(ids):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        best = max(counts, key=counts.__getitem__)
        merges.append(LearnedMerge(*best, 256 + len(merges), counts[best]))
        sequences = [list(replaced(ids, best, merges[-1].id)) for ids in sequences]
    return merges, sequences


def replaced(ids: list[int], pair: tuple[int, int], new: int) -> Iterator[int]:
    place = 0
    while place < len(ids):
        found = tuple(ids[place : place + 2]) == pair
        yield new if found else ids[place]
        place += 2 if found else 1


def distinct(pretokens: list[bytes]) -> dict[bytes, int]:
    counts: dict[bytes, int] = {}
    for pretoken in pretokens:
        counts[pretoken] = counts.get(pretoken, 0) + 1
    return counts


TEXTS = st.one_of(
    *(
        st.text(alphabet, min_size=1, max_size=size)
        for alphabet, size in (("a", 30), ("ab", 80), ("abc", 120), ("ab '\n", 60), ("aé🤗 ", 40))
    )
)


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_merges_are_those_of_a_recount(texts: list[str]) -> None:
    """Theorem 33 in ``docs/theory.md``."""
    pretokens = [text.encode() for text in texts]
    learner = Learner(distinct(pretokens))
    found = learner.learn(None)
    merges, sequences = naive(pretokens, 10**9)
    assert found == merges
    assert learner.tokens() == sum(map(len, sequences))


@given(TEXTS, st.integers(0, 40))
def test_a_text_encodes_to_what_training_left_of_it(text: str, limit: int) -> None:
    """Theorem 34 in ``docs/theory.md``."""
    merges, (ids,) = naive([text.encode()], limit)
    done = learn(text, Request(merges=len(merges)))
    assert done.merges == tuple(merges)
    assert done.tokens == len(ids)
    tokenizer = Tokenizer(done.model)
    assert tokenizer.encode(text) == ids
    assert tokenizer.decode(ids) == text


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_no_two_merges_make_the_same_bytes(texts: list[str]) -> None:
    """Theorem 34 in ``docs/theory.md``."""
    contents = [bytes([byte]) for byte in range(256)]
    for merge in naive([text.encode() for text in texts], 10**9)[0]:
        contents.append(contents[merge.left] + contents[merge.right])
    assert len(set(contents)) == len(contents)


@pytest.mark.long
@pytest.mark.parametrize("name", ["english.txt", "scripts.txt", "whitespace.txt", "code.txt"])
@pytest.mark.parametrize("pattern", [None, "gpt2"])
def test_merges_of_the_corpora(name: str, pattern: str | None) -> None:
    """Theorem 33 in ``docs/theory.md``."""
    path = FIXTURES / "corpora" / name
    text = path.read_bytes().decode("utf-8")[:20_000]
    pretokens = regex.findall(R50K, text) if pattern else [text]
    expected, sequences = naive([pretoken.encode() for pretoken in pretokens], 25)
    done = learn(text, Request(merges=25, pattern=pattern))
    assert done.merges == tuple(expected)
    assert done.tokens == sum(map(len, sequences))
    assert done.unmatched == 0


@pytest.fixture(scope="module")
def seeds(data: Data) -> Path:
    return data("seeds")


@pytest.fixture(scope="module")
def answers(seeds: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((seeds / "expected.json").read_text("utf-8"))
    return found


def as_printed(done: Training) -> list[list[object]]:
    return [[[merge.left, merge.right], merge.id] for merge in done.merges or ()]


def test_the_unicode_article(seeds: Path, answers: dict[str, Any]) -> None:
    known = answers["unicode_intro.txt"]
    done = learn(seeds / "unicode_intro.txt", Request(vocab_size=276))
    assert done.size == known["bytes"] == 24_597
    assert as_printed(done) == known["merges_20"]
    assert done.tokens == known["ids_after"] == 19_438
    tokenizer = Tokenizer(done.model)
    text = (seeds / "unicode_intro.txt").read_text("utf-8")
    ids = tokenizer.encode(text)
    assert len(ids) == 19_438
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode(known["decode"]["ids"]) == known["decode"]["text"]


def test_the_school_text_in_three_languages(seeds: Path, answers: dict[str, Any]) -> None:
    path = seeds / "school_1337.txt"
    done = learn(path, Request(merges=20))
    assert as_printed(done) == answers["school_1337.txt"]["merges_20"]
    text = path.read_text("utf-8")
    tokenizer = Tokenizer(done.model)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_hello_hello_hello(answers: dict[str, Any]) -> None:
    known = answers["hello"]
    done = learn(known["text"], Request(merges=3))
    assert as_printed(done) == known["merges_3"]
    assert Tokenizer(done.model).encode(known["text"])[:10] == known["first_10_ids"]


def test_overlaps_count_and_merge_from_the_left() -> None:
    done = learn("aaaaa", Request(min_frequency=1, merges=2))
    assert done.merges == (LearnedMerge(97, 97, 256, 4), LearnedMerge(256, 256, 257, 1))
    assert Tokenizer(done.model).encode("aaaaa") == [257, 97]


def test_among_equals_the_first_in_the_text_wins() -> None:
    assert [m[:2] for m in learn("xyabxyab", Request(merges=1)).merges or ()] == [(120, 121)]
    # ab comes first, in a pretoken that comes again; cd is as frequent.
    done = learn(["ab", "cd", "cd", "ab"], Request(merges=2))
    assert [m[:2] for m in done.merges or ()] == [(97, 98), (99, 100)]


def test_it_ends_where_pairs_become_rare() -> None:
    done = learn("abababcd", Request(vocab_size=1000, min_frequency=2))
    assert [merge.frequency for merge in done.merges or ()] == [3, 2]
    assert learn("abababcd", Request(min_frequency=2)).merges == done.merges


def test_no_pair_goes_from_one_text_to_the_next() -> None:
    merges = learn(["ab", "cd"], Request(merges=2)).model.merges
    assert isinstance(merges, PairList)
    assert merges.pairs == ((b"a", b"b"), (b"c", b"d"))
    with pytest.raises(SourceError, match="gives 2 merges"):
        learn(["ab", "cd"], Request(merges=3))


def test_files_directories_and_iterables(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "b").mkdir(parents=True)
    (folder / "a.txt").write_bytes("une été\r\n".encode())
    (folder / "b" / "c.txt").write_bytes(b"abab")
    (folder / ".hidden").write_bytes(b"\xff")
    given = learn(["une été\r\n", "abab"], Request(merges=6))
    assert learn(folder, Request(merges=6)).merges == given.merges
    files = (path for path in (folder / "a.txt", folder / "b" / "c.txt"))
    assert learn(files, Request(merges=6)).merges == given.merges
    assert learn((folder / "a.txt", "abab"), Request(merges=6)).merges == given.merges


PARTS = (
    *("a", "B", " ", "  ", "\n", "\r\n", "!", "'s", "'S", "1", "23", "\t", "\xa0", "\x85"),
    *("。", "中", "é", "/", "\u3000", "か", "가", "🤗", "\u0301", "'", "ſ"),
)


@given(
    st.lists(
        st.sampled_from(PARTS),
        max_size=60,
    )
)
@pytest.mark.parametrize("name", SPELLINGS)
def test_cuts_change_no_pretoken(name: str, parts: list[str]) -> None:
    text = "".join(parts)
    matches = regex.compile(SPELLINGS[name].source).findall
    places = [0, *(m.start() for m in counting.PRETOKENS.finditer(text)), len(text)]
    apart = [pretoken for start, stop in pairwise(places) for pretoken in matches(text[start:stop])]
    assert apart == matches(text)


@pytest.mark.parametrize(("pattern", "cut"), [("gpt2", 1), ("o200k", 1), (None, 0), (r"\w|\W", 0)])
@pytest.mark.parametrize("window", [7, 64, 1000])
def test_windows_of_a_text_change_nothing(
    pattern: str | None, cut: int, window: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text"
    corpora = FIXTURES / "corpora"
    text = "".join((corpora / n).read_bytes().decode()[:3000] for n in ("scripts.txt", "code.txt"))
    path.write_bytes(text.encode())
    asked = Request(merges=60, pattern=pattern)
    merges = learn(text, asked).merges
    monkeypatch.setattr(counting, "WINDOW", window)
    for source in (path, text):
        read = list(counting.read_texts(source, counting.cuts(steps(pattern))))
        assert "".join(content.text() for content in read) == text
        assert bool(cut) == (len(read) > 1)
        assert learn(source, asked).merges == merges


@pytest.mark.parametrize("letter", ["x", "é", "中", "🤗"])
def test_a_window_ends_at_the_last_place_however_far_before_its_end(
    letter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text"
    far = letter * 9_000
    path.write_bytes(f"a b{far}a b{far}".encode())
    monkeypatch.setattr(counting, "WINDOW", len(far.encode()) + 3)
    read = list(counting.read_texts(path, counting.PRETOKENS))
    assert [content.text() for content in read] == ["a", f" b{far}a", f" b{far}"]


def test_a_learned_tokenizer_goes_everywhere(tmp_path: Path) -> None:
    text = (FIXTURES / "corpora" / "english.txt").read_bytes().decode()
    special = {"<|end|>": 400, "<|pad|>": 500}
    tokenizer = train(text, vocab_size=350, pattern="cl100k", special_tokens=special, name="mine")
    encoding = tokenizer.to_tiktoken()
    assert isinstance(encoding, tiktoken.Encoding)
    ids = encoding.encode(text + "<|end|>", allowed_special="all")
    assert ids[-1] == 400
    assert tokenizer.encode(text + "<|end|>", allowed_special="all") == ids
    assert tokenizer.to_tokenizers().encode(text + "<|end|>").ids == ids
    assert tokenizer.save(tmp_path / "hf", format="huggingface") == ()
    assert tokenizer.save(tmp_path / "mine.tiktoken") == ()


def test_special_tokens_are_numbered_behind_the_learned_ones() -> None:
    tokenizer = train("abab", merges=2, special_tokens=["<s>", "</s>"])
    assert tokenizer.encode("abab</s><s>", allowed_special="all") == [257, 259, 258]
    assert tokenizer.n_vocab == 260


def test_text_that_the_pattern_leaves_is_counted() -> None:
    done = learn("abé abé!", Request(merges=2, pattern=r"\p{L}+"))
    assert (done.size, done.unmatched, done.tokens) == (10, 2, 4)


def test_lone_surrogates_are_what_encode_makes_of_them() -> None:
    assert learn("\ud83e\udd17\ud83e", Request(merges=0)).size == len("🤗\ufffd".encode())


def test_a_file_that_begins_as_json_is_refused_and_a_text_is_not(tmp_path: Path) -> None:
    content = '{"text": "abab"}\n'
    file = tmp_path / "q.json"
    file.write_text(content)
    with pytest.raises(SourceError, match="begins as JSON does"):
        learn(file, Request(merges=1))
    assert learn(content, Request(merges=1)).size == len(content)
    assert learn(Path(f"{file}:text"), Request(merges=1)).size == len("abab")
