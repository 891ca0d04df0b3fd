"""Does a field in which two models differ change ids? What the stages say of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..diff import Difference
from .prove import Proof
from .stages import Stage

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
    what = "the text of ids" if difference.field == "decoder" else "ids"
    mine = [stage for stage in proof.stages if stage.name in names]
    refuted = [stage for stage in mine if stage.outcome == "refuted"]
    open_ = [stage for stage in mine if stage.outcome == "unknown"]
    if refuted:
        name = refuted[0].name
        alone = sum(name in STAGES[each.field] for each in differences) == 1
        verb = "changes" if alone else "may change"
        return f"{verb} {what}: see stage {name}{_outside(refuted[0], proof)}"
    if open_:
        return f"not established: see stage {open_[0].name}{_outside(open_[0], proof)}"
    return f"proved to give the same {what}"


def _outside(stage: Stage, proof: Proof) -> str:
    return "" if stage in proof.counted else " (outside the scope)"
