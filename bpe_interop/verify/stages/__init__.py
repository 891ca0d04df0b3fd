"""The stages of two tokenizers, compared one by one: equal for every text, or shown not to be.

Each function says of one stage *proved* (equal for every text, and by which argument), *refuted*
(a text gives other ids in the end) or *unknown* (neither was established). The theorems named
are in ``docs/theory.md``; each stage names those that it rests on.
"""

from __future__ import annotations

from collections.abc import Iterator

from .around import NO_TEMPLATE, added_stages, template_stage
from .decoding import decoding_stage
from .merging import core_stage
from .normalizing import normalizer_stage
from .numbering import ids_stage, lookup_stage
from .splitting import pretokenizer_stage
from .stage import Outcome, Scope, Stage, TwoModels, counts

__all__ = [
    "NO_TEMPLATE",
    "Outcome",
    "Scope",
    "Stage",
    "TwoModels",
    "added_stages",
    "counts",
    "decoding_stage",
    "template_stage",
    "text_stages",
]


def text_stages(pair: TwoModels) -> Iterator[Stage]:
    """Normalizer, pre-tokenizer, core, lookup and ids: what gives an ordinary text its ids."""
    yield normalizer_stage(pair)
    yield pretokenizer_stage(pair)
    yield core_stage(pair)
    yield lookup_stage(pair)
    yield ids_stage(pair)
