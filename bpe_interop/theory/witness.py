"""Texts that show a difference."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import PatternError
from ..model import BPEModel
from ..steps import JoinBytes, JoinTokens, NormalizerStep, Pattern, PreTokenizerStep, Split
from ..text.bytechars import is_mapped
from ..text.normalize import normalize
from ..text.patterns import parse
from ..text.split import split
from .automata import first_difference


def first_changed(steps: Sequence[NormalizerStep]) -> str | None:
    """The smallest code point of the basic plane that a normalizer changes, if it changes one."""
    for point in range(0x10000):
        if not 0xD800 <= point < 0xE000 and normalize(steps, chr(point)) != chr(point):
            return chr(point)
    return None


def text_with(byte: int) -> str:
    """The smallest code point whose UTF-8 holds this byte, which must be one that occurs there."""
    if byte < 0x80:
        return chr(byte)
    if byte < 0xC0:
        return bytes([0xC2, byte]).decode()
    tails = {0xE0: b"\xa0\x80", 0xF0: b"\x90\x80\x80"}
    tail = tails.get(byte, b"\x80" * (1 if byte < 0xE0 else 2 if byte < 0xF0 else 3))
    return (bytes([byte]) + tail).decode()


def split_otherwise(steps: Sequence[PreTokenizerStep], pattern: Pattern) -> str | None:
    """A text that steps cut otherwise than the matches of a pattern, if one is found.

    Decided where the steps are one split whose pattern has no lookbehind; otherwise a few texts
    are tried.
    """
    pretokens = [Split(pattern, "removed", invert=True)]
    if (
        len(steps) == 1
        and isinstance(step := steps[0], Split)
        and not isinstance(step.pattern, str)
    ):
        try:
            found = first_difference(parse(step.pattern), parse(pattern))
        except PatternError:
            found = None
        if found is not None:
            return found
    for text in ("a", "a b", "a 1", "12", "1234", "a.b", "a'S", "\n\t", "  a", "a\n\nb"):
        if split(steps, text) != split(pretokens, text):
            return text
    return None


def decoded_otherwise(model: BPEModel) -> str | None:
    """A text whose ids decode otherwise than the tokens' bytes read as UTF-8, if one is known."""
    steps = model.decoder or ()
    if steps == (JoinTokens(),):
        return " "
    if steps == (JoinBytes(mapped_added=True),):
        texts = (token.text for token in model.added or ())
        return next((text for text in texts if not text.isascii() and is_mapped(text)), None)
    return None
