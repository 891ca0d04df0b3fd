"""JSON spelled as no writer would: escapes, numbers, white space, members that come twice.

Some of it is JSON and some is nearly so. What is read of it, or which error there is, must be the
same in both kernels.
"""

from __future__ import annotations

import random
from typing import Any

_SPACES = (" ", "\t", "\r", "\n", "\r\n", "  ")
_NO_SPACES = ("\x0b", "\ufeff", "\u00a0", "\x00", "\u2028", "/**/")
_MEMBERS = ("", '"a":1', '"vocab":{}', '"model":{}', '"merges":[]', '"x":[1,{"vocab":{"a":1}}]')
_NUMBERS = ("-0", "1e400", "NaN", "Infinity", "0x1", "1_0")
_WORDS = ("Null", "TRUE", "nul")


def spelled(value: Any, rng: random.Random, odd: float) -> str:
    """A value as JSON, in which about this share of what can be spelled otherwise is."""
    if isinstance(value, str):
        return _string(value, rng, odd)
    if isinstance(value, bool) or value is None:
        plain = {True: "true", False: "false", None: "null"}[value]
        return rng.choice(_WORDS) if rng.random() < odd / 20 else plain
    if isinstance(value, int):
        return _number(value, rng) if rng.random() < odd / 4 else str(value)
    if isinstance(value, list):
        parts = [_spaced(spelled(each, rng, odd), rng, odd) for each in value]
        if rng.random() < odd / 8:
            parts.append(rng.choice(("", *parts)))
        return f"[{','.join(parts)}]"
    parts = [
        _spaced(_string(key, rng, odd), rng, odd) + ":" + _spaced(spelled(each, rng, odd), rng, odd)
        for key, each in value.items()
    ]
    if rng.random() < odd / 4:
        parts.insert(rng.randrange(len(parts) + 1), rng.choice((*_MEMBERS, *parts)))
    return f"{{{','.join(parts)}}}"


def _string(text: str, rng: random.Random, odd: float) -> str:
    parts = []
    for character in text:
        if rng.random() < odd:
            parts.append(_escaped(character, rng))
        elif character in '"\\':
            parts.append(f"\\{character}")
        elif character < " " and rng.random() > odd / 20:
            parts.append(f"\\u{ord(character):04x}")
        else:
            parts.append(character)
    return f'"{"".join(parts)}"'


def _escaped(character: str, rng: random.Random) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    units = rng.choice((units, units.upper()))
    escape = "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
    if rng.random() > 0.05:
        return escape
    return rng.choice((
        *(escape[:-1], f"\\{character}", "\\u00g1", escape.replace("u", "U"), "\\x41"),
        *(f"{escape}\\ud800", f"\\udc00{escape}", "\\/", "\\b", "\\u{41}"),
    ))  # fmt: skip


def _number(value: int, rng: random.Random) -> str:
    forms = (f"{value}.0", f"{value}e0", f"{value}E+0", f"0{value}", f"+{value}", f"-{value}")
    beyond = (f"{value}.", f"{value}0e-1", f"{value + 2**32}", f"{value + 2**64}")
    return rng.choice((*forms, *beyond, *_NUMBERS))


def _spaced(text: str, rng: random.Random, odd: float) -> str:
    for _ in range(2):
        if rng.random() < odd:
            space = rng.choice(_NO_SPACES if rng.random() < 0.05 else _SPACES)
            text = rng.choice((f"{text}{space}", f"{space}{text}"))
    return text
