"""What a model keeps of a tekken.json that changes no id, for the same bytes again.

It stands in the model's extras, and may come from a file beside a ``tokenizer.json``, which
anybody can edit. So nothing in it is trusted: what tekken.json does not have is not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from ...errors import FormatError, UnsupportedError
from ...model import BPEModel, Json
from ...strict_json import Node
from ...theory.byte_ranks import rank_table
from .read import (
    BLOCKS,
    BUILT_IN,
    LAST_BUILT_IN,
    MAX_INDENT,
    VERSIONS,
    check_images,
    filler,
    from_base64,
    read_version,
)

KEY = "tekken"
"""Of the model's extras."""

_KEYS = frozenset({"keys", "config", "listed", "layout", "beyond", "plain"})


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

    Args:
        model: what is written.
        kept: what its extras keep.
        names: the special tokens that are written, by id.
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

    Args:
        names: all, by id.
        least: how many the source's list names, ``None`` where it has none.
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
