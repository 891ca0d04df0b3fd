"""Tokens of a text, and how they came about, as lines on a screen and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.style import Style
from rich.text import Text

from ..encode import Encoder
from ..encode.explain import Explained, Merge, SymbolRun
from ..encode.offsets import in_bytes
from ..model import escaped, show, text_of
from ..text.visible import many
from .screen import console_on_stdout, lines
from .terminal import say

_STYLES = tuple(
    Style(color="black", bgcolor=f"bright_{colour}")
    for colour in ("cyan", "yellow", "green", "magenta", "blue", "red")
)


class Placed(NamedTuple):
    """A token and the characters (start, end) of the text; None for what a template put there."""

    id: int
    content: bytes
    place: tuple[int, int] | None


def show_tokens(text: str, tokens: Sequence[Placed]) -> None:
    """Prints the text in coloured tokens where colours can be seen, and a row for each token."""
    console = console_on_stdout(soft_wrap=True)
    coloured = console.is_terminal and console.color_system is not None
    if coloured and tokens:
        line = Text()
        for number, token in enumerate(tokens):
            line.append(_inner(token.content), _STYLES[number % len(_STYLES)])
        console.print(line)
    width = max((len(str(token.id)) for token in tokens), default=0)
    spelled = [token.content.hex(" ").upper() for token in tokens]
    room = min(36, max(map(len, spelled), default=0))
    for number, (token, digits) in enumerate(zip(tokens, spelled, strict=True)):
        row = Text(f"{token.id:>{width}}  {digits:<{room}}  ")
        row.append(show(token.content), _STYLES[number % len(_STYLES)] if coloured else "")
        if token.place is None:
            row.append("  put there by the sequence template")
        console.print(row) if coloured else say(row.plain)
    say(counted(len(tokens), len(text.encode("utf-8"))))


def counted(tokens: int, size: int) -> str:
    """How many tokens and bytes there are, and how many bytes to a token."""
    sentence = f"{many(tokens, 'token')}, {many(size, 'byte')}"
    return f"{sentence}, {size / tokens:.2f} bytes per token" if tokens else sentence


def _inner(content: bytes) -> str:
    """A token as it reads between its neighbours, what would not show escaped."""
    try:
        return escaped(content.decode("utf-8"))
    except UnicodeDecodeError:
        return "".join(f"\\x{byte:02x}" for byte in content)


def tokens_as_data(text: str, tokens: Sequence[Placed]) -> list[dict[str, Any]]:
    """What ``encode --show --json`` prints."""
    places = in_bytes(text, ((token.content, token.place) for token in tokens))
    return [
        {
            "id": token.id,
            "hex": token.content.hex(),
            "text": text_of(token.content),
            "characters": None if token.place is None else list(token.place),
            "bytes": None if place is None else list(place),
        }
        for token, place in zip(tokens, places, strict=True)
    ]


def show_explained(explained: Sequence[Explained | int], encoder: Encoder) -> None:
    """Prints the pretokens of a text, and the merges of each in order."""
    for each in explained:
        if isinstance(each, int):
            lines("template", [f"{show(encoder.token_bytes(each))} {each}"])
            continue
        where = f"characters {each.start} to {each.end}"
        if each.how == "added":
            lines("added token", [f"{show(each.content)} {each.ids[0]}  {where}"])
            continue
        lines("pretoken", [f"{show(each.content)}  {where}"])
        if each.how == "whole":
            lines("  whole", [_looked_up(each)])
        for run in each.runs:
            _show_run(run)
        for replaced in each.replaced:
            tokens = _named(replaced.ids, encoder)
            lines(f"  {replaced.became}", [f"{show(replaced.symbol)} is no token: {tokens}"])
        lines("  tokens", [_named(each.ids, encoder)])


def _looked_up(explained: Explained) -> str:
    sentence = "it is a token, and looked up before anything is merged"
    if not explained.runs:
        return sentence
    same = "gives the same" if explained.merges_alike else "would not give it"
    return f"{sentence}; merging {same}:"


def _show_run(run: SymbolRun) -> None:
    lines("  symbols", [" ".join(map(show, run.symbols))])
    width = max((len(str(merge.rank)) for merge in run.merges), default=0)
    lines("  merge", [_merge(merge, width) for merge in run.merges])


def _merge(merge: Merge, width: int) -> str:
    made = "no token" if merge.id is None else str(merge.id)
    parts = f"{show(merge.left)} + {show(merge.right)}"
    return f"rank {merge.rank:>{width}}  {parts} -> {show(merge.token)} {made}"


def _named(ids: Sequence[int], encoder: Encoder) -> str:
    return "  ".join(f"{show(encoder.token_bytes(n))} {n}" for n in ids) or "nothing"


def explained_as_data(explained: Sequence[Explained | int]) -> list[dict[str, Any]]:
    """What ``encode --explain --json`` prints."""
    return [
        {"how": "template", "ids": [each]} if isinstance(each, int) else _as_data(each)
        for each in explained
    ]


def _as_data(explained: Explained) -> dict[str, Any]:
    return {
        "how": explained.how,
        "hex": explained.content.hex(),
        "text": text_of(explained.content),
        "characters": [explained.start, explained.end],
        "ids": list(explained.ids),
        "runs": [
            {
                "symbols": [symbol.hex() for symbol in run.symbols],
                "merges": [
                    {
                        "rank": merge.rank,
                        "symbols": [merge.first, merge.middle, merge.last],
                        "hex": merge.token.hex(),
                        "text": text_of(merge.token),
                        "id": merge.id,
                    }
                    for merge in run.merges
                ],
            }
            for run in explained.runs
        ],
        "replaced": [
            {"hex": each.symbol.hex(), "became": each.became, "ids": list(each.ids)}
            for each in explained.replaced
        ],
    }
