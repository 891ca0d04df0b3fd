"""``bpe-interop explain``: the page of a code, which comes with the package."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import ArgumentError
from .manual import command, nearest
from .options import json_option
from .screen import as_json
from .terminal import say

if TYPE_CHECKING:
    from . import documents

_PACKAGE = Path(__file__).parents[1]
_PLACES = (_PACKAGE / "refusals", _PACKAGE.parent / "docs" / "refusals")
"""Where the pages are: in a wheel (``setup.py`` puts them there), and in a checkout."""


@command(
    "explain",
    short_help="Print the page of a code, such as LOSS-added.",
    examples={
        "bpe-interop explain LOSS-added": "Print what is lost, what it costs, and what to do",
        "bpe-interop explain": "List all codes",
    },
)
@click.argument("code", required=False)
@json_option
def explain_command(code: str | None, json_output: bool) -> None:
    """Print the page of CODE, which a refusal or an error ends with ("see LOSS-added").

    Without CODE: the list of all. The pages are those of docs/refusals.
    """
    folder = next((place for place in _PLACES if place.is_dir()), _PLACES[0])
    pages = {path.stem: path.read_text("utf-8") for path in sorted(folder.glob("*-*.md"))}
    if code is None:
        listed: list[documents.ExplainedCode] = [
            {"code": name, "title": _title(page)} for name, page in pages.items()
        ]
        if json_output:
            as_json(listed)
            return
        for row in listed:
            say(f"{row['code']:<26}{row['title']}")
        return
    names = {name.lower(): name for name in pages}
    found = names.get(code.lower())
    if found is None:
        guess = nearest(code, names)
        raise ArgumentError(
            f"there is no code {code!r}", fix=f"{guess}list them with: bpe-interop explain"
        )
    page = pages[found]
    if json_output:
        done: documents.CodePage = {"code": found, "title": _title(page), "page": page}
        as_json(done)
        return
    say(page.rstrip("\n"))


def _title(page: str) -> str:
    """What the heading of a page says behind its code."""
    return page.partition("\n")[0].partition(": ")[2]
