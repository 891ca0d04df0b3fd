"""Merges as scores: the ranks of the tokens that may be merged into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from ...model import BPEModel, RankTable
from ...theory.merges import canonical, canonical_of


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks, and whether any two tokens whose product has one merge just as the model has it."""

    ranks: Mapping[bytes, int]
    exact: bool


_known: WeakKeyDictionary[BPEModel, Ranking] = WeakKeyDictionary()


def ranking(model: BPEModel) -> Ranking:
    """The ranks of a model's tokens; for a list of merges, in the order that it builds them."""
    found = _known.get(model)
    if found is None:
        found = _known[model] = _ranking(model)
    return found


def _ranking(model: BPEModel) -> Ranking:
    if isinstance(model.merges, RankTable):
        return Ranking(model.merges.ranks, exact=True)
    own = canonical(model)
    ranks = {token: rank for rank, token in enumerate(own.splits)}
    ranked = canonical_of(RankTable(ranks), ranks, model.alphabet)
    return Ranking(ranks, list(own.splits.items()) == list(ranked.splits.items()))
