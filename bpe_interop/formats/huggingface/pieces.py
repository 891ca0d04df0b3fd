"""A character-level model in tokenizers' terms: what only SentencePiece has is said otherwise.

Where that cannot be exact, what is written is the nearest, and ``piece_losses`` says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...memo import Memo
from ...merging.canonical import canonical
from ...merging.symbols import user_defined
from ...model import BPEModel, PairList, Vocab
from ...steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinPieces,
    NormalizerStep,
    Pattern,
    Precompiled,
    Prepend,
    Replace,
    SentencePieceText,
    StripToken,
)
from ...text.charsmap import SPACE, is_identity
from ...theory.plain import found_as_added, pairs_of, plain_steps
from .vocab import Pairs

ALL_SPACES = 2**31
"""More spaces than a text begins with."""

_SYNTAX = frozenset(r"\.^$*+?()[]{}|")


@Memo
def in_own_terms(model: BPEModel) -> BPEModel:
    """The character-level model that is written for this one; itself where it is of the kind.

    Byte tokens keep their kind. User-defined tokens become added tokens, or stay in the
    vocabulary without a merge; unused ones stay there too, but for single characters, which
    would be found. Worked out once for each model.
    """
    vocab, held = model.vocab, found_as_added(model)
    left_out = unused_characters(model) | {token.id for token in held if len(token.text) > 1}
    return replace(
        model,
        vocab=Vocab(
            {content: number for content, number in vocab.ids.items() if number not in left_out},
            {number: kind for number, kind in vocab.kinds.items() if kind == "byte"},
        ),
        merges=PairList(written_pairs(model)),
        fallback=replace(model.fallback, after_merging=False),
        normalizer=tuple(s for step in model.normalizer or () for s in written_steps(step)),
        added=(*(model.added or ()), *held),
        decoder=None if model.decoder is None else written_decoder(model, model.decoder),
    )


def unused_characters(model: BPEModel) -> frozenset[int]:
    """The ids of unused tokens of one character, which SentencePiece does not give for it."""
    kinds = model.vocab.kinds
    return frozenset(
        number
        for content, number in model.vocab.ids.items()
        if kinds.get(number) == "unused" and len(content.decode("utf-8")) == 1
    )


def written_pairs(model: BPEModel) -> Pairs:
    """The merges as pairs; where none do the same, the nearest.

    Neither unused tokens are built nor what holds a user-defined one, nor anything from them.
    """
    rewrite = pairs_of(model)
    rule = rewrite.rule or rewrite.nearest
    if isinstance(rule, PairList) and rule is model.merges:
        return tuple(rule.pairs)
    pairs = rule.pairs if isinstance(rule, PairList) else canonical(model).splits.values()
    kinds, frozen = model.vocab.kinds, user_defined(model)
    given = {token for token, n in model.vocab.ids.items() if kinds.get(n) != "unused"}
    return tuple(
        (left, right)
        for left, right in pairs
        if given.issuperset((left, right, left + right))
        and not any(frozen.find((left + right).decode("utf-8")))
    )


def written_steps(step: NormalizerStep) -> Iterator[NormalizerStep]:
    """A normalizer step as tokenizers has it; a character map by itself, before the rest."""
    if not isinstance(step, SentencePieceText):
        yield step
        return
    if not is_identity(step.charsmap):
        yield Precompiled(step.charsmap)
    yield from plain_steps(step)


def written_decoder(model: BPEModel, steps: Sequence[DecoderStep]) -> tuple[DecoderStep, ...]:
    """Decoder steps as tokenizers has them: those of Llama's family for SentencePiece's one.

    The unknown token is spelled as its surface only where a text can give it.
    """
    if len(steps) != 1 or not isinstance(step := steps[0], JoinPieces):
        return tuple(steps)
    written: list[DecoderStep] = [Replace(SPACE, " ")]
    unknown = unknown_spelling(model)
    if model.fallback.byte_fallback:
        written.append(ByteTokens())
    elif unknown and unknown != step.unknown:
        written.append(_in_place(model, unknown, step.unknown))
    written.append(Fuse())
    spaces = left_spaces(model, step)
    return (*written, StripToken(" ", spaces, 0)) if spaces else tuple(written)


def unknown_spelling(model: BPEModel) -> str:
    """The unknown token's text, its spaces undone; empty where there is none."""
    texts = (token.text for token in model.added or () if token.id == model.fallback.unknown)
    return next(texts, "").replace(SPACE, " ")


def _in_place(model: BPEModel, spelling: str, surface: str) -> Replace:
    """Replaces a token's text, and not a part of another's."""
    for content in model.vocab.ids:
        if spelling in content.decode("utf-8").replace(SPACE, " "):
            escaped = "".join("\\" + c if c in _SYNTAX else c for c in spelling)
            return Replace(Pattern(rf"\A{escaped}\z", "oniguruma"), surface)
    return Replace(spelling, surface)


def left_spaces(model: BPEModel, step: JoinPieces) -> int:
    """How many spaces at the start of a decoded text SentencePiece leaves out.

    One, but none where the dummy prefix is not escaped: it looks for U+2581 only. Where it
    collapses spaces, it leaves one out of each token until there is text, which are all of them
    if no token begins with two; but none of an unknown token's surface.
    """
    escaped = not any(
        step == Prepend(" ") or (isinstance(step, SentencePieceText) and not step.escape)
        for step in model.normalizer or ()
    )
    space = SPACE.encode("utf-8")
    if not any(content.startswith(space) for content in model.vocab.ids):
        return 0
    if step.dummy == "prefix" and not escaped:
        return 0
    if step.collapse and escaped and model.fallback.byte_fallback:
        double = any(content.startswith(2 * space) for content in model.vocab.ids)
        return int(step.dummy != "none") if double else ALL_SPACES
    return int(step.dummy != "none")
