"""Keys about the tokenizer that say nothing of ids: kept with their types, and written again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isfinite
from typing import Any, Final

from ...model import BPEModel, Json
from .keys import CHAT, CHATS, EMBEDDED, MERGES, MODEL, NAMED_CHAT, PRE, SCORES, TOKENS, TYPES, Keys
from .rendering import Typed

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
    """A kept key, as it is written."""
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
    own = model.extras.get("huggingface")
    others = own.get("chat_templates") if isinstance(own, dict) else None
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
