"""When a cut between two tokens changes nothing: the conditions of Theorem 10.

1. The cut is the last that is made, and nothing is written or dropped after it: a later step
   would see other ends of a text (``docs/theory.md``).
2. All that happens to a pretoken is that its bytes are merged, and looked up before
   (:func:`only_merges_bytes`): every byte is a token, so that none is dropped, replaced or
   fused with the next; and no affix is glued to the ends of a pretoken.
3. No token can stand across the cut.
4. No token that only a lookup finds begins or ends there as a whole pretoken.
5. All this holds on the side that makes the cut and in the vocabulary for which it is left out.

Theorem 27 is the case of the two spellings of cl100k's pattern.
"""

from __future__ import annotations

from ..merging.canonical import whole_lookups
from ..merging.symbols import textual
from ..model import Affixes, BPEModel
from ..steps import Dialect, Pattern, Split
from ..text.patterns import preferred
from .pretokens import UTF8_BYTES


def has_utf8_bytes(model: BPEModel) -> bool:
    """Whether every byte that occurs in UTF-8 is a token, as it is only where bytes are merged.

    With affixes, that is in each of the places in which it has others of them.
    """
    tokens, prefix, suffix = textual(model), model.affixes.prefix, model.affixes.suffix
    return all(
        before + bytes([byte]) + after in tokens
        for byte in UTF8_BYTES
        for before in {b"", prefix}
        for after in {b"", suffix}
    )


def only_merges_bytes(model: BPEModel) -> bool:
    """Whether nothing but lookup and merging happens to the bytes of a pretoken (condition 2)."""
    return model.affixes == Affixes() and has_utf8_bytes(model)


def preferred_in(model: BPEModel, step: Split, place: int, dialect: Dialect) -> Pattern:
    """The pattern of one of a model's splitters in its preferred spelling.

    Spellings that only this vocabulary makes equal count where all conditions hold. They match
    every character, so whatever is done with matches, nothing but cuts between them may differ.

    Args:
        model: the model.
        step: a splitter by a pattern.
        place: its place among the model's pre-tokenizer steps.
        dialect: how the pattern is to be written.

    Raises:
        PatternError: the pattern is not understood, or the dialect cannot say it.
    """
    assert isinstance(step.pattern, Pattern)
    if place + 1 < len(model.pretokenizer or ()) or not only_merges_bytes(model):
        return preferred(step.pattern, dialect)
    return preferred(
        step.pattern,
        dialect,
        vocabulary=model.vocab.ids,
        unreachable=lambda: whole_lookups(model),
    )
