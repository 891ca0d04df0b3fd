"""Blocks of HTML for notebooks, which call ``_repr_html_`` of what a cell gives."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from .visible import replace_control_characters

_TINTS = ("#cfe3ff", "#ffe2b8", "#d4f0d0", "#f6d0de", "#e2d6f7")
_MARKS = {"proved": "#1a7f37", "tested": "#9a6700", "refuted": "#cf222e", "unknown": "#6e7781"}


def framed(head: str, lines: Iterable[str], verdict: str = "") -> str:
    """A head, in the colour of a verdict where there is one, and lines below it."""
    colour = f"color:{_MARKS[verdict]};" if verdict in _MARKS else ""
    body = "\n".join(map(_safe, lines))
    return (
        f'<div><strong style="{colour}">{_safe(head)}</strong>'
        f'<pre style="margin:.3em 0 0;white-space:pre-wrap">{body}</pre></div>'
    )


def chips(tokens: Iterable[tuple[int, bytes]]) -> str:
    """Tokens side by side in colours; a token's id shows when it is pointed at."""
    shown = []
    for place, (number, content) in enumerate(tokens):
        text = _safe(content.decode("utf-8", "replace"))
        shown.append(
            f'<span title="{number}" style="background:{_TINTS[place % len(_TINTS)]};color:#111;'
            f'border-radius:3px;padding:0 .15em;white-space:pre">{text}</span>'
        )
    return f'<div style="font-family:monospace;line-height:1.7">{" ".join(shown)}</div>'


def _safe(text: str) -> str:
    return escape(replace_control_characters(text))
