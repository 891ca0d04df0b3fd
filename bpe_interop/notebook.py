"""Blocks of HTML for notebooks, which call ``_repr_html_`` of what a cell gives.

A block brings its own colours, ink and ground, so that it reads alike in a light and in a dark
notebook. It has no script and no style sheet: hosts of notebooks remove those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

_QUESTION = "M9 9.2a3 3 0 1 1 4.6 2.6c-1 .7-1.6 1.3-1.6 2.7M12 18.2v.1"
SIGNS: Mapping[str, str] = {
    "proved": "M6 12.6l4 4 8-8.6",
    "tested": "M6.5 9.7h11M6.5 14.3h11",
    "different": "M7.5 7.5l9 9M16.5 7.5l-9 9",
    "unknown": _QUESTION,
    "not proved": _QUESTION,
}
"""What is drawn beside a verdict, or a stage's outcome, as the path of an SVG of 24 by 24."""
HEADLINES: Mapping[str, str] = {
    "proved": "Proved equal",
    "tested": "Equal where tested",
    "different": "Different",
    "unknown": "Could not tell",
}
"""What a verdict says in its largest letters."""

_TONES: Mapping[str, tuple[str, str]] = {
    "proved": ("#0f7443", "#e2f3e9"),
    "tested": ("#1f5bbf", "#e4edfb"),
    "different": ("#bf2036", "#fdebec"),
    "unknown": ("#7d5700", "#fbf0d5"),
}
_TINTS = ("#cfe3ff", "#ffe0b8", "#d3f0d0", "#ffd3de", "#e3d8ff", "#c9eff0")
_INK, _SOFT, _LINE = "#1b1d22", "#5b606b", "#dfdfd8"
_MONO = "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
_CARD = f"border:1px solid {_LINE};border-radius:8px;background:#fff;color:{_INK};"
_CELL = "border:0;padding:.15em .8em .15em 0;text-align:left;vertical-align:top;background:#fff"


def framed(head: str, lines: Iterable[str], tokens: Iterable[tuple[int, bytes]] = ()) -> str:
    """A head, lines of ``name: value`` below it, and perhaps tokens."""
    parts = (line.strip().partition(": ") for line in lines)
    return (
        f'<div style="{_CARD}padding:.7em 1em;margin:.3em 0">'
        f'<div style="font-weight:600;{_MONO}">{_safe(head)}</div>'
        f"{_table((name, value) for name, _, value in parts)}{chips(tokens)}</div>"
    )


def verdict_block(
    verdict: str, sides: Iterable[str], lead: str, lines: Iterable[tuple[str, str]]
) -> str:
    """A verdict as the head of its page: the sign and the largest letters, then what it is about.

    Args:
        verdict: a key of :data:`HEADLINES`; another one stands as it is, without a sign.
        sides: the sources.
        lead: the verdict in a sentence.
        lines: what it rests on: a name, and what stands behind it.
    """
    tone, tint = _TONES.get(verdict, (_SOFT, "#efefea"))
    sign = (
        '<svg viewBox="0 0 24 24" width="30" height="30" aria-hidden="true" '
        f'style="vertical-align:-.14em;margin-right:.3em"><circle cx="12" cy="12" r="12" '
        f'fill="{tone}"/><path d="{SIGNS[verdict]}" fill="none" stroke="#fff" '
        'stroke-width="2.6" stroke-linecap="round" stroke-linejoin="round"/></svg>'
        if verdict in SIGNS
        else ""
    )
    cards = "".join(
        f'<div style="{_CARD}padding:.4em .8em;flex:1 1 18em;{_MONO};font-weight:600">'
        f'<span style="color:{_SOFT}">{letter}</span> {_safe(side)}</div>'
        for letter, side in zip("AB", sides, strict=False)
    )
    headline = HEADLINES.get(verdict, verdict[:1].upper() + verdict[1:])
    return (
        f'<div style="border-top:5px solid {tone};border-radius:8px;background:{tint};'
        f'color:{_INK};padding:.9em 1.1em;margin:.3em 0">'
        f'<div style="font-size:1.9em;font-weight:800;letter-spacing:-.03em;line-height:1.2;'
        f'color:{tone}">{sign}{_safe(headline)}</div>'
        f'<div style="font-size:1.1em;margin:.35em 0 .7em">{_safe(lead)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:.5em">{cards}</div>'
        f'<div style="{_CARD}padding:.4em .8em;margin-top:.5em">{_table(lines)}</div></div>'
    )


def chips(tokens: Iterable[tuple[int, bytes]]) -> str:
    """Tokens side by side in colours; a token's id shows when it is pointed at."""
    shown = []
    for place, (number, content) in enumerate(tokens):
        text = _shown(content)
        shown.append(
            f'<span title="{number}" style="background:{_TINTS[place % len(_TINTS)]};'
            f'color:{_INK};border-radius:4px;padding:.05em .2em;white-space:pre">{text}</span>'
        )
    if not shown:
        return ""
    return f'<div style="{_MONO};line-height:1.9;margin-top:.5em">{" ".join(shown)}</div>'


def _shown(content: bytes) -> str:
    """A token as markup; bytes that are no characters in hexadecimal."""
    try:
        return _safe(content.decode("utf-8"))
    except UnicodeDecodeError:
        return f"<small>{content.hex(' ').upper()}</small>"


def _table(lines: Iterable[tuple[str, str]]) -> str:
    rows = []
    before = ""
    for name, value in lines:
        name, before = "" if name == before else name, name
        rows.append(
            f'<tr style="background:#fff"><th style="{_CELL};font-weight:400;color:{_SOFT};'
            f'white-space:nowrap">{_safe(name)}</th>'
            f'<td style="{_CELL};color:{_INK};{_MONO};white-space:pre-wrap;overflow-wrap:anywhere">'
            f"{_safe(value)}</td></tr>"
        )
    if not rows:
        return ""
    return f'<table style="border:0;margin:.3em 0 0;font-size:.95em">{"".join(rows)}</table>'


def _safe(text: str) -> str:
    """A text as markup in which nothing is hidden, and nothing reorders what is around it."""
    visible = (
        char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        for char in text
    )
    return escape("".join(visible))
