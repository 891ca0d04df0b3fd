"""A pre-tokenizer as one pattern, whose matches are the pretokens: tiktoken's, or another's.

Several steps are one pattern by Theorem 29.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from ..errors import PatternError, UnsupportedError
from ..loss import Loss
from ..model import BPEModel
from ..steps import Pattern, PrefixSpace, PreTokenizerStep, Split
from ..text.spellings import PREFERRED

if TYPE_CHECKING:
    from ..text.regex_syntax import Node

Spelled = TypeVar("Spelled")

WHOLE = Pattern(r"[\s\S]+", "fancy-regex")
"""The pattern of a tokenizer that cuts no text: the one match is all of it."""


def one_pattern(
    steps: tuple[PreTokenizerStep, ...], holder: str, say: Callable[[Pattern], Spelled]
) -> Spelled | Loss:
    """Steps (one at least) as one pattern, or why they are none.

    ``say`` gives the pattern in the target's own spelling; its PatternError says why there is none.
    """

    def loss(what: str, *, witness: str | None = None, shown: bool = True) -> Loss:
        return Loss(
            "pretokenizer",
            "ids",
            f"{holder} takes one pattern, which matches the pretokens; {what} cannot be written so",
            f"{holder} would cut texts elsewhere, and the ids would differ",
            witness=witness,
            shown=shown,
        )

    step = steps[0]
    if isinstance(step, PrefixSpace):
        return loss("a space put before each text", witness="a")
    names = ", ".join(type(each).__name__ for each in steps)
    what, left = f"the steps {names}", None
    from ..text.patterns import parse
    from ..theory.automata import uncovered
    from ..theory.composition import composed

    try:
        if len(steps) == 1 and isinstance(step, Split) and isinstance(step.pattern, Pattern):
            what = f"a split that is {step.behavior}"
            if step.behavior == "removed" and step.invert:
                return say(step.pattern)
            if step.behavior == "isolated" or (not step.invert and "merged" in step.behavior):
                # The target drops text that the pattern leaves unmatched, and the step keeps it.
                left = uncovered(parse(step.pattern))
                if left is None:
                    return say(step.pattern)
                what = "a pattern that leaves text unmatched and keeps it"
        # Several steps are one pattern by Theorem 29.
        return say(composed(steps))
    except PatternError as error:
        return loss(f"{what} ({error.what})", witness=left, shown=left is not None)


def pat_str(model: BPEModel) -> str | None:
    """The pattern whose matches are the pretokens; None where it is unknown or there is none."""
    if model.pretokenizer is None:
        return None
    pattern = express(model.pretokenizer)
    return pattern.source if isinstance(pattern, Pattern) else None


def read_pattern(source: str, where: str = "") -> tuple[PreTokenizerStep, ...]:
    """The steps of a pattern whose matches are the pretokens; none if it matches texts whole.

    ``where`` is the file and the place in it, for the error.

    Raises:
        UnsupportedError: the pattern can match the empty text.
    """
    pattern = Pattern(source, "fancy-regex")
    if source in PREFERRED:
        return (Split(pattern, "removed", invert=True),)
    from ..text.patterns import parse
    from ..text.regex_syntax import matches_empty

    node = _parsed(pattern)
    # An empty match is looked up and merged like any other: where no token is empty, tiktoken's
    # lib.rs panics on it.
    if node is not None and matches_empty(node):
        raise UnsupportedError(
            f"the pattern {source} can match the empty text; tiktoken panics on a text where it "
            "does, unless a token is empty",
            where=where,
            fix="write it so that each match has a character: x+ in place of x*",
        )
    if node == parse(WHOLE):
        return ()
    return (Split(pattern, "removed", invert=True),)


def express(steps: tuple[PreTokenizerStep, ...]) -> Pattern | Loss:
    """One fancy-regex pattern whose matches are the pretokens, or why there is none."""
    if not steps:
        return WHOLE
    from ..text.patterns import translate
    from ..text.regex_syntax import matches_empty

    written = one_pattern(steps, "tiktoken", lambda pattern: translate(pattern, "fancy-regex"))
    node = _parsed(written) if isinstance(written, Pattern) else None
    if node is not None and matches_empty(node):
        return Loss(
            "pretokenizer",
            "ids",
            "the pattern can match the empty text",
            "tiktoken panics on a text where it does",
            shown=False,
        )
    return written


def _parsed(pattern: Pattern) -> Node | None:
    """The pattern's tree; None where it is not understood, which is said when it is used."""
    from ..text.patterns import parse

    try:
        return parse(pattern)
    except PatternError:
        return None
