"""What a GPT-2 pair and a rank file lack alike: both hold bytes, ids and merges only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..diff.reread import changed_losses
from ..loss import Grade, Loss
from ..model import Affixes, BPEModel
from ..theory.byte_ranks import as_byte_ranks
from ..theory.rewrite import Rewrite
from ..theory.witness import with_affixes
from .round_trip import RoundTrip


def with_changed(trip: RoundTrip, found: Iterable[Loss]) -> Iterator[Loss]:
    """The losses that were found, and what merging over bytes makes of a model that does not.

    That is said field by field of what reading back finds changed: it is not foreseen.

    Args:
        trip: the model in the format, and back.
        found: the losses that are foreseen.
    """
    model = trip.model
    foreseen = list(found)
    yield from foreseen
    if model.alphabet == "byte" and model.affixes == Affixes():
        return
    rewrite = as_byte_ranks(model)
    said = frozenset(loss.field for loss in foreseen)
    grade: Grade = "metadata" if rewrite.rule is not None else "ids"
    for loss in changed_losses(model, trip.again, said, grade, rewrite.witness):
        if loss.field in _rewritten(model):
            yield loss


def _rewritten(model: BPEModel) -> frozenset[str]:
    """The fields that change where merging starts from bytes; no other has that for a reason."""
    fields = frozenset({"vocab", "merges", "lookup_first", "fallback"})
    found_in_texts = "user_defined" in model.vocab.kinds.values()
    return fields | {"added"} if found_in_texts else fields


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
