"""What a ``.model`` cannot hold of a model."""

from __future__ import annotations

from collections.abc import Iterator

from ...loss import Loss
from ...model import BPEModel


def losses(model: BPEModel) -> Iterator[Loss]:
    """What ``dump`` would lose of this model, each with its consequence."""
    if model.alphabet != "char":
        yield Loss(
            "alphabet",
            "ids",
            "merging starts from bytes, SentencePiece's from characters",
            "the ids of most texts would differ",
            shown=False,
        )
        return
    for key in sorted(model.extras):
        if key != "sentencepiece":
            yield Loss(
                "extras",
                "metadata",
                f"settings of {key} have no place in a .model",
                "no id and no text changes",
            )
