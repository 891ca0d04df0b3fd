"""Which of llama.cpp's names split texts as a model does, by proof."""

from __future__ import annotations

from functools import lru_cache

from ...errors import PatternError
from ...model import BPEModel
from ...steps import PreTokenizerStep
from ...theory.splitters import first_cut_apart
from .splitters import SPLITTERS


def chosen_name(model: BPEModel) -> str | None:
    """A name in ``tokenizer.ggml.pre`` that splits and looks up as the model does; None if none.

    The name that the model was read with comes first, then those of the table in order.
    """
    own = model.extras.get("gguf", {})
    first = own.get("pre", "default") if isinstance(own, dict) else "default"
    for name in dict.fromkeys([str(first), *SPLITTERS]):
        row = SPLITTERS.get(name)
        if (
            row is not None
            and row.lookup_first == model.lookup_first
            and same_cuts(row.steps, model.pretokenizer or ())
        ):
            return name
    return None


def nearest_names(model: BPEModel, most: int = 3) -> list[tuple[str, str]]:
    """The names whose splitters are nearest to the model's, each with a text that differs.

    It is a shortest one that the two cut otherwise; the longer it is, the rarer such texts are.
    """
    found: dict[tuple[PreTokenizerStep, ...], tuple[str, str]] = {}
    for name, row in SPLITTERS.items():
        if row.steps in found:
            continue
        try:
            text = first_cut_apart(row.steps, model.pretokenizer or ())
        except PatternError:
            continue
        if text is not None:
            found[row.steps] = name, text
    return sorted(found.values(), key=lambda each: -len(each[1]))[:most]


@lru_cache(maxsize=256)
def same_cuts(a: tuple[PreTokenizerStep, ...], b: tuple[PreTokenizerStep, ...]) -> bool:
    """Whether two sequences of steps are proved to cut every text alike (Theorem 14)."""
    if a == b:
        return True
    try:
        return first_cut_apart(a, b) is None
    except PatternError:
        return False
