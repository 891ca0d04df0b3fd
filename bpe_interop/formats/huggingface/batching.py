"""``truncation`` and ``padding`` of a ``tokenizer.json``: checked and kept, not applied."""

from __future__ import annotations

from collections.abc import Iterator

from ...model import Json, show
from ...strict_json import Node

_STRATEGIES = ("LongestFirst", "OnlyFirst", "OnlySecond")
_DIRECTIONS = ("Left", "Right")
_MOST = 2**64 - 1


def read_batching(root: Node) -> tuple[dict[str, Json], tuple[str, ...]]:
    """The settings by their keys, and notes on those that change what a single text becomes.

    Ids here are without them: serving switches them off or sets them anew (``no_truncation``,
    ``no_padding``). They are as tokenizers 0.23 reads them (``utils/truncation.rs``,
    ``utils/padding.rs``), which loads no file with others.

    Raises:
        FormatError: tokenizers does not load these settings.
    """
    nodes = {key: root.get(key) for key in ("truncation", "padding")}
    given = {key: node for key, node in nodes.items() if node.given}
    for key, node in given.items():
        (_check_truncation if key == "truncation" else _check_padding)(node)
    return {key: node.value for key, node in given.items()}, tuple(_notes(given))


def _check_truncation(node: Node) -> None:
    if "direction" in node:
        _one_of(node["direction"], _DIRECTIONS)
    _count(node["max_length"])
    _one_of(node["strategy"], _STRATEGIES)
    _count(node["stride"])


def _check_padding(node: Node) -> None:
    strategy = node["strategy"]
    if isinstance(strategy.value, dict):
        strategy.exactly("Fixed")
        _count(strategy["Fixed"])
    else:
        _one_of(strategy, ("BatchLongest",))
    _one_of(node["direction"], _DIRECTIONS)
    if node.get("pad_to_multiple_of").given:
        _count(node["pad_to_multiple_of"])
    node["pad_id"].id()
    node["pad_type_id"].id()
    node["pad_token"].be(str)


def _one_of(node: Node, names: tuple[str, ...]) -> None:
    name = node.be(str)
    if name not in names:
        node.fail(f"{show(name)} is not known here", fix=f"one of {', '.join(names)}")


def _count(node: Node) -> None:
    if not 0 <= node.be(int) <= _MOST:
        node.fail(f"expected a number from 0 to {_MOST}")


def _notes(given: dict[str, Node]) -> Iterator[str]:
    without = "ids here are those of whole texts, without it"
    truncation, padding = given.get("truncation"), given.get("padding")
    if truncation is not None:
        most = truncation["max_length"].value
        yield f"truncation: tokenizers itself ends each text after {most} ids; {without}"
    if padding is not None and (
        padding["strategy"].value != "BatchLongest" or padding.get("pad_to_multiple_of").given
    ):
        yield f"padding: tokenizers itself fills up also a single text; {without}"
