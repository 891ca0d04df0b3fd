"""A report as one page of HTML that needs nothing else: no network, no script."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any

from ..compare import counts
from ..compare.report import Report
from ..compare.words import (
    OUTCOMES,
    but_not_accepted,
    differences,
    failed,
    file_outcome,
    remarks,
    subject,
    summary,
    troubles,
    unmet,
    word,
)
from ..model import escaped, show
from ..notebook import HEADLINES, SIGNS
from .document import installed
from .rows import rows
from .visible import Fragment, parts, shortened, token_parts

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
        notes=remarks(report),
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
    filters |= {"exact": _exact, "breakable": _breakable, "number": "{:,}".format}
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


def _exact(text: str) -> Markup:
    """A part that can be seen, letter by letter: joiners within an emoji stay."""
    from markupsafe import escape

    return escape(text)


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
