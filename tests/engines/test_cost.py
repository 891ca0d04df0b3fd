"""``convert --corpus``: what a refused conversion would cost, by file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from conftest import Data
from tokenizers import Tokenizer

from bpe_interop.cost import Cost, costs
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.formats import by_name
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS
from fixtures.gguf_models import under_name

SOURCE = TOKENIZERS / "o200k-tiny/huggingface/tokenizer.json"
LINES = [
    "Plain words and 12345.",
    "",
    "ART\u00cdCULO 1, \u00c0 LA CARTE",
    "e\u0301tude na\u0300",
    "a\u00c0",
]


def corpus_of(folder: Path) -> list[Path]:
    one, two = folder / "one.txt", folder / "two.jsonl"
    one.write_text("\n".join(LINES) + "\n", "utf-8")
    two.write_text("".join(json.dumps({"text": line}) + "\n" for line in LINES[:2]), "utf-8")
    return [one, two]


@pytest.mark.long
def test_the_costs_are_those_in_both_engines(tmp_path: Path) -> None:
    """tokenizers on one side, llama.cpp on the other, counted here again."""
    rows = costs(SOURCE, by_name("gguf"), corpus_of(tmp_path))
    theirs = Tokenizer.from_file(str(SOURCE))
    model = load_source(SOURCE).model
    lines = [line for line in LINES if line]
    assert len({row.under for row in rows}) == 3
    assert len(rows) == 9
    for row in rows:
        if not row.file.endswith("one.txt"):
            continue
        engine = LlamaCppEngine(under_name(model, row.under))
        before = [theirs.encode(line, add_special_tokens=False).ids for line in lines]
        after = engine.encode_batch(lines)
        assert row.lines == len(lines)
        assert row.other == sum(map(list.__ne__, before, after))
        assert (row.tokens, row.tokens_then) == (sum(map(len, before)), sum(map(len, after)))
    for name in {row.under for row in rows}:
        one, two, both = (row for row in rows if row.under == name)
        assert one + two == both
        assert both.lines == 5
    assert any(row.other for row in rows)


@pytest.mark.long
def test_a_refusal_says_it_as_a_user_asks(tmp_path: Path, command: Command) -> None:
    corpora = [part for path in corpus_of(tmp_path) for part in ("--corpus", path)]
    done = command("convert", SOURCE, tmp_path / "a.gguf", *corpora)
    assert done.code == 1
    assert "of 5 lines (" in done.out
    assert "under granite-embed-multi-97m, all files: " in done.out
    told: dict[str, Any] = json.loads(
        command("convert", SOURCE, tmp_path / "a.gguf", *corpora, "--json").raw
    )
    assert {*told["costs"][0]} >= {"under", "file", "lines", "other", "tokens", "tokens_then"}
    assert told["refused"]
    missing = command("convert", SOURCE, tmp_path / "a.gguf", "--corpus", tmp_path / "none.txt")
    assert (missing.code, "Traceback" in missing.err) == (2, False)
    assert not (tmp_path / "a.gguf").exists()


def test_what_is_dropped_has_its_cost_too(tmp_path: Path, command: Command) -> None:
    source = TOKENIZERS / "nfc-tiny/huggingface"
    one = corpus_of(tmp_path)[0]
    words = ("convert", source, "--to", "tiktoken", "--corpus", one, "--drop", "normalizer")
    done = command(*words, tmp_path / "a")
    theirs = Tokenizer.from_file(str(source / "tokenizer.json"))
    apart = sum("\u0301" in line or "\u0300" in line for line in LINES)
    assert apart == sum(theirs.normalizer.normalize_str(line) != line for line in LINES if line)
    [cost] = (line for line in done.out.splitlines() if line.startswith("cost "))
    assert f": {apart} of {len([*filter(None, LINES)])} lines (" in cost
    told = json.loads(command(*words, tmp_path / "b", "--json").raw)
    assert [row["other"] for row in told["costs"]] == [apart]


def test_formats_without_names_are_measured_as_they_would_be_written(tmp_path: Path) -> None:
    """NFC is lost in a rank file."""
    source = TOKENIZERS / "nfc-tiny/huggingface"
    [row] = costs(source, by_name("tiktoken"), corpus_of(tmp_path)[:1])
    assert row.under == ""
    assert (row.lines, row.other) == (4, 1)


def test_the_sentence() -> None:
    cost = Cost("gpt-4o", "a.txt", 94, 94, 1000, 1895, 1)
    assert str(cost) == (
        "under gpt-4o, a.txt: 94 of 94 lines (100.0 %) have other ids, +89.5 % tokens, "
        "special tokens as text; 1 lines have no ids"
    )
    assert str(Cost("", "")) == (
        "all files: 0 of 0 lines (0.0 %) have other ids, +0.0 % tokens, special tokens as text"
    )


@pytest.mark.long
def test_gpt_oss_in_hindi(data: Data) -> None:
    """All lines of the Universal Declaration under ``gpt-4o``, 89.5 % more tokens."""
    corpora = [data / "corpora/udhr/udhr_hin.txt"]
    measured = costs(data / "gpt-oss/tokenizer.json", by_name("gguf"), corpora)
    rows = {row.under: row for row in measured}
    row = rows["gpt-4o"]
    assert row.other == row.lines == 94
    assert round(100 * (row.tokens_then / row.tokens - 1), 1) == 89.5
