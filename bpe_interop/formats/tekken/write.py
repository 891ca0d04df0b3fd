"""From the model to tekken.json.

What a model keeps of one that changes no id, for the same bytes again, stands in its extras, and
may come from a file beside a ``tokenizer.json``, which anybody can edit. So nothing in it is
trusted: what tekken.json does not have is not written.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from ...errors import FormatError, UnsupportedError
from ...model import BPEModel, Json, text_of
from ...strict_json import Node
from ...theory.byte_ranks import rank_table
from .. import Files
from ..one_pattern import pat_str
from .read import (
    BLOCKS,
    BUILT_IN,
    LAST_BUILT_IN,
    MAX_INDENT,
    NAME,
    VERSIONS,
    check_images,
    filler,
    from_base64,
    read_version,
)


@dataclass(frozen=True, slots=True)
class JsonLayout:
    """How the JSON is spelled.

    Attributes:
        indent: spaces for each level; ``None`` for one line.
        ascii: other characters are escaped.
        delete: U+007F is escaped.
        newline: the file ends with one.
    """

    indent: int | None = 2
    ascii: bool = True
    delete: bool = False
    newline: bool = True


@dataclass(frozen=True, slots=True)
class TekkenExtras:
    """What changes no id.

    Attributes:
        keys: those of the document, in their order.
        config: its configuration in its order, with an empty text for the pattern.
        listed: how many special tokens it names; ``None`` where it has no list.
        layout: how it is spelled.
        beyond: the tokens after the vocabulary's cut.
        plain: the special tokens that are not for control.
        blocks: settings of images and audio, and the like.
    """

    keys: tuple[str, ...]
    config: Mapping[str, Json]
    listed: int | None
    layout: JsonLayout
    beyond: tuple[bytes, ...]
    plain: tuple[str, ...]
    blocks: Mapping[str, Json]


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
    """Writes tekken.json; a model that was read from one gives the same bytes again."""
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


KEY = "tekken"
"""Of the model's extras."""

_KEYS = frozenset({"keys", "config", "listed", "layout", "beyond", "plain"})


def kept_of(model: BPEModel) -> TekkenExtras | None:
    """What the extras keep of a tekken.json; ``None`` where they do not, or it cannot be so."""
    if KEY not in model.extras:
        return None
    try:
        return _read(Node(model.extras[KEY], "extras"))
    except (FormatError, UnsupportedError):
        return None


def unfit(model: BPEModel, kept: TekkenExtras, names: Sequence[str]) -> str:
    """Why what is kept is not that of this vocabulary; an empty text where it is.

    ``names`` are the special tokens that are written, by id.
    """
    table = rank_table(model)
    counts = {
        "default_num_special_tokens": len(names),
        "default_vocab_size": len(names) + len(table),
    }
    for key, count in counts.items():
        if kept.config[key] != count:
            return f"{key} is {kept.config[key]} there, and {count} tokens are written"
    if not table.keys().isdisjoint(kept.beyond):
        return "they keep a token out of the vocabulary that is in it"
    shown = len(BUILT_IN) if kept.listed is None else kept.listed
    if len(listed(names, kept.listed)) != shown or (
        kept.listed is None and tuple(names[:shown]) != BUILT_IN
    ):
        return "they name another number of special tokens"
    if [*kept.plain] != [name for name in names[:shown] if name in {*kept.plain}]:
        return "they name special tokens that are not there"
    return ""


def listed(names: Sequence[str], least: int | None) -> list[str]:
    """The special tokens that a list names: all but the fillers at the end.

    ``least``: how many the source's list names, ``None`` where it has none.
    """
    shown = len(BUILT_IN) if least is None else least
    end = len(names)
    while end > shown and names[end - 1] == filler(end - 1):
        end -= 1
    return list(names[:end])


def _read(node: Node) -> TekkenExtras:
    _exactly(node, _KEYS | ({"blocks"} & node.be(dict).keys()))
    config, layout, version = node["config"], node["layout"], read_version(node["config"])
    for key in ("default_vocab_size", "default_num_special_tokens"):
        config[key].be(int)
    if config["pattern"].value != "":
        config["pattern"].fail("the pattern is the model's")
    listed_count = node["listed"].be(int) if node["listed"].given else None
    if listed_count is None and VERSIONS.index(version) > VERSIONS.index(LAST_BUILT_IN):
        node["listed"].fail("this version has a list")
    beyond = tuple(_token(each) for each in node["beyond"].items())
    if len({*beyond}) != len(beyond):
        node["beyond"].fail("two tokens alike")
    blocks = node["blocks"] if "blocks" in node else Node({}, node.file)
    check_images(blocks, version)
    keys = tuple(each.be(str) for each in node["keys"].items())
    there = {
        "config",
        "vocab",
        *blocks.be(dict),
        *(() if listed_count is None else ("special_tokens",)),
    }
    if sorted(keys) != sorted(there) or not blocks.be(dict).keys() <= {*BLOCKS}:
        node["keys"].fail("these are not the keys of a tekken.json")
    return TekkenExtras(
        keys=keys,
        config=config.be(dict),
        listed=listed_count,
        layout=_layout(layout),
        beyond=beyond,
        plain=tuple(each.be(str) for each in node["plain"].items()),
        blocks=blocks.be(dict),
    )


def _exactly(node: Node, keys: Set[str]) -> None:
    if node.be(dict).keys() != keys:
        node.fail(f"expected the keys {', '.join(sorted(keys))}")


def _token(node: Node) -> bytes:
    return from_base64(node.be(str)) or node.fail("this is no token in base64")


def _layout(node: Node) -> JsonLayout:
    _exactly(node, {"indent", "ascii", "delete", "newline"})
    indent = node["indent"].be(int) if node["indent"].given else None
    if indent is not None and not 0 < indent <= MAX_INDENT:
        node["indent"].fail(f"{indent} is no indent")
    return JsonLayout(indent, *(node[flag].be(bool) for flag in ("ascii", "delete", "newline")))
