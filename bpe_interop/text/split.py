"""Pre-tokenizers: one text in, a list of pretokens out.

Steps behave as in Hugging Face tokenizers (``tokenizer/normalizer.rs`` ``split``,
``tokenizer/pattern.rs``, ``pre_tokenizers/*.rs``): each step cuts every pretoken of the step
before, and empty pretokens are dropped in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from ..errors import EngineMissingError
from ..steps import (
    Behavior,
    ByteChars,
    Digits,
    Metaspace,
    PrefixSpace,
    PreTokenizerStep,
    Punctuation,
    Split,
    UnicodeScripts,
    Words,
    no_branch,
)
from .bytechars import to_chars
from .normalize import Spans, literal_matches
from .unicode import ClassName, char_class

Cut: TypeAlias = tuple[int, int]
Flagged: TypeAlias = tuple[int, int, bool]
"""A stretch of text (start, end) and whether the pattern matched it."""

Cutter: TypeAlias = Callable[[str], Iterable[Cut]]


def split(
    steps: Sequence[PreTokenizerStep], text: str, *, first: int = 1
) -> tuple[list[str], bool]:
    """Cuts a text into pretokens.

    Returns the pretokens, and whether they are spelled in GPT-2's byte alphabet already, which
    a ``ByteChars`` step brings about. ``first`` is that of :class:`Splitter`.

    Raises:
        PatternError: a pattern cannot be run, or not to its end.
        EngineMissingError: a step needs ``tokenizers``, which is not installed.
    """
    splitter = compiled(tuple(steps))
    return splitter(text, first=first), splitter.maps


@lru_cache(maxsize=64)
def compiled(steps: tuple[PreTokenizerStep, ...]) -> Splitter:
    return Splitter(steps)


class Splitter:
    """Pre-tokenizer steps, ready to run.

    ``maps``: its pretokens are in the byte alphabet. ``asks_first``: they depend on ``first``,
    which says how many characters of the text, from its start on, come from where the whole
    text begins, before normalizing and before added tokens were cut out: 0 behind an added
    token, mostly 1 else (:func:`.normalize.leading`).
    """

    __slots__ = ("_asks_late", "_steps", "asks_first", "maps")

    def __init__(self, steps: Sequence[PreTokenizerStep]) -> None:
        self.maps = any(isinstance(step, ByteChars) for step in steps)
        asks = [isinstance(step, Metaspace) and step.prepend == "first" for step in steps]
        self.asks_first = any(asks)
        self._asks_late = any(asks[1:])
        self._steps: list[Cutter | PrefixSpace | ByteChars | Metaspace] = [
            step if isinstance(step, (PrefixSpace, ByteChars, Metaspace)) else _cutter(step)
            for step in steps
        ]

    def __call__(self, text: str, *, first: int = 1) -> list[str]:
        # Behind a step that cuts, only the places tell which pretoken begins the text.
        if self._asks_late:
            return [pretoken for pretoken, _ in self.align(text, first=first)]
        pretokens = [text] if text else []
        for step in self._steps:
            if isinstance(step, PrefixSpace):
                pretokens = [p if p[0] == " " else " " + p for p in pretokens]
            elif isinstance(step, ByteChars):
                pretokens = [to_chars(p.encode("utf-8")) for p in pretokens]
            elif isinstance(step, Metaspace):
                pretokens = [_with_metaspace(step, p, begins=first > 0) for p in pretokens]
            else:
                pretokens = [p[a:b] for p in pretokens for a, b in step(p) if a < b]
        return pretokens

    def align(self, text: str, *, first: int = 1) -> list[tuple[str, Spans]]:
        """The pretokens, and where in ``text`` each of their characters comes from.

        A space put before a pretoken belongs to its first character.
        """
        if not text:
            return []
        pretokens = [(text, [(place, place + 1) for place in range(len(text))])]
        for step in self._steps:
            if isinstance(step, PrefixSpace):
                pretokens = [_grown(p if p[0] == " " else " " + p, spans) for p, spans in pretokens]
            elif isinstance(step, Metaspace):
                pretokens = [
                    _grown(_with_metaspace(step, p, begins=spans[0][0] < first), spans)
                    for p, spans in pretokens
                ]
            elif isinstance(step, ByteChars):
                pretokens = [
                    (
                        to_chars(p.encode("utf-8")),
                        [s for c, s in zip(p, spans, strict=True) for _ in c.encode("utf-8")],
                    )
                    for p, spans in pretokens
                ]
            else:
                pretokens = [
                    (p[a:b], spans[a:b]) for p, spans in pretokens for a, b in step(p) if a < b
                ]
        return pretokens


def _grown(pretoken: str, spans: Spans) -> tuple[str, Spans]:
    """A pretoken before which something may have been put."""
    return pretoken, [spans[0]] * (len(pretoken) - len(spans)) + spans


def _with_metaspace(step: Metaspace, pretoken: str, *, begins: bool) -> str:
    pretoken = pretoken.replace(" ", step.replacement)
    wanted = step.prepend == "always" or (step.prepend == "first" and begins)
    if not wanted or pretoken.startswith(step.replacement):
        return pretoken
    return step.replacement + pretoken


def _cutter(step: Split | Digits | Punctuation | Words | UnicodeScripts) -> Cutter:
    if isinstance(step, UnicodeScripts):
        return _scripts
    if isinstance(step, Words):
        return _words
    if isinstance(step, Digits):
        return _class_cutter("numeric", "isolated" if step.individual else "contiguous")
    if isinstance(step, Punctuation):
        return _class_cutter("punctuation", step.behavior)
    if not isinstance(step, Split):
        raise no_branch(step)
    pattern, behavior, invert = step.pattern, step.behavior, step.invert
    if isinstance(pattern, str):
        literal = pattern
        return lambda text: _behave(_flag(literal_matches(literal, text), text, invert), behavior)
    from .patterns import Matcher

    spans = Matcher(pattern).spans
    if behavior == "removed" and invert:
        return spans
    return lambda text: _behave(_flag(spans(text), text, invert), behavior)


def _words(text: str) -> Iterable[Cut]:
    spaces = char_class("regex_space").runs
    for start, end, inside in char_class("word").runs(text):
        if inside:
            yield start, end
        else:
            for first, last, white in spaces(text[start:end]):
                if not white:
                    yield start + first, start + last


def _scripts(text: str) -> Iterable[Cut]:
    """Asks the engine, whose table of scripts is its own."""
    try:
        from tokenizers.pre_tokenizers import UnicodeScripts as Engine
    except ImportError:
        raise EngineMissingError(
            "this tokenizer cuts text where scripts change, for which 'tokenizers' is needed",
            fix="pip install tokenizers",
        ) from None
    cuts: list[tuple[str, Cut]] = Engine().pre_tokenize_str(text)
    return [cut for _, cut in cuts]


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
        if behavior == "contiguous":
            joins = matched == before
        elif behavior == "merged_with_previous":
            joins = matched and not before
        else:
            raise no_branch(behavior)
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
