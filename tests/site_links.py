"""Every link of the built site leads to a file that is there and, behind ``#``, to a place in it.

``python tests/site_links.py FOLDER``; ``.ci/site`` runs it. Links to other hosts are not followed.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """What a page links to, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.links += [said[name] or "" for name in ("href", "src") if name in said]
        self.places |= {said[name] or "" for name in ("id", "name") if name in said}


def broken(folder: Path) -> list[str]:
    """The links that lead nowhere, each with its page."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in folder.rglob("*.html")}
    found: list[str] = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = target.is_file()
            if there and parts.fragment and target in pages:
                there = unquote(parts.fragment) in pages[target].places
            if not there:
                found.append(f"{path.relative_to(folder.resolve())}: {link}")
    return found


if __name__ == "__main__":
    wrong = broken(Path(sys.argv[1]))
    sys.exit("\n".join(["these links lead nowhere:", *wrong]) if wrong else 0)
