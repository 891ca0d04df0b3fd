"""What a GPT-2 pair and a rank file lack alike: both hold bytes, ids and merges only."""

from __future__ import annotations

from collections.abc import Iterator

from ..loss import Loss
from ..model import Affixes, BPEModel
from ..theory.rewrite import Rewrite
from ..theory.witness import with_affixes


def affixes_lost(model: BPEModel, holder: str) -> Iterator[Loss]:
    """The loss of affixes; ``holder`` is what the sentence calls the target."""
    if model.affixes != Affixes():
        witness = with_affixes(model)
        yield Loss(
            "affixes",
            "ids",
            f"symbols are merged with something glued to them; {holder} has no such thing",
            "the ids of most texts would differ",
            witness=witness,
            shown=witness is not None,
        )


def alphabet_lost(found: Rewrite, holder: str, witness: str | None) -> Loss:
    """The loss of merging characters; of metadata only, where ``found`` proves it equal."""
    exact = found.rule is not None
    return Loss(
        "alphabet",
        "metadata" if exact else "ids",
        f"merging starts from characters, {holder}'s from bytes",
        f"no id changes ({found.proof})" if exact else "the ids of most texts would differ",
        witness=None if exact else witness,
        shown=exact or witness is not None,
    )


def extras_lost(model: BPEModel) -> Iterator[Loss]:
    """The loss of settings that only the source's format understands."""
    if model.extras:
        yield Loss(
            "extras",
            "metadata",
            f"settings of the source format: {', '.join(sorted(model.extras))}",
            "they are left out; no id changes",
        )
