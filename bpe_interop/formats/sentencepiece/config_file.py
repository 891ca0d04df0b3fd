"""``tokenizer_config.json`` beside a ``.model``: sequence template, chat template and roles.

A ``.model`` says neither template. transformers' ``LlamaTokenizer`` reads ``add_bos_token`` and
``add_eos_token`` (``models/llama/tokenization_llama.py``, 4.57), and that is what is read and
written here, with the roles that the ``.model`` itself gives to others, or to none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...model import (
    AddedToken,
    BPEModel,
    Json,
    SequenceTemplate,
)
from ...quoting import show
from ...strict_json import Node, parse
from ...tokenizer_config import CONFIG, ROLES
from ..bos_eos import ends_of, template_asked


def read_beside(
    data: bytes, added: Iterable[AddedToken]
) -> tuple[SequenceTemplate | None, str | None]:
    """What ``tokenizer_config.json`` says: the sequence template and the default chat template.

    In a folder, ``formats/huggingface/companions`` asks again, with the tokens and roles of all its
    files.

    Raises:
        FormatError: it is malformed.
    """
    config, listed = parse(data, CONFIG), tuple(added)
    tokens = {role: _token(config, role, listed) for role in ("bos", "eos")}
    return template_asked(config, tokens, []), _chat_template(config)


def _token(config: Node, role: str, added: tuple[AddedToken, ...]) -> AddedToken | None:
    """The token of a role: the one that the file names, else the model's own."""
    entry = config.get(f"{role}_token")
    if isinstance(entry.value, dict):
        entry = entry["content"]
    if entry.given:
        text = entry.be(str)
        return next((token for token in added if token.text == text), None)
    return next((token for token in added if role in token.roles), None)


def with_roles_beside(
    data: bytes, added: Iterable[AddedToken], notes: list[str]
) -> tuple[AddedToken, ...]:
    """The tokens of a ``.model`` with the roles that ``tokenizer_config.json`` states."""
    config, listed = parse(data, CONFIG), tuple(added)
    now = {role: token.text for token in listed for role in token.roles}
    for role in ROLES:
        if f"{role}_token" not in config:
            continue
        token = _token(config, role, listed)
        if not config.get(f"{role}_token").value:
            now.pop(role, None)
        elif token is not None:
            if now.get(role, token.text) != token.text:
                notes.append(
                    f"{role} is {show(now[role])} in the .model and {show(token.text)} in "
                    f"{CONFIG}, which counts"
                )
            now[role] = token.text
    return tuple(
        replace(
            token, roles=tuple(sorted(role for role, text in now.items() if text == token.text))
        )
        for token in listed
    )


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
    if model.chat_template is not None:
        config["chat_template"] = model.chat_template
    if not config:
        return {}
    text = json.dumps(config, ensure_ascii=False, indent=2) + "\n"
    return {CONFIG: text.encode("utf-8")}


def _chat_template(config: Node) -> str | None:
    template = config.get("chat_template")
    if isinstance(template.value, list):
        named = {entry["name"].be(str): entry["template"].be(str) for entry in template.items()}
        return named.get("default")
    return template.be(str) if template.given else None
