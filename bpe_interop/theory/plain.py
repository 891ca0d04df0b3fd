"""What only SentencePiece has, in terms that other formats have too, where that is exact.

User-defined tokens are Theorem 24 in ``docs/theory.md``, normalizers Theorem 15.

Sources: ``src/normalizer.cc``, ``src/bpe_model.cc`` and ``src/sentencepiece_processor.cc`` of
sentencepiece; tokenizers' ``added_vocabulary.rs``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..memo import Memo
from ..model import AddedToken, BPEModel
from ..steps import NormalizerStep, Pattern, Prepend, Replace, SentencePieceText
from ..text.charsmap import SPACE, is_identity
from ..text.normalize import normalize
from .idle import acting_normalizer

if TYPE_CHECKING:
    from .rewrite import Rewrite


def plain_steps(step: SentencePieceText) -> tuple[NormalizerStep, ...]:
    """Simple steps that do the same, but for a character map and a space after the text.

    Spaces are removed before the dummy prefix is put in and before they are escaped; at the end
    SentencePiece removes escaped ones, so U+2581 in a text is removed there with them.
    """
    space = SPACE if step.escape else " "
    steps: list[NormalizerStep] = []
    if step.collapse:
        steps += [
            Replace(Pattern(" {2,}", "oniguruma"), " "),
            Replace(Pattern(r"\A ", "oniguruma"), ""),
        ]
    if step.dummy == "prefix":
        steps.append(Prepend(space))
    if step.escape:
        steps.append(Replace(" ", SPACE))
    if step.collapse:
        steps.append(Replace(Pattern(rf"{space}+\z", "oniguruma"), ""))
    return tuple(steps)


def has_plain_steps(step: SentencePieceText) -> bool:
    """Whether :func:`plain_steps` normalizes every text alike.

    A user-defined piece keeps the doubled spaces that it holds.
    """
    if step.dummy == "suffix" or not is_identity(step.charsmap):
        return False
    return not step.collapse or not any("  " in text for text in step.kept)


def plain_normalizer(steps: Sequence[NormalizerStep]) -> tuple[NormalizerStep, ...]:
    """The steps that can act, those of SentencePiece as simple ones where these do the same."""
    plain: list[NormalizerStep] = []
    for step in steps:
        if isinstance(step, SentencePieceText) and has_plain_steps(step):
            plain += plain_steps(step)
        else:
            plain.append(step)
    return acting_normalizer(plain)


def found_as_added(model: BPEModel) -> tuple[AddedToken, ...]:
    """The user-defined tokens that added tokens can stand for, by id.

    Both are found in the normalized text, leftmost and then longest, before anything merges.
    But an added token is looked for as the normalizer writes its text, so it must leave that
    as it is.
    """
    return tuple(
        AddedToken(text, number, special=False, normalized=True)
        for text, number in sorted(_user_defined(model), key=lambda entry: entry[1])
        if is_left_alone(model, text)
    )


def is_left_alone(model: BPEModel, text: str) -> bool:
    """Whether the normalizer writes a text as it is."""
    return normal_form(model, text) == text


def normal_form(model: BPEModel, text: str) -> str:
    """A text as the normalizer writes it: what a normalized added token is looked for as."""
    return normalize(plain_normalizer(model.normalizer or ()), text)


def is_as_good_as_normal(model: BPEModel, content: bytes) -> bool:
    """Whether the kind of a user-defined or unused token changes no id.

    What nothing builds is never given, unused or not; but one character is there without. If
    the merges can be pairs, then these build no unused token.
    """
    text = content.decode("utf-8")
    if model.vocab.kinds.get(model.vocab.ids[content]) == "unused":
        from ..merging.canonical import canonical

        built = content in canonical(model).splits
        return len(text) > 1 and (not built or pairs_of(model).rule is not None)
    return stays_symbol(model, text)


def stays_symbol(model: BPEModel, text: str) -> bool:
    """Whether a user-defined token is the same as an ordinary one that nothing merges with.

    One character is a symbol anyway. What holds a space is never found where spaces are
    escaped.
    """
    return len(text) == 1 or (" " in text and _escapes(model))


def _escapes(model: BPEModel) -> bool:
    return any(
        step.escape if isinstance(step, SentencePieceText) else step == Replace(" ", SPACE)
        for step in model.normalizer or ()
    )


@Memo
def pairs_of(model: BPEModel) -> Rewrite:
    """The merges as pairs (:func:`.rewrite.as_pairs`). Computed once for each model."""
    from .rewrite import as_pairs

    return as_pairs(model)


def _user_defined(model: BPEModel) -> list[tuple[str, int]]:
    kinds = model.vocab.kinds
    if "user_defined" not in kinds.values():
        return []
    return [
        (content.decode("utf-8"), number)
        for content, number in model.vocab.ids.items()
        if kinds.get(number) == "user_defined"
    ]
