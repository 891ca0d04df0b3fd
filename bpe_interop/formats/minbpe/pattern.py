"""A pre-tokenizer as the one line that minbpe gives to Python's ``regex``."""

from __future__ import annotations

import re

from ...loss import Loss
from ...model import BPEModel
from ...steps import Pattern, Split
from ...text.matcher import python_source
from ...text.patterns import emit, parse
from ...theory.cuts import preferred_in
from ..one_pattern import one_pattern

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
    """The pattern whose matches are the pretokens (empty: nothing is cut), or why there is none."""
    steps = model.pretokenizer
    if not steps:
        return ""
    return one_pattern(steps, "minbpe", lambda pattern: _one_line(pattern, model))


def _one_line(pattern: Pattern, model: BPEModel) -> str:
    """The pattern for ``regex``, without captures and line ends, and not changed by ``strip``.

    One that is ``regex``'s already keeps its spelling; others get the best known of those proved
    equal for this vocabulary.
    """
    source = pattern.source
    if pattern.dialect != "python":
        best = preferred_in(model, Split(pattern, "removed", invert=True), 0, "fancy-regex")
        source = python_source(best, parse(best))
    if captures(source) or "\n" in source or "\r" in source or source != source.strip():
        source = emit(parse(pattern), "python")
    return source if source and source == source.strip() else f"(?:{source})"
