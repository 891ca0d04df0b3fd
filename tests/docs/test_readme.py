"""README: its pictures are those of what was run, its tasks run, and it fits on a few screens."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command_line import in_process
from conftest import Data

import bpe_interop
from benchmarks.readme import CHART, EXAMPLE, PERFORMANCE, PICTURE, chart, drawn, shown
from fixtures import FIXTURES, ROOT, TOKENIZERS

README = (ROOT / "README.md").read_text("utf-8")
TASKS = re.findall(r"^\| .* \| .* \| `(bpe-interop [^`]*)`.* \|$", README, re.MULTILINE)


def test_the_pictures_are_of_what_was_run() -> None:
    """``python -m benchmarks.readme`` draws them."""
    page = PERFORMANCE.read_text("utf-8")
    assert CHART.read_text("utf-8") == chart(page)
    assert PICTURE.read_text("utf-8") == drawn(EXAMPLE.read_text("utf-8"))
    for path in (CHART, PICTURE):
        assert f"](docs/{path.name})" in README
        assert len(path.read_bytes()) < 10_000
    said = "".join(ElementTree.parse(PICTURE).getroot().itertext())
    assert "PROVED      equal for every text" in said
    with pytest.raises(ValueError, match="no example"):
        drawn(README)


def test_the_chart_says_both_times_of_each_row() -> None:
    page = PERFORMANCE.read_text("utf-8")
    texts = [*ElementTree.parse(CHART).getroot().itertext()]
    for row in shown(page):
        assert f"| {row.ours} | {row.theirs} ({row.peer}) |" in page
        assert f"{row.ours} bpe-interop" in texts
        assert f"{row.theirs} {row.peer}" in texts


def test_it_is_short_and_its_examples_narrow() -> None:
    assert len(README.splitlines()) <= 150
    first = README.splitlines()[:20]
    for mark in ("<!-- main command -->", "<!-- test command -->"):
        assert mark in first
    for block in re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        assert max(map(len, block.splitlines())) <= 100


# The tasks.


def tuned(folder: Path) -> None:
    """A SentencePiece model and what fine-tuning leaves beside it."""
    shutil.copytree(TOKENIZERS / "spm-tiny" / "sentencepiece", folder)
    size = bpe_interop.load(folder / "tokenizer.model").n_vocab
    token = {"content": "<|im_end|>", "lstrip": False, "rstrip": False, "normalized": False}
    config = {
        "tokenizer_class": "LlamaTokenizer",
        "add_bos_token": True,
        "added_tokens_decoder": {str(size): {**token, "single_word": False, "special": True}},
        "bos_token": "<s>",
        "eos_token": "<|im_end|>",
        "unk_token": "<unk>",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    (folder / "added_tokens.json").write_text(json.dumps({"<|im_end|>": size}), "utf-8")


def prepare(folder: Path) -> None:
    """What the table of tasks names, but for what a row writes."""
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "huggingface", folder / "my-tok")
    shutil.copytree(TOKENIZERS / "cl100k-tiny" / "tiktoken", folder / "ranks")
    tuned(folder / "tuned")
    (folder / "words.txt").write_text("cardiomegaly\ntachycardia\n", "utf-8")
    (folder / "story.txt").write_text("the year 2023\n", "utf-8")
    (folder / "texts").mkdir()
    shutil.copy(FIXTURES / "corpora" / "apostrophes.txt", folder / "texts")
    bpe_interop.convert(folder / "my-tok", folder / "model.gguf", "gguf", verify=False)


SAID = {
    "convert tuned tuned-hf": "PROVED equal",
    "convert my-tok ranks": "PROVED equal",
    "verify my-tok model.gguf": "PROVED",
    "convert my-tok new.gguf": "PROVED equal",
    "extend my-tok chat": 'eos is "[END]"',
    "extend my-tok words": '821 "cardiomegaly", not special, was 66 286 590 395 68 70 287 88',
    "lock my-tok": "wrote       tokenizer.lock",
    "verify tokenizer.lock my-tok --engine-b transformers": "TESTED      equal",
    "verify tokenizer.lock my-tok --require": "PROVED",
    "train texts": "PROVED equal",
    "encode my-tok": "ids         3,565 in 1 row",
    "view my-tok ranks": "wrote       page.html",
}
"""How the commands begin that need no real file and no server, and what each one says."""


def row(start: str) -> list[str]:
    [command] = [each for each in TASKS if each.startswith(f"bpe-interop {start}")]
    # Whoever copies from the raw file gets the same: in a table a pipe would be written "\|".
    assert "\\" not in command
    return shlex.split(command)[1:]


def test_every_task_is_run() -> None:
    assert len(TASKS) >= 12
    for start in (*SAID, "convert llama-3/tokenizer.model", "verify model.gguf model.gguf"):
        assert row(start)
    assert len(TASKS) == len(SAID) + 2


@pytest.mark.usefixtures("few_texts")
@pytest.mark.parametrize("start", SAID)
def test_the_tasks_do_what_they_say(
    start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(tmp_path)
    if start == "convert my-tok ranks":
        shutil.rmtree(tmp_path / "ranks")
    monkeypatch.chdir(tmp_path)
    with in_process(monkeypatch) as call:
        if start.startswith("verify tokenizer.lock"):
            call(*row("lock my-tok"))
        done = call(*row(start))
    assert done.code == 0, done.err
    assert SAID[start] in done.out + done.err


@pytest.mark.usefixtures("few_texts")
def test_the_task_with_a_real_file(
    data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "llama-3").mkdir()
    for name in ("llama-3/tokenizer.model", "qwen/qwen.tiktoken"):
        place = name.removeprefix("qwen/")
        shutil.copyfile(data(name), tmp_path / place)
    # Below the table stands what it cannot hold.
    [below] = re.findall(r"^bpe-interop (convert qwen\.tiktoken .*)$", README, re.MULTILINE)
    for words, eos, pad in (
        (row("convert llama-3/tokenizer.model"), "<|end_of_text|>", None),
        (shlex.split(below), "<|im_end|>", "<|endoftext|>"),
    ):
        monkeypatch.chdir(tmp_path)
        with in_process(monkeypatch) as call:
            done = call(*words)
        assert done.code == 0, done.err
        assert "PROVED equal for every text" in done.out
        # Whoever has the ranks of Llama 3.1 is told that they have other special tokens.
        also = "files are published with llama-3.1, llama-3.1-reference too, whose special tokens"
        assert (also in done.out.replace("\n            ", " ")) == (pad is None)
        config = json.loads((tmp_path / words[2] / "tokenizer_config.json").read_text("utf-8"))
        assert (config["eos_token"], config.get("pad_token")) == (eos, pad)


def test_the_task_with_a_server_says_where_none_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real one is asked in ``tests/engines/test_llama_server.py``."""
    shutil.copy(next((TOKENIZERS / "gguf-tiny" / "gguf").iterdir()), tmp_path / "model.gguf")
    monkeypatch.chdir(tmp_path)
    *command, address = row("verify model.gguf model.gguf")
    with in_process(monkeypatch) as call:
        # No server has the port 1.
        done = call(*command, address.replace(":8080", ":1"))
    assert done.code == 2
    assert "http://127.0.0.1:1" in done.err
