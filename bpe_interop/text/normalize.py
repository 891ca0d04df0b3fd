"""Normalizers: text in, text out, as Hugging Face tokenizers runs them.

Normal forms and lower case are taken from the installed ``tokenizers``: Python's own tables are
of another Unicode version, and they differ in context even where they agree on every code point
alone. The rest is written here (``normalizers/*.rs`` and ``tokenizer/normalizer.rs``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from ..errors import EngineMissingError
from ..steps import (
    Lowercase,
    NormalizerStep,
    Prepend,
    Replace,
    Strip,
    UnicodeForm,
)
from .patterns import Matcher

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer

Spans: TypeAlias = list[tuple[int, int]]
"""For each character of a text, the characters (start, end) of an earlier text it comes from."""

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009"
    "\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The characters of Unicode's White_Space, which Rust's ``char::is_whitespace`` goes by."""


def repair(text: str) -> str:
    """Combines surrogate pairs; lone surrogates become U+FFFD, as in tiktoken (``core.py``)."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def repaired_spans(text: str) -> Spans:
    """Where in ``text`` each character of the repaired text comes from."""
    spans: Spans = []
    start = 0
    while start < len(text):
        pair = "\ud800" <= text[start] <= "\udbff"
        pair = pair and "\udc00" <= text[start + 1 : start + 2] <= "\udfff"
        spans.append((start, start + 1 + pair))
        start += 1 + pair
    return spans


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
    if isinstance(step, UnicodeForm):
        return text if text.isascii() else _engine(step.form).normalize_str(text)
    if isinstance(step, Lowercase):
        return text.lower() if text.isascii() else _engine("Lowercase").normalize_str(text)
    if isinstance(step, Strip):
        if step.left:
            text = text.lstrip(WHITE_SPACE)
        return text.rstrip(WHITE_SPACE) if step.right else text
    if not text:
        return text
    if isinstance(step, Prepend):
        return step.text + text
    if isinstance(step.pattern, str):
        return text.replace(step.pattern, step.content)
    parts: list[str] = []
    end = 0
    for start, stop in matches(step, text):
        parts += (text[end:start], step.content)
        end = stop
    return "".join(parts) + text[end:]


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


@cache
def _matcher(step: Replace) -> Matcher:
    assert not isinstance(step.pattern, str)
    return Matcher(step.pattern)


@cache
def _engine(name: str) -> Normalizer:
    try:
        from tokenizers import normalizers
    except ImportError:
        raise EngineMissingError(
            f"this tokenizer normalizes text ({name}), for which 'tokenizers' is needed",
            fix="install tokenizers",
        ) from None
    engine: Normalizer = getattr(normalizers, name)()
    return engine


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
    if isinstance(step, (UnicodeForm, Lowercase)):
        name = step.form if isinstance(step, UnicodeForm) else "Lowercase"
        return _align_by_engine(_engine(name), text)
    if isinstance(step, Strip):
        changed = _apply(step, text)
        start = len(text) - len(text.lstrip(WHITE_SPACE)) if step.left else 0
        return changed, [(place, place + 1) for place in range(start, start + len(changed))]
    if not text:
        return text, []
    own = [(place, place + 1) for place in range(len(text))]
    if isinstance(step, Prepend):
        return step.text + text, [(0, 1)] * len(step.text) + own
    parts: list[str] = []
    origin: Spans = []
    end = 0
    for start, stop in matches(step, text):
        parts += (text[end:start], step.content)
        beside = (start, stop) if stop > start else (max(start - 1, 0), max(start, 1))
        origin += own[end:start] + [beside] * len(step.content)
        end = stop
    return "".join(parts) + text[end:], origin + own[end:]


def _align_by_engine(engine: Normalizer, text: str) -> tuple[str, Spans]:
    """Alignment by tokenizers' own NormalizedString, cut into characters."""
    from tokenizers import NormalizedString, PreTokenizedString, Regex

    every = Regex("(?m:.)")

    def cut(_: int, whole: NormalizedString) -> list[NormalizedString]:
        engine.normalize(whole)
        found: list[NormalizedString] = whole.split(every, "isolated")
        return found

    whole = PreTokenizedString(text)
    split: Callable[..., None] = whole.split
    split(cut)
    cuts = whole.get_splits("original", "char")
    origin = [span for _, span, _ in cuts]
    # The engine gives a composed character the first of what it was made from only. These steps
    # leave nothing out, so it reaches up to where the next one begins.
    following = len(text)
    for place in range(len(origin) - 1, -1, -1):
        start, end = origin[place]
        origin[place] = (start, max(end, following))
        if place and origin[place - 1][0] < start:
            following = start
    return "".join(char for char, _, _ in cuts), origin
