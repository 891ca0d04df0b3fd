"""What a training gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..errors import SourceError
from ..model import (
    BPEModel,
    Origin,
    PairList,
    SequenceTemplate,
    Vocab,
)
from ..steps import JoinBytes
from .learner import BYTES, LearnedMerge
from .request import Algorithm, Request, special_ids, steps

Tick: TypeAlias = Callable[[str, int], None]
"""Called with what goes on and how far it is.

``"files"`` counts bytes of files on disk, ``"reading"`` bytes of UTF-8, ``"merging"`` merges.
"""


@dataclass(frozen=True)
class Training:
    """A learned model, and what it was learned from.

    Texts of ``size`` bytes of UTF-8 were read, of which ``unmatched`` bytes are in no pretoken,
    and became ``tokens`` tokens. ``merges`` are in the order they were made. What a
    trainer of somebody else's does not tell is None. ``notes`` are sentences for people.
    """

    model: BPEModel
    algorithm: Algorithm
    size: int
    unmatched: int | None = None
    tokens: int | None = None
    merges: tuple[LearnedMerge, ...] | None = None
    notes: tuple[str, ...] = ()


def empty(size: int = 0, where: str = "") -> SourceError:
    """The error where there is nothing to learn from in texts of so many bytes."""
    return SourceError(
        "the pattern matches nothing in the text" if size else "there is no text to learn from",
        where=where,
        fix="give another pattern" if size else "give a text that is not empty",
    )


def untrained(request: Request) -> BPEModel:
    """What the tutorial's algorithm would give if no merge were made."""
    return with_merges(request, ())


def with_merges(request: Request, merges: Sequence[LearnedMerge]) -> BPEModel:
    """The model of these merges: bytes are the first ids, then come the products.

    No two products have the same bytes (docs/training.md).

    Raises:
        SourceError: a special token was given the id of another token.
    """
    contents = [bytes([byte]) for byte in range(BYTES)]
    for merge in merges:
        contents.append(contents[merge.left] + contents[merge.right])
    return BPEModel(
        vocab=Vocab({content: number for number, content in enumerate(contents)}),
        merges=PairList(tuple((contents[m.left], contents[m.right]) for m in merges)),
        normalizer=(),
        pretokenizer=steps(request.pattern, request.dialect),
        added=special_ids(request, len(contents)),
        sequence_template=SequenceTemplate(),
        decoder=(JoinBytes(),),
        origin=Origin(name=request.name),
    )
