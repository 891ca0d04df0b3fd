"""Which of llama.cpp's names split texts as a model does, by proof."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from ...errors import PatternError
from ...model import BPEModel
from ...steps import Pattern, PreTokenizerStep, Split
from ...text.patterns import parse, preferred
from ...theory.automata import first_difference
from ...theory.cuts import only_merges_bytes
from ...theory.merges import textual, whole_lookups
from ...theory.splitters import first_cut_apart
from ...theory.straddling import Places
from .probes import PROBES, cuts
from .splitters import SPLITTERS

Steps: TypeAlias = tuple[PreTokenizerStep, ...]
By: TypeAlias = Literal["the same patterns", "Theorem 11", "Theorem 14", "Theorem 10"]

_CLOSELY: Final = 4
"""So many names are tried with the vocabulary: the nearest ones."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A name, and what shows that its splitter gives every text the model's tokens.

    By Theorem 10 it cuts ``text`` otherwise, but no token stands across such a cut.
    """

    name: str
    by: By
    text: str = ""


def chosen(model: BPEModel) -> Chosen | None:
    """A name in ``tokenizer.ggml.pre`` that splits and looks up as the model does; None if none.

    The name that the model was read with comes first, then those of the table in order; those
    that only the vocabulary makes equal come last.
    """
    model = replace(model, pretokenizer=_respelled(model.pretokenizer or ()))
    steps = model.pretokenizer or ()
    names = [name for name in _in_order(model) if _looks_up_alike(name, model)]
    for name in names:
        by = same_cuts(SPLITTERS[name].steps, steps)
        if by is not None:
            return Chosen(name, by)
    near = nearest_names(model, _CLOSELY)
    for name, text in near:
        if name in names and _same_tokens(SPLITTERS[name].steps, model):
            return Chosen(name, "Theorem 10", text)
    return None


def chosen_name(model: BPEModel) -> str | None:
    """The name of :func:`chosen`."""
    choice = chosen(model)
    return None if choice is None else choice.name


def nearest_names(model: BPEModel, most: int = 3) -> list[tuple[str, str]]:
    """The names whose splitters are nearest to the model's, each with a text that differs.

    Nearest is what cuts the fewest of some hundred texts in many scripts otherwise. The text is a
    shortest one that the two cut otherwise; empty where none is known, and no proof that there is
    none.
    """
    steps = _respelled(model.pretokenizer or ())
    counted = sorted(
        (sum(map(operator.ne, cuts(SPLITTERS[name].steps), cuts(steps))), place, name)
        for place, name in enumerate(_one_of_each())
    )
    return [(name, _text_apart(name, steps)) for _, _, name in counted[:most]]


def _text_apart(name: str, steps: Steps) -> str:
    text = _first_apart(SPLITTERS[name].steps, steps)
    if text:
        return text
    pairs = zip(PROBES, cuts(SPLITTERS[name].steps), cuts(steps), strict=True)
    return min((probe for probe, one, two in pairs if one != two), key=len, default="")


def _one_of_each() -> Iterator[str]:
    """One name of each splitter."""
    seen: set[Steps] = set()
    for name, row in SPLITTERS.items():
        if row.steps not in seen:
            seen.add(row.steps)
            yield name


def _respelled(steps: Steps) -> Steps:
    """The steps, patterns of Python spelled so that proofs read them, where that can be."""
    return tuple(map(_read_by_proofs, steps))


def _read_by_proofs(step: PreTokenizerStep) -> PreTokenizerStep:
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return step
    if step.pattern.dialect != "python":
        return step
    try:
        return replace(step, pattern=preferred(step.pattern, "fancy-regex"))
    except PatternError:
        return step


def _in_order(model: BPEModel) -> list[str]:
    own = model.extras.get("gguf", {})
    first = own.get("pre", "default") if isinstance(own, dict) else "default"
    return [name for name in dict.fromkeys([str(first), *SPLITTERS]) if name in SPLITTERS]


def _looks_up_alike(name: str, model: BPEModel) -> bool:
    """Whether it is all one that a name looks up pretokens before merging, or does not."""
    return SPLITTERS[name].lookup_first == model.lookup_first or not whole_lookups(model)


def _same_tokens(steps: Steps, model: BPEModel) -> bool:
    """Whether no token of this vocabulary stands where only one of the two cuts (Theorem 10)."""
    if not only_merges_bytes(model):
        return False
    try:
        places = Places(steps, model.pretokenizer or ())
    except PatternError:
        return False
    return places.none_beside(whole_lookups(model)) and places.none_across(textual(model))


def same_cuts(a: Steps, b: Steps) -> By | None:
    """What proves that two sequences of steps cut every text alike; None if nothing does."""
    if a == b:
        return "the same patterns"
    one, two = _only_pattern(a), _only_pattern(b)
    if one is not None and two is not None:
        try:
            if first_difference(parse(one), parse(two)) is None:
                return "Theorem 11"
        except PatternError:
            pass
    return "Theorem 14" if _first_apart(a, b) is None else None


def _only_pattern(steps: Steps) -> Pattern | None:
    """The pattern, where its matches alone are the pretokens."""
    if len(steps) != 1 or not isinstance(step := steps[0], Split):
        return None
    if step.behavior != "removed" or not step.invert or not isinstance(step.pattern, Pattern):
        return None
    return step.pattern


@lru_cache(maxsize=256)
def _first_apart(a: Steps, b: Steps) -> str | None:
    """A shortest text that two sequences cut otherwise; None: none, empty: not decided."""
    try:
        return first_cut_apart(a, b)
    except PatternError:
        return ""
