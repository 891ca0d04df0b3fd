"""Pre-tokenizers: one text in, a list of pretokens out.

Steps behave as in Hugging Face tokenizers (``tokenizer/normalizer.rs`` ``split``,
``tokenizer/pattern.rs``, ``pre_tokenizers/*.rs``): each step cuts every pretoken of the step
before, and empty pretokens are dropped in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from ..steps import (
    Behavior,
    ByteChars,
    Digits,
    PrefixSpace,
    PreTokenizerStep,
    Punctuation,
    Split,
)
from .bytechars import to_chars
from .normalize import Spans, literal_matches
from .patterns import Matcher
from .unicode import ClassName, char_class

Cut: TypeAlias = tuple[int, int]
Flagged: TypeAlias = tuple[int, int, bool]
"""A stretch of text (start, end) and whether the pattern matched it."""

Cutter: TypeAlias = Callable[[str], Iterable[Cut]]


def split(steps: Sequence[PreTokenizerStep], text: str) -> tuple[list[str], bool]:
    """Cuts a text into pretokens.

    Returns the pretokens, and whether they are spelled in GPT-2's byte alphabet already, which
    a ``ByteChars`` step brings about.

    Raises:
        PatternError: a pattern cannot be run, or not to its end.
    """
    splitter = compiled(tuple(steps))
    return splitter(text), splitter.maps


@lru_cache(maxsize=64)
def compiled(steps: tuple[PreTokenizerStep, ...]) -> Splitter:
    """The steps, compiled once."""
    return Splitter(steps)


class Splitter:
    """Pre-tokenizer steps, ready to run. ``maps``: its pretokens are in the byte alphabet."""

    __slots__ = ("_find_all", "_keeps_rest", "_steps", "maps")

    def __init__(self, steps: Sequence[PreTokenizerStep]) -> None:
        self.maps = any(isinstance(step, ByteChars) for step in steps)
        self._steps: list[Cutter | PrefixSpace | ByteChars] = [
            step if isinstance(step, (PrefixSpace, ByteChars)) else _cutter(step) for step in steps
        ]
        # The one split that most tokenizers have, whose matches are the pretokens.
        self._find_all: Callable[[str], list[str]] | None = None
        self._keeps_rest = False
        if len(steps) == 1 and isinstance(step := steps[0], Split):
            self._keeps_rest = step.behavior == "isolated"
            only_matches = step.behavior == "removed" and step.invert
            if not isinstance(step.pattern, str) and (self._keeps_rest or only_matches):
                self._find_all = Matcher(step.pattern).findall

    def __call__(self, text: str) -> list[str]:
        """The pretokens of a text."""
        if self._find_all is not None:
            found = self._find_all(text)
            if not self._keeps_rest or len("".join(found)) == len(text):
                return list(filter(None, found))
        pretokens = [text] if text else []
        for step in self._steps:
            if isinstance(step, PrefixSpace):
                pretokens = [p if p[0] == " " else " " + p for p in pretokens]
            elif isinstance(step, ByteChars):
                pretokens = [to_chars(p.encode("utf-8")) for p in pretokens]
            else:
                pretokens = [p[a:b] for p in pretokens for a, b in step(p) if a < b]
        return pretokens

    def align(self, text: str) -> list[tuple[str, Spans]]:
        """The pretokens, and where in ``text`` each of their characters comes from.

        A space put before a pretoken belongs to its first character.
        """
        if not text:
            return []
        found = [(text, [(place, place + 1) for place in range(len(text))])]
        for step in self._steps:
            if isinstance(step, PrefixSpace):
                found = [
                    (p, spans) if p[0] == " " else (" " + p, [spans[0], *spans])
                    for p, spans in found
                ]
            elif isinstance(step, ByteChars):
                found = [
                    (
                        to_chars(p.encode("utf-8")),
                        [s for c, s in zip(p, spans, strict=True) for _ in c.encode("utf-8")],
                    )
                    for p, spans in found
                ]
            else:
                found = [(p[a:b], spans[a:b]) for p, spans in found for a, b in step(p) if a < b]
        return found


def _cutter(step: Split | Digits | Punctuation) -> Cutter:
    if isinstance(step, Digits):
        return _class_cutter("numeric", "isolated" if step.individual else "contiguous")
    if isinstance(step, Punctuation):
        return _class_cutter("punctuation", step.behavior)
    pattern, behavior, invert = step.pattern, step.behavior, step.invert
    if isinstance(pattern, str):
        literal = pattern
        return lambda text: _behave(_flag(literal_matches(literal, text), text, invert), behavior)
    spans = Matcher(pattern).spans
    if behavior == "removed" and invert:
        return spans
    return lambda text: _behave(_flag(spans(text), text, invert), behavior)


def _class_cutter(name: ClassName, behavior: Behavior) -> Cutter:
    runs = char_class(name).runs

    def cut(text: str) -> Iterable[Cut]:
        if behavior == "contiguous":
            return [(start, end) for start, end, _ in runs(text)]
        # Every character of the class is a match of its own.
        flagged: list[Flagged] = []
        for start, end, inside in runs(text):
            if inside:
                flagged += [(place, place + 1, True) for place in range(start, end)]
            else:
                flagged.append((start, end, False))
        return _behave(flagged, behavior)

    return cut


def _flag(matches: Iterable[Cut], text: str, invert: bool) -> list[Flagged]:
    """The whole text as matches and what lies between them, the flags exchanged by ``invert``."""
    flagged: list[Flagged] = []
    end = 0
    for start, stop in matches:
        if end != start:
            flagged.append((end, start, invert))
        flagged.append((start, stop, not invert))
        end = stop
    if end != len(text):
        flagged.append((end, len(text), invert))
    return flagged


def _behave(flagged: list[Flagged], behavior: Behavior) -> list[Cut]:
    if behavior == "isolated":
        return [(start, end) for start, end, _ in flagged]
    if behavior == "removed":
        return [(start, end) for start, end, matched in flagged if not matched]
    if behavior == "merged_with_next":
        return _merged_with_next(flagged)
    joined: list[Cut] = []
    before = False
    for start, end, matched in flagged:
        joins = matched == before if behavior == "contiguous" else matched and not before
        if joins and joined:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        before = matched
    return joined


def _merged_with_next(flagged: list[Flagged]) -> list[Cut]:
    joined: list[Cut] = []
    after = False
    for start, end, matched in reversed(flagged):
        if matched and not after and joined:
            joined[-1] = (start, joined[-1][1])
        else:
            joined.append((start, end))
        after = matched
    return joined[::-1]
