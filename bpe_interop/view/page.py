"""A page that shows a text as coloured tokens, in several tokenizers side by side."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ..engines import Special
from ..reports.page import digest, templates
from .flow import flows
from .panels import Viewed, check_size, panels

LIMIT = 100_000
"""Bytes of UTF-8 that a page shows at most: it holds elements for each token."""


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
    return (
        templates()
        .get_template("view.html")
        .render(
            live=False,
            labels=[side.label for side in sides],
            flows=flows(panels(sides, text, special)),
            numbers=range(len(sides)),
            chat=None,
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
