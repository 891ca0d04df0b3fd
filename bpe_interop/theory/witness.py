"""Texts that show a difference.

Theorem 5 in ``docs/theory.md`` gives a pretoken on which two systems differ; a text of which it
is a pretoken is searched here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import PatternError
from ..merging.symbols import textual, user_defined
from ..model import BPEModel
from ..steps import (
    JoinBytes,
    JoinTokens,
    Metaspace,
    NormalizerStep,
    Pattern,
    PrefixSpace,
    Prepend,
    PreTokenizerStep,
    Replace,
    SentencePieceText,
    Split,
)
from ..text.bytechars import is_mapped, to_bytes
from ..text.normalize import normalize
from ..text.patterns import as_run
from ..text.split import split
from .automata import first_difference


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
            witness = first_difference(as_run(step.pattern), as_run(pattern))
        except PatternError:
            witness = None
        if witness is not None:
            return witness
    for text in ("a", "a b", "a 1", "12", "1234", "a.b", "a'S", "\n\t", "  a", "a\n\nb"):
        if split(steps, text) != split(pretokens, text):
            return text
    return None


def decoded_otherwise(model: BPEModel) -> str | None:
    """A text whose ids decode otherwise than the tokens' bytes read as UTF-8, if one is known."""
    steps = model.decoder or ()
    if steps == (JoinTokens(),) and model.alphabet == "byte":
        return " "
    if steps == (JoinBytes(mapped_added=True),):
        texts = (token.text for token in model.added or ())
        return next((text for text in texts if not text.isascii() and is_mapped(text)), None)
    return None


def text_for(model: BPEModel, content: bytes) -> str | None:
    """A text of which ``content`` is a pretoken that goes to merging whole, if one is found.

    What the steps put in is taken out again, and the outcome checked by running them. Contents
    that are looked up, or in which a user-defined token is found, go nowhere whole.
    """
    try:
        wanted = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not wanted or (model.lookup_first and content in textual(model)):
        return None
    if any(user_defined(model).find(wanted)):
        return None
    normalizer, pretokenizer = model.normalizer or (), model.pretokenizer or ()
    for text in _undone([*normalizer, *pretokenizer], wanted):
        for whole in (text, f"{text} ", f"{text}a", f"{text}\n", f"a{text}", f"a {text}"):
            pretokens, mapped = split(pretokenizer, normalize(normalizer, whole))
            if mapped:
                pretokens = [
                    to_bytes(pretoken).decode("utf-8", "replace") for pretoken in pretokens
                ]
            if pretokens == [wanted] or (whole != text and wanted in pretokens):
                return whole
    return None


def _undone(steps: Sequence[NormalizerStep | PreTokenizerStep], text: str) -> Iterator[str]:
    """Texts that may become ``text`` by the steps: candidates, to be checked."""
    candidates = [text]
    for step in reversed(steps):
        if isinstance(step, Replace) and isinstance(step.pattern, str) and step.content:
            candidates = [candidate.replace(step.content, step.pattern) for candidate in candidates]
        elif isinstance(step, Prepend):
            # A later step may have changed it by now.
            candidates = [candidate[len(step.text) :] for candidate in candidates]
        elif isinstance(step, Metaspace):
            spaced = [candidate.replace(step.replacement, " ") for candidate in candidates]
            candidates = [*(candidate.removeprefix(" ") for candidate in spaced), *spaced]
        elif isinstance(step, SentencePieceText):
            spaced = [candidate.replace("\u2581", " ") for candidate in candidates]
            candidates = [*(candidate.removeprefix(" ") for candidate in spaced), *spaced]
        elif isinstance(step, PrefixSpace):
            candidates = [*(candidate.removeprefix(" ") for candidate in candidates), *candidates]
    yield from dict.fromkeys(candidate for candidate in candidates if candidate)


