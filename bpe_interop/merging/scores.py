"""The order of SentencePiece's scores, which are float32: it says which are ties (Theorem 7)."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable
from math import copysign, isfinite

_BELOW_ALL = 2.0**-150
"""Half of the least float32 above zero: no float32 lies between this and zero."""


def order_of(score: float) -> float:
    """A number that stands among others as a finite score does in sentencepiece.

    sentencepiece 0.2.2 and 0.2.3 order scores by their bits, so 0.0 is greater than -0.0
    (measured; denormals are in order, and equal bits are a tie). Up to 0.2.1 they were compared
    as floats, and the two zeros were a tie (``src/bpe_model.cc``, ``SymbolPairComparator``).
    """
    return score or copysign(_BELOW_ALL, score)


def both_zeros(scores: Iterable[float]) -> bool:
    """Whether 0.0 and -0.0 are among scores: then sentencepiece's versions differ."""
    return len({copysign(1, score) for score in scores if not score}) == 2


def float32(scores: Collection[float]) -> list[float] | None:
    """The scores as a ``.model`` holds them; None where one of them is then no finite number."""
    rounded = array("f", scores).tolist()
    return rounded if all(map(isfinite, rounded)) else None
