"""A class that the source asked for is kept where transformers serves the same with it.

These tests run in the lowest and in the newest transformers that are admitted
(``python -m trust versions``), because the two do other things with a class.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers

from bpe_interop.formats.huggingface import FORMAT
from bpe_interop.model import BPEModel
from bpe_interop.transformers_classes import CLASSES, LOADED_ALIKE, LOWEST
from fixtures import ROOT, TOKENIZERS

TEXTS = ["Hello world", " it's 2023\n\n", "e\u0301\u00e9", "", "a<|endoftext|>b", "  x\t y"]
FLAGS = dict.fromkeys(["single_word", "lstrip", "rstrip", "normalized"], False)


def built(name: str, bos: bool) -> dict[str, bytes]:
    """A directory whose ``tokenizer.json`` is what the class builds, over a small vocabulary."""
    table = CLASSES[name]
    folder = TOKENIZERS / ("spm-tiny" if table.suffix else "cl100k-tiny") / "huggingface"
    document: dict[str, Any] = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    document |= table.components()
    for key, steps in table.components().items():
        assert isinstance(steps, dict)
        document[key] = steps if any(v for v in steps.values() if v != "Sequence") else None
    document["model"] |= {"byte_fallback": False, "fuse_unk": False, "ignore_merges": False}
    document["model"]["end_of_word_suffix"] = table.suffix or None
    document["model"]["unk_token"] = "<unk>" if table.unknown else None
    taken = [*document["model"]["vocab"].values(), *(t["id"] for t in document["added_tokens"])]
    known = {token["content"] for token in document["added_tokens"]}
    for text in dict.fromkeys([*table.roles.values(), "<s>"]):
        if text not in known:
            taken.append(max(taken) + 1)
            token = {"id": taken[-1], "content": text, "special": True, **FLAGS}
            document["added_tokens"].append(token)
    ids = {token["content"]: token["id"] for token in document["added_tokens"]}
    parts: list[Any] = [{"Sequence": {"id": "A", "type_id": 0}}]
    first = [{"SpecialToken": {"id": "<s>", "type_id": 0}}] if bos else []
    document["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [*first, *parts],
        "pair": [*first, *parts, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [ids["<s>"]], "tokens": ["<s>"]}},
    }
    config = {"tokenizer_class": f"{name}Fast", "eos_token": None, "bos_token": "<s>"}
    return {
        "tokenizer.json": json.dumps(document).encode(),
        "tokenizer_config.json": json.dumps(config).encode(),
    }


def asked_by(model: BPEModel, name: str) -> BPEModel:
    return replace(model, origin=replace(model.origin, served_as=name))


def named(files: dict[str, bytes]) -> str:
    return str(json.loads(files["tokenizer_config.json"])["tokenizer_class"])


def test_the_lowest_version_of_the_table_is_the_lowest_that_is_admitted() -> None:
    stated = (ROOT / "pyproject.toml").read_text("utf-8")
    assert set(re.findall(r'"transformers>=([^",]+)"', stated)) == {LOWEST}
    assert CLASSES.keys() >= LOADED_ALIKE


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("name", sorted(LOADED_ALIKE))
def test_a_class_that_serves_the_same_is_kept(name: str, bos: bool, tmp_path: Path) -> None:
    model = FORMAT.load(built(name, bos))
    assert model.origin.served_as == name
    written = dict(FORMAT.dump(model))
    assert named(written) == name
    for file, data in written.items():
        (tmp_path / file).write_bytes(data)
    served = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert type(served).__name__.removesuffix("Fast") == name
    plain = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [served(text)["input_ids"] for text in TEXTS] == [plain.encode(t).ids for t in TEXTS]
    ids = plain.encode("Hello world").ids
    assert served.decode(ids) == plain.decode(ids, skip_special_tokens=False)
    stated = {f"{role}_token": t.text for t in model.added or () for role in t.roles}
    assert dict(served.special_tokens_map) == stated
    assert "eos_token" not in stated


@pytest.mark.parametrize("name", sorted(LOADED_ALIKE))
def test_a_class_that_would_serve_another_pipeline_is_not_kept(name: str) -> None:
    for other in LOADED_ALIKE - {name}:
        model = FORMAT.load(built(other, bos=False))
        assert named(dict(FORMAT.dump(asked_by(model, name)))) == "PreTrainedTokenizerFast"


def test_a_class_that_the_lowest_transformers_serves_otherwise_is_not_kept() -> None:
    """Its pipeline is GPT2Tokenizer's; 4.57 puts a template of its own in the file's place."""
    model = FORMAT.load(built("GPT2Tokenizer", bos=False))
    for name in ("GPTNeoXTokenizer", "CodeGenTokenizer", "NoSuchTokenizer", ""):
        assert named(dict(FORMAT.dump(asked_by(model, name)))) == "PreTrainedTokenizerFast"
