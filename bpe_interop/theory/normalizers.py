"""When two chains of normalizer steps do the same to every text.

Steps are written in one way first; what is left is compared as a table of all code points,
where every step works on each character by itself (``docs/theory.md``, Theorem 15).
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import PatternError
from ..model import BPEModel
from ..steps import (
    Lowercase,
    Metaspace,
    Nmt,
    NormalizerStep,
    Pattern,
    Prepend,
    PreTokenizerStep,
    Replace,
    SentencePieceText,
    Strip,
    StripAccents,
    UnicodeForm,
)
from ..text.charsets import code_points
from ..text.charsmap import SPACE, is_identity
from ..text.normalize import normalize
from ..text.patterns import parse
from ..text.regex_syntax import Leaf, Node
from ..text.regex_syntax import Sequence as Parts
from ..text.unicode import LAST, SURROGATES
from .acting_steps import acting_normalizer, acting_splits


def plain_steps(step: SentencePieceText) -> tuple[NormalizerStep, ...]:
    """Simple steps that do the same, but for a character map and a space after the text.

    Spaces are removed before the dummy prefix is put in and before they are escaped; at the end
    SentencePiece removes escaped ones, so U+2581 in a text is removed there with them.
    """
    space = SPACE if step.escape else " "
    steps: list[NormalizerStep] = []
    if step.collapse:
        steps += [
            Replace(Pattern(" {2,}", "oniguruma"), " "),
            Replace(Pattern(r"\A ", "oniguruma"), ""),
        ]
    if step.dummy == "prefix":
        steps.append(Prepend(space))
    if step.escape:
        steps.append(Replace(" ", SPACE))
    if step.collapse:
        steps.append(Replace(Pattern(rf"{space}+\z", "oniguruma"), ""))
    return tuple(steps)


def has_plain_steps(step: SentencePieceText) -> bool:
    """Whether :func:`plain_steps` normalizes every text alike.

    A user-defined piece keeps the doubled spaces that it holds.
    """
    if step.dummy == "suffix" or not is_identity(step.charsmap):
        return False
    return not step.collapse or not any("  " in text for text in step.kept)


def plain_normalizer(steps: Sequence[NormalizerStep]) -> tuple[NormalizerStep, ...]:
    """The steps that can act, those of SentencePiece as simple ones where these do the same."""
    plain: list[NormalizerStep] = []
    for step in steps:
        if isinstance(step, SentencePieceText) and has_plain_steps(step):
            plain += plain_steps(step)
        else:
            plain.append(step)
    return acting_normalizer(plain)


Pipeline = tuple[tuple[NormalizerStep, ...], tuple[PreTokenizerStep, ...]]
"""What is done to a text before merging: normalizer and pre-tokenizer."""


def pipeline(model: BPEModel) -> Pipeline | None:
    """A model's steps before merging, written in one way; None where they are not stated.

    ``Metaspace`` that never prepends replaces spaces, and does so before the splits. It belongs
    to the normalizer then, unless added tokens are looked for in between.
    """
    if model.normalizer is None or model.pretokenizer is None:
        return None
    steps, splits = plain_normalizer(model.normalizer), acting_splits(model)
    looked_for = any(token.normalized for token in model.added or ())
    first = splits[0] if splits and not looked_for else None
    if isinstance(first, Metaspace) and first.prepend == "never":
        steps, splits = (*steps, Replace(" ", first.replacement)), splits[1:]
    return canonical_steps(steps), splits


def canonical_steps(steps: Sequence[NormalizerStep]) -> tuple[NormalizerStep, ...]:
    """The steps without those that do nothing, literals as literals, what is prepended last."""
    shortened: list[NormalizerStep] = []
    for step in map(_plain, plain_normalizer(steps)):
        if _does_nothing(step) or (isinstance(step, UnicodeForm) and shortened[-1:] == [step]):
            continue
        shortened.append(step)
        if len(shortened) > 1 and (swapped := _swapped(*shortened[-2:])):
            shortened[-2:] = swapped
    return tuple(shortened)


def same_places(a: Sequence[NormalizerStep], b: Sequence[NormalizerStep]) -> bool:
    """Whether two chains are the same in one way of writing, in which nothing is prepended.

    Then each character also comes from the same place of the text, which ``Metaspace`` asks where
    it prepends to the first one only. Steps that write every text alike may differ in that: what
    replaces several characters by themselves does, for example (``leading`` in
    ``text/normalize.py``).
    """
    return canonical_steps(a) == canonical_steps(b) and not any(
        isinstance(step, Prepend) for step in (*a, *b)
    )


def first_different_character(
    a: Sequence[NormalizerStep], b: Sequence[NormalizerStep]
) -> str | None:
    """The first character that two chains write otherwise; None proves there is no such text.

    Raises:
        PatternError: not every step works on each character by itself.
        EngineMissingError: a step needs ``tokenizers``, which is not installed.
    """
    left, right = canonical_steps(a), canonical_steps(b)
    if left == right:
        return None
    if left[-1:] == right[-1:] and isinstance(left[-1], Prepend):
        left, right = left[:-1], right[:-1]
    if not all(map(_by_character, (*left, *right))):
        raise PatternError("not decided: a step looks at more than one character")
    characters = (*map(chr, range(SURROGATES[0])), *map(chr, range(SURROGATES[1] + 1, LAST + 1)))
    one, other = _table(left, characters), _table(right, characters)
    return next((char for char, x, y in zip(characters, one, other, strict=True) if x != y), None)


def _plain(step: NormalizerStep) -> NormalizerStep:
    if isinstance(step, Replace) and isinstance(step.pattern, Pattern):
        try:
            text = literal(parse(step.pattern))
        except PatternError:
            return step
        return Replace(text, step.content) if text else step
    return step


def literal(node: Node) -> str:
    """The one text that a tree matches, or nothing."""
    text = ""
    for part in node.parts if isinstance(node, Parts) else (node,):
        ranges = code_points(part.charset) if isinstance(part, Leaf) else ()
        if len(ranges) != 1 or ranges[0][0] != ranges[0][1]:
            return ""
        text += chr(ranges[0][0])
    return text


def _does_nothing(step: NormalizerStep) -> bool:
    if isinstance(step, Replace):
        # What replaces several characters comes from all of them, which Metaspace may ask.
        return step.pattern == step.content and len(step.content) == 1
    return step == Strip(left=False, right=False)


def _swapped(
    first: NormalizerStep, second: NormalizerStep
) -> tuple[NormalizerStep, NormalizerStep] | None:
    """The same two steps with the text prepended last.

    A single character that becomes something leaves no text empty that was not.
    """
    if not isinstance(first, Prepend) or not isinstance(second, Replace):
        return None
    if not isinstance(second.pattern, str) or len(second.pattern) != 1 or not second.content:
        return None
    return second, Prepend(first.text.replace(second.pattern, second.content))


def _by_character(step: NormalizerStep) -> bool:
    if isinstance(step, Replace):
        return isinstance(step.pattern, str) and len(step.pattern) == 1
    return isinstance(step, (Lowercase, StripAccents, Nmt))


def _table(steps: Sequence[NormalizerStep], characters: tuple[str, ...]) -> Sequence[str]:
    """What becomes of each of all characters: of all at once, with a mark between two.

    Raises:
        PatternError: every mark tried is what some character becomes.
    """
    if not steps:
        return characters
    for mark in "\ue000\uf8ff\U000f0000":
        images = normalize(steps, mark.join(characters)).split(mark)
        # The mark itself is one of the characters, so it stands there twice and leaves a gap.
        if len(images) == len(characters) + 1:
            at = images.index("", ord(mark) - (SURROGATES[1] + 1 - SURROGATES[0]))
            return [*images[:at], mark, *images[at + 2 :]]
    raise PatternError("not decided: characters become each other")
