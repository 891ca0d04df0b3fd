"""Texts by which most splitters are told apart without a proof."""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Final, TypeAlias

from ...errors import PatternError
from ...steps import PreTokenizerStep
from ...text.bytechars import to_chars
from ...text.split import split

_CHARACTERS: Final = "aZs'\n 1~/.\u00e9\u0301\u4e2d\u00b2"
PROBES: Final = (
    *("".join(pair) for pair in product(_CHARACTERS, repeat=2)),
    "12345", "it's", "IT'S", "a\n\nb", "a  b", "a\n  b", "   ", "!!/\n", "aB\u00c9\u00e9", "a1b22",
    "\u4e2da", "a\u0301 b", "IMGIMGAZ", "'\u017f", "12\u00b2345", "a = b; // c\n\tif (x) {\n",
    "\u0928\u092e\u0938\u094d\u0924\u0947", "\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35",
    "ART\u00cdCULO 1", "\u0421\u0442\u0430\u0442\u044c\u044f",
    "\u0627\u0644\u0645\u0627\u062f\u0629 \u0661\u0662",
    "\u7b2c\u4e00\u6761", "\u3059\u3079\u3066\u306e", "\uc81c1\uc870",
    "don't you've WE'LL", "x!=y  &&  z",
    "HelloWorld helloWORLD", "3.14 1,000,000",
    "\u00abA\u00bb \u2026 \u2014", "e\u0301a\u0300\u0323 b\u0301",
)  # fmt: skip


Cuts: TypeAlias = tuple["tuple[str, ...] | None", ...]
"""The pretokens of each probe; None where a step cannot be run."""


@lru_cache(maxsize=128)
def cuts(steps: tuple[PreTokenizerStep, ...]) -> Cuts:
    """The pretokens of each probe, in GPT-2's byte alphabet."""
    rows: list[tuple[str, ...] | None] = []
    for text in PROBES:
        try:
            pretokens, mapped = split(steps, text)
        except PatternError:
            rows.append(None)
        else:
            rows.append(tuple(pretokens if mapped else (to_chars(p.encode()) for p in pretokens)))
    return tuple(rows)


def cut_apart(one: Cuts, two: Cuts) -> int:
    """How many probes are cut otherwise, of those that both can be run on."""
    return sum(a is not None and b is not None and a != b for a, b in zip(one, two, strict=True))
