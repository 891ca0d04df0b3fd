"""Whether two sequences of splitters cut alike, or no token shows where they do not.

Theorem 11 is about patterns, Theorem 14 about sequences, Theorem 10 about cuts no token shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from typing import TypeAlias

from ..errors import PatternError
from ..merging.canonical import whole_lookups
from ..merging.symbols import textual
from ..model import BPEModel
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.charsets import NOTHING, CharSet
from ..text.patterns import as_run
from .automata import first_difference
from .cuts import only_merges_bytes
from .splitters import first_cut_apart
from .straddles import Places

Steps: TypeAlias = tuple[PreTokenizerStep, ...]

_FEW = 40
"""How many texts are made of the tokens of a vocabulary."""


@dataclass(frozen=True, slots=True)
class ComparedCuts:
    """A text that two sequences of steps split otherwise, or why it is not known, or neither."""

    text: str | None = None
    why: str = ""
    by: str = ""


def compared_cuts(left: Steps, right: Steps, without: CharSet = NOTHING) -> ComparedCuts:
    """Whether two sequences of splitters cut every text alike (Theorems 11 and 14).

    ``without``: characters that no text is taken to hold.
    """
    one, two = _only_pattern(left), _only_pattern(right)
    try:
        if one is not None and two is not None:
            text = first_difference(as_run(one), as_run(two))
            # An empty match is no pretoken with an id: the empty text shows nothing.
            if text != "":
                return ComparedCuts(text, by="Theorem 11")
    except PatternError:
        pass
    try:
        return ComparedCuts(first_cut_apart(left, right, without), by="Theorem 14")
    except PatternError as error:
        why = error.what
    left, right = _without_shared(left, right)
    try:
        if first_cut_apart(left, right, without) is None:
            return ComparedCuts(by="Theorem 14")
    except PatternError:
        pass
    return ComparedCuts(why=why)


def _only_pattern(steps: Steps) -> Pattern | None:
    """The pattern, where the matches of one pattern are the pretokens."""
    if len(steps) != 1 or not isinstance(step := steps[0], Split):
        return None
    matches = step.behavior == "removed" and step.invert
    return step.pattern if matches and isinstance(step.pattern, Pattern) else None


def _without_shared(left: Steps, right: Steps) -> tuple[Steps, Steps]:
    """The steps without those that both begin with and both end with.

    Where what is left cuts every text alike, so do all of them.
    """
    shared = sum(1 for _ in takewhile(_same, zip(left, right, strict=False)))
    left, right = left[shared:], right[shared:]
    backwards = zip(reversed(left), reversed(right), strict=False)
    last = sum(1 for _ in takewhile(_same, backwards))
    return left[: len(left) - last], right[: len(right) - last]


def _same(steps: tuple[PreTokenizerStep, PreTokenizerStep]) -> bool:
    return steps[0] == steps[1]


def none_across(models: Sequence[BPEModel], left: Steps, right: Steps) -> bool:
    """Whether it is all one for each vocabulary that the two cut otherwise (Theorem 10).

    True is a proof; False says only that it is not shown.
    """
    if not all(map(only_merges_bytes, models)):
        return False
    try:
        places = Places(left, right)
    except PatternError:
        return False
    return all(
        places.none_beside(whole_lookups(model)) and places.none_across(textual(model))
        for model in models
    )


def texts_across(models: Sequence[BPEModel], left: Steps, right: Steps) -> Iterator[str]:
    """Texts that hold a token where it may stand across a cut that only one side makes."""
    try:
        places = Places(left, right)
    except PatternError:
        return
    for model in models:
        yield from islice(places.texts_across(textual(model)), _FEW)
