"""A page that shows a text as coloured tokens, in several tokenizers side by side.

A page has tens of thousands of tokens, so a token is ``<b>text<i>id</i></b>``: what CSS counts (its
colour) or a script can work out (its bytes, what it is called, its place) is not written. In it
``<u>`` is a space and ``<bdi>`` a mark. A ``<p>`` is a line, which ends inside a token only where
that is ``long``. Lines stand in parts that a browser lays out when they are seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from ..engines import Special
from ..reports.fragments import Fragment
from ..reports.page import digest, templates
from ..text.visible import columns_of
from .panels import Line, Panel, Tile, Viewed, check_size, panels

if TYPE_CHECKING:
    from markupsafe import Markup

LIMIT = 100_000
"""Bytes of UTF-8 that a page shows at most: it holds elements for each token."""
PART = 150
"""Tokens behind which a part of the page ends, with their line."""
LONG = 20
"""Letters' widths of a token from which a line may end inside it; narrow panels hold few more."""


def shortest(names: Sequence[str]) -> list[str]:
    """Paths by their last parts, as many as tell them from each other; other names as they are."""
    parts = [name.rstrip("/").split("/") for name in names]
    for count in range(1, max(map(len, parts), default=1)):
        ends = ["/".join(each[-count:]) for each in parts]
        if len({*ends}) == len({*names}):
            return [name if ":" in name else end for name, end in zip(names, ends, strict=True)]
    return [*names]


def to_view(sides: Sequence[Viewed], text: str, special: Special = "text") -> str:
    """A page of a text that needs nothing else, and no network.

    Its script tells a token's bytes and twins, moves by arrow keys and copies ids; the browser
    runs no other one, and without it the page shows tokens, marks and ids. It is well-formed XML
    as well, and every text in it is escaped.

    Raises:
        SourceError: the text is too long for a page.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    check_size(size, LIMIT)
    names = shortest([side.label for side in sides])
    sides = [replace(side, label=name) for side, name in zip(sides, names, strict=True)]
    return (
        templates()
        .get_template("view.html")
        .render(
            live=False,
            labels=names,
            flows=flows(panels(sides, text, special)),
            numbers=range(len(sides)),
            chat=None,
            special=special,
            size=size,
            sheet=sheet(),
            sheet_digest=digest(sheet()),
            script=script(),
            script_digest=digest(script()),
        )
    )


@cache
def sheet() -> str:
    """The style sheet of pages that show tokens."""
    made = templates()
    return "".join(made.get_template(name).render() for name in ("style.css", "view.css"))


@cache
def script() -> str:
    """The script of pages that show tokens."""
    return templates().get_template("tokens.js").render()


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

    A run is ``0,2*COUNT``; a token that differs in none has nothing before ``*``. The panel is that
    of the first tokenizer, ``names`` are the labels of all.
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
        injected = "injected" if tile.injected else ""
        classes = " ".join(filter(None, (tile.mark, injected, "long" if _long(tile) else "")))
        written += [f'<b class="{classes}">' if classes else "<b>", known[tile.id], "</b>"]
    return "".join([*written, "</p>"])


def _long(tile: Tile) -> bool:
    """Whether a token is too wide to stand unbroken in a narrow panel."""
    return sum(_width(part) for part in tile.parts) > LONG


def _width(part: Fragment) -> int:
    """Letters' widths that a part takes: a mark is in small letters with a frame around it."""
    if part.kind == "mark":
        return len(part.text) + 1
    return columns_of(part.text)


def _part(part: Fragment) -> str:
    if part.kind == "space":
        return "<u> </u>"
    text = escape(part.text)
    if part.kind == "plain":
        return text
    if part.name.startswith("the byte"):  # its digits are its name
        return f"<bdi>{text}</bdi>"
    return f'<bdi title="{escape(part.name)}">{text}</bdi>'
