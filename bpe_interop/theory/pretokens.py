"""Which contents a pre-tokenizer can yield as a whole pretoken, and of which text.

Theorem 8 in ``docs/theory.md`` asks it of tokens that are looked up; one pattern is decided by
Theorem 11. Theorem 5 gives a content on which two systems differ, and a text shows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ..errors import PatternError
from ..merging.symbols import textual, user_defined
from ..model import BPEModel
from ..steps import (
    ByteChars,
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

if TYPE_CHECKING:
    from ..text.regex_syntax import Node


class Occurrence(NamedTuple):
    """Whether a content can be a whole pretoken of some text.

    Attributes:
        possible: None where it is not decided.
        text: one in which it is, where that is known.
    """

    possible: bool | None
    text: str | None = None


def occurrence(steps: Sequence[PreTokenizerStep], content: bytes) -> Occurrence:
    """Whether ``content`` can be a whole pretoken.

    Decided for one split whose pattern has no lookbehind (Theorem 11); otherwise only a text that
    shows it is looked for.
    """
    # What matches patterns is imported only where texts are split.
    from ..text.split import split

    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return Occurrence(None if ByteChars() in steps else False)
    if not text:
        return Occurrence(False)
    for context in ("", " ", "a", "\n", "1", "."):
        if ByteChars() not in steps and split(steps, text + context)[0][:1] == [text]:
            return Occurrence(True, text + context)
    if not steps:
        return Occurrence(True, text)
    return _by_automaton(steps, text)


def can_occur(steps: Sequence[PreTokenizerStep], content: bytes) -> bool | None:
    """What :func:`occurrence` says of ``possible``."""
    # The automaton first: where the answer is no, as it mostly is for special tokens, no text need
    # be split, and what splits texts takes longer to be imported and made.
    try:
        decided = _by_automaton(steps, content.decode("utf-8")) if content else Occurrence(False)
    except UnicodeDecodeError:
        decided = Occurrence(None)
    return occurrence(steps, content).possible if decided.possible is None else decided.possible


def _by_automaton(steps: Sequence[PreTokenizerStep], text: str) -> Occurrence:
    from .automata import continuation

    if len(steps) != 1 or not isinstance(steps[0], Split):
        return Occurrence(None)
    step = steps[0]
    if not isinstance(step.pattern, Pattern):
        return Occurrence(None)
    matches_only = step.behavior == "removed" and step.invert
    if not matches_only and step.behavior != "isolated":
        return Occurrence(None)
    try:
        pattern, covers = _parsed(step.pattern)
        # What lies between the matches would be pretokens, too.
        if not matches_only and not covers:
            return Occurrence(None)
        rest = continuation(pattern, text)
    except PatternError:
        return Occurrence(None)  # no pattern of Theorem 11
    return Occurrence(False) if rest is None else Occurrence(True, text + rest)


@lru_cache(maxsize=64)
def _parsed(pattern: Pattern) -> tuple[Node, bool]:
    """A pattern's tree, and whether it leaves nothing of any text: asked for many contents."""
    from ..text.patterns import as_run
    from .automata import uncovered

    tree = as_run(pattern)
    return tree, uncovered(tree) is None


def text_for(model: BPEModel, content: bytes) -> str | None:
    """A text of which ``content`` is a pretoken that goes to merging whole, if one is found."""
    from ..text.bytechars import to_bytes
    from ..text.normalize import normalize
    from ..text.split import split

    try:
        wanted = content.decode("utf-8")
    except UnicodeDecodeError:
        return None  # no text is looked for that a step cuts inside a character
    if model.lookup_first and content in textual(model):
        return None  # it is looked up
    if any(user_defined(model).find(wanted)):
        return None  # and this is cut out before
    normalizer, pretokenizer = model.normalizer or (), model.pretokenizer or ()
    for text in _undone([*normalizer, *pretokenizer], wanted):
        for whole in (text, f"{text} ", f"{text}a", f"{text}\n", f"a{text}", f"a {text}"):
            pretokens, mapped = split(pretokenizer, normalize(normalizer, whole))
            if mapped:
                pretokens = [
                    to_bytes(pretoken).decode("utf-8", "replace") for pretoken in pretokens
                ]
            if wanted in pretokens:
                return whole
    return None


def _undone(steps: Sequence[NormalizerStep | PreTokenizerStep], text: str) -> Iterator[str]:
    """Texts that may become ``text`` by the steps: what these put in is taken out again."""
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
