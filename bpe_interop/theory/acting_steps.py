"""Which steps can act after the steps before them (Theorem 30).

The characters that can stand in a text are followed through the steps. A step acts on certain
characters only; where none of them can be there, every text goes through it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from ..errors import EngineMissingError, PatternError
from ..memo import Memo
from ..model import BPEModel
from ..steps import (
    SPACE,
    Digits,
    Lowercase,
    Metaspace,
    Nmt,
    NormalizerStep,
    Pattern,
    PrefixSpace,
    Prepend,
    PreTokenizerStep,
    Punctuation,
    Replace,
    SentencePieceText,
    Split,
    Strip,
    StripAccents,
    UnicodeScripts,
    Words,
)
from ..text.charsets import (
    EVERYTHING,
    Chars,
    CharSet,
    Property,
    chars,
    code_points,
    intersect,
    negate,
    unite,
)
from ..text.charsmap import is_identity
from ..text.normalize import normalize
from ..text.patterns import as_run
from ..text.regex_syntax import Alternation, Atomic, Leaf, Node, Repeat
from ..text.regex_syntax import Sequence as Parts
from ..text.unicode import SURROGATES, every_code_point, merge
from .splitters import meaning


def acting_normalizer(steps: Sequence[NormalizerStep]) -> tuple[NormalizerStep, ...]:
    """The normalizer's steps without those that can never act."""
    return _through(steps)[0]


@Memo
def acting_splits(model: BPEModel) -> tuple[PreTokenizerStep, ...]:
    """The pre-tokenizer's steps without those that can never act after the normalizer."""
    # Added tokens cut a text, and add no character to what is left (Theorem 30).
    present = EVERYTHING if model.normalizer is None else _through(model.normalizer)[1]
    acting: list[PreTokenizerStep] = []
    for step in model.pretokenizer or ():
        if _never_cuts(step, present):
            continue
        acting.append(step)
        present = _after_split(step, present)
    return tuple(acting)


def _through(steps: Sequence[NormalizerStep]) -> tuple[tuple[NormalizerStep, ...], CharSet]:
    """The steps that can act, and the characters that can stand in what they write."""
    acting: list[NormalizerStep] = []
    present: CharSet = EVERYTHING
    for step in steps:
        if _never_writes(step, present):
            continue
        acting.append(step)
        present = _present_after(step, present)
    return tuple(acting), present


def _never_writes(step: NormalizerStep, present: CharSet) -> bool:
    if isinstance(step, Replace):
        return _pattern_never_matches(step.pattern, present)
    if isinstance(step, Strip):
        return _disjoint(Property("White_Space"), present)
    if isinstance(step, (Lowercase, StripAccents, Nmt)) and present != EVERYTHING:
        changed = _changed(step)
        return changed is not None and _disjoint(_set(changed), present)
    return False


def _present_after(step: NormalizerStep, present: CharSet) -> CharSet:
    """The characters that can stand in a text after a step; all of them after other steps."""
    if isinstance(step, Replace):
        only = _one_character(step.pattern)
        left = present if only is None else intersect(present, negate(only))
        return unite((left, chars(step.content)))
    if isinstance(step, Prepend):
        return unite((present, chars(step.text)))
    if isinstance(step, Strip):
        return present
    if isinstance(step, (Lowercase, StripAccents, Nmt)):
        changed = _changed(step)
        return EVERYTHING if changed is None else _written(changed, present)
    if isinstance(step, SentencePieceText) and is_identity(step.charsmap) and step.escape:
        # Spaces are written as U+2581, but for those in a text that is kept as it stands.
        held = any(" " in text for text in step.kept)
        left = present if held else intersect(present, negate(chars(" ")))
        return unite((left, chars(SPACE)))
    return EVERYTHING


def _never_cuts(step: PreTokenizerStep, present: CharSet) -> bool:
    """Whether a step of the pre-tokenizer leaves every text of such characters as it is."""
    if isinstance(step, Metaspace):
        return step.prepend == "never" and _disjoint(chars(" "), present)
    try:
        node, behavior, invert = meaning(step)
    except PatternError:
        return False  # what is not understood is taken to act
    # A split that keeps only its matches would drop the text, and stays. Inverted otherwise, what
    # is not matched is one match.
    return _never_matches(node, present) and not (behavior == "removed" and invert)


def _after_split(step: PreTokenizerStep, present: CharSet) -> CharSet:
    if isinstance(step, Metaspace):
        return unite((intersect(present, negate(chars(" "))), chars(step.replacement)))
    if isinstance(step, PrefixSpace):
        return unite((present, chars(" ")))
    if isinstance(step, Split) and step.behavior == "removed" and not step.invert:
        only = _one_character(step.pattern)
        return present if only is None else intersect(present, negate(only))
    # These only cut. Any other step may write what was not there.
    cuts = isinstance(step, (Split, Digits, Punctuation, Words, UnicodeScripts))
    return present if cuts else EVERYTHING


def _pattern_never_matches(pattern: Pattern | str, present: CharSet) -> bool:
    if isinstance(pattern, str):
        return any(_disjoint(chars(char), present) for char in pattern)
    try:
        return _never_matches(as_run(pattern), present)
    except PatternError:
        return False  # what is not understood is taken to match


def _never_matches(node: Node, present: CharSet) -> bool:
    """Whether each way through a pattern reads a character that is not there."""
    if isinstance(node, Leaf):
        return _disjoint(node.charset, present)
    if isinstance(node, Parts):
        return any(_never_matches(part, present) for part in node.parts)
    if isinstance(node, Alternation):
        return all(_never_matches(option, present) for option in node.options)
    if isinstance(node, Repeat):
        return node.low > 0 and _never_matches(node.part, present)
    return isinstance(node, Atomic) and _never_matches(node.part, present)


def _one_character(pattern: Pattern | str) -> CharSet | None:
    """The characters of which each is a match, where a pattern is one such set or a run of it."""
    if isinstance(pattern, str):
        return chars(pattern) if len(pattern) == 1 else None
    try:
        node = as_run(pattern)
    except PatternError:
        return None  # what is not understood takes no character away
    if isinstance(node, Repeat) and node.low == 1 and node.high is None:
        node = node.part
    return node.charset if isinstance(node, Leaf) else None


def _disjoint(one: CharSet, other: CharSet) -> bool:
    if other == EVERYTHING:
        return False
    return not _ranges(intersect(one, other))


def _ranges(charset: CharSet) -> list[tuple[int, int]]:
    """The code points of a set that texts can hold: surrogates are none."""
    low, high = SURROGATES
    return [(first, last) for first, last in code_points(charset) if first < low or last > high]


@cache
def _changed(step: Lowercase | StripAccents | Nmt) -> dict[int, str] | None:
    """The characters that a step writes otherwise, each by itself; None where nothing can say."""
    try:
        return {ord(x): y for x, y in zip(characters(), images((step,)), strict=True) if x != y}
    # Without tokenizers nothing knows its tables: the step is taken to act, and to write anything.
    except (EngineMissingError, PatternError):
        return None


def characters() -> str:
    """All characters that a text can hold, by code point."""
    every, (low, high) = every_code_point(), SURROGATES
    return every[:low] + every[high + 1 :]


_PRIVATE = range(0xF0000, 0xFFFFE)
"""Code points of private use, of which no library's tables say anything."""

_BLOCK = 1 << 14
"""How many characters are written in one run: tokenizers keeps 200 bytes for each of a text."""


def images(steps: Sequence[NormalizerStep]) -> Iterator[str]:
    """What steps that write each character by itself make of :func:`characters`, one by one.

    Raises:
        PatternError: no character is left to stand between two of them.
        EngineMissingError: a step needs ``tokenizers``, which is not installed.
    """
    every = characters()
    for start in range(0, len(every), _BLOCK):
        block = every[start : start + _BLOCK]
        yield from _images_of(steps, block) if steps else block


def _images_of(steps: Sequence[NormalizerStep], block: str) -> list[str]:
    """The same of some characters, in one run with a mark between two."""
    # No step of another kind changes or writes a character of private use.
    replaced = (step for step in steps if isinstance(step, Replace))
    named = {char for step in replaced for char in f"{step.pattern}{step.content}"}
    marks = (char for char in map(chr, _PRIVATE) if char not in named and char not in block)
    mark = next(marks, None)
    if mark is None:
        raise PatternError("not decided: the steps write every character of private use")
    return normalize(steps, mark.join(block)).split(mark)


def _written(changed: dict[int, str], present: CharSet) -> CharSet:
    left = intersect(present, negate(_set(changed)))
    here = _ranges(intersect(present, _set(changed)))
    images = (changed[code] for first, last in here for code in range(first, last + 1))
    return unite((left, chars("".join(images))))


def _set(points: Iterable[int]) -> Chars:
    return Chars(merge((point, point) for point in points))
