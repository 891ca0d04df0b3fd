"""A sequence of splitters is one pattern where it is proved, and tiktoken cuts by it alike."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from bpe_interop.errors import PatternError
from bpe_interop.formats.huggingface import FORMAT
from bpe_interop.model import BPEModel
from bpe_interop.text.bytechars import to_chars
from bpe_interop.theory.composition import composed

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
DEEPSEEK3 = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LETTERS = "a1 !\n's\u0663\u4e2d\u2167\U00011de0\u0301\x01"
"""A character of each class that the steps tell apart; U+11DE0 is a digit since Unicode 17."""


def split(pattern: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {
        "type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert,
    }  # fmt: skip


def digits(individual: bool) -> dict[str, Any]:
    return {"type": "Digits", "individual_digits": individual}


def punctuation(behavior: str) -> dict[str, Any]:
    return {"type": "Punctuation", "behavior": behavior}


PLAIN = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
BYTES = PLAIN | {"use_regex": True}
SEQUENCES: dict[str, list[dict[str, Any]]] = {
    "StarCoder": [digits(True), BYTES],
    "runs of digits": [digits(False), BYTES],
    "one number": [split(r"\p{N}"), BYTES],
    "three numbers": [split(r"\p{N}{1,3}"), split(GPT2), PLAIN],
    "DeepSeek V3": [
        split(r"\p{N}{1,3}"), split("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"),
        split(DEEPSEEK3), PLAIN,
    ],
    "lines, then words": [split("[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), PLAIN],
    "cut again": [split(GPT2), split(r"\d{1,3}"), PLAIN],
    "punctuation in runs": [punctuation("Contiguous"), digits(False), BYTES],
    "punctuation": [punctuation("Isolated"), BYTES],
    "punctuation before": [punctuation("MergedWithPrevious"), PLAIN],
    "punctuation after": [punctuation("MergedWithNext"), PLAIN],
    "words": [{"type": "Whitespace"}, PLAIN],
    "words, digits": [{"type": "Whitespace"}, digits(True), PLAIN],
    "no spaces": [{"type": "WhitespaceSplit"}, punctuation("Isolated"), PLAIN],
    "what matches goes": [split(r"\s+", "Removed"), PLAIN],
    "what does not match stays": [split(r"\p{L}+"), PLAIN],
}  # fmt: skip


def merges_of_pairs() -> list[tuple[bytes, bytes]]:
    """Merges that join the bytes of each letter, and then any two letters: cuts are seen."""
    merges: dict[tuple[bytes, bytes], None] = {}
    for letter in LETTERS:
        content = letter.encode()
        for size in range(1, len(content)):
            merges[content[:size], content[size : size + 1]] = None
    for one, two in itertools.product(LETTERS, repeat=2):
        merges[one.encode(), two.encode()] = None
    return list(merges)


def tokenizer_json(steps: list[dict[str, Any]]) -> str:
    merges = merges_of_pairs()
    tokens = [bytes([each]) for each in range(256)] + [one + two for one, two in merges]
    return json.dumps(
        {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": None, "post_processor": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps},
            "decoder": PLAIN,
            "model": {
                "type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                "continuing_subword_prefix": None, "end_of_word_suffix": None,
                "byte_fallback": False, "ignore_merges": False,
                "vocab": {to_chars(token): number for number, token in enumerate(tokens)},
                "merges": [[to_chars(one), to_chars(two)] for one, two in merges],
            },
        }
    )  # fmt: skip


def model_of(steps: list[dict[str, Any]]) -> BPEModel:
    return FORMAT.load({"tokenizer.json": tokenizer_json(steps).encode()})


@pytest.mark.long
@pytest.mark.parametrize("name", SEQUENCES)
def test_tiktoken_cuts_by_the_one_pattern_as_tokenizers_does_by_the_sequence(name: str) -> None:
    """Theorem 29."""
    tiktoken, tokenizers = pytest.importorskip("tiktoken"), pytest.importorskip("tokenizers")
    source = tokenizer_json(SEQUENCES[name])
    model = model_of(SEQUENCES[name])
    assert model.pretokenizer
    encoding = tiktoken.Encoding(
        name="one",
        pat_str=composed(model.pretokenizer).source,
        mergeable_ranks=dict(model.vocab.ids),
        special_tokens={},
    )
    texts = [
        "".join(text) for size in (1, 2, 3) for text in itertools.product(LETTERS, repeat=size)
    ]
    draw = random.Random(29)
    texts += ["".join(draw.choices(LETTERS, k=draw.randint(4, 9))) for _ in range(2_000)]
    own = tokenizers.Tokenizer.from_str(source).encode_batch(texts)
    ids = encoding.encode_ordinary_batch(texts)
    assert [text for text, one, two in zip(texts, own, ids, strict=True) if one.ids != two] == []


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        # A contraction begins after a digit of Unicode 17, and not within a run of symbols.
        ([split(GPT2), digits(True), PLAIN], "no one pattern is known"),
        ([split("abc"), PLAIN], "takes three characters to see"),
        ([{"type": "UnicodeScripts"}, PLAIN], "does not split by a pattern"),
    ],
)
def test_where_none_is_proved_the_reason_is_said(steps: list[dict[str, Any]], reason: str) -> None:
    model = model_of(steps)
    assert model.pretokenizer
    with pytest.raises(PatternError, match=reason):
        composed(model.pretokenizer)
