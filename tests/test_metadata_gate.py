"""``verify --metadata``: roles and the chat template, which change no id, can fail a build."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from conftest import FIXTURES
from transformers import AutoTokenizer

from bpe_interop.cli import cli
from bpe_interop.pytest_plugin import assert_parity

CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": "<|endoftext|>",
    "chat_template": "{{ messages }}",
}
CHANGES = [
    ({"eos_token": "<|fim_prefix|>"}, "added"),
    ({"chat_template": "{{ messages[0] }}"}, "chat_template"),
    ({"chat_template": None}, "chat_template"),
]


def served(path: Path, changes: dict[str, str | None]) -> str:
    """A directory of cl100k-tiny with these settings."""
    source = FIXTURES / "tokenizers" / "cl100k-tiny" / "huggingface" / "tokenizer.json"
    path.mkdir()
    shutil.copy(source, path)
    config = {key: value for key, value in {**CONFIG, **changes}.items() if value is not None}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return str(path)


@pytest.mark.parametrize("locked", [False, True], ids=["a directory", "a lock file"])
@pytest.mark.parametrize(("changes", "field"), CHANGES)
def test_another_role_or_chat_template_fails_where_it_is_asked_for(
    changes: dict[str, str | None], field: str, locked: bool, tmp_path: Path
) -> None:
    same, other = served(tmp_path / "same", {}), served(tmp_path / "other", changes)
    one, two = map(AutoTokenizer.from_pretrained, (same, other))
    assert (one.eos_token, one.chat_template) != (two.eos_token, two.chat_template)
    held = same
    if locked:
        held = str(tmp_path / "same.lock")
        assert CliRunner().invoke(cli, ["lock", same, "-o", held]).exit_code == 0
    page = tmp_path / "report.xml"
    for asked in ([], ["--metadata"]):
        command = ["verify", held, "--require", "proved", "--report", str(page), *asked]
        assert CliRunner().invoke(cli, [*command, same]).exit_code == 0
        assert ElementTree.parse(page).getroot().get("failures") == "0"
        ran = CliRunner().invoke(cli, [*command, other])
        assert ran.exit_code == len(asked)
        head, below = ran.stdout.splitlines()[:2]
        assert head.startswith("PROVED ")
        assert head.endswith("; but not accepted") == bool(asked)
        assert below.startswith(f"because     {field}: ") == bool(asked)
        assert ran.stderr == ""
        told = CliRunner().invoke(cli, [*command, other, "--json"]).stderr
        assert told.startswith(f"not accepted: {field}: ") == bool(asked)
        assert ElementTree.parse(page).getroot().get("failures") == str(len(asked))
    for texts in (None,) if locked else (None, ["a"]):
        assert_parity(held, other, texts)
        assert_parity(held, same, texts, metadata=True)
        with pytest.raises(AssertionError, match=f"the metadata is not: {field}: "):
            assert_parity(held, other, texts, metadata=True)
