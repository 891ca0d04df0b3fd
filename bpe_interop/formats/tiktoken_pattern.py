"""A pre-tokenizer as the one pattern that tiktoken takes."""

from __future__ import annotations

from ..errors import PatternError, UnsupportedError
from ..loss import Loss
from ..model import BPEModel
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.patterns import parse, translate
from ..text.regex_syntax import Node, matches_empty
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

    ``core.py`` and ``lib.rs``: text that is not matched is dropped. An empty match is looked up
    and merged like any other: where no token is empty, ``lib.rs`` panics on it.

    Raises:
        UnsupportedError: the pattern can match the empty text.
    """
    pattern = Pattern(source, "fancy-regex")
    node = _parsed(pattern)
    if node is not None and matches_empty(node):
        raise UnsupportedError(
            f"the pattern {source} can match the empty text; tiktoken panics on a text where it "
            "does, unless a token is empty",
            fix="write it so that each match has a character: x+ in place of x*",
        )
    if node == parse(WHOLE):
        return ()
    return (Split(pattern, "removed", invert=True),)


def express(steps: tuple[PreTokenizerStep, ...]) -> Pattern | Loss:
    """One fancy-regex pattern whose matches are the pretokens, or why there is none."""
    if not steps:
        return WHOLE
    found = one_pattern(steps, "tiktoken", lambda pattern: translate(pattern, "fancy-regex"))
    node = _parsed(found) if isinstance(found, Pattern) else None
    if node is not None and matches_empty(node):
        return Loss(
            "pretokenizer",
            "ids",
            "the pattern can match the empty text",
            "tiktoken panics on a text where it does",
            shown=False,
        )
    return found


def _parsed(pattern: Pattern) -> Node | None:
    """The pattern's tree; None where it is not understood, which is said when it is used."""
    try:
        return parse(pattern)
    except PatternError:
        return None
