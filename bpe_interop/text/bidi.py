"""Which way the characters of a line run: the levels of Unicode's bidirectional algorithm.

UAX #9, without what a page that shows tokens does not need: explicit formatting characters count
as neutral (the page shows them as marks, where they turn nothing round), and of paired brackets
(rule N0) those of ASCII are known; others are neutral characters.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby

_KNOWN = frozenset(("L", "R", "AL", "EN", "AN", "ES", "ET", "CS", "NSM"))
_SEEN = frozenset(("L", "R", "AL", "EN", "AN"))
_NUMBERS = ("EN", "AN")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def has_direction(char: str) -> bool:
    """Whether a character has a direction of its own: a letter, or a digit."""
    return unicodedata.bidirectional(char) in _SEEN


def levels(text: str, right_to_left: bool) -> list[int]:
    """The level of each character: even ones run from the left, odd ones from the right.

    Args:
        text: one line.
        right_to_left: whether the line itself is read from the right; its level is then 1, not 0.
    """
    base = int(right_to_left)
    kinds = _weak([_kind(char) for char in text], "R" if base else "L")
    kinds = _neutral(_bracketed(text, kinds, base), base)
    raised = {"L": base % 2, "R": 1 - base % 2, "EN": 2 - base % 2, "AN": 2 - base % 2}
    return [base + raised[kind] for kind in kinds]


def _kind(char: str) -> str:
    kind = unicodedata.bidirectional(char) or "L"
    return kind if kind in _KNOWN else "ON"


def _weak(kinds: list[str], start: str) -> list[str]:
    """Rules W1 to W7: what numbers, and the signs in and around them, become."""
    settled: list[str] = []
    strong = start
    for kind in kinds:
        if kind == "NSM":
            kind = settled[-1] if settled else start
        if kind in ("L", "R", "AL"):
            strong = kind
        settled.append("AN" if kind == "EN" and strong == "AL" else kind)
    settled = ["R" if kind == "AL" else kind for kind in settled]
    for at in range(1, len(settled) - 1):
        before, after = settled[at - 1], settled[at + 1]
        joined = settled[at] == "CS" or (settled[at] == "ES" and before == "EN")
        if joined and before == after and before in _NUMBERS:
            settled[at] = before
    for _, at, end in _runs(settled, ("ET",)):
        if "EN" in (settled[at - 1 : at] + settled[end : end + 1]):
            settled[at:end] = ["EN"] * (end - at)
    strong = start
    for at, kind in enumerate(settled):
        if kind in ("L", "R"):
            strong = kind
        elif kind == "EN" and strong == "L":
            settled[at] = "L"
    return ["ON" if kind in ("ES", "ET", "CS") else kind for kind in settled]


def _bracketed(text: str, kinds: list[str], base: int) -> list[str]:
    """Rule N0: a pair of brackets runs as the line does, or as what is in and before it."""
    own = "R" if base else "L"
    settled = list(kinds)
    for opens, closes in _pairs(text):
        inner = {_side(kind) for kind in settled[opens + 1 : closes]} - {""}
        if not inner:
            continue
        before = next((side for kind in settled[:opens][::-1] if (side := _side(kind))), own)
        settled[opens] = settled[closes] = own if own in inner else before
    return settled


def _pairs(text: str) -> list[tuple[int, int]]:
    """Where brackets that belong together open and close, by where they open."""
    held: list[tuple[str, int]] = []
    paired: list[tuple[int, int]] = []
    for at, char in enumerate(text):
        if char in _CLOSING:
            held.append((_CLOSING[char], at))
        elif char in _CLOSING.values():
            known = [place for place, (closing, _) in enumerate(held) if closing == char]
            if known:
                paired.append((held[known[-1]][1], at))
                del held[known[-1] :]
    return sorted(paired)


def _side(kind: str) -> str:
    """What a kind is to neutral characters: numbers are as letters from the right."""
    return "R" if kind in _NUMBERS else kind if kind in ("L", "R") else ""


def _neutral(kinds: list[str], base: int) -> list[str]:
    """Rules N1 and N2: what has no direction takes that of its neighbours, or of the line."""
    own = "R" if base else "L"
    settled = list(kinds)
    for _, at, end in _runs(kinds, ("ON",)):
        before = kinds[at - 1] if at else own
        after = kinds[end] if end < len(kinds) else own
        sides = {_side(before), _side(after)}
        settled[at:end] = [sides.pop() if len(sides) == 1 else own] * (end - at)
    return settled


def _runs(kinds: list[str], wanted: tuple[str, ...]) -> list[tuple[str, int, int]]:
    """Where each run of a kind begins and ends."""
    places: list[tuple[str, int, int]] = []
    at = 0
    for kind, group in groupby(kinds):
        end = at + len(list(group))
        if kind in wanted:
            places.append((kind, at, end))
        at = end
    return places
