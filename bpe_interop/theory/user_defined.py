"""User-defined tokens as added ones, and tokens whose kind changes nothing (Theorem 24).

Sources: ``src/normalizer.cc``, ``src/bpe_model.cc`` and ``src/sentencepiece_processor.cc`` of
sentencepiece; tokenizers' ``added_vocabulary.rs``.
"""

from __future__ import annotations

from dataclasses import replace

from ..merging.canonical import canonical
from ..merging.symbols import user_defined
from ..model import AddedToken, BPEModel
from ..steps import SPACE, Replace, SentencePieceText
from ..text.normalize import normalize
from .added_tokens import same_in_one_pass
from .normalizers import plain_normalizer


def found_as_added(model: BPEModel) -> tuple[AddedToken, ...]:
    """The user-defined tokens that added tokens can stand for, by id."""
    steps = plain_normalizer(model.normalizer or ())
    numbers = {text: model.vocab.ids[text.encode("utf-8")] for text in user_defined(model)}
    return tuple(
        AddedToken(text, numbers[text], special=False, normalized=True)
        for text in sorted(numbers, key=numbers.__getitem__)
        # Both are found in the normalized text, leftmost and then longest, before anything merges
        # (Theorem 24). But an added token is looked for as the normalizer writes its text.
        if normalize(steps, text) == text
    )


def matching_tokens(model: BPEModel) -> list[AddedToken]:
    """Added tokens by what decides whether and where they match, user-defined ones among them.

    They come in the order of the model. Roles stay, which do not matter for that.
    """
    added = [*(model.added or ()), *found_as_added(model)]
    # Theorem 18: where one pass finds the same, it does not count in which pass a token is found.
    if not same_in_one_pass(plain_normalizer(model.normalizer or ()), added):
        return added
    return [replace(token, normalized=False) for token in added]


def normal_form(model: BPEModel, text: str) -> str:
    """A text as the normalizer writes it: what a normalized added token is looked for as."""
    return normalize(plain_normalizer(model.normalizer or ()), text)


def is_as_good_as_normal(model: BPEModel, content: bytes) -> bool:
    """Whether the kind of a user-defined or unused token changes no id."""
    from .rewrite import as_pairs  # who reads a file does not wait for it

    text = content.decode("utf-8")
    if model.vocab.kinds.get(model.vocab.ids[content]) == "unused":
        # What nothing builds is never given, unused or not; but one character is there without.
        # If the merges can be pairs, then these build no unused token.
        built = content in canonical(model).splits
        return len(text) > 1 and (not built or as_pairs(model).rule is not None)
    return stays_symbol(model, text)


def stays_symbol(model: BPEModel, text: str) -> bool:
    """Whether a user-defined token is the same as an ordinary one that nothing merges with."""
    # One character is a symbol anyway. What holds a space is never found where spaces are escaped.
    return len(text) == 1 or (
        " " in text
        and any(
            step.escape if isinstance(step, SentencePieceText) else step == Replace(" ", SPACE)
            for step in model.normalizer or ()
        )
    )
