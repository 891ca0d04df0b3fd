"""User-defined tokens as added ones, and tokens whose kind changes nothing (Theorem 24).

Sources: ``src/normalizer.cc``, ``src/bpe_model.cc`` and ``src/sentencepiece_processor.cc`` of
sentencepiece; tokenizers' ``added_vocabulary.rs``.
"""

from __future__ import annotations

from ..model import AddedToken, BPEModel
from ..steps import Replace, SentencePieceText
from ..text.charsmap import SPACE
from ..text.normalize import normalize
from .normalizers import plain_normalizer


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
        from .rewrite import as_pairs

        built = content in canonical(model).splits
        return len(text) > 1 and (not built or as_pairs(model).rule is not None)
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


def _user_defined(model: BPEModel) -> list[tuple[str, int]]:
    kinds = model.vocab.kinds
    if "user_defined" not in kinds.values():
        return []
    return [
        (content.decode("utf-8"), number)
        for content, number in model.vocab.ids.items()
        if kinds.get(number) == "user_defined"
    ]
