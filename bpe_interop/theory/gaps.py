"""A splitter that drops what lies between its matches, as one that leaves it before them.

So nothing lies between the pretokens, and each begins with what is to be left out (Theorem 35).
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..errors import PatternError
from ..kernel.splitter import SplitTable
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.charsets import Chars
from ..text.pattern_emitter import emit
from ..text.patterns import parse
from ..text.regex_syntax import Leaf, alternation, repeat, sequence
from ..text.unicode import PAGE, Ranges
from .split_tables import BACK, split_tables
from .splitters import meaning


@lru_cache(maxsize=32)
def with_gaps(step: PreTokenizerStep) -> tuple[Split, Ranges] | None:
    """The splitter whose matches begin with gaps, and the characters of these.

    None: the step is not one that drops what lies between, or something else lies there too.

    Raises:
        PatternError: the step has no table.
    """
    node, behavior, invert = meaning(step)
    (table,) = split_tables((step,))
    if (behavior, invert) != ("removed", True) or table.covers:
        return None
    gaps = _never_begin(table)
    if not gaps:
        return None
    gap = Leaf(Chars(gaps))
    joined = alternation([sequence([repeat(gap, 0, None), node]), repeat(gap, 1, None)])
    pattern = Pattern(emit(joined, "fancy-regex"), "fancy-regex")
    whole = Split(pattern, "isolated")
    try:
        (joint,) = split_tables((whole,))
    except PatternError:
        return None
    # That it covers every text says that whatever the step drops is of these characters.
    return (whole, gaps) if joint.covers and parse(pattern) == joined else None


def _never_begin(table: SplitTable) -> Ranges:
    """The characters with which no match begins, by the table, which is proved."""
    row = table.transitions[table.start : table.start + table.end]
    idle = bytes(entry & BACK > 0 for entry in row).ljust(256, b"\0")
    classes = table.classes.translate(idle)
    of_all = b"".join(classes[PAGE * page : PAGE * (page + 1)] for page in table.pages)
    return tuple((run.start(), run.end() - 1) for run in re.finditer(b"\1+", of_all))
