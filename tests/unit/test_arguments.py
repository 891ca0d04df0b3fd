"""What Python's callers give by mistake: one name, one text, a word that is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import bpe_interop
from bpe_interop.compare import parity
from bpe_interop.corpora import find_files
from bpe_interop.encode.explain import Explainer
from bpe_interop.errors import (
    ArgumentError,
    EngineError,
    OutOfRangeError,
    SourceError,
    SpecialTokenError,
)
from bpe_interop.fingerprint import fingerprint
from bpe_interop.pytest_plugin import assert_parity
from bpe_interop.reports import check_targets, write_reports
from fixtures import TOKENIZERS

RANKS, HUB = TOKENIZERS / "gpt2-tiny" / "tiktoken", TOKENIZERS / "gpt2-tiny" / "huggingface"
TOK: Any = bpe_interop.load(HUB)
TRAIN: Any = bpe_interop.train
LOAD: Any = bpe_interop.load
CONVERT: Any = bpe_interop.convert
VERIFY: Any = bpe_interop.verify
DIFF: Any = bpe_interop.diff
PARITY: Any = assert_parity
NO_SCOPE: Any = "foo"
NO_TEXTS: Any = [1]
EXPLAINER: Any = Explainer
TOKENIZER: Any = bpe_interop.Tokenizer
FINGERPRINT: Any = fingerprint

GIVE_A_LIST: dict[str, Any] = {
    "encode_batch": lambda: TOK.encode_batch("ab"),
    "encode_batch of bytes": lambda: TOK.encode_batch(b"ab"),
    "encode_ordinary_batch": lambda: TOK.encode_ordinary_batch("ab"),
    "encode_to_arrays": lambda: TOK.encode_to_arrays("ab"),
    "parity": lambda: parity(TOK, HUB, "hello"),
    "assert_parity": lambda: assert_parity(TOK, HUB, texts="hello"),
    "train": lambda: bpe_interop.train(["abab"], merges=1, special_tokens="<s>"),
    "with_special_tokens": lambda: TOK.with_special_tokens("<s>"),
}


@pytest.mark.parametrize("name", GIVE_A_LIST)
def test_one_text_is_not_cut_into_letters(name: str) -> None:
    with pytest.raises(TypeError, match=r"are a list of str, not one (str|bytes): .*give [\[{]"):
        GIVE_A_LIST[name]()


@pytest.mark.usefixtures("few_texts")
def test_one_name_is_one_name(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("Hello, world!\n", "utf-8")
    report = bpe_interop.verify(RANKS, HUB, corpora=str(text))
    assert report.corpus is not None
    assert report.corpus.counts.documents == 1
    assert find_files(str(text)) == find_files(text) == find_files([text])
    page = tmp_path / "r.md"
    check_targets(str(page))
    assert write_reports(report, str(page)) == write_reports(report, page) == [page]
    done = bpe_interop.convert(RANKS, tmp_path / "x", "hf", drop="extras", verify=False)
    assert done.files
    TOK.save(tmp_path / "y", format="tiktoken", drop="extras", options="plugin")
    assert list((tmp_path / "y").rglob("pyproject.toml"))
    TOK.save(tmp_path / "z", "hf", drop="extras")
    assert (tmp_path / "z" / "tokenizer.json").is_file()


def test_a_field_that_there_is_not_is_in_the_tree(tmp_path: Path) -> None:
    wrong: Any = "merge"
    with pytest.raises(ArgumentError, match="drop: 'merge' is not a field") as caught:
        bpe_interop.convert(RANKS, tmp_path / "x", "hf", drop=wrong)
    assert "pretokenizer" in caught.value.fix


def test_nothing_is_learned_from_the_name_of_a_file(tmp_path: Path) -> None:
    text = tmp_path / "abab.txt"
    text.write_text("abab", "utf-8")
    for given in (str(text), [str(text)], (str(text), str(tmp_path))):
        with pytest.raises(SourceError, match="is the name of a file") as caught:
            bpe_interop.train(given, merges=1)
        assert caught.value.fix == f"to learn from the file, give Path({str(text)!r})"
    merged = {(97, 98): 256}
    assert bpe_interop.train(text, merges=1).merges == merged
    for known in ("abab", ["abab"], ["abab", str(text)[:0]], "ab\0ab"):
        assert bpe_interop.train(known, merges=1).merges == merged
    with pytest.raises(TypeError, match="a text is str and a file is Path, not bytes"):
        TRAIN(b"abab", merges=1)


def test_a_report_is_neither_true_nor_false() -> None:
    report = parity(RANKS, HUB, ["a"], proof=False)
    with pytest.raises(TypeError, match=r"report\.verdict"):
        assert report


def test_a_chat_template_that_is_no_jinja_is_refused() -> None:
    with pytest.raises(SourceError, match="the chat template: line 1: this is no chat template"):
        bpe_interop.load(HUB, said=bpe_interop.Statement(chat_template="{% for"))
    told = bpe_interop.Statement(chat_template="{% for m in messages %}{{ m }}{% endfor %}")
    assert bpe_interop.load(RANKS, said=told).model.chat_template == told.chat_template


WRONG_KIND: dict[str, tuple[Any, str]] = {
    "template": (lambda: CONVERT(RANKS, "x", "hf", template="bos"), "said=Statement(template="),
    "unknown": (lambda: CONVERT(RANKS, "x", "hf", templat="bos"), "no parameter templat"),
    "said": (lambda: LOAD(RANKS, said={"template": "bos"}), "said=Statement(template="),
    "live": (lambda: VERIFY(TOK, HUB), "bpe_interop.compare.parity(a, b)"),
    "source": (lambda: LOAD(TOK), "a source is a path or a name, not Tokenizer"),
    "models": (lambda: DIFF(TOK, TOK.model), "not Tokenizer: give load(...).model"),
    "explainer": (lambda: EXPLAINER(TOK), "Explainer takes a model, not Tokenizer: give load("),
    "tokenizer": (lambda: TOKENIZER(RANKS), "Tokenizer takes a model, not PosixPath: give load("),
    "fingerprint": (lambda: FINGERPRINT(TOK), "fingerprint takes a model, not Tokenizer: give"),
    "bytes": (lambda: PARITY(RANKS, HUB, [b"a"]), "a text is str, not bytes"),
    "numbers": (lambda: parity(RANKS, HUB, NO_TEXTS), "a text is str, not int"),
    "ids": (lambda: TOK.decode("12"), "ids are int, not str"),
    "config": (lambda: TOK.surgery(TOK, config="config.json"), "read_bytes"),
}


@pytest.mark.parametrize("name", WRONG_KIND)
def test_what_is_meant_is_said(name: str) -> None:
    call, answer = WRONG_KIND[name]
    with pytest.raises(TypeError) as caught:
        call()
    assert answer in str(caught.value)


WRONG_WORD: dict[str, tuple[Any, str]] = {
    "scope": (
        lambda: VERIFY(RANKS, HUB, scope="foo"),
        "scope is one of all, ordinary, text, not 'foo'",
    ),
    "scope of parity": (
        lambda: PARITY(RANKS, HUB, scope="foo"),
        "scope is one of all, ordinary, text, not 'foo'",
    ),
    "require": (
        lambda: PARITY(RANKS, HUB, require="prove"),
        "require is one of tested, proved, not 'prove'",
    ),
    "scope of a report": (
        lambda: parity(RANKS, HUB, scope=NO_SCOPE),
        "scope is one of all, ordinary, text, not 'foo'",
    ),
    "texts": (lambda: PARITY(RANKS, HUB, texts=[]), "texts are empty"),
}


@pytest.mark.parametrize("name", WRONG_WORD)
def test_a_word_that_is_none_is_named(name: str) -> None:
    call, answer = WRONG_WORD[name]
    with pytest.raises(ArgumentError) as caught:
        call()
    assert answer in caught.value.what


def test_an_engine_that_there_is_not_is_said_not_to_be() -> None:
    with pytest.raises(EngineError, match="there is no engine 'foo'") as caught:
        bpe_interop.verify(HUB, HUB, engine_a="foo")
    assert "tokenizers" in caught.value.fix


def test_every_error_is_where_the_reader_is_sent() -> None:
    with pytest.raises(OutOfRangeError):
        TOK.decode([-1])
    with pytest.raises(SpecialTokenError):
        TOK.with_special_tokens([""])
