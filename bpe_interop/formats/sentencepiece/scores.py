"""Merges as scores: the ranks of the tokens that may be merged into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...memo import Memo
from ...model import BPEModel, RankTable

if TYPE_CHECKING:
    from ...theory.rewrite import Rewrite


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks, by which any two tokens may merge whose product has one, and why that is the same.

    A token that has none is an UNUSED piece of the least score. It is merged into last of all
    and split again, and no ranked token is ever built of it: a ranked token has one pair that
    can build it (Lemma 2 of ``docs/theory.md``), and that one is found before.
    """

    ranks: Mapping[bytes, int]
    rewrite: Rewrite


@Memo
def ranking(model: BPEModel) -> Ranking:
    """The ranks of a model's tokens; for a list of merges, in the order that it builds them."""
    from ...merging.canonical import canonical
    from ...theory.rewrite import as_ranks

    rewrite = as_ranks(model)
    if isinstance(rewrite.rule, RankTable):
        return Ranking(rewrite.rule.ranks, rewrite)
    built = canonical(model).splits
    return Ranking({token: rank for rank, token in enumerate(built)}, rewrite)
