"""Does a field in which two models differ change ids? What the stages say of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..diff import Difference
from .prove import Proof
from .stages import Stage, counts

STAGES: dict[str, tuple[str, ...]] = {
    "alphabet": ("core", "ids"),
    "affixes": ("core", "ids"),
    "vocab": ("core", "ids"),
    "merges": ("core",),
    "lookup_first": ("lookup",),
    "fallback": ("core", "ids"),
    "normalizer": ("normalizer",),
    "pretokenizer": ("pre-tokenizer",),
    "added": ("added tokens", "special tokens"),
    "sequence_template": ("sequence template",),
    "decoder": ("decoding",),
    "chat_template": (),
    "extras": (),
}
"""The stages that look at a field of the model; none where it is metadata."""

_TEXT = frozenset({"normalizer", "pre-tokenizer", "core", "lookup", "ids"})
"""The stages of texts in which no added token is looked for."""


def matters(differences: Sequence[Difference], proof: Proof) -> tuple[str, ...]:
    """Says of each difference whether it changes ids.

    Args:
        differences: the fields in which two models differ.
        proof: what was established of the models.
    """
    return tuple(_said(each, differences, proof) for each in differences)


def _said(difference: Difference, differences: Sequence[Difference], proof: Proof) -> str:
    names = STAGES[difference.field]
    if not names:
        return "does not change ids: metadata"
    mine = [stage for stage in proof.stages if stage.name in names]
    for stage in mine:
        if stage.outcome == "refuted" and stage.name == "decoding":
            return f"changes texts: see stage {stage.name}"
        if stage.outcome == "refuted":
            verb = "may change" if _beside_others(names, differences, proof) else "changes"
            return f"{verb} ids: see stage {stage.name}{_outside(stage, proof)}"
    for stage in mine:
        if stage.outcome == "unknown":
            return f"not established: see stage {stage.name}{_outside(stage, proof)}"
    same = "decode to the same text" if difference.field == "decoder" else "give the same ids"
    return f"proved to {same}"


def _beside_others(names: tuple[str, ...], differences: Sequence[Difference], proof: Proof) -> bool:
    """Whether another field may be what changes ids: a text shows what they do together."""
    if not _TEXT.issuperset(names):
        return False
    open_ = {stage.name for stage in proof.stages if stage.outcome != "proved"} & _TEXT
    return sum(not open_.isdisjoint(STAGES[each.field]) for each in differences) > 1


def _outside(stage: Stage, proof: Proof) -> str:
    return "" if counts(stage.name, proof.scope) else " (outside the scope)"
