"""SentencePiece's normalizer settings, and the steps of a pipeline that they stand for.

Source: ``src/normalizer.cc`` and ``src/sentencepiece_processor.cc`` (``Decode``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...model import BPEModel
from ...steps import (
    SPACE,
    Metaspace,
    NormalizerStep,
    Prepend,
    Replace,
    SentencePieceText,
    Split,
)
from ...theory.acting_steps import acting_normalizer, acting_splits
from ...theory.normalizers import plain_steps
from ...theory.rewrite import ranks_of
from ...theory.utf8 import falls_back_to_bytes
from .message import Flags

_COLLAPSING = [
    SentencePieceText(b"", True, "prefix" if prefix else "none", escape)
    for prefix in (False, True)
    for escape in (False, True)
]
"""Normalizers without a character map that other formats have in simple steps."""

_CUT = Split(SPACE, "merged_with_next")
"""Hugging Face's ``Metaspace`` with ``split``: a pretoken begins at every space."""


def flags_of(steps: Sequence[NormalizerStep]) -> Flags | None:
    """The settings that do what a normalizer does; None where none do."""
    if len(steps) == 1 and isinstance(steps[0], SentencePieceText):
        step = steps[0]
        return Flags(step.charsmap, step.dummy, step.collapse, step.escape)
    for step in _COLLAPSING:
        if tuple(steps) == plain_steps(step):
            return Flags(dummy=step.dummy, collapse=True, escape=step.escape)
    rest = list(steps)
    prefix = ""
    if rest and isinstance(rest[0], Prepend):
        prefix = rest[0].text
        del rest[0]
    escape = rest == [Replace(" ", SPACE)]
    if rest and not escape:
        return None
    if prefix not in ("", " ", SPACE) or (prefix == SPACE and not escape):
        return None
    return Flags(dummy="prefix" if prefix else "none", escape=escape)


def settings_of(model: BPEModel) -> Flags | None:
    """The settings that do what a normalizer and a pre-tokenizer do; None where none do."""
    steps, cuts = list(acting_normalizer(model.normalizer or ())), list(acting_splits(model))
    if cuts and cuts[0] == Metaspace(SPACE, "never"):
        steps.append(Replace(" ", SPACE))
        del cuts[0]
    flags = flags_of(steps)
    # A cut at each space changes nothing where no merge makes a token with a space inside: it
    # matters only where a token could stand across it. An unknown token could, if the space itself
    # was one.
    if cuts and (cuts != [_CUT] or not _has_space(model) or not begins_with_space_only(model)):
        return None
    return flags


def proves(model: BPEModel) -> frozenset[str]:
    """Steps that settings say, and cuts at spaces that change nothing."""
    steps = model.normalizer or ()
    fits = flags_of(steps) is not None
    plain = model if fits else replace(model, normalizer=())
    fields = {"pretokenizer"} if settings_of(plain) is not None else set[str]()
    if fits and not any(isinstance(step, SentencePieceText) for step in steps):
        fields.add("normalizer")  # what it does not say of spaces is lost with the pre-tokenizer
    return frozenset(fields)


def nearest(model: BPEModel) -> Flags:
    """The settings to write: those that do the same, else what comes near."""
    settings = settings_of(model)
    if settings is not None:
        return settings
    for step in model.pretokenizer or ():
        if isinstance(step, Metaspace):
            return Flags(dummy="none" if step.prepend == "never" else "prefix")
    return flags_of(model.normalizer or ()) or Flags()


def _has_space(model: BPEModel) -> bool:
    """Whether the space is a token, or falls back to those of its bytes."""
    if SPACE.encode() in model.vocab.ids:
        return True
    return falls_back_to_bytes(model)


def begins_with_space_only(model: BPEModel) -> bool:
    """Whether no token that merges build has a space anywhere but at its start."""
    space = SPACE.encode()
    return all(token.rfind(space) <= 0 for token in ranks_of(model))
