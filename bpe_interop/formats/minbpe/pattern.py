"""A pre-tokenizer as the one line that minbpe gives to Python's ``regex``."""

from __future__ import annotations

import re

from ...errors import PatternError
from ...loss import Loss
from ...model import BPEModel
from ...steps import Pattern, PrefixSpace, PreTokenizerStep, Split
from ...text.matching import python_source
from ...text.patterns import emit, parse, preferred
from ...theory.automata import uncovered
from ...theory.merges import whole_lookups

_CONSEQUENCE = "minbpe would cut texts elsewhere, and the ids would differ"
_MAY_CAPTURE = re.compile(r"\((?!\?)|\(\?P?<(?![=!])")


def captures(source: str) -> bool:
    """Whether a pattern has capturing groups. A pattern that does not compile has none."""
    if not _MAY_CAPTURE.search(source):
        return False
    import regex

    try:
        return regex.compile(source, regex.VERSION0).groups > 0
    except regex.error:
        return False


def express(model: BPEModel) -> str | Loss:
    """The pattern whose matches are the pretokens, or why there is none; empty if nothing is cut.

    minbpe drops text that the pattern leaves unmatched: where the step keeps it, the pattern must
    match all of every text.
    """
    steps = model.pretokenizer
    if not steps:
        return ""
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
        return _one_line(step.pattern, model)
    except PatternError as error:
        return _loss(f"a pattern of which it is not shown ({error.what})", shown=False)


def _one_line(pattern: Pattern, model: BPEModel) -> str:
    """The pattern for ``regex``, without captures and line ends, and not changed by ``strip``.

    One that is ``regex``'s already keeps its spelling; others get the best known of those proved
    equal for this vocabulary.
    """
    source = pattern.source
    if pattern.dialect != "python":
        best = preferred(
            pattern,
            "fancy-regex",
            vocabulary=model.vocab.ids,
            unreachable=lambda: whole_lookups(model),
        )
        source = python_source(best, parse(best))
    if captures(source) or "\n" in source or "\r" in source or source != source.strip():
        source = emit(parse(pattern), "python")
    return source if source and source == source.strip() else f"(?:{source})"


def _not_one_pattern(steps: tuple[PreTokenizerStep, ...]) -> Loss:
    if isinstance(steps[0], PrefixSpace):
        return _loss("a space put before each text", witness="a")
    names = ", ".join(type(step).__name__ for step in steps)
    return _loss(f"the steps {names}", shown=False)


def _loss(what: str, *, witness: str | None = None, shown: bool = True) -> Loss:
    return Loss(
        "pretokenizer",
        "ids",
        f"minbpe takes one pattern whose matches are the pretokens; {what} cannot be said so",
        _CONSEQUENCE,
        witness=witness,
        shown=shown,
    )
