"""Normalizers: text in, text out, as Hugging Face tokenizers and SentencePiece run them.

What goes by Unicode tables (normal forms, lower case, accents, grapheme clusters) is taken from
the installed ``tokenizers``: Python's own tables are of another Unicode version, and they differ
in context even where they agree on every code point alone. The rest is written here
(``normalizers/*.rs`` and ``tokenizer/normalizer.rs``) and in ``charsmap.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from ..errors import EncodeError, EngineMissingError
from ..steps import (
    BertText,
    Lowercase,
    Nmt,
    NormalizerStep,
    Precompiled,
    Prepend,
    Replace,
    SentencePieceText,
    Strip,
    StripAccents,
    UnicodeForm,
    no_branch,
)
from .charsmap import align_pieces, normalize_pieces
from .unicode import WHITE_SPACE

if TYPE_CHECKING:
    from tokenizers import NormalizedString
    from tokenizers.normalizers import Normalizer

    from .patterns import Matcher

Spans: TypeAlias = list[tuple[int, int]]
"""For each character of a text, the characters (start, end) of an earlier text it comes from."""

EngineStep: TypeAlias = UnicodeForm | Lowercase | StripAccents | Nmt | BertText | Precompiled
"""The steps that the installed ``tokenizers`` runs."""


def normalize(steps: Sequence[NormalizerStep], text: str) -> str:
    """Applies the steps in order.

    Raises:
        EngineMissingError: a step needs ``tokenizers``, which is not installed.
        PatternError: the pattern of a ``Replace`` cannot be run.
    """
    for step in steps:
        text = _apply(step, text)
    return text


def _apply(step: NormalizerStep, text: str) -> str:
    if isinstance(step, EngineStep):
        return _apply_by_engine(step, text)
    if isinstance(step, Replace):
        return _replaced(step, text) if text else text
    if isinstance(step, Prepend):
        return step.text + text if text else text
    if isinstance(step, SentencePieceText):
        return normalize_pieces(step, text)
    if isinstance(step, Strip):
        if step.left:
            text = text.lstrip(WHITE_SPACE)
        return text.rstrip(WHITE_SPACE) if step.right else text
    raise no_branch(step)


def _replaced(step: Replace, text: str) -> str:
    if isinstance(step.pattern, str):
        return text.replace(step.pattern, step.content)
    parts: list[str] = []
    end = 0
    for start, stop in matches(step, text):
        parts += (text[end:start], step.content)
        end = stop
    return "".join(parts) + text[end:]


def _apply_by_engine(step: EngineStep, text: str) -> str:
    # ASCII is in every normal form, has no accents, and has lower case that all tables agree on.
    if text.isascii():
        if isinstance(step, (UnicodeForm, StripAccents)):
            return text
        if isinstance(step, Lowercase):
            return text.lower()
    return _engine(step).normalize_str(text)


def matches(step: Replace, text: str) -> Iterator[tuple[int, int]]:
    """Where a replacement's pattern matches, empty matches included."""
    if isinstance(step.pattern, str):
        return literal_matches(step.pattern, text)
    return iter(_matcher(step).spans(text))


def literal_matches(literal: str, text: str) -> Iterator[tuple[int, int]]:
    """Where a literal stands, from left to right; the empty one stands everywhere."""
    start = text.find(literal)
    while start >= 0:
        yield start, start + len(literal)
        start = text.find(literal, start + (len(literal) or 1))


@lru_cache(maxsize=64)
def _matcher(step: Replace) -> Matcher:
    from .patterns import Matcher

    assert not isinstance(step.pattern, str)
    return Matcher(step.pattern)


@lru_cache(maxsize=64)
def _engine(step: EngineStep | Strip | Prepend | Replace) -> Normalizer:
    try:
        from tokenizers import Regex, normalizers
    except ImportError:
        name = step.form if isinstance(step, UnicodeForm) else type(step).__name__
        raise EngineMissingError(
            f"this tokenizer normalizes text ({name}), for which 'tokenizers' is needed",
            fix="pip install tokenizers",
        ) from None
    engine: Normalizer
    if isinstance(step, UnicodeForm):
        engine = getattr(normalizers, step.form)()
    elif isinstance(step, Precompiled):
        engine = normalizers.Precompiled(step.charsmap)
    elif isinstance(step, BertText):
        engine = normalizers.BertNormalizer(
            step.clean, step.chinese_chars, step.strip_accents, step.lowercase
        )
    elif isinstance(step, Strip):
        engine = normalizers.Strip(step.left, step.right)
    elif isinstance(step, Prepend):
        engine = normalizers.Prepend(step.text)
    elif isinstance(step, Replace):
        source = step.pattern
        pattern = source if isinstance(source, str) else Regex(source.source)
        engine = normalizers.Replace(pattern, step.content)
    elif isinstance(step, Lowercase):
        engine = normalizers.Lowercase()
    elif isinstance(step, StripAccents):
        engine = normalizers.StripAccents()
    elif isinstance(step, Nmt):
        engine = normalizers.Nmt()
    else:
        raise no_branch(step)
    return engine


def leaves_in_place(steps: Sequence[NormalizerStep], text: str) -> bool:
    """Whether it is plain that each character of a text comes from itself."""
    # A text in a normal form is composed of the same characters again.
    return all(isinstance(step, UnicodeForm) for step in steps) and normalize(steps, text) == text


def align(steps: Sequence[NormalizerStep], text: str) -> tuple[str, Spans]:
    """The normalized text, and where in ``text`` each of its characters comes from.

    What a step composes, decomposes or reorders stands for the whole of what it was made from;
    what is put in belongs to the character before it, at the beginning to the one after it.
    """
    spans = [(place, place + 1) for place in range(len(text))]
    for step in steps:
        changed, origin = _align(step, text)
        spans = [(spans[start][0], spans[end - 1][1]) for start, end in origin]
        text = changed
    return text, spans


def _align(step: NormalizerStep, text: str) -> tuple[str, Spans]:
    if isinstance(step, EngineStep):
        return _align_by_engine(step, text)
    if isinstance(step, SentencePieceText):
        return align_pieces(step, text)
    if isinstance(step, Strip):
        changed = _apply(step, text)
        start = len(text) - len(text.lstrip(WHITE_SPACE)) if step.left else 0
        return changed, [(place, place + 1) for place in range(start, start + len(changed))]
    own = [(place, place + 1) for place in range(len(text))]
    if isinstance(step, Prepend):
        return (step.text + text, [(0, 1)] * len(step.text) + own) if text else (text, own)
    if not isinstance(step, Replace):
        raise no_branch(step)
    if not text:
        return text, own
    parts: list[str] = []
    origin: Spans = []
    end = 0
    for start, stop in matches(step, text):
        parts += (text[end:start], step.content)
        beside = (start, stop) if stop > start else (max(start - 1, 0), max(start, 1))
        origin += own[end:start] + [beside] * len(step.content)
        end = stop
    return "".join(parts) + text[end:], origin + own[end:]


def _align_by_engine(step: EngineStep, text: str) -> tuple[str, Spans]:
    if isinstance(step, (UnicodeForm, Lowercase, StripAccents)):
        changed = _apply_by_engine(step, text)
        if text.isascii() or leaves_in_place((step,), text):
            return changed, [*zip(range(len(text)), range(1, len(text) + 1), strict=True)]
    engine = _engine(step)
    if isinstance(step, (StripAccents, Nmt, BertText)):
        return _placed_by_engine(engine, text)
    if isinstance(step, (UnicodeForm, Lowercase)):
        changed, spans = _placed_by_engine(engine, text)
        return changed, _reaching(spans, len(text))
    if not isinstance(step, Precompiled):
        raise no_branch(step)
    # Where nothing is left of the first character, the engine's places are off by one: so one
    # of which something is left, and beside which every grapheme cluster ends, is put before it.
    mark = next((char for char in "\n\r\u2028\u2029\x00" if engine.normalize_str(char)), "")
    before = engine.normalize_str(mark)
    changed, spans = _placed_by_engine(engine, mark + text)
    spans = _reaching(spans, len(mark) + len(text))[len(before) :]
    spans = [(max(start - len(mark), 0), max(end - len(mark), 1)) for start, end in spans]
    return changed[len(before) :], spans


def _reaching(spans: Spans, length: int) -> Spans:
    """Spans that reach up to where the next one begins.

    The engine gives a composed character the first of what it was made from only.
    """
    following = length
    for place in range(len(spans) - 1, -1, -1):
        start, end = spans[place]
        spans[place] = (start, max(end, following))
        if place and spans[place - 1][0] < start:
            following = start
    return spans


def _placed_by_engine(engine: Normalizer, text: str) -> tuple[str, Spans]:
    """Alignment by tokenizers' own NormalizedString, cut into characters."""
    from tokenizers import Regex

    every = Regex("(?m:.)")
    cuts = _cut_by_engine(engine, text, lambda whole: whole.split(every, "isolated"), "char")
    return "".join(char for char, _ in cuts), [span for _, span in cuts]


def _cut_by_engine(
    engine: Normalizer,
    text: str,
    cut: Callable[[NormalizedString], list[NormalizedString]],
    unit: Literal["byte", "char"],
) -> list[tuple[str, tuple[int, int]]]:
    """Stretches of the normalized text, and where in ``text`` tokenizers says they come from."""
    from tokenizers import PreTokenizedString

    def normalized(_: int, whole: NormalizedString) -> list[NormalizedString]:
        engine.normalize(whole)
        return cut(whole)

    whole = PreTokenizedString(text)
    split: Callable[..., None] = whole.split
    split(normalized)
    return [(part, span) for part, span, _ in whole.get_splits("original", unit)]


def leading(steps: Sequence[NormalizerStep], text: str) -> int:
    """How many characters of the normalized text come from where ``text`` begins.

    By tokenizers' own reckoning, which differs from :func:`align`'s: none do where the first
    character was left out, or several were replaced. A pre-tokenizer may ask for it
    (:class:`.split.Splitter`).

    Raises:
        EncodeError: the steps are not tokenizers', which alone has such pre-tokenizers.
        EngineMissingError: there are steps, and ``tokenizers`` is not installed.
    """
    if not steps or not text:
        return min(1, len(text))
    engines = [_engine(step) for step in steps if not isinstance(step, SentencePieceText)]
    if len(engines) < len(steps):
        raise EncodeError(
            "a Metaspace that looks for the first character is tokenizers' alone, and the "
            "normalizer is SentencePiece's: no engine has both"
        )
    from tokenizers import normalizers

    # Almost always it is one; each character asked for costs a call of the engine.
    engine, seen = normalizers.Sequence(engines), 8
    while True:
        cuts = _cut_by_engine(engine, text, partial(_first_characters, seen), "byte")
        at_start = sum(start == 0 for _, (start, _) in cuts)
        if at_start < seen:
            return at_start
        seen *= 2


def _first_characters(count: int, whole: NormalizedString) -> list[NormalizedString]:
    return [char for place in range(count) if (char := whole[place]) is not None]
