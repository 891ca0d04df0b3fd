"""What reading back a written model would find changed, as losses."""

from __future__ import annotations

from collections.abc import Iterator

from ..loss import Grade, Loss
from ..model import BPEModel
from . import diff


def changed_losses(
    model: BPEModel, again: BPEModel, foreseen: frozenset[str], grade: Grade, witness: str | None
) -> Iterator[Loss]:
    """A loss for each field of which reading back gives something else, and nothing is said yet.

    Args:
        model: what is written.
        again: what reading it back gives.
        foreseen: the fields whose losses are named already.
        grade: what such a change does.
        witness: a text that shows it, if one is known.
    """
    for difference in diff(model, again):
        unknown = difference.kind == "unstated" and getattr(model, difference.field) is None
        if not unknown and difference.field not in foreseen:
            yield Loss(
                difference.field,
                grade,
                f"reading back gives another {difference.field}: {difference.how}",
                "no id changes" if grade == "metadata" else "texts would have other ids",
                witness=witness,
                shown=grade == "metadata" or witness is not None,
            )
