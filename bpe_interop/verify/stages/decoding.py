"""How ids become text, on ids that some text encodes to."""

from __future__ import annotations

from ...model import BPEModel
from ...steps import ByteTokens, DecoderStep, Fuse, JoinPieces, Replace, StripToken
from .numbering import all_bytes
from .pair import Pair, Stage, silent

_NAME = "decoding"
_SPACE = "\u2581"


def decoding_stage(pair: Pair) -> Stage:
    """How ids become text."""
    a, b = pair.a.decoder, pair.b.decoder
    if a is None or b is None:
        return Stage(_NAME, "unknown", f"{silent(pair, 'decoder')} how ids become text")
    if a == b:
        return Stage(_NAME, "proved", "the same steps")
    for pieces, other in ((pair.a, pair.b), (pair.b, pair.a)):
        if _undone_alike(pieces, other):
            return Stage(
                _NAME,
                "proved",
                "equal on ids that texts encode to; control tokens and byte tokens out of place "
                "decode otherwise",
            )
    return Stage(_NAME, "unknown", "other steps; compared on texts")


def _undone_alike(pieces: BPEModel, chain: BPEModel) -> bool:
    """SentencePiece's decoding, and steps that do the same where byte tokens are whole.

    A text begins with the dummy prefix, so its first token begins with a space where that is a
    token. What is unknown is spelled by its token, unless the steps say otherwise.
    """
    steps = pieces.decoder or ()
    if len(steps) != 1 or not isinstance(step := steps[0], JoinPieces):
        return False
    if step.collapse or step.charsmap or step.dummy == "suffix":
        return False
    if step.dummy == "prefix" and _SPACE.encode() not in pieces.vocab.ids:
        return False
    whole = all_bytes(pieces) and all_bytes(chain)
    said = list(chain.decoder or ())
    said_unknown = [s for s in said[1:] if isinstance(s, Replace) and s.content == step.unknown]
    said = [s for s in said if s not in said_unknown]
    expected: list[DecoderStep] = [Replace(_SPACE, " "), ByteTokens(), Fuse()]
    if pieces.fallback.byte_fallback is chain.fallback.byte_fallback is False:
        said = [s for s in said if not isinstance(s, ByteTokens)]
        expected.remove(ByteTokens())
    if said != expected + [StripToken(" ", 1, 0)] * (step.dummy == "prefix"):
        return False
    replaced = {s.pattern for s in said_unknown if isinstance(s.pattern, str)}
    if len(replaced) != len(said_unknown) or len(replaced) > 1:
        return False
    return _spelled_alike(chain, "".join(replaced), step.unknown, whole=whole)


def _spelled_alike(model: BPEModel, pattern: str, content: str, *, whole: bool) -> bool:
    """Whether the unknown token becomes what it should, and no other is replaced.

    ``pattern`` is replaced by ``content``, if there is one. ``whole``: no text has an unknown.
    """
    number = model.fallback.unknown
    spelled = {own: c.decode("utf-8", "replace") for c, own in model.vocab.ids.items()}
    for own, text in spelled.items():
        if pattern and own != number and pattern in text.replace(_SPACE, " "):
            return False
    if whole:
        return True
    texts = {token.id: token.text for token in model.added or ()}
    text = texts.get(number, "") if number in texts else spelled.get(number or 0, "")
    if not text or number is None or _SPACE in text:
        return False
    return (text.replace(pattern, content) if pattern else text) == content
