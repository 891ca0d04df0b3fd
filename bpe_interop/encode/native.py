"""Which models the native kernel encodes: those of which it holds every part.

What it holds runs there from the pre-tokenizer to the ids. Added tokens are cut out and texts are
normalized before, in Python. Whatever else there is runs in Python, and :class:`Native` says why.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..derived import Derived
from ..errors import PatternError
from ..kernel import (
    ByteEncoder,
    encoder_of_form,
    encoder_of_list,
    is_aside,
    running,
    splitter_of,
)
from ..model import Affixes, BPEModel, PairList
from ..theory.merges import canonical, textual
from ..theory.split_tables import split_tables

_OTHER_KINDS = frozenset({"byte", "unknown", "user_defined", "unused"})


@dataclass(frozen=True, slots=True)
class Native:
    """The kernel's encoder of a model, or why there is none."""

    encoder: ByteEncoder | None
    why_not: str = ""


@Derived
def native(model: BPEModel) -> Native:
    """The kernel's encoder of a model. Made once for each model.

    Raises:
        EngineMissingError: ``BPE_INTEROP_KERNEL=native``, and it is not there.
        EngineError: the same, and it fails.
    """
    why_not = _beyond(model)
    if why_not:
        return Native(None, why_not)
    steps = model.pretokenizer or ()
    try:
        tables = split_tables(steps)
    except PatternError as error:
        return Native(None, f"the pre-tokenizer has no table: {error.what}")
    splitter = splitter_of(tables)
    if steps and splitter is None:
        return Native(None, "the tables of the pre-tokenizer are too large for the kernel")
    ids = textual(model)
    if isinstance(model.merges, PairList):
        encoder = encoder_of_list(
            ids, model.merges.pairs, splitter, lookup_first=model.lookup_first
        )
    else:
        encoder = encoder_of_form(
            ids, canonical(model).splits, splitter, lookup_first=model.lookup_first
        )
    if encoder is None:
        return Native(None, "its merges or tokens are irregular")
    return Native(encoder)


def native_encoder(model: BPEModel) -> ByteEncoder | None:
    """The kernel's encoder of a model, where it is there and not set aside.

    Raises:
        The errors of :func:`native`.
    """
    return None if is_aside() else native(model).encoder


def _beyond(model: BPEModel) -> str:
    """What of a model is not for the kernel."""
    if running().kernel != "native":
        return "there is no native kernel here"
    if model.pretokenizer is None:
        return "the pre-tokenizer is not stated"
    if model.alphabet != "byte":
        return "its symbols are characters"
    if model.affixes != Affixes():
        return "it has affixes"
    fallback = model.fallback
    if fallback.byte_fallback or fallback.unknown is not None:
        return "what is missing becomes another token"
    if not _OTHER_KINDS.isdisjoint(model.vocab.kinds.values()):
        return "it has tokens of several kinds"
    return ""
