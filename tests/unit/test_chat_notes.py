"""What is said of a chat template that does not fit its tokenizer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Command
from conftest import Data

import bpe_interop
from bpe_interop.chat_notes import chat_notes, marker_notes, unwritten_note
from bpe_interop.extend import with_tokens
from bpe_interop.model import BPEModel, Json
from bpe_interop.statement import Statement, as_stated
from fixtures import TOKENIZERS

pytestmark = pytest.mark.usefixtures("few_texts")

RANKS = TOKENIZERS / "gpt2-tiny" / "tiktoken"
CHATML = ("<|im_start|>", "<|im_end|>", "<think>", "</s>", "[INST]", "[/INST]", "<tool1>")


def model(*special: str) -> BPEModel:
    return with_tokens(bpe_interop.load(RANKS).model, special or CHATML)


def told(template: str, *special: str) -> str:
    return "\n".join(marker_notes(replace(model(*special), chat_template=template)))


@pytest.mark.parametrize(
    "template",
    [
        "{{ '<|im_start|>' + m + '<|im_end|>' }}<think></think></s>[INST] [/INST]<|endoftext|>",
        "{% if '<|x|>' in m or m.startswith('<|y|>') or m | replace('<|z|>', '') %}{% endif %}",
        "{{ raise_exception('no <|x|>') }}{# <|y|> #}<|{{ role }}|>{{ '<|' + role + '|>' }}",
        "<tools>{{ tools }}</tools><tool_call></tool_call><<SYS>> [TOOLS] [INDEX] <tool2> <b>",
        "{% this is no Jinja <|x|>",
    ],
)
def test_nothing_is_said_of_what_is_right_or_meant_as_text(template: str) -> None:
    assert told(template) == ""


@pytest.mark.parametrize(
    ("template", "marker", "near"),
    [
        ("{{ '<|imstart|>' + m }}", "<|imstart|>", "<|im_start|>"),
        ("{% set end = '<|IM_END|>' %}{{ end }}", "<|IM_END|>", "<|im_end|>"),
        ("<|user|>{{ m }}", "<|user|>", ""),
        ("{{ write('<Think>') }}", "<Think>", "<think>"),
        ("<start_of_turn>user", "<start_of_turn>", ""),
        ("<｜User｜>{{ m }}", "<｜User｜>", ""),
    ],
)
def test_a_marker_that_is_no_token_is_named_with_the_nearest(
    template: str, marker: str, near: str
) -> None:
    count = len(bpe_interop.load(RANKS).encode(marker))
    meant = f'; did you mean "{near}"?' if near else ""
    assert f'writes "{marker}" ({count} ids{meant}), which is no token here' in told(template)


def test_markers_of_further_templates_are_named_too() -> None:
    named: dict[str, Json] = {"chat_templates": {"tool_use": "<|a|> <|b|> <|c|> <|d|> <|e|>"}}
    [note] = marker_notes(replace(model(), chat_template="<|im_start|>", extras=named))
    assert '"<|a|>"' in note
    assert '"<|d|>"' in note
    assert "and 1 more, which are no tokens here" in note


def test_where_the_added_tokens_are_not_stated_nothing_is_said() -> None:
    assert marker_notes(replace(model(), added=None, chat_template="<|x|>")) == ()


@pytest.mark.parametrize(
    ("template", "named", "is_told"),
    [
        ("{{ m }}", {}, True),
        ("{{ m }}", {"tool_use": "{{ '[END]' }}"}, False),
        (r"{{ m + '\x5bEND]' }}", {}, False),
        ("{{ '[' + m + ']' }}", {}, False),
        ("{{ m }}] (END)", {}, True),
    ],
)
def test_where_a_template_may_write_a_new_token_nothing_is_said(
    template: str, named: dict[str, Json], is_told: bool
) -> None:
    """Also where another template does, or it is written with escapes or in parts."""
    chats = replace(model("[END]"), chat_template=template, extras={"chat_templates": named})
    assert ("[END]" in unwritten_note(chats, ["[END]"], eos_is_new=False)) == is_told
    for text in ("[END]", "[PAD]"):  # what pads is never written
        padded = with_tokens(chats, [text], {"pad": text})
        assert unwritten_note(padded, [text], eos_is_new=False) == ""


def test_of_many_new_tokens_some_are_named() -> None:
    texts = [f"[{number}]" for number in range(6)]
    chats = replace(model(*texts), chat_template="{{ m }}")
    note = unwritten_note(chats, texts, eos_is_new=False)
    assert 'none of the new tokens "[0]", "[1]", "[2]", "[3]" and 2 more: chats are' in note


def test_every_command_that_reads_or_writes_a_template_tells(
    command: Command, tmp_path: Path
) -> None:
    chat, source = tmp_path / "chat.jinja", tmp_path / "corpus.txt"
    chat.write_text("<|im_start|>{{ messages }}")
    source.write_text("it's a text, a text " * 40)
    said = ("--chat-template", chat, "--no-verify", "--to", "hf")
    writing: tuple[tuple[object, ...], ...] = (
        ("convert", RANKS, tmp_path / "c"),
        ("extend", RANKS, tmp_path / "e"),
        ("train", source, "-o", tmp_path / "t", "--vocab-size", "260"),
    )
    reading = (("inspect", tmp_path / "c"), ("verify", tmp_path / "c", tmp_path / "e"))
    for words in writing:
        done = command(*words, *said)
        assert done.code == 0, done.err
        assert 'note        the chat template writes "<|im_start|>" (' in done.out
    for words in reading:
        done = command(*words)
        assert done.code == 0, done.err
        assert 'the chat template writes "<|im_start|>" (' in done.out
    done = command("inspect", tmp_path / "c", "--json")
    assert ["<|im_start|>" in note for note in json.loads(done.out)["notes"]] == [True]


@pytest.mark.parametrize(
    ("template", "around", "roles", "is_told"),
    [
        ("{{ bos_token }}{{ messages }}", "bos", {"bos": "<s>"}, True),
        ("{% set c = bos_token + messages %}{{ c }}", "bos", {"bos": "<s>"}, True),
        ("{{ '<s>' ~ messages }}", "<s> $A", {}, True),
        ("{{ bos_token }}{{ messages }}", "<s> $A", {}, False),
        ("{{ bos_token }}{{ messages }}", "none", {"bos": "<s>"}, False),
        ("{{ bos_token }}{{ messages }}", "eos", {"bos": "<s>", "eos": "</s>"}, False),
        ("{{ messages }}{{ eos_token }}", "bos-eos", {"bos": "<s>", "eos": "</s>"}, False),
        ("{% if messages == bos_token %}{% endif %}", "bos", {"bos": "<s>"}, False),
    ],
)
def test_a_token_that_two_templates_place_first_is_told(
    template: str, around: str, roles: dict[str, str], is_told: bool
) -> None:
    said = Statement(template=around, roles=roles, chat_template=template)
    notes = "".join(chat_notes(as_stated(model("<s>", "</s>"), said)))
    assert ('the chat template place "<s>"' in notes) is is_told


def test_it_is_told_by_inspect_and_convert_and_is_no_matter_of_verify(
    command: Command, tmp_path: Path
) -> None:
    chat = tmp_path / "chat.jinja"
    chat.write_text("{{ bos_token }}{{ messages }}")
    said = ("--bos", "<|endoftext|>", "--template", "bos", "--chat-template", chat)
    done = command("extend", RANKS, tmp_path / "e", "--to", "hf", "--no-verify", *said)
    assert done.code == 0, done.err
    done = command("convert", tmp_path / "e", tmp_path / "c", "--to", "hf", "--no-verify")
    sentence = 'the chat template place "<|endoftext|>"'
    assert sentence in done.out
    assert sentence in command("inspect", tmp_path / "c").out
    assert sentence not in command("verify", tmp_path / "c", tmp_path / "c").out


def test_published_templates_write_tokens(data: Data) -> None:
    """Phi-3's own; what Qwen3's and Llama 3.2's write."""
    assert marker_notes(bpe_interop.load(data("gguf/ggml-vocab-phi-3.gguf")).model) == ()
    for name, written in (
        (
            "qwen3",
            "<|im_start|><|im_end|><think></think><tools></tools><tool_call></tool_call>"
            "<tool_response></tool_response><|endoftext|> <function-name> <args-json-object>",
        ),
        ("llama-3.2", "<|begin_of_text|><|start_header_id|><|end_header_id|><|eot_id|><|eom_id|>"),
        ("llama-2", "<s>[INST] <<SYS>> <</SYS>> [/INST] </s>"),
        ("mistral-v1", "<s>[INST] [/INST] </s>"),
    ):
        read = bpe_interop.load(data(name) / "tokenizer.json").model
        assert marker_notes(replace(read, chat_template=written)) == (), name
