"""Counts pretokens: all that merges are learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..steps import PreTokenizerStep
from ..text.split import compiled


@dataclass(slots=True)
class Pretokens:
    """Distinct pretokens in the order they first came, and how often each came.

    ``size`` bytes were read; ``unmatched`` of them are in no pretoken.
    """

    counts: Counter[str] = field(default_factory=Counter)
    size: int = 0
    unmatched: int = 0


def count(
    texts: Iterable[str],
    steps: tuple[PreTokenizerStep, ...],
    tick: Callable[[int], None] = lambda count: None,
) -> Pretokens:
    """Cuts texts into pretokens and counts these; ``tick`` is called with the bytes read.

    Raises:
        PatternError: the pattern cannot be run, or not to its end.
    """
    counted = Pretokens()
    cut = compiled(steps)
    for text in texts:
        size = len(text.encode("utf-8"))
        pretokens = cut(text)
        counted.counts.update(pretokens)
        counted.size += size
        if sum(map(len, pretokens)) != len(text):
            counted.unmatched += size - len("".join(pretokens).encode("utf-8"))
        tick(counted.size)
    return counted
