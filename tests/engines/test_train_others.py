"""Training with tokenizers and with sentencepiece, through the same door."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from conftest import Data
from tokenizers import Regex, decoders, models, pre_tokenizers, trainers

from bpe_interop.errors import EngineError, EngineMissingError, SourceError
from bpe_interop.text.spellings import GPT2
from bpe_interop.tokenizer import Tokenizer
from bpe_interop.train import Request, learn, train
from fixtures import FIXTURES

ENGLISH = FIXTURES / "corpora" / "english.txt"

LLAMA_2: dict[str, Any] = {
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
    "input_sentence_size": 200_000_000,
    "max_sentence_length": 4192,
    "seed_sentencepiece_size": 1_000_000,
    "shuffle_input_sentence": True,
    "character_coverage": 0.99995,
    "byte_fallback": True,
    "split_digits": True,
    "split_by_unicode_script": True,
    "split_by_whitespace": True,
    "split_by_number": True,
    "max_sentencepiece_length": 16,
    "add_dummy_prefix": True,
    "allow_whitespace_only_pieces": True,
    "unk_id": 0,
    "bos_id": 1,
    "eos_id": 2,
    "pad_id": -1,
    "num_threads": 2,
}


@pytest.fixture(scope="module")
def english() -> str:
    return ENGLISH.read_bytes().decode("utf-8")


@pytest.mark.parametrize("least", [0, 8])
def test_tokenizers_learns_what_it_learns_by_itself(english: str, least: int) -> None:
    own = tokenizers.Tokenizer(models.BPE())
    own.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(GPT2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    own.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        min_frequency=least,
        special_tokens=["<|end|>", "<|pad|>"],
        max_token_length=6,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    own.train_from_iterator([english], trainer=trainer)
    found = train(
        ENGLISH,
        vocab_size=600,
        pattern="gpt2",
        min_frequency=least,
        special_tokens=["<|end|>", "<|pad|>"],
        algorithm="huggingface",
        options={"max_token_length": 6},
    )
    text = english + "<|end|> 你好"
    ids = found.encode(text, allowed_special="all")
    assert ids == own.encode(text).ids
    assert found.encode("<|end|>", allowed_special="all") == [0]
    assert found.n_vocab == own.get_vocab_size() == 600
    assert found.decode(ids) == text
    assert found.to_tiktoken().encode(text, allowed_special="all") == ids


def test_tokenizers_options_reach_it(english: str) -> None:
    asked: Any = {"end_of_word_suffix": "</w>", "limit_alphabet": 40, "initial_alphabet": []}
    found = train(english, vocab_size=200, algorithm="huggingface", pattern="gpt2", options=asked)
    assert found.model.affixes.suffix == b"</w>"
    assert sum(len(token) == 1 for token in found.model.vocab.ids) <= 40


def test_sentencepiece_with_the_settings_of_llama_2(data: Data) -> None:
    known = json.loads(data("seeds/expected.json").read_text("utf-8"))
    known = known["toy.txt (SentencePiece, Llama-2's settings, vocab 400)"]
    toy = data("seeds/toy.txt")
    found = train(toy, vocab_size=400, algorithm="sentencepiece", options=LLAMA_2)
    assert found.encode(known["text"]) == known["ids"]
    assert found.decode(known["ids"]) == known["text"]
    assert found.to_sentencepiece().encode(known["text"]) == known["ids"]


def test_sentencepiece_learns_what_it_learns_by_itself(english: str) -> None:
    written = io.BytesIO()
    sentencepiece.set_min_log_level(3)
    sentencepiece.SentencePieceTrainer.train(
        input=str(ENGLISH),
        model_writer=written,
        model_type="bpe",
        vocab_size=500,
        control_symbols=["<x>"],
        **LLAMA_2,
    )
    own = sentencepiece.SentencePieceProcessor(model_proto=written.getvalue())
    found = train(
        ENGLISH,
        vocab_size=500,
        special_tokens=["<x>"],
        algorithm="sentencepiece",
        options=LLAMA_2,
    )
    lines = english.split("\n")
    assert [found.encode(line) for line in lines] == own.encode(lines)
    assert found.encode("<x>", allowed_special={"<x>"})[-1] == own.piece_to_id("<x>")


def test_sentencepiece_may_not_draw_other_lines_each_time(english: str) -> None:
    asked = {**LLAMA_2, "input_sentence_size": 120}
    with pytest.raises(SourceError, match=r"more than 120 lines .* each time"):
        train(english, vocab_size=400, algorithm="sentencepiece", options=asked)
    first = {**asked, "shuffle_input_sentence": False}
    found = train(english, vocab_size=400, algorithm="sentencepiece", options=first)
    lines = [line for line in english.split("\n") if line]
    alone = train("\n".join(lines[:120]), vocab_size=400, algorithm="sentencepiece", options=asked)
    assert found.model.vocab == alone.model.vocab


def test_lines_too_long_for_sentencepiece_are_told() -> None:
    asked = {"max_sentence_length": 20, "hard_vocab_limit": False}
    text = "some words here\n" * 5 + "a line that is much too long for it\n" * 2
    request = Request(vocab_size=30, algorithm="sentencepiece", options=asked)
    (note,) = learn(text, request).notes
    assert note.startswith("2 of 7 lines are longer than 20 bytes")


@pytest.mark.parametrize("algorithm", ["huggingface", "sentencepiece"])
def test_a_library_that_is_absent(algorithm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    name = {"huggingface": "tokenizers"}.get(algorithm, algorithm)
    monkeypatch.setitem(sys.modules, name, None)
    what = f"^the algorithm {algorithm} cannot train: {name} is not installed"
    with pytest.raises(EngineMissingError, match=what):
        train("some text", vocab_size=300, algorithm=algorithm)


@pytest.mark.parametrize("algorithm", ["tutorial", "huggingface", "sentencepiece"])
def test_what_is_raised_while_reading_is_what_comes_out(algorithm: Any, tmp_path: Path) -> None:
    bad = tmp_path / "latin-1.txt"
    bad.write_bytes(b"abc " * 5 + "é".encode("latin-1"))
    with pytest.raises(SourceError, match=r"latin-1\.txt: not UTF-8: byte 0xE9 at offset 20"):
        train(["hello", bad], vocab_size=300, algorithm=algorithm)
    with pytest.raises(SourceError, match="No such file"):
        train(tmp_path / "nothing", vocab_size=300, algorithm=algorithm)
    with pytest.raises(SourceError, match="there is no text"):
        train(["", ""], vocab_size=300, algorithm=algorithm)

    def texts() -> Any:
        yield "hello hello"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(texts(), vocab_size=300, algorithm=algorithm)


def test_more_ids_than_the_text_gives() -> None:
    with pytest.raises(SourceError, match=r"300 ids .* gives 4 merges \(261 ids\)"):
        train("ab ab ab", vocab_size=300, algorithm="huggingface", special_tokens=["<x>"])
    found = train("ab ab ab", vocab_size=300, algorithm="huggingface", min_frequency=2)
    assert isinstance(found, Tokenizer)
    with pytest.raises(EngineError, match="Please set it to a value <= "):
        train("ab ab ab", vocab_size=300, algorithm="sentencepiece")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "unigram", "vocab_size": 300}, 'no algorithm "unigram"'),
        ({}, "the size of the vocabulary is missing"),
        ({"min_frequency": 1}, "the size of the vocabulary is missing"),
        ({"vocab_size": 300, "merges": 3}, "both are given"),
        ({"vocab_size": 255}, "the 256 bytes are tokens already"),
        ({"merges": -1}, "merges is -1"),
        ({"vocab_size": 300, "pattern": "gpt9"}, r"gpt9, write \(\?:gpt9\)"),
        ({"vocab_size": 300, "pattern": ""}, "the pattern is empty"),
        ({"vocab_size": 300, "special_tokens": ("a", "")}, "special token is empty"),
        ({"vocab_size": 300, "special_tokens": ("a", "b", "a")}, '"a" is given twice'),
        ({"vocab_size": 300, "special_tokens": {"a": 400, "b": 400}}, '"a" and "b" have the same'),
        ({"vocab_size": 300, "special_tokens": {"a": 2**32}}, "is above"),
        ({"vocab_size": 300, "options": {"x": 1}}, 'the option "x"'),
        ({"vocab_size": 300, "options": {"x": 1}, "algorithm": "huggingface"}, 'no option "x"'),
        ({"vocab_size": 257, "special_tokens": ("a", "b"), "algorithm": "huggingface"}, "258"),
        ({"merges": 3, "algorithm": "huggingface"}, "a number of merges"),
        ({"vocab_size": 300, "special_tokens": {"a": 400}, "algorithm": "huggingface"}, "ids for"),
        ({"vocab_size": 300, "pattern": "gpt2", "algorithm": "sentencepiece"}, "a pattern"),
        ({"vocab_size": 300, "min_frequency": 2, "algorithm": "sentencepiece"}, "min_frequency"),
        ({"vocab_size": 300, "options": {"input": "x"}, "algorithm": "sentencepiece"}, "input"),
        (
            {
                "vocab_size": 300,
                "options": {"max_sentence_length": "x"},
                "algorithm": "sentencepiece",
            },
            "no number",
        ),
        (
            {
                "vocab_size": 300,
                "options": {"control_symbols": "x"},
                "special_tokens": ("a",),
                "algorithm": "sentencepiece",
            },
            "both are given",
        ),
    ],
)
def test_settings_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        learn("some text", Request(**settings))


def test_a_special_token_with_a_learned_id() -> None:
    with pytest.raises(SourceError, match="has the id 257, which is a learned token's"):
        train("abab abab", merges=2, special_tokens={"<s>": 257})


def test_a_pattern_that_matches_nothing() -> None:
    with pytest.raises(SourceError, match="the pattern matches nothing"):
        train("abc", merges=0, pattern=r"\d")
