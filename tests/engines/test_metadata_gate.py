"""``verify --metadata``: what changes no id, such as roles of tokens, can fail a build."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from transformers import AutoTokenizer

from bpe_interop import reports as pages
from bpe_interop.cli import cli
from bpe_interop.compare import verify
from bpe_interop.pytest_plugin import assert_parity
from fixtures import FIXTURES, TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

CONFIG = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": "<|endoftext|>",
    "chat_template": "{{ messages }}",
}
CHANGES: list[tuple[dict[str, Any], str]] = [
    ({"eos_token": "<|fim_prefix|>"}, "roles"),
    ({"chat_template": "{{ messages[0] }}"}, "chat_template"),
    ({"chat_template": None}, "chat_template"),
    (
        {
            "chat_template": [
                {"name": "default", "template": CONFIG["chat_template"]},
                {"name": "tool_use", "template": "{{ tools }}"},
            ]
        },
        "chat_template",
    ),
]


def served(path: Path, changes: dict[str, Any]) -> str:
    """A directory of cl100k-tiny with these settings."""
    source = TOKENIZERS / "cl100k-tiny" / "huggingface" / "tokenizer.json"
    path.mkdir()
    shutil.copy(source, path)
    config = {key: value for key, value in {**CONFIG, **changes}.items() if value is not None}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return str(path)


TRUNCATION = {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 8},
    "direction": "Left",
    "pad_to_multiple_of": None,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "!",
}


def with_settings(path: Path, settings: dict[str, object], flags: dict[str, bool]) -> str:
    """A directory of cl100k-tiny with these settings, whose first added token has these flags."""
    folder = Path(served(path, {}))
    content = json.loads((folder / "tokenizer.json").read_text("utf-8"))
    content["added_tokens"][0].update(flags)
    (folder / "tokenizer.json").write_text(json.dumps({**content, **settings}), "utf-8")
    return str(folder)


@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"truncation": TRUNCATION},
            'truncation: none and direction "Right" max_length 8 strategy "LongestFirst" stride 0',
        ),
        (
            {"padding": PADDING},
            'padding: none and direction "Left" strategy Fixed 8 pad_id 0 '
            'pad_type_id 0 pad_token "!"',
        ),
        ({"padding": None, "truncation": None}, None),
    ],
)
def test_other_truncation_or_padding_fails_where_it_is_asked_for(
    settings: dict[str, object], said: str | None, tmp_path: Path
) -> None:
    same, other = served(tmp_path / "same", {}), with_settings(tmp_path / "other", settings, {})
    page = tmp_path / "report.xml"
    ran = CliRunner().invoke(cli, ["verify", same, other, "--metadata", "--report", str(page)])
    assert ran.exit_code == (0 if said is None else 1)
    told = [] if said is None else [said]
    assert [x for x in ran.stdout.splitlines() if x.startswith("because")] == [
        f"because     {each}; --metadata asks for the same" for each in told
    ]
    failed = ElementTree.parse(page).getroot().findall(".//failure")
    assert [each.text for each in failed] == told


def test_only_the_settings_that_differ_are_named(tmp_path: Path) -> None:
    del (unsaid := dict(TRUNCATION))["direction"]  # tokenizers takes Right
    one = with_settings(tmp_path / "one", {"truncation": TRUNCATION, "padding": PADDING}, {})
    changed = {**PADDING, "strategy": "BatchLongest", "pad_to_multiple_of": 4}
    two = with_settings(tmp_path / "two", {"truncation": unsaid, "padding": changed}, {})
    report = verify(one, two)
    assert [(each.field, each.how) for each in report.metadata] == [
        (
            "padding",
            'strategy Fixed 8 pad_to_multiple_of none and strategy "BatchLongest" '
            "pad_to_multiple_of 4",
        )
    ]


def test_flags_that_change_no_id_of_the_scope_are_no_metadata(tmp_path: Path) -> None:
    same = served(tmp_path / "same", {})
    other = with_settings(tmp_path / "other", {}, {"lstrip": True})
    command = ["verify", same, other, "--metadata"]
    assert CliRunner().invoke(cli, [*command, "--scope", "ordinary"]).exit_code == 0
    ran = CliRunner().invoke(cli, command)
    assert ran.exit_code == 1
    assert ran.stdout.startswith("DIFFERENT at stage: special tokens")


@pytest.mark.parametrize("page", ["docs/ci.md", "docs/report.md"])
def test_every_page_says_the_same_list(page: str) -> None:
    listed = "roles of tokens, the chat template, truncation and padding"
    assert listed in (FIXTURES.parent / page).read_text("utf-8")
    told = CliRunner().invoke(cli, ["verify", "--help"]).stdout
    assert listed in " ".join(told.split())
    schema = json.loads((Path(pages.__file__).parent / "report.schema.json").read_text("utf-8"))
    assert listed in schema["properties"]["metadata"]["description"]
    assert listed in " ".join((assert_parity.__doc__ or "").split())


@pytest.mark.long
@pytest.mark.parametrize("locked", [False, True], ids=["a directory", "a lock file"])
@pytest.mark.parametrize(("changes", "field"), CHANGES)
def test_another_role_or_chat_template_fails_where_it_is_asked_for(
    changes: dict[str, Any], field: str, locked: bool, tmp_path: Path
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
        files = ["--report", str(page), "--report", str(page.with_suffix(".md"))]
        command = ["verify", held, "--require", "proved", *files, *asked]
        assert CliRunner().invoke(cli, [*command, same]).exit_code == 0
        assert ElementTree.parse(page).getroot().get("failures") == "0"
        ran = CliRunner().invoke(cli, [*command, other])
        assert ran.exit_code == len(asked)
        head, below = ran.stdout.splitlines()[:2]
        assert head.startswith("PROVED ")
        assert head.endswith("; but not accepted") == bool(asked)
        assert below.startswith(f"because     {field}: ") == bool(asked)
        assert below.startswith(f"but         {field}: ") == (locked and not asked)
        sign = "❌" if asked else "✅"
        assert page.with_suffix(".md").read_text("utf-8").startswith(f"## {sign} Proved equal")
        assert ran.stderr == ""
        told = CliRunner().invoke(cli, [*command, other, "--json"]).stderr
        assert told.startswith(f"not accepted: {field}: ") == bool(asked)
        assert ElementTree.parse(page).getroot().get("failures") == str(len(asked))
    for texts in (None,) if locked else (None, ["a"]):
        assert_parity(held, other, texts)
        assert_parity(held, same, texts, metadata=True)
        with pytest.raises(AssertionError, match=f"because     {field}: "):
            assert_parity(held, other, texts, metadata=True)


@pytest.mark.long
def test_a_lock_file_has_truncation_and_padding(tmp_path: Path) -> None:
    held, same = str(tmp_path / "x.lock"), served(tmp_path / "same", {})
    other = with_settings(tmp_path / "other", {"truncation": TRUNCATION, "padding": PADDING}, {})
    assert CliRunner().invoke(cli, ["lock", same, "-o", held]).exit_code == 0
    ran = CliRunner().invoke(cli, ["verify", held, other, "--metadata"])
    assert ran.exit_code == 1
    assert [each.field for each in verify(held, other).metadata] == ["truncation", "padding"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "value"),
    [("split_special_tokens", True), ("legacy", True), ("tokenizer_class", "GemmaTokenizer")],
)
def test_what_a_loader_reads_beside_a_model_file_is_locked(
    key: str, value: object, tmp_path: Path
) -> None:
    """As beside a ``tokenizer.json``: AutoTokenizer reads these keys there too."""
    folder, held = tmp_path / "served", str(tmp_path / "x.lock")
    folder.mkdir()
    shutil.copyfile(
        TOKENIZERS / "spm-tiny/sentencepiece/tokenizer.model", folder / "tokenizer.model"
    )
    config: dict[str, object] = {"tokenizer_class": "LlamaTokenizer", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    before = AutoTokenizer.from_pretrained(folder).encode("a</s>b")
    assert CliRunner().invoke(cli, ["lock", str(folder), "-o", held]).exit_code == 0
    assert CliRunner().invoke(cli, ["verify", held, str(folder), "--metadata"]).exit_code == 0
    (folder / "tokenizer_config.json").write_text(json.dumps({**config, key: value}), "utf-8")
    if key == "split_special_tokens":
        assert AutoTokenizer.from_pretrained(folder).encode("a</s>b") != before
    ran = CliRunner().invoke(cli, ["verify", held, str(folder), "--metadata"])
    assert ran.exit_code == 1
    assert f"because     {key}: " in ran.stdout


@pytest.mark.long
@pytest.mark.usefixtures("few_texts")
def test_what_loaders_read_is_the_folders_whatever_runs_it(tmp_path: Path) -> None:
    """transformers' own object states none of these keys."""
    folder, held = Path(served(tmp_path / "x", {"model_max_length": 512})), str(tmp_path / "x.lock")
    assert CliRunner().invoke(cli, ["lock", str(folder), "-o", held]).exit_code == 0
    command = ["verify", held, str(folder), "--engine-b", "transformers"]
    ran = CliRunner().invoke(cli, [*command, "--metadata"])
    assert (ran.exit_code, "because" in ran.stdout) == (0, False), ran.stdout
    ran = CliRunner().invoke(cli, command)
    assert (ran.exit_code, "but  " in ran.stdout) == (0, False)
    config = folder / "tokenizer_config.json"
    config.write_text(config.read_text("utf-8").replace("512", "513"), "utf-8")
    ran = CliRunner().invoke(cli, [*command, "--metadata"])
    assert ran.exit_code == 1
    assert "because     model_max_length: 512 and 513" in ran.stdout
