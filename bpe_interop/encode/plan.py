"""Who encodes the texts of a model: the native kernel whole, the kernel in parts, or Python.

What the kernel holds runs there from the pre-tokenizer to the ids. Around it the kernel finds added
tokens, places the ids of a template, and does a normalizer that puts a prefix, writes spaces as
U+2581, writes each character as one (lower case), or is NFC or NFD, or another normal form that a
text has already. Whatever else there is runs in Python, and the :class:`Plan` says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import groupby, takewhile
from typing import Any

from ..errors import InvalidModelError, PatternError
from ..kernel import is_aside, running
from ..kernel.encoder import (
    CharacterMapper,
    Cutting,
    KernelNormalizer,
    NormalForm,
    PieceSettings,
    TextEncoder,
    encoder_around,
    encoder_of_form,
    encoder_of_list,
    encoder_of_pieces,
    mapper_of,
    normal_form_of,
    spaced,
)
from ..kernel.splitter import TableSplitter, splitter_of
from ..memo import Memo
from ..merging.canonical import canonical
from ..merging.symbols import merges_missing, textual
from ..model import Allowed, BPEModel, PairList, RankTable
from ..steps import (
    SPACE,
    ByteChars,
    Metaspace,
    NormalizerStep,
    Prepend,
    PreTokenizerStep,
    Replace,
    Split,
    UnicodeForm,
)
from ..text.added_tokens import SINGLE_WORD, AddedMatcher
from ..text.character_maps import character_map, is_character_map
from ..text.unicode import FormName, char_class, form_table, paged
from ..theory.gaps import with_gaps
from ..theory.split_tables import split_tables
from .pretoken import byte_ids, refuse_merged_fallback

_OTHER_KINDS = frozenset({"byte", "unknown", "user_defined", "unused"})


@dataclass(frozen=True, slots=True)
class Plan:
    """Who encodes the texts of a model. Each encoder is the kernel's; None stands for Python.

    Attributes:
        part: encodes a normalized part without added tokens.
        later: the same where the part does not begin its text.
        normal: what the kernel does at the end of the normalizer; where it is None, Python
            normalizes texts and finds added tokens.
        changes: the steps before, normal forms and maps of characters, which the kernel does too.
        why_not: why Python encodes, or what Python does before the kernel encodes parts of a text;
            empty where the kernel does all.
    """

    part: TextEncoder | None = None
    later: TextEncoder | None = None
    normal: KernelNormalizer | None = None
    changes: tuple[NormalizerStep, ...] = ()
    why_not: str = ""

    def whole(
        self,
        added: AddedMatcher,
        allowed: Allowed,
        template: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> TextEncoder | None:
        """The encoder of whole texts; None where Python has a share in it.

        Args:
            added: the model's added tokens.
            allowed: which special ones are looked for.
            template: the ids before those of a text, and after them.
        """
        if self.part is None or self.later is None or self.normal is None:
            return None
        found = added.listed(allowed)
        alone = self.later is self.part and self.normal == KernelNormalizer() and not self.changes
        if alone and not any((*found, *template)):
            return self.part
        alone = any(token.flags & SINGLE_WORD for phase in found for token in phase)
        words = char_class("word").ranges if alone else ()
        encoders = self.part, self.later
        # Its tables are made here: a model that is only loaded needs none.
        changes = _changes(self.changes)
        if changes is None:
            return None
        return encoder_around(encoders, self.normal, changes, found, words, template)


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
    # A model that differs from another in nothing that a plan depends on has its plan.
    if _like.known(model):
        return _plan(_like(model))
    why_not = _beyond(model)
    if why_not:
        return Plan(why_not=why_not)
    spacing, steps = _spacing(model, model.pretokenizer or ())
    steps, letters = _around_letters(model, steps)
    try:
        steps = _as_one(steps)
        whole = splitter_of(split_tables(steps))
        inner = splitter_of(split_tables(letters))
    except PatternError as error:
        why = error.what.removeprefix("not decided: ")
        return Plan(why_not=f"the pre-tokenizer has no table: {why}")
    if (steps and whole is None) or (letters and inner is None):
        return Plan(why_not="the tables of the pre-tokenizer are too large for the kernel")
    ids = textual(model)
    if model.alphabet == "char":
        try:
            pieces = _of_characters(model, ids, whole)
        except InvalidModelError as error:
            return Plan(why_not=error.what)
        if pieces is None:
            return Plan(why_not="its merges or tokens are irregular")
        return _planned(model, *_metaspaced(spacing, pieces))
    splitters = replace(_by_words(steps) or Cutting(whole), letters=inner)
    if isinstance(model.merges, PairList):
        try:
            refuse_merged_fallback(model, ())
        except InvalidModelError as error:
            return Plan(why_not=error.what)
        encoder = encoder_of_list(
            _without_empty(model, ids),
            model.merges.pairs,
            splitters,
            lookup_first=model.lookup_first,
            suffix=model.affixes.suffix,
        )
    else:
        encoder = encoder_of_form(
            ids, canonical(model).splits, splitters, lookup_first=model.lookup_first
        )
    if encoder is None:
        return Plan(why_not="its merges or tokens are irregular")
    return _planned(model, encoder, encoder)


def _planned(model: BPEModel, part: TextEncoder | None, later: TextEncoder | None) -> Plan:
    """The plan with what the kernel does of the normalizer."""
    steps = [*(model.normalizer or ())]
    prefix, escape = None, False
    # In this order the kernel does them: normal forms and maps of characters, a prefix, spaces as
    # U+2581. What is left over is Python's.
    changes = [*takewhile(_is_change, steps[:_MOST_CHANGES])]
    del steps[: len(changes)]
    if steps and isinstance(first := steps[0], Prepend):
        prefix = first.text
        del steps[:1]
    if steps and steps[0] == Replace(" ", SPACE):
        prefix, escape = prefix or "", True
        del steps[:1]
    # Not stated: encoding will say so, and parts can be encoded all the same.
    if model.normalizer is None:
        return Plan(part, later)
    if steps:
        name = type(steps[0]).__name__
        return Plan(part, later, why_not=f"its normalizer ({name}) runs in Python, before that")
    return Plan(part, later, KernelNormalizer(prefix, escape), tuple(changes))


_MOST_CHANGES = 200
"""A map of characters has room for so many kinds of runs."""


def _is_change(step: NormalizerStep) -> bool:
    return isinstance(step, UnicodeForm) or is_character_map(step)


def _changes(
    steps: tuple[NormalizerStep, ...],
) -> tuple[NormalForm | CharacterMapper, ...] | None:
    """What does such steps, in their order; None where the kernel cannot hold it."""
    made: list[NormalForm | CharacterMapper | None] = []
    for form, some in groupby(steps, lambda step: getattr(step, "form", None)):
        made.append(_mapper(tuple(some)) if form is None else _normal_form(form))
    done = tuple(each for each in made if each is not None)
    return done if len(done) == len(made) else None


@lru_cache(maxsize=16)
def _mapper(steps: tuple[NormalizerStep, ...]) -> CharacterMapper | None:
    tables = character_map(steps)
    return mapper_of(*paged(tables.kinds), tables.changed, tables.runs)


@cache
def _normal_form(name: FormName) -> NormalForm | None:
    table = form_table(name)
    return normal_form_of(*paged(table.classes), table.composed, table.decomposed)


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
    # Which characters begin a text that a normalizer has changed, Python tells (`leading`).
    if model.alphabet != "char" or (first.prepend == "first" and model.normalizer != ()):
        return None, steps
    return first, steps[1:]


def _around_letters(
    model: BPEModel, steps: tuple[PreTokenizerStep, ...]
) -> tuple[tuple[PreTokenizerStep, ...], tuple[PreTokenizerStep, ...]]:
    """The steps that cut a text, and those behind the one that spells its bytes by letters."""
    if model.alphabet != "byte" or ByteChars() not in steps:
        return steps, ()
    at = steps.index(ByteChars())
    return steps[:at], steps[at + 1 :]


def _as_one(steps: tuple[PreTokenizerStep, ...]) -> tuple[PreTokenizerStep, ...]:
    """Steps as the one pattern that is proved to cut as they do (Theorem 29), if one is found.

    Raises:
        PatternError: a step alone has no table.
    """
    # The engine of a step may not match as its pattern is defined to (Python's regex): then no
    # other pattern stands for it.
    split_tables(steps)
    if len(steps) > 1:
        from ..theory.composition import composed  # most models have one step, and load sooner

        with suppress(PatternError):
            return (Split(composed(steps), "removed", invert=True),)
    return steps


_PROSE = 'It isn\'t known that "they" (or 12,345 others) would be; see https://example.org/a.\n'
_WORD = 32
"""Characters of the longest pretoken of prose, where pretokens are words."""


def _by_words(steps: tuple[PreTokenizerStep, ...]) -> Cutting | None:
    """Cutting of which the first step cuts a text into words, and the others only those that are
    not remembered; None where there is nothing to gain, or the first step leaves more than words.
    """
    if not steps:
        return None
    found = with_gaps(steps[0])
    if found is None:
        return None
    whole, gaps = found
    first, again = splitter_of(split_tables((whole,))), splitter_of(split_tables(steps[1:]))
    if first is None or (again is None and len(steps) > 1):
        return None
    words = first.cut(_PROSE) or [_PROSE]
    return Cutting(first, gaps, again) if max(map(len, words)) <= _WORD else None


def _metaspaced(
    step: Metaspace | None, encoder: TextEncoder
) -> tuple[TextEncoder | None, TextEncoder | None]:
    """The encoders of parts that begin a text, and of the others, after such a step."""
    if step is None:
        return encoder, encoder
    without = spaced(encoder, "", escape=True)
    whole = spaced(encoder, SPACE, escape=True, once=True)
    first = without if step.prepend == "never" else whole
    return first, without if step.prepend == "first" else first


def _beyond(model: BPEModel) -> str:
    """What of a model is not for the kernel."""
    if running().kernel != "native":
        return "there is no native kernel here"
    if model.pretokenizer is None:
        return "the pre-tokenizer is not stated"
    affixes = model.affixes
    # Only a list of pairs says which symbols merge where some have a suffix.
    of_bytes = model.alphabet == "byte" and isinstance(model.merges, PairList)
    if affixes.prefix or (affixes.suffix and not of_bytes):
        return "it has affixes"
    if model.alphabet == "char":
        return ""
    if model.fallback.byte_fallback:
        return "what is missing becomes another token"
    if not _OTHER_KINDS.isdisjoint(model.vocab.kinds.values()):
        return "it has tokens of several kinds"
    return ""
