"""``bpe-interop explain``: the page of a code, which comes with the package."""

from __future__ import annotations

from pathlib import Path

import click

from ..errors import ArgumentError
from .manual import command, nearest
from .terminal import say

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
def explain_command(code: str | None) -> None:
    """Print the page of CODE, which a refusal or an error ends with ("see LOSS-added").

    Without CODE: the list of all. The pages are those of docs/refusals.
    """
    folder = next((place for place in _PLACES if place.is_dir()), _PLACES[0])
    pages = {path.stem: path for path in sorted(folder.glob("*-*.md"))}
    if code is None:
        for name, path in pages.items():
            title = path.read_text("utf-8").partition("\n")[0]
            say(f"{name:<26}{title.partition(': ')[2]}")
        return
    names = {name.lower(): name for name in pages}
    found = names.get(code.lower())
    if found is None:
        guess = nearest(code, names)
        raise ArgumentError(
            f"there is no code {code!r}", fix=f"{guess}list them with: bpe-interop explain"
        )
    say(pages[found].read_text("utf-8").rstrip("\n"))
