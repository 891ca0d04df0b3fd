"""A report as one page of HTML that needs nothing else: no network, no script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ..compare import counts
from ..compare.alignment import Span
from ..compare.report import Example, Report
from ..compare.sentences import (
    OUTCOMES,
    but_not_accepted,
    differences,
    failed,
    file_outcome,
    found_in,
    next_steps,
    remarks,
    subject,
    summary,
    troubles,
    unmet,
    word,
)
from ..notebook import HEADLINES, SIGNS
from ..quoting import escaped, show
from ..text.visible import is_ambiguous
from .document import installed
from .fragments import Fragment, parts, right_to_left, shortened, token_parts

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

FILES = 400
"""How many files of a corpus a page lists at most; those with differences come first."""
TROUBLES = 20


def to_html(report: Report, require: str = "tested", metadata: bool = False) -> str:
    """The report as a page. It is well-formed XML as well, and every text in it is escaped.

    Args:
        report: what was found.
        require: ``"proved"``: what is only tested is not accepted, and the head says so.
        metadata: whether other metadata is not accepted.
    """
    reasons = unmet(report, require, metadata=metadata)
    listed = troubles(report)
    known, commands = next_steps(report)
    files = [] if report.corpus is None else sorted(report.corpus.files.items(), key=_troubled)
    page = templates().get_template("report.html")
    return page.render(
        report=report,
        accepted=but_not_accepted(report, reasons),
        reasons=reasons,
        sign="different" if reasons else report.verdict,
        scope=subject(report),
        summary=summary(report),
        failed=failed(report),
        examples=[rows(each) for each in report.examples],
        differences=differences(report),
        files=files[:FILES],
        more_files=len(files[FILES:]),
        troubles=listed[:TROUBLES],
        more_troubles=len(listed[TROUBLES:]),
        notes=[each for each in remarks(report) if each not in known],
        known=known,
        commands=commands,
        versions=installed(),
    )


def _troubled(item: tuple[str, Any]) -> tuple[bool, str]:
    name, counted = item
    return file_outcome(counted) == "equal", name


@cache
def templates() -> Environment:
    """The templates of all pages: what they print is escaped, and can be seen."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        autoescape=True,
        finalize=_visible,
        loader=PackageLoader("bpe_interop.reports"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = made.get_template("style.css").render()
    filters = {"parts": parts, "shortened": shortened, "of_file": file_outcome}
    filters |= {"breakable": _breakable, "number": "{:,}".format}
    filters |= {"token": _token}
    made.filters.update(filters)
    made.globals.update(
        {
            "HEADLINES": HEADLINES,
            "SIGNS": SIGNS,
            "OUTCOMES": OUTCOMES,
            "word": word,
            "counts": counts,
        }
        | {"style": style, "style_digest": digest(style)}
    )
    return made


def digest(text: str) -> str:
    """What a Content-Security-Policy calls a style sheet in a page."""
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _token(content: bytes) -> list[Fragment]:
    """A token's own bytes in parts that can all be seen."""
    return token_parts(show(content))


def _breakable(path: str) -> Markup:
    """A path that may go on in the next line behind each slash."""
    from markupsafe import Markup, escape

    return escape(escaped(path)).replace("/", Markup("/<wbr/>"))


def _visible(value: object) -> object:
    """What a template prints: a text without anything that XML forbids or that would reorder it."""
    # Of what is markup already, every part came through here as a text.
    return value if not isinstance(value, str) or hasattr(value, "__html__") else escaped(value)


# Two rows of tokens beside each other, cut into columns where both sides have a cut.

AROUND = 6
"""How many columns that are alike are shown on each side of one that differs."""
COLUMNS = 120
"""How many columns are shown at most."""
TOKENS = 48
"""How many tokens of one side a column shows at most."""
COLOURS = 6


_ESCAPED = 20
"""Characters of the longest text whose escapes are shown beside it."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token on a page; ``parts`` is empty where only its id is known."""

    id: int
    parts: tuple[Fragment, ...]
    colour: int


@dataclass(frozen=True, slots=True)
class Cell:
    """One side's tokens in a column, and how many more there are."""

    side: str
    tokens: tuple[Token, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class AlignedColumn:
    """Both sides' tokens between two cuts; ``alike`` columns that are not shown have no cells.

    ``said`` has the text that no token stands for, where a column has no tokens.
    """

    equal: bool
    cells: tuple[Cell, ...]
    said: tuple[Fragment, ...] = ()
    alike: int = 0


@dataclass(frozen=True, slots=True)
class AlignedText:
    """A text on which two sides differ, ready to be shown. ``cut`` says what of it is not.

    ``escapes`` is the text in ASCII where signs in it look like others; else it is empty.
    """

    text: tuple[Fragment, ...]
    escapes: str
    cut: str
    asked: str
    found_in: str
    columns: tuple[AlignedColumn, ...]
    more: int
    right_to_left: bool
    decoded: tuple[tuple[Fragment, ...], ...] = ()


def rows(example: Example) -> AlignedText:
    """An example as columns, cut to what a page shows."""
    mismatch = example.mismatch
    start, cut = shortened(mismatch.text)
    columns = list(_columns(mismatch.text.encode("utf-8", "surrogatepass"), example.spans))
    decoded = (tuple(parts(shortened(text)[0])) for text in mismatch.decoding or ())
    return AlignedText(
        text=tuple(parts(start)),
        escapes=ascii(start) if len(start) <= _ESCAPED and is_ambiguous(start) else "",
        cut=cut,
        asked=mismatch.mode.scope,
        found_in=found_in(example),
        columns=tuple(columns[:COLUMNS]),
        more=len(columns[COLUMNS:]),
        right_to_left=right_to_left(start),
        decoded=tuple(decoded),
    )


def _columns(data: bytes, spans: Sequence[Span]) -> Iterator[AlignedColumn]:
    shown = {
        near
        for at, span in enumerate(spans)
        if not span.equal
        for near in range(at - AROUND, at + AROUND + 1)
    } or set(range(AROUND))
    colours = _colours(spans)
    for visible, group in groupby(range(len(spans)), shown.__contains__):
        places = list(group)
        if not visible and len(places) > 1:
            yield AlignedColumn(True, (), alike=len(places))
            continue
        for at in places:
            yield _column(data, spans[at], colours[at])


def _colours(spans: Sequence[Span]) -> list[int]:
    """Where each span's colours start: neighbours differ, and what is alike has one colour."""
    colours, start = [], 0
    for span in spans:
        colours.append(start)
        start += max(len(span.ids_a), len(span.ids_b), 1)
    return colours


def _column(data: bytes, span: Span, colour: int) -> AlignedColumn:
    known = span.start is not None and span.end is not None
    own = data[span.start : span.end] if known else None
    cells = (
        _cell("A", span.ids_a, span.tokens_a, colour),
        _cell("B", span.ids_b, span.tokens_b, colour),
    )
    text = own.decode("utf-8", "replace") if own and not span.ids_a + span.ids_b else ""
    return AlignedColumn(span.equal, cells, tuple(parts(text)))


def _cell(side: str, ids: tuple[int, ...], tokens: tuple[str, ...], colour: int) -> Cell:
    shown: list[Token] = []
    for at, number in enumerate(ids[:TOKENS]):
        read = token_parts(tokens[at]) if len(tokens) == len(ids) else []
        shown.append(Token(number, tuple(read), (colour + at) % COLOURS))
    return Cell(side, tuple(shown), len(ids[TOKENS:]))
