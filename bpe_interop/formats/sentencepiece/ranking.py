"""Merges as scores: the ranks of the tokens that may be merged into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...derived import Derived
from ...loss import Loss
from ...model import BPEModel, RankTable


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks, and what is lost where any two tokens whose product has one may merge.

    A token that has none is an UNUSED piece of the least score. It is merged into last of all
    and split again, and no ranked token is ever built of it: a ranked token has one pair that
    can build it (Lemma 2 of ``docs/theory.md``), and that one is found before.
    """

    ranks: Mapping[bytes, int]
    losses: tuple[Loss, ...] = ()


@Derived
def ranking(model: BPEModel) -> Ranking:
    """The ranks of a model's tokens; for a list of merges, in the order that it builds them."""
    from ...merging.canonical import canonical
    from ...theory.rewrite import as_ranks

    rewrite = as_ranks(model)
    if isinstance(rewrite.rule, RankTable):
        return Ranking(rewrite.rule.ranks)
    built = canonical(model).splits
    return Ranking({token: rank for rank, token in enumerate(built)}, tuple(rewrite.losses()))
