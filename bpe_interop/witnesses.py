"""Texts that show what a format cannot hold, where the decisions in ``theory/`` give none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from .encode import Encoder
from .encode.pretoken import PretokenEncoder
from .errors import BpeInteropError, PatternError
from .merging.canonical import canonical
from .model import BPEModel, Fallback
from .steps import JoinBytes, JoinTokens, Pattern, PreTokenizerStep, Split
from .text.bytechars import is_mapped, to_bytes
from .text.normalize import normalize
from .text.patterns import as_run
from .text.split import split
from .theory.automata import first_difference

_PLAIN = ("a", "b", "e", "the", "hello", "a b", "0", "hello world")
_MISSING = -1
"""Stands for what is no token."""


class Probe:
    """What the steps and merges of a model make of texts, added tokens and fallback left aside."""

    def __init__(self, model: BPEModel) -> None:
        fallback = Fallback("unknown", _MISSING, after_merging=True)
        self._model = model
        self._encoder = PretokenEncoder(replace(model, fallback=fallback))

    def ids(
        self, text: str, pretokenizer: Sequence[PreTokenizerStep] | None = None
    ) -> list[int] | None:
        """The ids of a text; None where something in it is no token.

        ``pretokenizer`` stands in place of the model's own.

        Raises:
            PatternError: a pattern does not run to its end on this text.
        """
        model = self._model
        steps = (model.pretokenizer or ()) if pretokenizer is None else pretokenizer
        pretokens, mapped = split(steps, normalize(model.normalizer or (), text))
        ids: list[int] = []
        for pretoken in pretokens:
            ids += self._encoder.ids(to_bytes(pretoken) if mapped else pretoken.encode("utf-8"))
        return None if _MISSING in ids else ids


def first_differing_text(a: BPEModel, b: BPEModel, texts: Iterable[str]) -> str | None:
    """The first of these texts, or of a few plain ones, whose ids differ; None if none is found.

    Texts in which something is no token are passed over.
    """
    one, two = Probe(a), Probe(b)
    for text in dict.fromkeys((*texts, *_PLAIN)):
        try:
            left, right = one.ids(text), two.ids(text)
        except BpeInteropError:
            continue
        if left is not None and right is not None and left != right:
            return text
    return None


def beside_wide_space(model: BPEModel) -> str | None:
    """A text of other ids where added tokens take all white space along, not ASCII's only."""
    added = tuple(replace(token, ascii_space=False) for token in model.added or ())
    one, two = Encoder(model), Encoder(replace(model, added=added))
    for token in model.added or ():
        if not (token.ascii_space and (token.lstrip or token.rstrip)):
            continue
        text = f"{token.text}\u00a0a" if token.rstrip else f"a\u00a0{token.text}"
        try:
            if one.encode(text, "all") != two.encode(text, "all"):
                return text
        except BpeInteropError:
            continue
    return None


def merging_across_dropped(model: BPEModel, gap: str) -> str | None:
    """A text whose tokens merge only if ``gap``, which is no token, vanishes before merging.

    Tokenizers leaves such a symbol out before it merges, llama.cpp after; None if no text is found.
    """
    late = Fallback("drop", after_merging=True)
    one, two = (PretokenEncoder(replace(model, fallback=each)) for each in (Fallback("drop"), late))
    for left, right in canonical(model).splits.values():
        try:
            text = left.decode("utf-8") + gap + right.decode("utf-8")
        except UnicodeDecodeError:
            continue
        pretokens, mapped = split(model.pretokenizer or (), normalize(model.normalizer or (), text))
        for pretoken in pretokens:
            content = to_bytes(pretoken) if mapped else pretoken.encode("utf-8")
            if one.ids(content) != two.ids(content):
                return text
    return None


def missing_character(model: BPEModel) -> str | None:
    """The first character from ``!`` on that has no token and that no step changes, if any."""
    steps = model.normalizer or ()
    before = normalize(steps, "")
    for point in range(0x21, 0x30000):
        char = chr(point)
        if 0xD800 <= point < 0xE000 or char.encode("utf-8") in model.vocab.ids:
            continue
        if normalize(steps, char).removeprefix(before).endswith(char):
            return char
    return None


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
