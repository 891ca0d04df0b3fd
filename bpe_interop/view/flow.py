"""The tokens of a panel as markup, with as few bytes for each as it takes.

A page has tens of thousands of tokens, so a token is ``<b>text<i>id</i></b>`` and what CSS counts
(its colour) or a script can work out (its bytes, what it is called, its place) is not written. In
it ``<u>`` is a space and ``<bdi>`` a mark. A ``<p>`` is a line. No line of the page ends inside a
token but in one that is ``long``. Lines stand in parts of the page
that a browser lays out when they are seen, and finds texts in at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING
from unicodedata import east_asian_width

from ..reports.visible import Fragment
from .panels import Line, Panel, Tile

if TYPE_CHECKING:
    from markupsafe import Markup

PART = 150
"""Tokens behind which a part of the page ends, with their line."""
LONG = 20
"""Letters' widths of a token from which a line may end inside it; narrow panels hold few more."""


@dataclass(frozen=True, slots=True)
class Flow:
    """A panel and its tokens; ``tokens`` is markup, the others are for the page's script."""

    panel: Panel
    tokens: Markup
    twins: str
    where: str
    hidden: str


def flows(panels: Sequence[Panel]) -> list[Flow]:
    """The panels of a page with their tokens."""
    from markupsafe import Markup

    names = [panel.label for panel in panels]
    return [
        Flow(each, Markup(_markup(each)), twins(each), where(each, names), hidden_bytes(each))
        for each in panels
    ]


def _markup(panel: Panel) -> str:
    known: dict[int, str] = {}  # tokens that were written, by their ids
    return "\n".join(
        f"<div>{''.join(_line(line, known) for line in lines)}</div>"
        for lines in _parts(panel.lines)
    )


def twins(panel: Panel) -> str:
    """For each token the part of the text that it belongs to (:attr:`.Tile.twin`), as runs.

    A run is ``+N*COUNT`` or ``-``: that many tokens that each are N parts behind the one before,
    or one token that belongs to none. ``*1`` is left out. Empty where there are no parts.
    """
    steps: list[str] = []
    last = 0
    for tile in _tiles(panel.lines):
        steps.append("-" if tile.twin is None else f"+{tile.twin - last}")
        last = last if tile.twin is None else tile.twin
    return "" if set(steps) <= {"-"} else _runs(steps)


def where(panel: Panel, names: Sequence[str]) -> str:
    """For each token the numbers of the panels that it differs in, as runs; empty without any.

    A run is ``0,2*COUNT``; a token that differs in none has nothing before ``*``.

    Args:
        panel: the panel of the first tokenizer.
        names: the labels of all panels.
    """
    differing: list[str] = []
    for tile in _tiles(panel.lines):
        differing.append(",".join(str(names.index(name)) for name in tile.where))
    return _runs(differing) if any(differing) else ""


def hidden_bytes(panel: Panel) -> str:
    """``ID:HEX`` of each token whose text on the page is not what its bytes are, in UTF-8."""
    hidden: dict[int, str] = {}
    for tile in _tiles(panel.lines):
        written = "".join(part.text for part in tile.parts).encode("utf-8", "surrogatepass")
        if written.hex(" ").upper() != tile.digits:
            hidden[tile.id] = tile.digits.replace(" ", "")
    return " ".join(f"{number}:{digits}" for number, digits in hidden.items())


def _tiles(lines: Iterable[Line]) -> Iterator[Tile]:
    return (tile for line in lines for tile in line.tiles)


def _runs(values: Iterable[str]) -> str:
    counted = ((value, len(list(group))) for value, group in groupby(values))
    return " ".join(
        f"{value}*{count}" if count > 1 or not value else value for value, count in counted
    )


def _parts(lines: Iterable[Line]) -> Iterator[list[Line]]:
    held: list[Line] = []
    count = 0
    for line in lines:
        held.append(line)
        count += len(line.tiles)
        if count >= PART:
            yield held
            held, count = [], 0
    if held:
        yield held


def _line(line: Line, known: dict[int, str]) -> str:
    written = ['<p dir="auto">']
    for tile in line.tiles:
        if tile.id not in known:
            known[tile.id] = f"{''.join(map(_part, tile.parts))}<i>{tile.id}</i>"
        classes = " ".join(filter(None, (tile.mark, "long" if _long(tile) else "")))
        written += [f'<b class="{classes}">' if classes else "<b>", known[tile.id], "</b>"]
    return "".join([*written, "</p>"])


def _long(tile: Tile) -> bool:
    """Whether a token is too wide to stand unbroken in a narrow panel."""
    return sum(_width(part) for part in tile.parts) > LONG


def _width(part: Fragment) -> int:
    """Letters' widths that a part takes: a mark is in small letters with a frame around it."""
    if part.kind == "mark":
        return len(part.text) + 1
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in part.text)


def _part(part: Fragment) -> str:
    if part.kind == "space":
        return "<u> </u>"
    text = escape(part.text)
    if part.kind == "plain":
        return text
    if part.name.startswith("the byte"):  # its digits are its name
        return f"<bdi>{text}</bdi>"
    return f'<bdi title="{escape(part.name)}">{text}</bdi>'
