"""Texts on which two sides differ, each with both sides' tokens beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from ..encode import Encoder
from ..model import BPEModel
from .alignment import align
from .corpus_report import CorpusReport, Found, Source
from .report import Example
from .sides import Mismatch, Mode

EXAMPLES = 10
"""How many are shown at most."""


def mismatch_of(found: Found, modes: Sequence[Mode]) -> Mismatch:
    """What a corpus report says of a text, as the difference that it is."""
    mode = next(mode for mode in modes if mode.scope == found.scope)
    return Mismatch(mode, found.text, found.ids_a, found.ids_b, found.decoding)


def examples_of(
    first: Mismatch | None,
    corpus: CorpusReport | None,
    modes: Sequence[Mode],
    models: tuple[BPEModel | None, BPEModel | None],
) -> tuple[Example, ...]:
    """The text that refutes, and others of the corpora.

    Args:
        first: the text that refutes; None where there is none.
        corpus: what was compared on corpora.
        modes: how the sides were asked.
        models: the models that the sides run, as far as they are known.
    """
    if first is None:
        return ()
    sources: dict[tuple[str, str], Source] = {}
    shown = [first]
    for found in () if corpus is None else corpus.witnesses:
        sources.setdefault((found.scope, found.text), found.source)
        if (found.scope, found.text) != (first.mode.scope, first.text):
            shown.append(mismatch_of(found, modes))
    one, two = (None if model is None else Encoder(model) for model in models)
    return tuple(
        Example(
            each,
            align(each.text, each.ids_a, each.ids_b, one, two, each.mode),
            sources.get((each.mode.scope, each.text)),
        )
        for each in shown[:EXAMPLES]
    )
