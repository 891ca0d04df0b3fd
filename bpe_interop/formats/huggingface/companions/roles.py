"""What special tokens are for: which file says so, and which file counts if two disagree.

Measured in transformers 5.24 (``tokenization_utils_base.py``, ``_from_pretrained``): where
``tokenizer_config.json`` has the key ``added_tokens_decoder``, ``special_tokens_map.json`` is not
read; where it has not, every key of ``special_tokens_map.json`` wins, nulls too. What neither
names, the class that is served may assume, and ``padding`` in ``tokenizer.json`` names a padding
token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ....model import show
from ....strict_json import Node
from ....transformers_classes import DECODER, EXTRA, ROLES, TRANSFORMERS
from ..names import CONFIG, SPECIAL_MAP
from .files import Companions

_END = "_token"


@dataclass(frozen=True, slots=True)
class Stated:
    """A role, the text of its token, and the file (or the class) that says so."""

    role: str
    text: str
    by: str


def read_roles(
    files_beside: Companions, notes: list[str]
) -> tuple[dict[str, Stated], frozenset[str]]:
    """The roles that transformers would give, and those that a file says to be none (null).

    Raises:
        FormatError: a role is neither a string nor an object with a ``content``.
    """
    config, special = _named(files_beside.config), _named(files_beside.special_map)
    unread = DECODER in files_beside.config
    merged = config if unread else {**config, **special}
    for role in special:
        _tell(role, config.get(role), special[role], role in config, unread, notes)
    for name, text in _own_names(files_beside, unread):
        merged.setdefault(name, text)
    stated = {
        role: Stated(role, text, SPECIAL_MAP if not unread and role in special else CONFIG)
        for role, text in merged.items()
        if text
    }
    return stated, frozenset(role for role, text in merged.items() if not text)


def _named(node: Node) -> dict[str, str | None]:
    """Roles to texts, null (or false, or empty) where the file says that there is none."""
    named: dict[str, str | None] = {}
    for key, value in node.be(dict).items():
        role = key.removesuffix(_END)
        if role == key or (role not in ROLES and not isinstance(value, (str, dict))):
            continue
        named[role] = text_of(node[key]) if value is not None and value is not False else None
    return named


def text_of(node: Node) -> str:
    """The text of a token, which is written as a string or as an object with flags."""
    return (node["content"] if isinstance(node.value, dict) else node).be(str)


def _own_names(files_beside: Companions, unread: bool) -> Iterator[tuple[str, str]]:
    """A model's own roles: ``extra_special_tokens``, or without it the older key, as an object."""
    for node in (
        (files_beside.config,) if unread else (files_beside.config, files_beside.special_map)
    ):
        extra = node.get(EXTRA[0])
        extra = extra if extra.value else node.get(EXTRA[1])
        if isinstance(extra.value, dict):
            for key in extra.value:
                yield key.removesuffix(_END), text_of(extra[key])


def _tell(
    role: str, config: str | None, special: str | None, both: bool, unread: bool, notes: list[str]
) -> None:
    """What is said where the two files disagree."""
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
    """Further special tokens, by text, in order.

    ``special_tokens_map.json`` adds to those of ``tokenizer_config.json`` under the newer key,
    and under the older one only where no file has either key otherwise.
    """
    config, special = files_beside.config, files_beside.special_map
    listed = (_texts(config.get(key)) for key in EXTRA)
    first = next((texts for texts in listed if texts), [])
    if DECODER in config:
        return tuple(first)
    more = _texts(special.get(EXTRA[0]))
    if EXTRA[0] not in special and not any(key in config for key in EXTRA):
        more = _texts(special.get(EXTRA[1]))
    return (*first, *(text for text in more if text not in first))


def _texts(node: Node) -> list[str]:
    return [text_of(each) for each in node.items()] if isinstance(node.value, list) else []


def padding_role(root: Node) -> Mapping[str, str]:
    """The padding token that ``padding`` in ``tokenizer.json`` names."""
    padding = root.get("padding")
    named = padding.get("pad_token") if isinstance(padding.value, dict) else None
    return {"pad": named.be(str)} if named is not None and named.value else {}
