"""The arithmetic: spreads, ratios of the same round, and the power with which a cost grows."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Spread:
    """A median, and how far around it the samples lie."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread | None:
    """The spread of samples; None where there are none."""
    if not values:
        return None
    return Spread(statistics.median(values), min(values), max(values))


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Spread | None:
    """The spread of the ratios of samples that were taken in the same round."""
    return spread([a / b for a, b in zip(ours, theirs, strict=False) if b > 0])


def over(ours: Sequence[float], theirs: Sequence[float]) -> Spread | None:
    """The spread of the differences of samples that were taken in the same round."""
    return spread([a - b for a, b in zip(ours, theirs, strict=False)])


def slope(points: Sequence[tuple[float, float]], reach: float = 10.0) -> float | None:
    """The power of the size with which a cost grows at the end: n^slope.

    Least squares over the logarithms of the points whose size is at least the last one's divided
    by ``reach``, so that what is the same at every size counts less. None for fewer than two.
    """
    known = [(x, y) for x, y in points if x > 0 and y > 0]
    last = max((x for x, _ in known), default=0.0)
    taken = [(math.log(x), math.log(y)) for x, y in known if x * reach >= last]
    if len(taken) < 2:
        return None
    return statistics.linear_regression(*zip(*taken, strict=True)).slope
