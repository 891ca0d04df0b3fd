"""Generated blocks of pages: each stands between two marks that have its name."""

from __future__ import annotations

import re


def replaced(text: str, name: str, body: str) -> str:
    """A page with another body between the marks of a name.

    Raises:
        ValueError: the marks are not there, exactly once.
    """
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if text.count(start) != 1 or text.count(end) != 1:
        raise ValueError(f"expected the lines {start} and {end} once")
    pattern = re.compile(re.escape(start) + r"\n.*?" + re.escape(end), re.DOTALL)
    return pattern.sub(lambda _: f"{start}\n{body}\n{end}", text)
