"""What a session shows of an object: one line, a few lines, or a block of a notebook."""

from __future__ import annotations

import html.parser
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES

import bpe_interop
from bpe_interop.corpora import find_shards
from bpe_interop.model import PairList, RankTable
from bpe_interop.statistics import Statistics, measure
from bpe_interop.text.notebook import chips, framed

GPT2 = FIXTURES / "tokenizers" / "gpt2-tiny"
HUGGING_FACE = FIXTURES / "tokenizers" / "nfc-tiny" / "huggingface"


class Closed(html.parser.HTMLParser):
    """Whether every element that begins also ends, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("shown")
    tok = bpe_interop.load(GPT2 / "tiktoken")
    (folder / "a.txt").write_text("hello <b>world</b>\n", "utf-8")
    [counted] = measure([("gpt2-tiny", tok)], find_shards([str(folder / "a.txt")]))
    return {
        "Tokenizer": tok,
        "BPEModel": tok.model,
        "Report": bpe_interop.verify(GPT2 / "tiktoken", GPT2 / "huggingface"),
        "Conversion": bpe_interop.convert(GPT2 / "tiktoken", folder / "hf", "huggingface"),
        "Statistics": counted,
    }


@pytest.mark.parametrize("name", ["Tokenizer", "BPEModel", "Report", "Conversion", "Statistics"])
def test_one_line_in_a_session(name: str, objects: dict[str, object]) -> None:
    said = repr(objects[name])
    assert said.startswith(f"<{name} ")
    assert "\n" not in said
    assert len(said) < 400


@pytest.mark.parametrize("name", ["BPEModel", "Report", "Conversion", "Statistics"])
def test_a_few_lines_when_printed(name: str, objects: dict[str, object]) -> None:
    said = str(objects[name]).splitlines()
    assert 2 < len(said) < 60
    assert max(map(len, said)) < 400


@pytest.mark.parametrize("name", ["Tokenizer", "Report", "Conversion", "Statistics"])
def test_a_block_in_a_notebook(name: str, objects: dict[str, object]) -> None:
    block: Any = objects[name]
    shown = block._repr_html_()
    parsed = Closed(shown)
    assert parsed.open == []
    assert "gpt2-tiny" in parsed.text
    assert len(shown) < 20_000


def test_large_parts_are_short_too() -> None:
    model = bpe_interop.load(GPT2 / "tiktoken").model
    listed = bpe_interop.load(GPT2 / "huggingface").model
    assert isinstance(model.merges, RankTable)
    assert isinstance(listed.merges, PairList)
    for part in (model.vocab, model.merges, listed.merges):
        assert len(repr(part)) < 60


def test_what_is_unstated_is_not_called_none(tmp_path: Path) -> None:
    (tmp_path / "x.tiktoken").write_bytes(b"YQ== 0\nYg== 1\n")
    model = bpe_interop.load(tmp_path / "x.tiktoken").model
    assert "added tokens: unstated" in repr(model)


def test_a_difference_is_shown(tmp_path: Path) -> None:
    report = bpe_interop.verify(GPT2 / "tiktoken", HUGGING_FACE)
    assert repr(report).startswith("<Report refuted: ")
    assert "REFUTED" in str(report)
    assert "a gives" in str(report)


def test_markup_and_control_characters_are_text() -> None:
    shown = chips([(5, b"<b>\x1b[31m"), (6, b"\xff"), (7, b"\n")]) + framed("<i>", ["a\u202eb&"])
    assert Closed(shown).open == []
    for wrong in ("<b>", "<i>", "\x1b", "\u202e", "b&<"):
        assert wrong not in shown
    assert 'title="5"' in shown


def test_statistics_say_nothing_of_nothing() -> None:
    empty = Statistics("x", "", 0, 0, 0, Counter(), {})
    assert "per token" not in str(empty)
