"""The keys of a GGUF head by name, read with their types checked."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any, Final, NoReturn

from ...errors import FormatError, UnsupportedError
from ...model import CHATS as FURTHER_CHATS
from ...model import BPEModel, Json
from .head import Head, Key, Typed, Value

MODEL: Final = "tokenizer.ggml.model"
PRE: Final = "tokenizer.ggml.pre"
TOKENS: Final = "tokenizer.ggml.tokens"
TYPES: Final = "tokenizer.ggml.token_type"
SCORES: Final = "tokenizer.ggml.scores"
MERGES: Final = "tokenizer.ggml.merges"
CHAT: Final = "tokenizer.chat_template"
NAMED_CHAT: Final = "tokenizer.chat_template."
"""Before the name of a further template; :data:`CHATS` lists these names."""
CHATS: Final = "tokenizer.chat_templates"
NAME: Final = "general.name"
ARCHITECTURE: Final = "general.architecture"
EMBEDDED: Final = "tokenizer.huggingface.json"
"""A whole ``tokenizer.json``, which the specification has, and llama.cpp does not read."""
EMBEDDED_NAME: Final = "tokenizer.json"
SPLIT_NUMBER: Final = "split.no"
PREFIXED: Final = "tokenizer.ggml.add_space_prefix"

ROLES: Final = {
    "bos": "tokenizer.ggml.bos_token_id",
    "eos": "tokenizer.ggml.eos_token_id",
    "unk": "tokenizer.ggml.unknown_token_id",
    "pad": "tokenizer.ggml.padding_token_id",
    "sep": "tokenizer.ggml.seperator_token_id",
    "mask": "tokenizer.ggml.mask_token_id",
}
"""Roles to the keys with their ids; ``seperator`` is how it is spelled there."""

ADD: Final = {role: f"tokenizer.ggml.add_{role}_token" for role in ("bos", "eos")}
"""Whether the token of a role is placed before, or behind, a text."""

DEFAULTS: Final[Mapping[str, Mapping[str, int]]] = {
    "llama": {"bos": 1, "eos": 2, "unk": 0},
    "gpt2": {"bos": 11, "eos": 11},
    "gemma4": {},
}
"""By kind, the ids that llama.cpp gives to roles of which a file says nothing."""

_TYPED: Final[Mapping[str, tuple[str, ...]]] = {
    "general.alignment": ("uint32",),
    "general.file_type": ("uint32",),
    "split.count": ("uint16",),
    **dict.fromkeys((*ADD.values(), PREFIXED), ("bool",)),
    "tokenizer.ggml.add_sep_token": ("bool",),
    "tokenizer.ggml.remove_extra_whitespaces": ("bool",),
    "tokenizer.ggml.token_type_count": ("uint32",),
    "tokenizer.ggml.eot_token_id": ("uint32",),
    "tokenizer.ggml.eom_token_id": ("uint32",),
}
"""Types of keys that llama.cpp reads in every file, and of which nothing else is asked here."""

_LISTED: Final[Mapping[str, tuple[str, ...]]] = {
    "tokenizer.ggml.suppress_tokens": ("int32",),
    SCORES: ("float32", "int32"),
}
"""The same of arrays: types of their members."""


class Keys:
    """The keys of a head, each read as the type that it must have."""

    def __init__(self, head: Head, file: str) -> None:
        self.head = head
        self.file = file

    def fail(self, key: str, what: str, fix: str = "") -> NoReturn:
        """Raises FormatError that names the key."""
        raise FormatError(what, where=f"{self.file}: {key}", fix=fix)

    def refuse(self, key: str, what: str, fix: str = "") -> NoReturn:
        """Raises UnsupportedError that names the key."""
        raise UnsupportedError(what, where=f"{self.file}: {key}", fix=fix)

    def _of(self, key: str, *types: str) -> Value | None:
        entry = self.head.keys.get(key)
        if entry is None:
            return None
        if entry.type not in types:
            self.fail(key, f"expected {' or '.join(types)}, found {entry.type}")
        return entry.value

    def check_types(self) -> None:
        """Sees that keys which change no id have the types without which llama.cpp fails.

        Raises:
            FormatError: one has another type.
        """
        for key, types in _TYPED.items():
            self._of(key, *types)
        for key, members in _LISTED.items():
            self.array(key, *members)

    def text(self, key: str) -> str | None:
        content = self._of(key, "string")
        if not isinstance(content, bytes):
            return None
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            self.fail(key, "this is not UTF-8")

    def flag(self, key: str, default: bool) -> bool:
        value = self._of(key, "bool")
        return default if value is None else bool(value)

    def number(self, key: str) -> int | None:
        value = self._of(key, "uint32")
        return value if isinstance(value, int) else None

    def part(self) -> int:
        """Of a model in several files, the number of this one from 0 on; 0 of one in one file."""
        value = self._of(SPLIT_NUMBER, "uint16")
        return value if isinstance(value, int) else 0

    def array(self, key: str, *members: str) -> Any:
        """The members of an array of one of these types; None if there is none."""
        if self._of(key, "array") is None:
            return None
        entry: Key = self.head.keys[key]
        if entry.members not in members:
            self.fail(key, f"expected an array of {' or '.join(members)}, found {entry.members}")
        return entry.value


_DEFAULT: Final = "default"
_READ: Final = frozenset({MODEL, PRE, CHAT, EMBEDDED, TOKENS, TYPES, SCORES, MERGES})


def kept_keys(keys: Keys, read: Collection[str]) -> dict[str, Json]:
    """The keys under ``tokenizer.`` that are none of ``read``, as JSON, each with its type.

    Raises:
        FormatError: a string is not UTF-8.
    """
    named = named_templates(keys)
    gone = {*_READ, *read, *(NAMED_CHAT + name for name in named)}
    held: dict[str, Json] = {}
    for key, entry in keys.head.keys.items():
        if not key.startswith("tokenizer.") or key in gone:
            continue
        if key == CHATS and entry.members == "string" and _names(keys) == sorted(named):
            continue
        value: Any = entry.value
        if entry.type == "array":
            members = [_json(keys, key, each) for each in value]
            held[key] = {"type": entry.type, "members": entry.members, "value": members}
        else:
            held[key] = {"type": entry.type, "value": _json(keys, key, value)}
    return held


def typed_kept(kept: Mapping[str, Any]) -> Typed:
    kind, value = kept["type"], kept["value"]
    if kind == "array":
        members = kept["members"]
        return kind, (members, [_as(members, each) for each in value])
    return kind, _as(kind, value)


def named_templates(keys: Keys) -> dict[str, Json]:
    """Chat templates by their names.

    Raises:
        FormatError: one is no string, or not UTF-8.
    """
    return {
        key.removeprefix(NAMED_CHAT): keys.text(key)
        for key in sorted(keys.head.keys)
        if key.startswith(NAMED_CHAT) and key.removeprefix(NAMED_CHAT) not in ("", _DEFAULT)
    }


def keys_of_templates(model: BPEModel) -> dict[str, Typed]:
    """The keys of the chat templates that have names, and the list of these."""
    others = model.extras.get(FURTHER_CHATS)
    if not isinstance(others, dict) or not others:
        return {}
    names = [name.encode() for name in sorted(others)]
    templates: dict[str, Typed] = {
        NAMED_CHAT + name: ("string", str(text)) for name, text in others.items()
    }
    return {CHATS: ("array", ("string", names)), **templates}


def _names(keys: Keys) -> list[str]:
    return [_json(keys, CHATS, name) for name in keys.array(CHATS, "string")]


def _json(keys: Keys, key: str, value: Any) -> Any:
    """A value as JSON has it: a number that is not finite by its name."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            keys.fail(key, "this is not UTF-8")
    return value if not isinstance(value, float) or isfinite(value) else str(value)


def _as(kind: str, value: Any) -> Any:
    if kind == "string":
        return value.encode("utf-8")
    return float(value) if kind.startswith("float") else value
