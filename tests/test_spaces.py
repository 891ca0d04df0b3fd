"""Texts cut before spaces: where that is done, the matches are those of the whole text."""

from __future__ import annotations

import json
import random

import pytest
import regex
import tiktoken
from conftest import FIXTURES, Data
from tokenizers import Tokenizer

import bpe_interop
from bpe_interop import load
from bpe_interop.steps import Pattern
from bpe_interop.text.patterns import Matcher
from bpe_interop.text.spaces import words_of
from bpe_interop.text.spellings import SPELLINGS

CUT = [
    *SPELLINGS.values(),
    Pattern(r"\S+|\s+", "fancy-regex"),
    Pattern(r"[^ ]| +", "oniguruma"),
    Pattern(r" ?\p{L}+|[^\s\p{L}]{1,2}|\s+(?!\S)|\s+$|\s", "oniguruma"),
    Pattern(r"(?:\s|\r\n)?+(?:\p{L}|')+|\p{N}|\s*\n|\s", "fancy-regex"),
]
NOT_CUT = [
    r".+",
    r"\w+(?= )|\s|\S",
    r"\w+$|\s|\S",
    r"(?<!a) b|\s|\S",
    r"a b|\s|\S",
    r"\s|\S|",
    r"^ a|\s|\S",
    r"\s(?=ab)|\s|\S",
    r"[^a]+|a",
]


@pytest.mark.parametrize("pattern", CUT, ids=lambda pattern: pattern.source)
def test_words_with_the_space_before_them_are_matched_alike(pattern: Pattern) -> None:
    """Theorem 17 in ``docs/theory.md``."""
    whole = Matcher(pattern)
    assert whole.begins_at_spaces
    rng = random.Random(pattern.source)
    cut = 0
    for _ in range(4000):
        letters = "aA1!'\n\r\u3000é/"
        sizes = rng.choices(range(5), k=rng.randrange(1, 5))
        text = " ".join("".join(rng.choices(letters, k=size)) for size in sizes)
        words = words_of(text)
        if words is not None:
            parts = [words[0], *(f" {word}" for word in words[1:])]
            assert [m for part in parts for m in whole.findall(part)] == whole.findall(text)
            cut += len(parts) > 2
    assert cut > 500


@pytest.mark.parametrize("source", NOT_CUT)
def test_patterns_that_look_or_go_across_are_told(source: str) -> None:
    """Theorem 17 in ``docs/theory.md``."""
    assert not Matcher(Pattern(source, "fancy-regex")).begins_at_spaces


def test_no_text_is_cut_where_a_space_follows_white_space() -> None:
    white = regex.findall(r"\p{White_Space}", "".join(map(chr, range(0x110000))))
    assert len(white) == 25
    assert [words_of(f"a{char} b") for char in white] == [None] * 25
    assert words_of(" a\u200b b\nc ") == ["", "a\u200b", "b\nc", ""]


def test_texts_of_words_that_were_met_and_that_are_new(data: Data) -> None:
    ours = load(data("cl100k_base/cl100k_base.tiktoken"))
    engine = tiktoken.get_encoding("cl100k_base")
    book = data("corpora/pride_and_prejudice.txt").read_text("utf-8")[:300_000]
    others = data("corpora/udhr/udhr_all.txt").read_text("utf-8")[:300_000]
    rng = random.Random(7)
    for _ in range(400):
        text = rng.choice((book, others))
        start = rng.randrange(len(text))
        part = text[start : start + rng.randrange(2_000)] + " " * rng.randrange(2)
        part += rng.choice(("", "x" * 500, " \n y", "\u3000 z")) + part[:100]
        assert ours.encode_ordinary(part) == engine.encode_ordinary(part)


@pytest.mark.parametrize("source", [r" ?\p{L}+|\s", r" ?[a-z]+|[0-9]", r" ?\p{L}{1,3}| [0-9]+"])
@pytest.mark.parametrize("behavior", ["Isolated", "Removed", "Contiguous"])
def test_what_is_left_unmatched_goes_with_its_neighbours(source: str, behavior: str) -> None:
    hub = json.loads((FIXTURES / "tokenizers/cl100k-tiny/huggingface/tokenizer.json").read_bytes())
    step = hub["pre_tokenizer"]["pretokenizers"][0]
    step.update(pattern={"Regex": source}, behavior=behavior, invert=behavior == "Removed")
    engine = Tokenizer.from_str(json.dumps(hub))
    ours = bpe_interop.Tokenizer.from_tokenizers(engine)
    rng = random.Random(source)
    for _ in range(300):
        sizes = rng.choices(range(1, 6), k=40)
        text = " ".join("".join(rng.choices("ab1!é", k=size)) for size in sizes)
        assert ours.encode_ordinary(text) == engine.encode(text, add_special_tokens=False).ids
