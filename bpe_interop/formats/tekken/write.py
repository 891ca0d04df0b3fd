"""From the model to tekken.json."""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterable, Mapping
from typing import Any

from ...model import BPEModel, text_of
from ...theory.byte_ranks import rank_table
from .. import Files
from ..one_pattern import pat_str
from .extras import JsonLayout, TekkenExtras, kept_of, listed
from .read import BUILT_IN, NAME, filler

_PLAIN = TekkenExtras(
    keys=("config", "vocab", "special_tokens"),
    config={
        "pattern": "",
        "num_vocab_tokens": 0,
        "default_vocab_size": 0,
        "default_num_special_tokens": 0,
        "version": "v13",
    },
    listed=0,
    layout=JsonLayout(),
    beyond=(),
    plain=(),
    blocks={},
)
"""What is written where the model comes from another format: special tokens are listed."""

_BYTES = [bytes([byte]) for byte in range(256)]


_UNCUT = r"[\s\S]+"
"""Stands where no pattern cuts texts as the model does; an empty pattern is an error."""


def dump(model: BPEModel) -> Files:
    """Writes tekken.json; a model that was read from one gives the same bytes again.

    Tokens stand in the order of their ids, the 256 bytes first. What was read from a tekken.json
    and changes no id (tokens beyond the vocabulary's cut, blocks, layout) is in the model's
    extras.
    """
    kept = kept_of(model) or _PLAIN
    names = special_names(model)
    tokens = written_tokens(model)
    config = {
        **kept.config,
        **({"num_vocab_tokens": len(tokens)} if kept is _PLAIN else {}),
        "pattern": pat_str(model) or _UNCUT,
        "default_vocab_size": len(names) + len(tokens),
        "default_num_special_tokens": len(names),
    }
    known = {*tokens}
    tokens += [token for token in kept.beyond if token not in known]
    shown = listed(names, kept.listed)
    parts: dict[str, Any] = {
        "config": config,
        "vocab": [],  # the rows are put here as text
        "special_tokens": [
            {"rank": number, "token_str": text, "is_control": text not in kept.plain}
            for number, text in enumerate(shown)
        ],
        **kept.blocks,
    }
    if kept.listed is None and shown == [*BUILT_IN]:
        del parts["special_tokens"]
    order = [key for key in kept.keys if key in parts]
    parts = {key: parts[key] for key in dict.fromkeys([*order, *parts])}
    return {NAME: _rendered(parts, tokens, kept.layout)}


def written_tokens(model: BPEModel) -> list[bytes]:
    """The tokens of the vocabulary in the order in which they are written."""
    table = rank_table(model)
    in_order = sorted(table, key=table.__getitem__)
    if in_order[:256] == _BYTES:
        return in_order
    return [*_BYTES, *(token for token in in_order if len(token) > 1)]


def special_names(model: BPEModel) -> list[str]:
    """The special tokens by id, from 0; ids below the vocabulary's that have none get a filler."""
    table = rank_table(model)
    first = min(table.values(), default=0)
    names = {token.id: token.text for token in model.added or ()}
    taken = {text for number, text in names.items() if number < first}
    below = [names.get(number) or filler(number) for number in range(first)]
    if len({*below}) != len(below):  # a token bears the name of an id that has none
        below = [*dict.fromkeys(below)]
    rest = [text for number, text in sorted(names.items()) if number >= first]
    return below + [text for text in dict.fromkeys(rest) if text not in taken and text not in below]


def _rendered(parts: Mapping[str, Any], tokens: Iterable[bytes], layout: JsonLayout) -> bytes:
    """The JSON as ``json.dumps`` spells it, which takes seconds for as many rows with an indent."""
    deep = ["" if layout.indent is None else "\n" + " " * layout.indent * n for n in range(4)]
    comma = ", " if layout.indent is None else ","
    spell = json.JSONEncoder(ensure_ascii=layout.ascii).encode

    def joined(values: Iterable[str], level: int) -> str:
        return deep[level] + (comma + deep[level]).join(values) + deep[level - 1]

    row = '"rank": %d', '"token_bytes": "%s"', '"token_str": %s'
    spelled = "{" + joined(row, 3) + "}"

    def shown(token: bytes) -> tuple[str, str]:
        text, in_base64 = text_of(token), binascii.b2a_base64(token, newline=False)
        return in_base64.decode("ascii"), "null" if text is None else spell(text)

    rows = (spelled % (rank, *shown(token)) for rank, token in enumerate(tokens))
    values = {
        key: json.dumps(value, indent=layout.indent, ensure_ascii=layout.ascii)
        for key, value in parts.items()
    }
    values = {key: value.replace("\n", deep[1]) for key, value in values.items()}
    values["vocab"] = "[" + joined(rows, 2) + "]"
    document = "{" + joined((f"{spell(key)}: {value}" for key, value in values.items()), 1) + "}"
    if layout.delete:
        document = document.replace("\x7f", "\\u007f")
    return (document + "\n" * layout.newline).encode()
