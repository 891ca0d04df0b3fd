"""``tokenizer_config.json`` beside a ``.model``: sequence template, chat template and roles.

A ``.model`` says neither template. transformers' ``LlamaTokenizer`` reads ``add_bos_token`` and
``add_eos_token`` (``models/llama/tokenization_llama.py``, 4.57), and that is what is read and
written here, with the roles that the ``.model`` itself gives to others, or to none. Settings that
mean the same to every class are kept, and where the source is a ``.model`` too, those of its class.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from ...model import (
    LOADING,
    AddedToken,
    BPEModel,
    Json,
    SequenceTemplate,
)
from ...quoting import show
from ...strict_json import parse
from ...tokenizer_config import (
    CONFIG,
    DEFAULT_CHAT,
    EXTRA_LIST,
    ROLES,
    chats_in,
    roles_in,
    token_text,
    travelling,
)
from ..bos_eos import ends_of, template_asked

_OF_THE_CLASS = ("tokenizer_class", "add_prefix_space", "legacy", "clean_up_tokenization_spaces")
"""What tells transformers how it makes its own tokenizer of a ``.model``."""


class StatedBeside(NamedTuple):
    """What the file says, with the roles of both files on the tokens."""

    added: tuple[AddedToken, ...]
    sequence_template: SequenceTemplate | None
    chat_template: str | None
    settings: Mapping[str, Json]


def read_beside(data: bytes, added: Iterable[AddedToken], notes: list[str]) -> StatedBeside:
    """What ``tokenizer_config.json`` says of the tokens of a ``.model``.

    In a folder, ``formats/huggingface/companions`` asks again, with the tokens and roles of all its
    files.

    Raises:
        FormatError: it is malformed.
    """
    config, by_text = parse(data, CONFIG), {token.text: token for token in added}
    now = {role: token.text for token in by_text.values() for role in token.roles}
    stated = {role: text for role, text in roles_in(config).items() if role in ROLES}
    # A template places the token that is named, and none where the .model lacks it.
    placed = {role: by_text.get(text or "") for role, text in {**now, **stated}.items()}
    for role in ROLES:
        text = stated.get(role)
        if role in stated and not text:
            now.pop(role, None)
        elif text in by_text:
            if now.get(role, text) != text:
                notes.append(
                    f"{role} is {show(now[role])} in the .model and {show(text)} in {CONFIG}, "
                    "which counts"
                )
            now[role] = text
    marked = tuple(
        replace(
            token, roles=tuple(sorted(role for role, text in now.items() if text == token.text))
        )
        for token in by_text.values()
    )
    template, chats = template_asked(config, placed, []), chats_in(config)
    settings = travelling(config)
    listed = config.get(EXTRA_LIST)
    if isinstance(listed.value, list):
        extra = [text for text in map(token_text, listed.items()) if text in by_text]
        settings |= {EXTRA_LIST: cast("Json", extra)} if extra else {}
    return StatedBeside(marked, template, chats.get(DEFAULT_CHAT), settings)


def write_beside(model: BPEModel, own: Mapping[str, str]) -> dict[str, bytes]:
    """``tokenizer_config.json``, where the model says something that it holds.

    ``own``: the roles that the ``.model`` itself gives, and the texts of their tokens.
    """
    config: dict[str, Json] = {
        f"{role}_token": token.text
        for token in model.added or ()
        for role in token.roles
        if role in ROLES and own.get(role) != token.text
    }
    ends = ends_of(model)
    if ends is not None:
        for role, token in zip(("bos", "eos"), ends, strict=True):
            config[f"add_{role}_token"] = token is not None
            if token is not None:
                config[f"{role}_token"] = token.text
    settings = model.extras.get(LOADING)
    config |= settings if isinstance(settings, dict) else {}
    if model.origin.format == "sentencepiece":
        stated = model.origin.settings or {}
        config |= {key: stated[key] for key in _OF_THE_CLASS if key in stated}
    if model.chat_template is not None:
        config["chat_template"] = model.chat_template
    if not config:
        return {}
    # transformers knows no role of a .model but those that its class assumes.
    config |= {f"{role}_token": text for role, text in own.items() if f"{role}_token" not in config}
    text = json.dumps(config, ensure_ascii=False, indent=2) + "\n"
    return {CONFIG: text.encode("utf-8")}
