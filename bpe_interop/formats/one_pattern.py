"""A pre-tokenizer for formats that take one pattern, whose matches are the pretokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..errors import PatternError
from ..loss import Loss
from ..steps import Pattern, PrefixSpace, PreTokenizerStep, Split
from ..text.patterns import parse
from ..theory.automata import uncovered

Said = TypeVar("Said")


def one_pattern(
    steps: tuple[PreTokenizerStep, ...], holder: str, say: Callable[[Pattern], Said]
) -> Said | Loss:
    """Steps as one pattern, or why they are none.

    Such a tokenizer drops text that the pattern leaves unmatched: where the step keeps it, the
    pattern must match all of every text.

    Args:
        steps: the pre-tokenizer; at least one step.
        holder: what the sentences call the target.
        say: gives the pattern in the target's own spelling; what it says in a PatternError is
            why there is none.
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
    if len(steps) > 1 or not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        if isinstance(step, PrefixSpace):
            return loss("a space put before each text", witness="a")
        names = ", ".join(type(each).__name__ for each in steps)
        return loss(f"the steps {names}", shown=False)
    keeps = step.behavior == "isolated" or (
        step.behavior in ("merged_with_previous", "merged_with_next") and not step.invert
    )
    if not keeps and not (step.behavior == "removed" and step.invert):
        return loss(f"a split that is {step.behavior}", shown=False)
    try:
        left = uncovered(parse(step.pattern)) if keeps else None
        if left is not None:
            return loss("a pattern that leaves text unmatched and keeps it", witness=left)
        return say(step.pattern)
    except PatternError as error:
        return loss(f"a pattern of which it is not shown ({error.what})", shown=False)
