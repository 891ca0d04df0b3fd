"""A pre-tokenizer as the one pattern that tiktoken takes."""

from __future__ import annotations

from ...errors import PatternError
from ...loss import Loss
from ...model import BPEModel
from ...steps import (
    Pattern,
    PrefixSpace,
    PreTokenizerStep,
    Split,
)
from ...text.patterns import parse, translate
from ...theory.automata import uncovered

WHOLE = Pattern(r"[\s\S]+", "fancy-regex")
"""The pattern of a tokenizer that cuts no text: the one match is all of it."""

_CONSEQUENCE = "tiktoken would cut texts elsewhere, and the ids would differ"


def pat_str(model: BPEModel) -> str | None:
    """The pattern whose matches are the pretokens; None where it is unknown or there is none."""
    if model.pretokenizer is None:
        return None
    pattern = express(model.pretokenizer)
    return pattern.source if isinstance(pattern, Pattern) else None


def read_pattern(source: str) -> tuple[PreTokenizerStep, ...]:
    """The steps of a pattern whose matches are the pretokens; none if it matches texts whole.

    ``core.py`` and ``lib.rs``: text that is not matched is dropped.
    """
    pattern = Pattern(source, "fancy-regex")
    try:
        if parse(pattern) == parse(WHOLE):
            return ()
    except PatternError:
        pass  # said when it is used
    return (Split(pattern, "removed", invert=True),)


def express(steps: tuple[PreTokenizerStep, ...]) -> Pattern | Loss:
    """One fancy-regex pattern whose matches are the pretokens, or why there is none.

    tiktoken drops text that the pattern leaves unmatched, tokenizers keeps it: where the step
    keeps it, the pattern must match all of every text.
    """
    if not steps:
        return WHOLE
    step = steps[0] if len(steps) == 1 else None
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return _not_one_pattern(steps)
    keeps = step.behavior == "isolated" or (
        step.behavior in ("merged_with_previous", "merged_with_next") and not step.invert
    )
    if not keeps and not (step.behavior == "removed" and step.invert):
        return _loss(f"a split that is {step.behavior}", shown=False)
    try:
        if keeps:
            left = uncovered(parse(step.pattern))
            if left is not None:
                return _loss("a pattern that leaves text unmatched and keeps it", witness=left)
        return translate(step.pattern, "fancy-regex")
    except PatternError as error:
        return _loss(f"a pattern of which it is not shown ({error.what})", shown=False)


def _not_one_pattern(steps: tuple[PreTokenizerStep, ...]) -> Loss:
    if steps and isinstance(steps[0], PrefixSpace):
        return _loss("a space put before each text", witness="a")
    names = ", ".join(type(step).__name__ for step in steps)
    return _loss(f"the steps {names}", shown=False)


def _loss(what: str, *, witness: str | None = None, shown: bool = True) -> Loss:
    return Loss(
        "pretokenizer",
        "ids",
        f"tiktoken takes one pattern whose matches are the pretokens; {what} cannot be said so",
        _CONSEQUENCE,
        witness=witness,
        shown=shown,
    )
