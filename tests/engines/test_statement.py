"""What a user says of a tokenizer whose source does not: the engines' ids are the measure."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import sentencepiece
import tokenizers
from command_line import Command
from conftest import Data

import bpe_interop
from bpe_interop.convert import convert
from bpe_interop.errors import LossyConversionError, SourceError, UnstatedError
from bpe_interop.model import SequenceTemplate
from bpe_interop.presets import PRESETS
from bpe_interop.sources import load_source
from bpe_interop.statement import Statement
from fixtures import TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

PIECES = TOKENIZERS / "spm-tiny" / "sentencepiece" / "tokenizer.model"
RANKS = TOKENIZERS / "cl100k-tiny" / "tiktoken"
TEXT = "Hello world"


def hub_ids(folder: Path, text: str, pair: str | None = None) -> list[int]:
    """What tokenizers gives for a text, or a pair of texts, with special tokens."""
    found = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids: list[int] = found.encode(text, pair).ids
    return ids


# What nobody states is not written as if somebody did.


def test_an_unsaid_template_is_refused_and_the_ways_to_say_it_are_named(
    command: Command, tmp_path: Path
) -> None:
    done = command("convert", PIECES, tmp_path / "out", "--to", "hf")
    assert done.code == 1
    for part in ("sequence_template", "--template none", "--bos", "--drop"):
        assert part in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_template_that_is_dropped_is_not_in_the_verdict(command: Command, tmp_path: Path) -> None:
    drop = ("--drop", "sequence_template")
    done = command("convert", PIECES, tmp_path / "out", "--to", "hf", *drop)
    assert done.code == 0
    said = "not the same tokenizer: sequence_template dropped; all else PROVED equal for"
    assert f"verdict     {said}" in done.out
    assert "and the sequence template included" not in done.out


def test_a_verdict_says_that_no_side_says_its_template(command: Command, tmp_path: Path) -> None:
    done = command("verify", PIECES, PIECES)
    assert done.code == 0
    assert "sequence template included" not in done.out
    done = command("convert", PIECES, tmp_path / "out", "--to", "spm")
    assert done.code == 0
    assert "sequence template included" not in done.out


@pytest.mark.parametrize(
    ("said", "bos", "eos"),
    [
        ("none", False, False),
        ("bos", True, False),
        ("eos", False, True),
        ("bos-eos", True, True),
        ("<s> $A", True, False),
        ("<s> $A </s>", True, True),
    ],
)
def test_a_template_gives_the_ids_of_sentencepiece(
    command: Command, tmp_path: Path, said: str, bos: bool, eos: bool
) -> None:
    given = ("--to", "hf", "--template", said)
    done = command("convert", PIECES, tmp_path / "out", *given, *["--no-verify"] * (said != "bos"))
    assert done.code == 0
    assert ("the template is the one that was given" in done.out) == (said == "bos")
    source = sentencepiece.SentencePieceProcessor(model_file=str(PIECES))
    one, two = (source.encode(text, add_bos=bos, add_eos=eos) for text in (TEXT, "more"))
    assert hub_ids(tmp_path / "out", TEXT) == one
    assert hub_ids(tmp_path / "out", TEXT, "more") == one + two


def test_what_was_given_is_neither_kept_nor_claimed_of_a_preset(
    command: Command, tmp_path: Path
) -> None:
    """The source, or its preset, may have said the same; then it was not given."""
    chat = tmp_path / "chat.jinja"
    chat.write_text("{{ messages }}", "utf-8")
    given = ("--template", "bos", "--chat-template", chat, "--to", "hf")
    done = command("convert", PIECES, tmp_path / "out", *given)
    assert done.code == 0, done.err
    kept, notes = (
        [line for line in done.out.splitlines() if line.startswith(head)]
        for head in ("kept", "note")
    )
    assert "template" not in kept[0]
    assert any(
        line.endswith('the sequence template, "<s>" + text A, is the one that was given')
        for line in notes
    )
    assert any("the chat template is the one that was given" in line for line in notes)
    assert "the template is the one that was given, not the source's" in done.out
    # What was written says both, so of a conversion of it they are kept.
    again = command("convert", tmp_path / "out", tmp_path / "again", *given)
    assert again.code == 0, again.err
    assert "that was given" not in again.out
    assert '; the sequence template, "<s>" + text A; the chat template' in again.out


def test_a_template_that_the_preset_has_too_is_the_presets(data: Data) -> None:
    ranks = data("llama-3/tokenizer.model")
    for said, by_user in (
        (Statement("bos"), ()),
        (Statement(chat_template="x"), ("chat_template",)),
    ):
        assert load_source(ranks, preset="llama-3", said=said).by_user == by_user


def test_a_template_reaches_every_format_that_holds_one(tmp_path: Path) -> None:
    said = Statement(template="bos")
    for to in ("spm", "hf"):
        convert(PIECES, tmp_path / to, to, said=said, verify=False)
    config = json.loads((tmp_path / "spm" / "tokenizer_config.json").read_text())
    assert (config["add_bos_token"], config["add_eos_token"]) == (True, False)
    done = convert(tmp_path / "spm", tmp_path / "again", "hf")
    assert done.report is not None
    assert done.report.by_user == ()
    assert hub_ids(tmp_path / "again", TEXT) == hub_ids(tmp_path / "hf", TEXT)


# Roles and chat templates.


def test_roles_and_a_chat_template_are_written(command: Command, tmp_path: Path) -> None:
    (tmp_path / "chat.jinja").write_text("{{ messages }}")
    done = command(
        "convert",
        RANKS,
        tmp_path / "out",
        "--to",
        "hf",
        "--bos=<|endoftext|>",
        "--pad=<|fim_prefix|>",
        "--no-verify",
        "--chat-template",
        tmp_path / "chat.jinja",
    )
    assert done.code == 0
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert config["bos_token"] == "<|endoftext|>"
    assert config["pad_token"] == "<|fim_prefix|>"
    assert config["chat_template"] == "{{ messages }}"


@pytest.mark.parametrize(
    ("contradiction", "changed"),
    [
        (["--template", "none"], {"add_bos_token": None}),
        (["--bos", "</s>"], {"bos_token": "</s>"}),
        (["--chat-template", "b.jinja"], {"chat_template": "b"}),
    ],
)
def test_what_the_source_states_is_not_overruled_but_extend_changes_it(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    contradiction: list[str],
    changed: dict[str, str | None],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.jinja").write_text("b")
    said = Statement(template="bos", chat_template="a")
    convert(PIECES, tmp_path / "in", "hf", said=said, verify=False)
    done = command("convert", "in", "out", "--to", "hf", "--no-verify", *contradiction)
    assert done.code == 2, done.err
    [line] = [line for line in done.err.split("\n") if line.startswith("  bpe-interop ")]
    assert command(*shlex.split(line)[1:]).code == 0
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert {key: config.get(key) for key in changed} == changed
    same = ["--template", "bos", "--bos", "<s>"]
    assert command("convert", "in", "x", "--to", "hf", "--no-verify", *same).code == 0


def test_extend_sets_a_template_with_a_new_token(command: Command, tmp_path: Path) -> None:
    done = command(
        "extend",
        RANKS,
        tmp_path / "out",
        "--to",
        "hf",
        "--special=<bos>=900",
        "--no-verify",
        "--bos=<bos>",
        "--template=bos",
    )
    assert done.code == 0, done.err
    plain = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert hub_ids(tmp_path / "out", TEXT)[0] == plain.token_to_id("<bos>") == 900


def test_train_writes_a_template(command: Command, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("the cat and the dog and the hat\n" * 9)
    given = ("--special=<s>", "--bos=<s>", "--template=bos", "--vocab-size=270")
    done = command("train", tmp_path / "text", "-o", tmp_path / "out", "--to=hf", *given)
    assert done.code == 0, done.err
    assert hub_ids(tmp_path / "out", "the cat")[0] == 270
    config = json.loads((tmp_path / "out" / "tokenizer_config.json").read_text())
    assert (config["bos_token"], config["add_bos_token"]) == ("<s>", True)


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (Statement(template="bos"), "no special token has that role"),
        (Statement(template="<s> $A"), "no such special token"),
        (Statement(template="$A $A"), "once"),
        (Statement(template="bso"), "none, bos"),
        (Statement(roles={"bos": "<s>"}), "no such special token"),
    ],
)
def test_what_cannot_be_said(said: Statement, error: str) -> None:
    with pytest.raises(SourceError, match=error.replace("$", r"\$")):
        load_source(RANKS, said=said)


def test_tokens_cannot_be_placed_where_none_are_stated() -> None:
    with pytest.raises(UnstatedError, match="special tokens"):
        load_source(TOKENIZERS / "gpt2-tiny" / "gpt2", said=Statement(template="bos"))


def test_a_statement_serves_load_too() -> None:
    tok = bpe_interop.load(PIECES, said=Statement(template="bos"))
    assert tok.encode(TEXT, add_special_tokens=True)[0] == 1
    with pytest.raises(LossyConversionError, match="sequence_template"):
        bpe_interop.load(PIECES).to_tokenizers()


# What is published.


@pytest.mark.parametrize("name", [name for name in PRESETS if name.startswith("llama-3")])
def test_every_llama_3_preset_places_bos(name: str) -> None:
    """``[128000, 9906]`` is what Meta's tokenizer.json gives for "Hello"."""
    template = PRESETS[name].template
    assert template is not None
    assert [getattr(part, "ids", None) for part in template.single] == [(128000,), None]


@pytest.mark.parametrize("name", ["llama-2", "mistral-v1"])
def test_known_models_have_the_template_of_their_published_file(
    data: Data, tmp_path: Path, name: str
) -> None:
    done = convert(data(name) / "tokenizer.model", tmp_path / "out", "hf")
    assert done.report is not None
    assert done.report.by_user == ()
    for texts in (("Hello",), ("Hello", "more")):
        assert hub_ids(tmp_path / "out", *texts) == hub_ids(data(name), *texts)
    said = Statement(template="none")
    assert load_source(data(name) / "tokenizer.model", said=said).model.sequence_template == (
        SequenceTemplate()
    )


def test_llama_3_gives_bos_as_its_published_file_does(data: Data, tmp_path: Path) -> None:
    source = data("llama-3/tokenizer.model")
    convert(source, tmp_path / "out", "hf", preset="llama-3", verify=False)
    assert hub_ids(tmp_path / "out", "Hello") == [128000, 9906]
    assert hub_ids(tmp_path / "out", "a", "b") == hub_ids(data("llama-3.2"), "a", "b")
