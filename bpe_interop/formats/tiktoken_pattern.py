"""A pre-tokenizer as the one pattern that tiktoken takes."""

from __future__ import annotations

from ..errors import PatternError
from ..loss import Loss
from ..model import BPEModel
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.patterns import parse, translate
from .one_pattern import one_pattern

WHOLE = Pattern(r"[\s\S]+", "fancy-regex")
"""The pattern of a tokenizer that cuts no text: the one match is all of it."""


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
    """One fancy-regex pattern whose matches are the pretokens, or why there is none."""
    if not steps:
        return WHOLE
    return one_pattern(steps, "tiktoken", lambda pattern: translate(pattern, "fancy-regex"))
