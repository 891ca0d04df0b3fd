"""The keys of a GGUF head by name, read with their types checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NoReturn

from ...errors import FormatError, UnsupportedError
from .head import Head, Key, Value

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

    def text(self, key: str) -> str | None:
        """A string; None if there is none."""
        content = self._of(key, "string")
        if not isinstance(content, bytes):
            return None
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            self.fail(key, "this is not UTF-8")

    def flag(self, key: str, default: bool) -> bool:
        """A bool, by default another."""
        value = self._of(key, "bool")
        return default if value is None else bool(value)

    def number(self, key: str) -> int | None:
        """An id; None if there is none."""
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
