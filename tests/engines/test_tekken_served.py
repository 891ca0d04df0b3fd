"""What ``AutoTokenizer`` makes of a directory with ``tekken.json``, and what ``inspect`` says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

from bpe_interop.encode import Encoder
from bpe_interop.engines.transformers import serving_tekken
from bpe_interop.sources import load_source
from bpe_interop.transformers_classes import TEKKEN_TYPES
from fixtures import TOKENIZERS

SOURCE = TOKENIZERS / "tekken-tiny/tekken/tekken.json"
NAMED = "[INST]"


def folder_of(tmp_path: Path, config: dict[str, str] | None) -> Path:
    shutil.copy(SOURCE, tmp_path / "tekken.json")
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("config", "name", "other"),
    [
        (None, "TokenizersBackend", ["added"]),
        ({"model_type": "llama"}, "TokenizersBackend", ["added"]),
        ({"model_type": "mistral"}, "MistralCommonBackend", []),
        ({"model_type": "pixtral"}, "MistralCommonBackend", []),
    ],
)
def test_the_class_is_the_one_that_is_built(
    config: dict[str, str] | None, name: str, other: list[str], tmp_path: Path, command: Command
) -> None:
    folder = folder_of(tmp_path, config)
    served: dict[str, Any] = json.loads(command("inspect", folder, "--json").raw)["served"]
    assert (served["class"], served["other"]) == (name, other)
    assert name in command("inspect", folder).out
    transformers: Any = pytest.importorskip("transformers")
    engine = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert type(engine).__name__ == name
    model = load_source(folder).model
    [number] = [token.id for token in model.added or () if token.text == NAMED]
    text = "Some text, 123."
    assert engine.encode(text, add_special_tokens=False) == Encoder(model).encode(text)
    # Converted, a special token is found in a text; in mistral-common never.
    found = engine.encode(NAMED, add_special_tokens=False) == [number]
    assert found == bool(other)


def test_without_mistral_common_it_is_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = folder_of(tmp_path, {"model_type": "mistral"})
    monkeypatch.setattr("bpe_interop.engines.transformers.installed", lambda name: None)
    served = serving_tekken(folder)
    assert served is not None
    assert served.converts
    assert "mistral-common is not installed" in served.because


def test_beside_a_tokenizer_json(tmp_path: Path, command: Command) -> None:
    """Of Mistral's types tekken.json is run all the same, and not the file that is read here."""
    shutil.copytree(TOKENIZERS / "gpt2-tiny/huggingface", tmp_path / "both")
    folder = folder_of(tmp_path / "both", {"model_type": "mistral"})
    served = json.loads(command("inspect", folder, "--json").raw)["served"]
    assert served["class"] == "MistralCommonBackend"
    assert served["notes"] == ["it runs tekken.json, and not the file that is read here"]
    (folder / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    served = json.loads(command("inspect", folder, "--json").raw)["served"]
    assert served["class"] != "MistralCommonBackend"


def test_the_types_are_those_of_transformers() -> None:
    mapping: Any = pytest.importorskip("transformers.models.auto.tokenization_auto")
    names = mapping.TOKENIZER_MAPPING_NAMES.items()
    assert {kind for kind, name in names if name == "MistralCommonBackend"} == TEKKEN_TYPES
