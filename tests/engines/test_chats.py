"""Chats that are pasted, and what chat templates make of them: as transformers renders them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import transformers

from bpe_interop.errors import SourceError
from bpe_interop.limits import CHAT_CHARACTERS, CHAT_SECONDS
from bpe_interop.model import CHATS
from bpe_interop.sources import load_source
from bpe_interop.statement import Statement
from bpe_interop.tokenizer import Tokenizer
from bpe_interop.view.chats import Chat, apply_template, read_chat
from bpe_interop.view.panels import Viewed, chat_panels
from fixtures import TOKENIZERS

SOURCE = TOKENIZERS / "spm-tiny" / "huggingface"
MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "be <brief> & \xe9"},
    {"role": "user", "content": " hi\nthere "},
    {"role": "assistant", "content": "ho", "calls": [{"name": "f", "arguments": {"b": 1, "a": 2}}]},
    {"role": "user", "content": "bye"},
]
TEMPLATES = {
    "marks": "{{ bos_token }}{% for m in messages %}\n[{{ m.role }}] {{ m['content'] | trim }}"
    "{{ eos_token }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}",
    "blocks": "{% for m in messages %}\n  {% if m.role == 'user' %}\nU: {{ m.content }}\n"
    "  {% continue %}\n  {% endif %}\n  {% generation %}\nA: {{ m.content }}\n"
    "  {% endgeneration %}\n{%- if loop.index0 > 1 %}{% break %}{% endif %}{% endfor %}",
    "json": "{% for m in messages %}{{ m | tojson }}{{ m.calls | default([]) | tojson(indent=2) }}"
    "{% endfor %}{{ tools | tojson }}{{ tools is none }}",
    "spaces": "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}"
    "{{ '-' * ns.n }}{{ m.content.upper() }}{% endfor %}{% if pad_token is defined %}P{% endif %}",
    "year": "{{ strftime_now('%Y') }}{% for i in range(3) %}{{ i }}{% endfor %}",
}


def model_with(template: str | None) -> Any:
    model = load_source(SOURCE, said=Statement(roles={"bos": "<s>", "eos": "</s>"})).model
    return replace(model, chat_template=template)


@pytest.fixture(scope="module")
def reference() -> Any:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(SOURCE / "tokenizer.json"), bos_token="<s>", eos_token="</s>"
    )


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("answered", [True, False])
def test_a_template_writes_what_transformers_does(
    name: str, answered: bool, reference: Any
) -> None:
    for tools in ([], [{"name": "f", "description": "<f>"}]):
        asked = {"add_generation_prompt": answered, "tools": tools or None}
        expected = reference.apply_chat_template(
            MESSAGES, chat_template=TEMPLATES[name], tokenize=False, **asked
        )
        chat = read_chat(json.dumps({"messages": MESSAGES, **asked}))
        assert apply_template(chat, model_with(TEMPLATES[name])).text == expected


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_tokenizer_applies_it_as_transformers_does(name: str, reference: Any) -> None:
    """Also one of several by its name, the one for tools, and with variables of the caller's."""
    tools = [{"name": "f", "description": "<f>"}]
    named = {"default": "{{ messages | length }}", "tool_use": TEMPLATES[name], "own": "{{ x }}!"}
    reference.chat_template = named
    others = {key: text for key, text in named.items() if key != "default"}
    model = replace(model_with(named["default"]), extras={CHATS: others})
    ours = Tokenizer(model)
    for given in (
        {},
        {"tools": tools, "add_generation_prompt": True},
        {"chat_template": "own", "x": "<s>\xe9"},
        {"chat_template": TEMPLATES[name]},
    ):
        expected = reference.apply_chat_template(MESSAGES, return_dict=False, **given)
        assert ours.apply_chat_template(MESSAGES, **given) == expected
        text = reference.apply_chat_template(MESSAGES, tokenize=False, **given)
        assert ours.apply_chat_template(MESSAGES, tokenize=False, **given) == text
    with pytest.raises(SourceError, match="no chat template is known"):
        Tokenizer(model_with(None)).apply_chat_template(MESSAGES)


def test_a_panel_has_the_ids_of_transformers(reference: Any) -> None:
    template = TEMPLATES["marks"]
    expected = reference.apply_chat_template(
        MESSAGES, chat_template=template, add_generation_prompt=True, return_dict=False
    )
    side = Viewed.of("x", model_with(template))
    other = Viewed.of("y", model_with(TEMPLATES["json"]))
    none = Viewed.of("z", model_with(None))
    chat = read_chat(json.dumps(MESSAGES))
    first, same, unlike, without = chat_panels([side, side, other, none], chat, 10_000)
    for panel in (first, same):
        assert [tile.id for line in panel.lines for tile in line.tiles] == expected
    assert (first.compared, same.compared, unlike.compared) == (False, True, False)
    assert unlike.tokens
    assert "no chat template is known: name a directory whose" in without.error
    assert "extend SRC DST --chat-template FILE" in without.error
    # The first that can write the chat is compared with, wherever it stands.
    silent, first, same, unlike = chat_panels([none, side, side, other], chat, 10_000)
    assert silent.error
    assert (first.compared, same.compared, unlike.compared) == (False, True, False)
    assert [panel.another_than for panel in (silent, first, same, unlike)] == ["", "", "", "x"]
    parts = [[tile.twin for line in panel.lines for tile in line.tiles] for panel in (first, same)]
    assert parts == [[*range(1, len(expected) + 1)]] * 2
    [long] = chat_panels([side], chat, 10)
    assert "at most 10" in long.error


@pytest.mark.parametrize(
    ("text", "messages", "answered"),
    [
        ("user: hi\nAssistant : ho\nmore\n", [("user", "hi"), ("assistant", "ho\nmore")], False),
        ("\nsystem: s\nuser: a\n\nuser:b", [("system", "s"), ("user", "a\n"), ("user", "b")], True),
        (' [{"role": "user", "content": "a"}]', [("user", "a")], True),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', [("assistant", "a")], False),
    ],
)
def test_chats_as_people_paste_them(
    text: str, messages: list[tuple[str, str]], answered: bool
) -> None:
    chat = read_chat(text)
    assert [(m["role"], m["content"]) for m in chat.messages] == messages
    assert chat.answered == answered


def test_what_a_service_is_sent_says_who_speaks_next() -> None:
    sent = {"messages": [{"role": "user", "content": "a"}], "add_generation_prompt": False}
    assert not read_chat(json.dumps(sent)).answered


@pytest.mark.parametrize(
    "text",
    [
        *("", "hello", "before\nuser: a", "[", "{}", "[1]", "[" * 9000),
        *('[{"content": "a"}]', '{"messages": 1}', '{"messages": [], "tools": 1}'),
    ],
)
def test_what_is_no_chat_is_refused(text: str) -> None:
    with pytest.raises(SourceError, match="chat"):
        read_chat(text)


CHAT = Chat(({"role": "user", "content": "x"},), (), True)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ raise_exception('only <b> roles\x1b') }}", r"only <b> roles\\x1b"),
        ("{% if %}", "does not take"),
        ("{{ nothing.at.all }}", "undefined"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "RecursionError"),
        ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ 'x' * 10 ** 9 }}", "repeats"),
        ("{{ 10 ** 10 ** 10 }}", "repeats"),
        ("{% for i in range(9999999) %}x{% endfor %}", "[Rr]ange"),
        ("{% for i in range(99999) %}" + "x" * 20 + "{% endfor %}", CHAT_CHARACTERS.name),
        (
            "{% set r = range(99999) %}" + "{% for i in r %}" * 4 + "{% endfor %}" * 4,
            CHAT_SECONDS.name,
        ),
    ],
)
def test_a_template_that_harms_is_ended(
    template: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Only what never ends is ended by the clock: a busy machine must not be first elsewhere.
    seconds = 1 if said == CHAT_SECONDS.name else 600
    limit = CHAT_SECONDS._replace(most=seconds)
    monkeypatch.setattr("bpe_interop.view.chats.CHAT_SECONDS", limit)
    with pytest.raises(SourceError, match=said):
        apply_template(CHAT, model_with(template))


def test_a_template_sees_no_files() -> None:
    for asks in ("{% include '/etc/passwd' %}", "{% import 'os' as os %}"):
        with pytest.raises(SourceError, match="chat template"):
            apply_template(CHAT, model_with(asks))
