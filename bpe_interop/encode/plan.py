"""Who encodes the texts of a model: the native kernel whole, the kernel in parts, or Python.

What the kernel holds runs there from the pre-tokenizer to the ids. Added tokens are cut out and
texts are normalized before, in Python; a normalizer that only puts a prefix and writes spaces as
U+2581 runs there, too. Whatever else there is runs in Python, and the :class:`Plan` says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InvalidModelError, PatternError
from ..kernel import (
    PieceSettings,
    TableSplitter,
    TextEncoder,
    encoder_of_form,
    encoder_of_list,
    encoder_of_pieces,
    is_aside,
    running,
    spaced,
    splitter_of,
)
from ..memo import Memo
from ..merging.canonical import canonical
from ..merging.symbols import merges_missing, textual
from ..model import Affixes, BPEModel, PairList, RankTable
from ..steps import Metaspace, Prepend, PreTokenizerStep, Replace
from ..text.charsmap import SPACE
from ..theory.split_tables import split_tables
from .pretoken import byte_ids, refuse_merged_fallback

_OTHER_KINDS = frozenset({"byte", "unknown", "user_defined", "unused"})


@dataclass(frozen=True, slots=True)
class Plan:
    """Who encodes the texts of a model. Each encoder is the kernel's; None stands for Python.

    Attributes:
        part: encodes a normalized part without added tokens.
        later: the same where the part does not begin its text.
        whole: encodes a text before the normalizer, in which no added token is looked for.
        why_not: why Python encodes; empty where the kernel does.
    """

    part: TextEncoder | None = None
    later: TextEncoder | None = None
    whole: TextEncoder | None = None
    why_not: str = ""


def plan_of(model: BPEModel) -> Plan:
    """Who encodes the texts of a model here: Python, while the kernel is set aside.

    Raises:
        EngineMissingError: ``BPE_INTEROP_KERNEL=native``, and it is not there.
        EngineError: the same, and it fails.
    """
    return _ASIDE if is_aside() else _plan(model)


_BESIDE = frozenset({"added", "sequence_template", "decoder"})
"""Fields that no plan depends on."""


def with_fields(model: BPEModel, **fields: Any) -> BPEModel:
    """The same model with other values of fields, and with its plan where that stays as it is."""
    if all(getattr(model, field) == value for field, value in fields.items()):
        return model
    other = replace(model, **fields)
    if _BESIDE.issuperset(fields):
        _like.keep(other, model)
    return other


@Memo
def _like(model: BPEModel) -> BPEModel:
    """The model whose plan is another one's; only what was kept here is asked for."""
    return model


_ASIDE = Plan(why_not="the kernel is set aside")


@Memo
def _plan(model: BPEModel) -> Plan:
    if _like.known(model):
        return _plan(_like(model))
    why_not = _beyond(model)
    if why_not:
        return Plan(why_not=why_not)
    spacing, steps = _spacing(model, model.pretokenizer or ())
    try:
        tables = split_tables(steps)
    except PatternError as error:
        why = error.what.removeprefix("not decided: ")
        return Plan(why_not=f"the pre-tokenizer has no table: {why}")
    splitter = splitter_of(tables)
    if steps and splitter is None:
        return Plan(why_not="the tables of the pre-tokenizer are too large for the kernel")
    ids = textual(model)
    if model.alphabet == "char":
        try:
            pieces = _of_characters(model, ids, splitter)
        except InvalidModelError as error:
            return Plan(why_not=error.what)
        if pieces is None:
            return Plan(why_not="its merges or tokens are irregular")
        if spacing is None:
            return Plan(pieces, pieces, _before_normalizer(model, pieces))
        return _with_metaspace(model, spacing, pieces)
    if isinstance(model.merges, PairList):
        encoder = encoder_of_list(
            _without_empty(model, ids),
            model.merges.pairs,
            splitter,
            lookup_first=model.lookup_first,
        )
    else:
        encoder = encoder_of_form(
            ids, canonical(model).splits, splitter, lookup_first=model.lookup_first
        )
    if encoder is None:
        return Plan(why_not="its merges or tokens are irregular")
    return Plan(encoder, encoder, encoder if model.normalizer == () else None)


def _without_empty(model: BPEModel, ids: Mapping[bytes, int]) -> Mapping[bytes, int]:
    """The tokens, without the empty one where it is never an id of a text (Whisper has one).

    No symbol is empty, and two that are not merge into none that is. Where pretokens are looked
    up first, or a merge names the empty token, all stays as it is, and the kernel refuses it.
    """
    if b"" not in ids or model.lookup_first or not isinstance(model.merges, PairList):
        return ids
    if not all(left and right for left, right in model.merges.pairs):
        return ids
    return {token: number for token, number in ids.items() if token}


def _of_characters(
    model: BPEModel, ids: Mapping[bytes, int], splitter: TableSplitter | None
) -> TextEncoder | None:
    """The kernel's encoder of a model of characters.

    Raises:
        InvalidModelError: a merge names the token for unknown text or a token of a byte.
    """
    if b"" in ids:
        return None
    rule, fallback = model.merges, model.fallback
    bytes_of = byte_ids(model) if fallback.byte_fallback else {}
    refuse_merged_fallback(model, bytes_of.values())
    kinds = model.vocab.kinds
    settings = PieceSettings(
        lookup_first=model.lookup_first,
        missing=fallback.missing,
        unknown=fallback.unknown,
        fuse=fallback.fuse,
        after_merging=merges_missing(fallback),
        byte_ids=bytes_of,
        unused=[number for number, kind in kinds.items() if kind == "unused"],
        defined=[number for number, kind in kinds.items() if kind == "user_defined"],
    )
    return encoder_of_pieces(
        ids, rule.ranks if isinstance(rule, RankTable) else rule.pairs, splitter, settings
    )


def _spacing(
    model: BPEModel, steps: tuple[PreTokenizerStep, ...]
) -> tuple[Metaspace | None, tuple[PreTokenizerStep, ...]]:
    """The step that writes spaces, if the kernel holds it, and the steps after it.

    Which of the characters begin a text that a normalizer has changed, Python tells.
    """
    first = steps[0] if steps else None
    if not isinstance(first, Metaspace) or first.replacement != SPACE:
        return None, steps
    if model.alphabet != "char" or (first.prepend == "first" and model.normalizer != ()):
        return None, steps
    return first, steps[1:]


def _with_metaspace(model: BPEModel, step: Metaspace, encoder: TextEncoder) -> Plan:
    """The encoders of a model whose pre-tokenizer begins so."""
    without = spaced(encoder, "", escape=True)
    whole = spaced(encoder, SPACE, escape=True, once=True)
    first = without if step.prepend == "never" else whole
    later = without if step.prepend == "first" else first
    return Plan(first, later, first if model.normalizer == () else None)


def _before_normalizer(model: BPEModel, encoder: TextEncoder) -> TextEncoder | None:
    """The encoder for texts before the normalizer, where this is a prefix and U+2581 for spaces."""
    steps = [*(model.normalizer or ())]
    if not steps:
        return encoder if model.normalizer == () else None
    prefix, escape = "", False
    first = steps[0]
    if isinstance(first, Prepend):
        prefix = first.text
        del steps[0]
    if steps and steps[0] == Replace(" ", SPACE):
        escape = True
        del steps[0]
    return None if steps else spaced(encoder, prefix, escape=escape)


def _beyond(model: BPEModel) -> str:
    """What of a model is not for the kernel."""
    if running().kernel != "native":
        return "there is no native kernel here"
    if model.pretokenizer is None:
        return "the pre-tokenizer is not stated"
    if model.affixes != Affixes():
        return "it has affixes"
    if model.alphabet == "char":
        return ""
    fallback = model.fallback
    if fallback.byte_fallback or fallback.unknown is not None:
        return "what is missing becomes another token"
    if not _OTHER_KINDS.isdisjoint(model.vocab.kinds.values()):
        return "it has tokens of several kinds"
    return ""
