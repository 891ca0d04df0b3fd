"""Wherever a source is named: a path, ``tiktoken:NAME``, ``hf:org/name``, or a live object."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import tiktoken
import tokenizers
from conftest import Data

from bpe_interop.compare.opening import open_source
from bpe_interop.errors import ArgumentError, FormatError, SourceError, UnsupportedError
from bpe_interop.io.reader import find
from bpe_interop.sources import load_source
from bpe_interop.tokenizer import Tokenizer
from fixtures import TOKENIZERS

HUB = TOKENIZERS / "template-tiny" / "huggingface"
COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of huggingface_hub that holds one repository."""
    constants = pytest.importorskip("huggingface_hub.constants")
    folder = tmp_path / "models--org--tiny"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT, "ascii")
    (folder / "refs" / "v1").write_text(COMMIT, "ascii")
    shutil.copytree(HUB, folder / "snapshots" / COMMIT)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["hf:org/tiny", "hf:org/tiny@v1", f"hf:org/tiny@{COMMIT}"])
@pytest.mark.usefixtures("hub")
def test_the_hub_offline(name: str) -> None:
    loaded = load_source(name, offline=True)
    assert loaded.label == name
    assert loaded.format.name == "huggingface"
    assert loaded.directory
    text = "hello, world"
    engine = tokenizers.Tokenizer.from_file(str(HUB / "tokenizer.json"))
    assert Tokenizer(loaded.model).encode(text, add_special_tokens=True) == engine.encode(text).ids


@pytest.mark.usefixtures("hub")
def test_what_the_cache_lacks_is_an_error() -> None:
    for name in ("hf:org/other", "hf:org/tiny@v2"):
        with pytest.raises(SourceError, match="--offline") as found:
            load_source(name, offline=True)
        assert found.value.where == name
    for name in ("hf:a/b/c", "hf:a b/c", "hf:"):
        with pytest.raises(SourceError):
            load_source(name, offline=True)


def test_errors_inside_a_file_name_its_path(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE"', "utf-8")
    with pytest.raises(FormatError) as found:
        load_source(tmp_path)
    assert found.value.where.startswith(f"{tmp_path}/tokenizer.json")
    with pytest.raises(ArgumentError, match="there is no format"):
        load_source(HUB, format="word2vec")
    with pytest.raises(SourceError, match="names no tokenizer"):
        load_source("")
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(60))
    with pytest.raises(UnsupportedError):
        load_source(tmp_path / "model.gguf")


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("tiktoken:gpt2", "    hello world!!!", [220, 220, 220, 23748, 995, 10185]),
        ("tiktoken:gpt-4", "    hello world!!!", [262, 24748, 1917, 12340]),
        ("tiktoken:gpt-4o", "My name is صفوان", [5444, 1308, 382, 37315, 10878]),
    ],
)
def test_names_of_tiktoken(data: Data, name: str, text: str, ids: list[int]) -> None:
    assert data.root
    assert Tokenizer(load_source(name, offline=True).model).encode(text) == ids


def test_live_objects() -> None:
    engine = tokenizers.Tokenizer.from_file(str(HUB / "tokenizer.json"))
    text = "Héllo <|endoftext|> world"
    own = Tokenizer.from_tokenizers(engine)
    expected = engine.encode(text, add_special_tokens=False).ids
    assert own.encode(text, allowed_special="all") == expected
    ranks = {bytes([n]): n for n in range(256)} | {b"ab": 256, b"abc": 257}
    encoding = tiktoken.Encoding(
        "live", pat_str=r"[\s\S]{1,9}", mergeable_ranks=ranks, special_tokens={"<x>": 300}
    )
    live = Tokenizer.from_tiktoken(encoding)
    assert live.encode("zabc<x>", allowed_special="all") == encoding.encode(
        "zabc<x>", allowed_special="all"
    )


def test_a_source_is_found_and_then_read_or_refused(tmp_path: Path) -> None:
    found, read = find(HUB), load_source(HUB)
    assert (found.model, found.label, found.directory) == (None, str(HUB), HUB)
    assert found.with_model(read.model) == replace(read, says_template=found.says_template)
    assert find(HUB / "tokenizer.json").directory is None
    settings = json.loads((HUB / "tokenizer.json").read_bytes())
    settings["model"] = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(settings), "utf-8")
    refused = open_source(tmp_path, served=True)
    assert refused.model is None
    assert "WordLevel" in refused.refusal
    with pytest.raises(UnsupportedError, match="WordLevel"):
        load_source(tmp_path)
