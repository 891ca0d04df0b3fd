"""When two chains of normalizer steps do the same to every text (Theorem 15).

Steps are written in one way first; what is left is compared as a table of all code points.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import PatternError
from ..model import BPEModel
from ..steps import (
    SPACE,
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
from ..text.charsmap import is_identity
from ..text.patterns import parse
from ..text.regex_syntax import Leaf, Node
from ..text.regex_syntax import Sequence as Parts
from .acting_steps import acting_normalizer, acting_splits, characters, images


def plain_steps(step: SentencePieceText) -> tuple[NormalizerStep, ...]:
    """Simple steps that do the same, but for a character map and a space after the text."""
    space = SPACE if step.escape else " "
    steps: list[NormalizerStep] = []
    if step.collapse:
        # Before the dummy prefix is put in, and before spaces are escaped (src/normalizer.cc).
        steps += [
            Replace(Pattern(" {2,}", "oniguruma"), " "),
            Replace(Pattern(r"\A ", "oniguruma"), ""),
        ]
    if step.dummy == "prefix":
        steps.append(Prepend(space))
    if step.escape:
        steps.append(Replace(" ", SPACE))
    if step.collapse:
        # At the end SentencePiece removes escaped ones, U+2581 of the text among them.
        steps.append(Replace(Pattern(rf"{space}+\z", "oniguruma"), ""))
    return tuple(steps)


def has_plain_steps(step: SentencePieceText) -> bool:
    """Whether :func:`plain_steps` normalizes every text alike."""
    if step.dummy == "suffix" or not is_identity(step.charsmap):
        return False
    # A user-defined piece keeps the doubled spaces that it holds.
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
    """A model's steps before merging, written in one way; None where they are not stated."""
    if model.normalizer is None or model.pretokenizer is None:
        return None
    steps, splits = plain_normalizer(model.normalizer), acting_splits(model)
    # Theorem 15: Metaspace that never prepends replaces spaces, and does so before the splits. It
    # belongs to the normalizer, unless added tokens are looked for in between.
    looked_for = any(token.normalized for token in model.added or ())
    first = splits[0] if splits and not looked_for else None
    if isinstance(first, Metaspace) and first.prepend == "never":
        steps, splits = (*steps, Replace(" ", first.replacement)), splits[1:]
    # Theorem 15: what doubles a first U+2581, before a Metaspace that writes one where a text
    # begins otherwise, is a prefix. transformers 5 saves a LlamaTokenizer so.
    if not looked_for and steps[-2:] == _DOUBLED and splits == (Metaspace(SPACE, "always"),):
        steps, splits = (*steps[:-1], Prepend(SPACE)), ()
    return canonical_steps(steps), splits


_DOUBLED = (Replace(" ", SPACE), Replace(Pattern(rf"\A{SPACE}", "oniguruma"), 2 * SPACE))


def canonical_steps(steps: Sequence[NormalizerStep]) -> tuple[NormalizerStep, ...]:
    """The steps without those that do nothing, literals as literals, what is prepended last."""
    shortened: list[NormalizerStep] = []
    for step in map(_with_literal, plain_normalizer(steps)):
        if _does_nothing(step) or (isinstance(step, UnicodeForm) and shortened[-1:] == [step]):
            continue
        shortened.append(step)
        if len(shortened) > 1 and (swapped := _swapped(*shortened[-2:])):
            shortened[-2:] = swapped
    return tuple(shortened)


def same_places(a: Sequence[NormalizerStep], b: Sequence[NormalizerStep]) -> bool:
    """Whether each character that two chains write also comes from the same place of the text.

    ``Metaspace`` asks that where it prepends to the first one only (``leading`` in
    ``text/normalize.py``). False says only that it is not shown.
    """
    # Theorem 15: step by step the same, and nothing is prepended. Steps that write every text alike
    # may differ in that: one that replaces several characters by themselves does.
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
    # The same text prepended last changes nothing of what is compared.
    if left[-1:] == right[-1:] and isinstance(left[-1], Prepend):
        left, right = left[:-1], right[:-1]
    if not all(map(_by_character, (*left, *right))):
        raise PatternError("not decided: a step looks at more than one character")
    # Theorem 15: such chains are equal exactly if they write every code point in the same way.
    table = zip(characters(), images(left), images(right), strict=True)
    return next((char for char, one, other in table if one != other), None)


def _with_literal(step: NormalizerStep) -> NormalizerStep:
    """The step, its pattern as a literal if it matches one text only."""
    if isinstance(step, Replace) and isinstance(step.pattern, Pattern):
        try:
            text = literal(parse(step.pattern))
        except PatternError:
            return step  # it stays as it is, and is compared as a whole
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
    """The same two steps with the text prepended last; None where that may differ."""
    if not isinstance(first, Prepend) or not isinstance(second, Replace):
        return None
    # Theorem 15: a single character that becomes something leaves no text empty that was not, so
    # there is a text to prepend to in both orders.
    if not isinstance(second.pattern, str) or len(second.pattern) != 1 or not second.content:
        return None
    return second, Prepend(first.text.replace(second.pattern, second.content))


def _by_character(step: NormalizerStep) -> bool:
    if isinstance(step, Replace):
        return isinstance(step.pattern, str) and len(step.pattern) == 1
    return isinstance(step, (Lowercase, StripAccents, Nmt))
