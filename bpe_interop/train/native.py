"""Counting pretokens and learning merges in the native kernel, where it is there."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..errors import PatternError
from ..kernel import PretokenCounter, counter_of, learner_of, splitter_of
from ..steps import PreTokenizerStep
from ..theory.split_tables import split_tables
from .learner import BYTES, LearnedMerge, Learner

_AT_ONCE = 1_024
"""Merges between which Ctrl-C is heard, and progress told."""


def native_counter(steps: tuple[PreTokenizerStep, ...]) -> PretokenCounter | None:
    """A counter of the pretokens of a pre-tokenizer that tables can hold."""
    if not steps:
        return None
    try:
        splitter = splitter_of(split_tables(steps))
    except PatternError:
        return None
    return None if splitter is None else counter_of(splitter)


def learned(
    pretokens: Mapping[bytes, int],
    limit: int | None,
    least: int,
    tick: Callable[[int], None],
) -> tuple[list[LearnedMerge], int]:
    """The merges of :meth:`.learner.Learner.learn`, and how many tokens there are then."""
    return _native(pretokens, limit, least, tick) or _python(pretokens, limit, least, tick)


def _python(
    pretokens: Mapping[bytes, int], limit: int | None, least: int, tick: Callable[[int], None]
) -> tuple[list[LearnedMerge], int]:
    learner = Learner(pretokens)
    return learner.learn(limit, least, tick), learner.tokens()


def _native(
    pretokens: Mapping[bytes, int], limit: int | None, least: int, tick: Callable[[int], None]
) -> tuple[list[LearnedMerge], int] | None:
    learner = learner_of(pretokens)
    if learner is None:
        return None
    merges: list[LearnedMerge] = []
    while limit is None or len(merges) < limit:
        wanted = _AT_ONCE if limit is None else min(_AT_ONCE, limit - len(merges))
        more = learner.more(wanted, least)
        if more is None:
            return None
        for left, right, frequency in more:
            merges.append(LearnedMerge(left, right, BYTES + len(merges), frequency))
            tick(len(merges))
        if len(more) < wanted:
            break
    tokens = learner.tokens()
    return None if tokens is None else (merges, tokens)
