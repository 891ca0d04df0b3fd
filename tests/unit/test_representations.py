"""What a session shows of an object: one line, a few lines, or a block of a notebook."""

from __future__ import annotations

import ast
import html.parser
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reports import few_texts

import bpe_interop
from bpe_interop.compare.sentences import summary
from bpe_interop.corpora import find_files
from bpe_interop.model import PairList, RankTable
from bpe_interop.notebook import HEADLINES, SIGNS, chips, framed, verdict_block
from bpe_interop.reports import to_html
from bpe_interop.statistics import measure
from bpe_interop.token_counts import Statistics
from fixtures import FIXTURES, ROOT, TOKENIZERS

GPT2 = TOKENIZERS / "gpt2-tiny"
HUGGING_FACE = TOKENIZERS / "nfc-tiny" / "huggingface"


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
def objects(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, object]]:
    folder = tmp_path_factory.mktemp("shown")
    with pytest.MonkeyPatch.context() as patch:
        few_texts(patch)
        yield made(folder)


def made(folder: Path) -> dict[str, object]:
    tok = bpe_interop.load(GPT2 / "tiktoken")
    (folder / "a.txt").write_text("hello <b>world</b>\n", "utf-8")
    [counted] = measure([("gpt2-tiny", tok)], find_files([str(folder / "a.txt")])).statistics
    return {
        "Tokenizer": tok,
        "BPEModel": tok.model,
        "Report": bpe_interop.verify(GPT2 / "tiktoken", GPT2 / "huggingface"),
        "Conversion": bpe_interop.convert(GPT2 / "huggingface", folder / "ranks", "tiktoken"),
        "Statistics": counted,
    }


@pytest.mark.parametrize("name", ["Tokenizer", "BPEModel", "Report", "Conversion", "Statistics"])
def test_one_line_in_a_session(name: str, objects: dict[str, object]) -> None:
    said = repr(objects[name])
    assert said.startswith(f"<{name} ")
    assert "\n" not in said
    assert len(said) < 400


@pytest.mark.parametrize("name", ["Tokenizer", "BPEModel", "Report", "Conversion", "Statistics"])
def test_a_few_lines_when_printed(name: str, objects: dict[str, object]) -> None:
    said = str(objects[name]).splitlines()
    assert 2 < len(said) < 60
    assert max(map(len, said)) < 400


@pytest.mark.parametrize("name", ["Tokenizer", "BPEModel", "Report", "Conversion", "Statistics"])
def test_a_block_in_a_notebook(name: str, objects: dict[str, object]) -> None:
    block: Any = objects[name]
    shown = block._repr_html_()
    parsed = Closed(shown)
    assert parsed.open == []
    assert "gpt2-tiny" in parsed.text
    assert len(shown) < 20_000


def test_tokens_are_in_colour(objects: dict[str, object]) -> None:
    for name in ("Tokenizer", "BPEModel"):
        block: Any = objects[name]
        assert 40 < block._repr_html_().count('<span title="') <= 60


def test_a_verdict_looks_as_the_head_of_its_page(objects: dict[str, object]) -> None:
    report: Any = objects["Report"]
    block, page = report._repr_html_(), to_html(report)
    head = page[page.index("<header>") : page.index("</header>")]
    for shown in (HEADLINES[report.verdict], SIGNS[report.verdict], summary(report)):
        assert shown in head
        assert shown in block
    for side in (report.a, report.b):
        assert side in Closed(block).text
    conversion: Any = objects["Conversion"]
    assert HEADLINES[conversion.report.verdict] in conversion._repr_html_()
    assert conversion.report.verdict == "proved"


def test_a_conversion_that_was_not_compared_says_so(tmp_path: Path) -> None:
    done = bpe_interop.convert(GPT2 / "huggingface", tmp_path / "x", "tiktoken", verify=False)
    assert "Not verified" in done._repr_html_()
    assert "not compared" in done._repr_html_()


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell of docs/first-look.ipynb gives something that a notebook shows in HTML."""
    shutil.copytree(TOKENIZERS, tmp_path / "fixtures" / "tokenizers")
    shutil.copytree(FIXTURES / "corpora", tmp_path / "fixtures" / "corpora")
    monkeypatch.chdir(tmp_path)
    few_texts(monkeypatch)
    cells = json.loads((ROOT / "docs" / "first-look.ipynb").read_text("utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        *first, last = ast.parse("".join(cell["source"])).body
        exec(compile(ast.Module(first, []), "cell", "exec"), names)
        assert isinstance(last, ast.Expr)
        shown = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        assert Closed(shown._repr_html_()).open == []


def test_large_parts_are_short_too() -> None:
    model = bpe_interop.load(GPT2 / "tiktoken").model
    listed = bpe_interop.load(GPT2 / "huggingface").model
    assert isinstance(model.merges, RankTable)
    assert isinstance(listed.merges, PairList)
    for part in (model.vocab, model.merges, listed.merges):
        assert len(repr(part)) < 60


def test_steps_are_told_by_what_is_on() -> None:
    said = str(bpe_interop.load(TOKENIZERS / "spm-tiny" / "sentencepiece"))
    assert '\n  normalizer: Prepend text "▁", Replace pattern " " content "▁"\n' in said
    assert "fuse" in said
    assert "after_merging" not in said
    assert "(" not in said.partition("\n  normalizer")[2].partition("\n  added")[0]


def test_what_is_unstated_is_not_called_none(tmp_path: Path) -> None:
    (tmp_path / "x.tiktoken").write_bytes(b"YQ== 0\nYg== 1\n")
    model = bpe_interop.load(tmp_path / "x.tiktoken").model
    assert "added tokens: unstated" in repr(model)


def test_a_difference_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    few_texts(monkeypatch)
    report = bpe_interop.verify(GPT2 / "tiktoken", HUGGING_FACE)
    assert repr(report).startswith("<Report different: ")
    assert str(report).startswith("DIFFERENT at stage: normalizer; a text: ")
    assert "a gives" in str(report)


def test_markup_and_control_characters_are_text() -> None:
    tokens = [(5, b"<b>\x1b[31m"), (6, b"\xff"), (7, b"\n")]
    shown = chips(tokens) + framed("<i>", ["a\u202eb&: <i>\x1b", "<i>"], tokens)
    lines = [("a\u202eb&", "<i>\x1b"), ("<i>", "")]
    shown += verdict_block("different", ["<i>", "b&<"], "<i>\u202e", lines)
    shown += verdict_block("<i>", [], "", [])
    assert Closed(shown).open == []
    for wrong in ("<b>", "<i>", "\x1b", "\u202e", "b&<"):
        assert wrong not in shown
    assert 'title="5"' in shown


def test_statistics_say_nothing_of_nothing() -> None:
    empty = Statistics("x", "", 0, 0, 0, Counter(), {})
    assert "per token" not in str(empty)
