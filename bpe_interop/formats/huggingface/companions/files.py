"""The files beside a tokenizer: each parsed, and what it says of roles, chats and ids.

Measured in transformers 5.24.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, cast

from ....errors import FormatError
from ....limits import COMPANION_BYTES
from ....model import AddedToken, Json
from ....quoting import show
from ....strict_json import Node, parse
from ....tokenizer_config import (
    CONFIG,
    DECODER,
    DEFAULT_CHAT,
    EXTRA,
    EXTRA_LIST,
    LOCKED,
    ROLE_ENDING,
    ROLES,
    chats_in,
    roles_in,
    token_text,
    travelling,
)
from ....transformers_classes import PADS_LEFT, TRANSFORMERS
from ...names import (
    ADDED,
    BESIDE,
    CHAT_TEMPLATE,
    CHAT_TEMPLATES,
    GENERATION,
    MODEL_CONFIG,
    OTHERS,
    SPECIAL_MAP,
)


class Companions(NamedTuple):
    """Each JSON file as an object, an empty one where there is no such file."""

    config: Node
    special_map: Node
    added: Node
    model_config: Node
    generation: Node
    others: Node


def read_companions(files: Mapping[str, bytes]) -> Companions:
    """Parses the JSON files.

    Raises:
        FormatError: one of them is too large, is malformed, or is no object.
    """
    for name in (*BESIDE, *(name for name in files if name.startswith(CHAT_TEMPLATES))):
        if len(files.get(name, b"")) > COMPANION_BYTES.most:
            raise FormatError(
                COMPANION_BYTES.passed("the file"), where=name, fix="get it again, or leave it out"
            )
    return Companions(
        _object(files, CONFIG),
        _object(files, SPECIAL_MAP),
        _object(files, ADDED),
        _lenient(files, MODEL_CONFIG),
        _lenient(files, GENERATION),
        _object(files, OTHERS),
    )


def loader_settings(files_beside: Companions) -> dict[str, Json]:
    """The settings that a loader of a directory obeys, by name.

    Tokens, roles and chat templates are left out, which the model has.
    """
    config = files_beside.config.be(dict)
    model = files_beside.model_config.be(dict)
    told = {key: config[key] for key in LOCKED if config.get(key) is not None}
    chosen = {f"{MODEL_CONFIG} {key}": model.get(key) for key in ("model_type", "tokenizer_class")}
    return told | {key: value for key, value in chosen.items() if value is not None}


def settings_of_classes(
    files_beside: Companions, listed: Iterable[str], served_as: str
) -> dict[str, Json]:
    """Settings that mean the same to every class, so they are written as they are.

    ``listed`` are the texts of the added tokens that there are, ``served_as`` is the class that is
    loaded.
    """
    # What is written may name another class, which would pad on the right.
    left: dict[str, Json] = {"padding_side": "left"} if served_as in PADS_LEFT else {}
    kept = left | travelling(files_beside.config)
    extra = [text for text in extra_tokens(files_beside) if text in listed]
    return {**kept, **({EXTRA_LIST: cast(Json, extra)} if extra else {})}


def _object(files: Mapping[str, bytes], name: str) -> Node:
    node = parse(files[name], name) if name in files else Node({}, name)
    node.be(dict)
    return node


def _lenient(files: Mapping[str, bytes], name: str) -> Node:
    """A model's own configuration."""
    try:
        # Some hold Infinity, which is no JSON; of a model's own configuration a few keys are asked.
        value: object = json.loads(files.get(name, b"{}"))
    except (ValueError, RecursionError) as error:
        fix = "get it again, or leave it out"
        raise FormatError(f"not JSON: {error}", where=name, fix=fix) from None
    node = Node(cast(Json, value), name)
    node.be(dict)
    return node


class StatedRole(NamedTuple):
    """A role, the text of its token, and the file (or the class) that says so."""

    role: str
    text: str
    by: str


def read_roles(
    files_beside: Companions, notes: list[str]
) -> tuple[dict[str, StatedRole], frozenset[str]]:
    """The roles that transformers would give, and those that a file says to be none (null).

    Raises:
        FormatError: a role is neither a string nor an object with a ``content``.
    """
    config, special = roles_in(files_beside.config), roles_in(files_beside.special_map)
    unread = DECODER in files_beside.config
    # Measured in transformers 5.24 (tokenization_utils_base.py, _from_pretrained): with the key
    # added_tokens_decoder in tokenizer_config.json, special_tokens_map.json is not read; without it
    # every key of special_tokens_map.json wins, nulls too.
    merged = config if unread else {**config, **special}
    for role in special:
        _tell(role, config.get(role), special[role], role in config, unread, notes)
    for name, text in _own_names(files_beside, unread):
        merged.setdefault(name, text)
    stated = {
        role: StatedRole(role, text, SPECIAL_MAP if not unread and role in special else CONFIG)
        for role, text in merged.items()
        if text
    }
    return stated, frozenset(role for role, text in merged.items() if not text)


def with_assumed(
    stated: Mapping[str, StatedRole],
    none: Iterable[str],
    assumed: Mapping[str, str],
    by: str,
) -> list[StatedRole]:
    """Roles in the order in which transformers adds their tokens: stated ones, and assumed ones.

    ``none``: those that a file says to be none. ``by``: who assumes the others.
    """
    others = {role: StatedRole(role, text, by) for role, text in assumed.items()}
    roles = [*stated.values(), *(o for role, o in others.items() if role not in {*stated, *none})]
    order = {role: place for place, role in enumerate(ROLES)}
    return sorted(roles, key=lambda each: order.get(each.role, len(order)))


def _own_names(files_beside: Companions, unread: bool) -> Iterator[tuple[str, str]]:
    """A model's own roles: ``extra_special_tokens``, or without it the older key, as an object."""
    for node in (
        (files_beside.config,) if unread else (files_beside.config, files_beside.special_map)
    ):
        extra = node.get(EXTRA[0])
        extra = extra if extra.value else node.get(EXTRA[1])
        if isinstance(extra.value, dict):
            for key in extra.value:
                # The key may be written with its ending or without.
                yield key.removesuffix(ROLE_ENDING), token_text(extra[key])


def _tell(
    role: str, config: str | None, special: str | None, both: bool, unread: bool, notes: list[str]
) -> None:
    if config == special:
        return
    if unread:
        why = f"because {CONFIG} has {DECODER}, and then {SPECIAL_MAP} is not read"
        winner = CONFIG
    elif both:
        why = f"because {CONFIG} has no {DECODER}, and then {SPECIAL_MAP} is read last"
        winner = SPECIAL_MAP
    else:
        return
    says = f"{CONFIG} says {_quoted(config)}" if both else f"{CONFIG} says nothing"
    notes.append(
        f"{role} token: {SPECIAL_MAP} says {_quoted(special)}, {says}; {TRANSFORMERS} goes by "
        f"{winner}, {why}"
    )


def _quoted(text: str | None) -> str:
    return show(text) if text else "none"


def extra_tokens(files_beside: Companions) -> tuple[str, ...]:
    """Further special tokens, by text, in order."""
    config, special = files_beside.config, files_beside.special_map
    listed = (_texts(config.get(key)) for key in EXTRA)
    first = next((texts for texts in listed if texts), [])
    if DECODER in config:
        return tuple(first)
    # special_tokens_map.json adds to them under the newer key, and under the older one only where
    # no file has either key otherwise.
    more = _texts(special.get(EXTRA[0]))
    if EXTRA[0] not in special and not any(key in config for key in EXTRA):
        more = _texts(special.get(EXTRA[1]))
    return (*first, *(text for text in more if text not in first))


def _texts(node: Node) -> list[str]:
    return [token_text(each) for each in node.items()] if isinstance(node.value, list) else []


def padding_role(root: Node) -> Mapping[str, str]:
    """The padding token that ``padding`` in ``tokenizer.json`` names."""
    padding = root.get("padding")
    named = padding.get("pad_token") if isinstance(padding.value, dict) else None
    return {"pad": named.be(str)} if named is not None and named.value else {}


def read_chat_templates(
    files: Mapping[str, bytes], config: Node, notes: list[str]
) -> tuple[str | None, dict[str, Json]]:
    """The default chat template, and the others by name.

    Raises:
        FormatError: a template is no text, or a file is not UTF-8.
    """
    # Measured in transformers 5.24: the folder's files are read, and chat_template.jinja as the
    # default unless the folder has one of that name. If there are any of these, chat_template in
    # tokenizer_config.json is not read.
    templates = _in_files(files)
    stated = chats_in(config)
    if templates and stated and templates != stated:
        where = CHAT_TEMPLATE if CHAT_TEMPLATE in files else CHAT_TEMPLATES
        notes.append(
            f"chat template: {where} and {CONFIG} hold different ones; {TRANSFORMERS} goes by "
            f"{where}, because it reads {CONFIG} only where no file holds a template"
        )
    templates = templates or stated
    if templates and DEFAULT_CHAT not in templates:
        notes.append(
            f"chat templates have names ({', '.join(sorted(templates))}) and none is the default, "
            f"so {TRANSFORMERS} needs one to be named"
        )
    default = templates.pop(DEFAULT_CHAT, None)
    return default, {name: templates[name] for name in sorted(templates)}


def _in_files(files: Mapping[str, bytes]) -> dict[str, str]:
    templates: dict[str, str] = {}
    if CHAT_TEMPLATE in files:
        templates[DEFAULT_CHAT] = _text(files[CHAT_TEMPLATE], CHAT_TEMPLATE)
    for name, data in files.items():
        if name.startswith(CHAT_TEMPLATES) and name.endswith(".jinja"):
            templates[name[len(CHAT_TEMPLATES) : -len(".jinja")]] = _text(data, name)
    return templates


def _text(data: bytes, name: str) -> str:
    """A file's text as Python reads it, every line end as LF."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Node(None, name, f"offset {error.start}").fail("not UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def chat_templates_json(default: str | None, others: Mapping[str, Json]) -> Json:
    """What ``chat_template`` in ``tokenizer_config.json`` says, which every version reads."""
    if not others:
        return default
    named = {**({} if default is None else {DEFAULT_CHAT: default}), **others}
    return [{"name": name, "template": template} for name, template in named.items()]


_NAMES = ("model_type", "tokenizer_class")
_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
_TEXT = "text_config"


def read_model_config(files_beside: Companions) -> dict[str, Json]:
    """The keys that concern a tokenizer, under ``generation`` those of the other file.

    Raises:
        FormatError: a key has a value of another kind.
    """
    config = files_beside.model_config
    inner = config.get(_TEXT)
    # A model of several kinds of input keeps them under text_config.
    nodes = [config, inner] if isinstance(inner.value, dict) else [config]
    settings: dict[str, Json] = {}
    for key in _NAMES:
        if config.get(key).given:
            settings[key] = config[key].be(str)
    for node in nodes:
        if "vocab_size" not in settings and node.get("vocab_size").given:
            settings["vocab_size"] = _rows(node["vocab_size"])
        for key, value in _ids(node):
            settings.setdefault(key, value)
    generation = dict(_ids(files_beside.generation))
    return {**settings, **({"generation": generation} if generation else {})}


def _rows(node: Node) -> int:
    rows = node.be(int)
    if rows < 1:
        node.fail(f"{rows} is no number of rows")
    return rows


def _ids(node: Node) -> Iterator[tuple[str, Json]]:
    for key in _IDS:
        value = node.get(key)
        if isinstance(value.value, list):
            yield key, [number.be(int) for number in value.items()]
        elif value.given:
            yield key, value.be(int)


def tell_model_config(
    config: Mapping[str, Json], added: Iterable[AddedToken], ids: Iterable[int]
) -> Iterator[str]:
    """Where the model's configuration and the tokenizer say different things."""
    # vocab_size is the number of rows of the embedding, which is often rounded up.
    rows = config.get("vocab_size")
    if isinstance(rows, int) and rows <= (largest := max(ids, default=-1)):
        yield (
            f"{MODEL_CONFIG} declares {rows:,} rows (vocab_size), but ids go to {largest}: those "
            f"from {rows} on have no row in the model"
        )
    generation = config.get("generation")
    own = generation if isinstance(generation, dict) else {}
    tokens = {role: token for token in added for role in token.roles}
    for key in _IDS:
        token = tokens.get(key.removesuffix("_token_id"))
        yield from _tell_id(key, config.get(key), own.get(key), token)


def _tell_id(key: str, config: Json, generation: Json, token: AddedToken | None) -> Iterator[str]:
    if config is not None and generation is not None and config != generation:
        yield (
            f"{key}: {MODEL_CONFIG} says {config}, {GENERATION} says {generation}; "
            f"{TRANSFORMERS}'s generate goes by {GENERATION}"
        )
    # generate takes the ids of generation_config.json, and those of config.json where there is
    # none.
    file, value = (MODEL_CONFIG, config) if generation is None else (GENERATION, generation)
    stated = value if isinstance(value, list) else [value]
    if value is not None and token is not None and token.id not in stated:
        role = key.removesuffix("_token_id")
        yield (
            f"{key}: {file} says {value}, but the tokenizer's {role} token {show(token.text)} is "
            f"{token.id}; {TRANSFORMERS}'s generate goes by {file}, its tokenizer by the text"
        )
