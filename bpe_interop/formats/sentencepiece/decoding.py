"""Whether SentencePiece decodes the ids of real texts as a model's own decoder does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice

from ...errors import BpeInteropError
from ...loss import Loss
from ...model import BPEModel
from ...steps import (
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinPieces,
    MetaspaceText,
    Replace,
    StripToken,
)
from ...text.charsmap import SPACE
from ...text.decoders import decode_pieces, decode_tokens
from ...witnesses import Probe, plain_texts
from .flags import begins_with_space_only, has_byte_tokens, nearest

_SPACES = Replace(SPACE, " ")
_ONE_SPACE = StripToken(" ", 1, 0)
_LIKE_BYTE = re.compile(rb"<0x(\+[0-9A-Fa-f]|[0-9A-Fa-f]{2})>")
_MARKED = ("\u2581", "\u2581a", "\u2581\u2581a", "a\u2581")
"""Texts with the character that stands for a space, which is not told from one."""

_LOOKED_AT = 2_000
"""How many texts are decoded to find a difference."""


def decoder_loss(model: BPEModel, again: BPEModel) -> Iterator[Loss]:
    """The loss of a decoder that is not SentencePiece's own, or not that of its normalizer."""
    if _is_own(model):
        return
    target = next(step for step in again.decoder or () if isinstance(step, JoinPieces))
    if _does_the_same(model, target):
        yield Loss(
            "decoder",
            "metadata",
            "a chain of decoders is written as SentencePiece's own",
            "ids of texts are decoded alike; malformed bytes and special tokens are not",
        )
    else:
        witness = _decoded_otherwise(model, target)
        yield Loss(
            "decoder",
            "text",
            "this decoder is not SentencePiece's",
            "ids of some texts would be decoded to other texts",
            witness=witness,
            shown=witness is not None,
        )


def _is_own(model: BPEModel) -> bool:
    """Whether the decoder is SentencePiece's, with the spaces that the normalizer puts in."""
    steps, flags = model.decoder or (), nearest(model)
    if len(steps) != 1 or not isinstance(steps[0], JoinPieces):
        return False
    return (steps[0].dummy, steps[0].collapse) == (flags.dummy, flags.collapse)


def _unknown_alike(model: BPEModel, target: JoinPieces) -> bool:
    """Whether the unknown token is decoded alike, where a text can give it."""
    if model.fallback.missing != "unknown" or has_byte_tokens(model):
        return True
    return target.unknown == decode_tokens(model.decoder or (), [target.unknown])


def _does_the_same(model: BPEModel, target: JoinPieces) -> bool:
    """Whether the chain is one that is known to decode real texts as ``target`` does.

    A real text begins with its dummy prefix. ``SPACE`` must be a token: if it fell back to
    bytes, those would not become a space.
    """
    if SPACE.encode() not in model.vocab.ids:
        return False
    if target.charsmap or target.collapse or target.dummy == "suffix":
        return False
    steps = list(model.decoder or ())
    if not has_byte_tokens(model) and not any(map(_LIKE_BYTE.fullmatch, model.vocab.ids)):
        steps = [step for step in steps if step != ByteTokens()]
    if steps[-1:] == [Fuse()]:
        del steps[-1]
    bytes_too: list[DecoderStep] = [ByteTokens()] if has_byte_tokens(model) else []
    if target.dummy == "prefix":
        chains = [[_SPACES, *bytes_too, Fuse(), _ONE_SPACE]]
        if begins_with_space_only(model):  # all spaces of the first token are left out
            chains += [[MetaspaceText(SPACE, "always"), *bytes_too]]
            chains += [[MetaspaceText(SPACE, "first"), *bytes_too]]
    else:
        chains = [[_SPACES, *bytes_too], [MetaspaceText(SPACE, "never"), *bytes_too]]
    return steps in chains and _unknown_alike(model, target)


def _decoded_otherwise(model: BPEModel, target: JoinPieces) -> str | None:
    """A text whose tokens are decoded to different texts, if one of a few thousand is."""
    probe = Probe(model)
    for text in chain(_MARKED, islice(plain_texts(model), _LOOKED_AT)):
        try:
            contents = probe.tokens(text)
            if contents is None:
                continue
            tokens = [token.decode("utf-8") for token in contents]
            ours = decode_tokens(model.decoder or (), tokens)
        except (BpeInteropError, UnicodeDecodeError):
            continue
        if ours != decode_pieces(target, [(token, "piece") for token in tokens]):
            return text
    return None
