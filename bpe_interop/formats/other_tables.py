"""Patterns of Python's ``regex`` in formats of other engines, and theirs in Python's.

The Unicode tables of ``regex`` are of another version than those of tiktoken and tokenizers
(``text/unicode.py``), and it takes some patterns for others (``text/misreadings.py``). So the
same pattern may cut a text elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ..frozen import replace
from ..loss import Loss
from ..model import BPEModel
from ..steps import PreTokenizerStep, Split
from ..text.patterns import asks_other_tables, is_misread
from ..theory.cuts_apart import compared_cuts, texts_across
from ..witnesses import first_apart

if TYPE_CHECKING:
    from .round_trip import RoundTrip


def tables_lost(trip: RoundTrip) -> Iterator[Loss]:
    """What is lost with the engine that a model's pattern is matched by.

    The steps that are compared are those that the format says it has (``read_back``).
    That is where ``regex`` may misread the pattern, and where a text shows that tables differ.
    Where no text is found, nothing is named: whether one exists is for a proof to say. A format
    whose patterns are all ``regex``'s loses none of its tables: another pattern is another reason.
    """
    model, left = trip.model, trip.model.pretokenizer or ()
    if (trip.format.dialect == "python") is any(map(asks_other_tables, left)):
        return
    again, right = trip.expected, trip.expected.pretokenizer or ()
    if not _have_other_tables(model, again):
        return
    if any(map(_is_misread, (*left, *right))):
        yield Loss(
            "pretokenizer",
            "ids",
            "Python's regex may take the pattern for another one than it says",
            "texts would be cut elsewhere; write it without negated classes of one character",
            shown=False,
        )
        return
    compared = compared_cuts(left, right)
    if compared.text is None and not compared.why:
        return
    texts = [] if compared.text is None else [compared.text]
    texts += texts_across((model, again), left, right)
    yield from shown_by_text(model, again, texts)


def shown_by_text(model: BPEModel, again: BPEModel, texts: Iterable[str]) -> Iterator[Loss]:
    """The loss of Unicode tables, where one of these texts shows it, or a few plain ones."""
    if not _have_other_tables(model, again):
        return
    witness = first_apart(model, replace(model, pretokenizer=again.pretokenizer), texts)
    if witness is not None:
        yield Loss(
            "pretokenizer",
            "ids",
            "Python's regex cuts with Unicode tables of another version than the other engine's",
            "texts would be cut elsewhere; write out in the pattern which characters are meant",
            witness=witness,
        )


def _have_other_tables(a: BPEModel, b: BPEModel) -> bool:
    """Whether two models, which both split texts, match patterns by other tables."""
    left, right = a.pretokenizer, b.pretokenizer
    if not left or not right or left == right:
        return False
    return any(map(asks_other_tables, left)) is not any(map(asks_other_tables, right))


def _is_misread(step: PreTokenizerStep) -> bool:
    pattern = step.pattern if isinstance(step, Split) else ""
    return not isinstance(pattern, str) and is_misread(pattern)
