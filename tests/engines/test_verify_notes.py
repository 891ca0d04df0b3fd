"""``verify`` says what was noted of each side's files, as ``inspect`` does."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from transformers import AutoTokenizer

from bpe_interop.cli import cli
from bpe_interop.compare import parity
from fixtures import TOKENIZERS

CONFIG, MAP = "<|endoftext|>", "<|fim_prefix|>"


def disagreeing(path: Path) -> Path:
    """A directory in which two files name different tokens of end."""
    source = TOKENIZERS / "cl100k-tiny" / "huggingface" / "tokenizer.json"
    path.mkdir()
    shutil.copy(source, path)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": CONFIG}
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    (path / "special_tokens_map.json").write_text(json.dumps({"eos_token": MAP}))
    return path


def notes(a: Path, b: Path) -> list[str]:
    ran = CliRunner().invoke(cli, ["verify", str(a), str(b), "--json"])
    assert ran.exit_code == 0, ran.output
    found: list[str] = json.loads(ran.stdout)["notes"]
    return [note for note in found if "special_tokens_map.json says" in note]


@pytest.mark.long
def test_files_of_a_directory_that_disagree_are_noted_with_the_side(tmp_path: Path) -> None:
    twice, plain = disagreeing(tmp_path / "twice"), tmp_path / "plain"
    assert AutoTokenizer.from_pretrained(twice).eos_token == MAP
    shutil.copytree(twice, plain)
    (plain / "special_tokens_map.json").unlink()
    for a, b in ((twice, plain), (plain, twice)):
        (note,) = notes(a, b)
        assert note.startswith(f'{twice}: eos token: special_tokens_map.json says "{MAP}"')
    assert notes(plain, plain) == []
    lock = tmp_path / "plain.lock"
    assert CliRunner().invoke(cli, ["lock", str(plain), "-o", str(lock)]).exit_code == 0
    (noted,) = notes(lock, twice)
    assert noted == note


@pytest.mark.long
def test_a_note_on_both_sides_stands_once(tmp_path: Path) -> None:
    one, two = disagreeing(tmp_path / "one"), disagreeing(tmp_path / "two")
    (note,) = notes(one, two)
    assert note.startswith(f"{one} and {two}: eos token: ")
    (note,) = notes(one, one)
    assert note.startswith(f"{one}: eos token: ")


def test_the_fixture_of_pytest_notes_it_too(tmp_path: Path) -> None:
    one = disagreeing(tmp_path / "one")
    report = parity(one, one, ["a"])
    assert [n.partition(": special")[0] for n in report.notes if CONFIG in n] == [
        f"{one}: eos token"
    ]


def test_transformers_as_the_engine_does_not_say_it_twice(tmp_path: Path) -> None:
    folder = disagreeing(tmp_path / "one")
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    (number,) = (
        token["id"]
        for token in json.loads((folder / "tokenizer.json").read_text("utf-8"))["added_tokens"]
        if token["content"] == CONFIG
    )
    flags = dict.fromkeys(("lstrip", "normalized", "single_word"), False)
    token = {"content": CONFIG, "special": True, "rstrip": True, **flags}
    path.write_text(json.dumps({**settings, "added_tokens_decoder": {str(number): token}}))
    ran = CliRunner().invoke(
        cli, ["verify", str(folder), str(folder), "--engine-b", "transformers"]
    )
    said = [line for line in ran.stdout.splitlines() if "tokenizer.json says otherwise" in line]
    assert len(said) == 1
    assert said[0].split()[:2] == ["note", f"{folder}:"]
