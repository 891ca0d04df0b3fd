"""The pre-tokenizer: patterns (Theorem 11), sequences of splitters (Theorem 14).

Theorem 30 is about steps that cannot act, Theorems 10, 26 and 27 about cuts that change no ids.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice, product

from ..diff import difference
from ..merging.canonical import whole_lookups
from ..quoting import show
from ..text.charsets import NOTHING
from ..text.patterns import asks_other_tables
from ..text.split import split
from ..theory.acting_steps import acting_splits
from ..theory.cuts import none_across, texts_across
from ..theory.normalizers import pipeline
from ..theory.splitters import Steps, compared_cuts, newer_characters, representatives
from .stage import CONTEXTS, Stage, TwoModels, short_strings, short_texts, unstated_side

_NAME = "pre-tokenizer"

_STRINGS = 20_000
"""About how many strings are tried where nothing is decided."""

_FIRST = 500
"""So many of them are tried before the texts in which a token stands across a cut."""

_LOOKUPS = 1_000
"""So many tokens that only a lookup finds are tried."""


def pretokenizer_stage(pair: TwoModels) -> Stage:
    """Where a text is cut into pretokens."""
    left, right = pair.a.pretokenizer, pair.b.pretokenizer
    if left is None or right is None:
        return Stage(_NAME, "unknown", f"{unstated_side(pair, 'pretokenizer')} how texts are split")
    if left == right:
        return Stage(_NAME, "proved", "the same steps" if left else "none on either side")
    left, right = acting_splits(pair.a), acting_splits(pair.b)
    if left == right:
        return Stage(
            _NAME, "proved", "the same steps, but for those that can never act (Theorem 30)"
        )
    found = difference(pair.a, pair.b, "pretokenizer")
    tables = [tuple(map(asks_other_tables, steps)) for steps in (left, right)]
    # The field compares patterns up to spellings that this vocabulary makes equal (Theorem 27), but
    # not the tables of the engines that match them.
    if found is None and tables[0] == tables[1]:
        return Stage(_NAME, "proved", "patterns that split every text alike, for this vocabulary")
    one, two = pipeline(pair.a), pipeline(pair.b)
    if one is not None and two is not None and one[0] == two[0]:
        # Theorem 15: a step of the pre-tokenizer may write what the other's normalizer does.
        left, right = one[1], two[1]
        if left == right:
            return Stage(_NAME, "proved", "the same, what the normalizer writes being the same")
    # llama.cpp's splitters have the tables of Unicode 15.1: no text is taken to hold a character of
    # a later version (Theorem 14).
    older = pair.a.origin.older_tables or pair.b.origin.older_tables
    compared = compared_cuts(left, right, newer_characters() if older else NOTHING)
    if compared.text is None and not compared.why:
        return Stage(_NAME, "proved", f"other steps that cut every text alike ({compared.by})")
    if compared.text is None:
        # Not decided: all strings over characters of every class are run, up to a length.
        how = "patterns of engines with other tables" if found is None else found.how
        why = f"other steps ({how}), {compared.why}"
        strings, extent = _strings_cut_differently(left, right)
        stage = pair.tried(_NAME, why, chain(strings, short_texts()), "pretokenizer")
        if stage.outcome == "different":  # a text decides what no theorem does
            return replace(stage, why=stage.why.replace(f", {compared.why}", ""))
        return Stage(_NAME, "unknown", f"{why}; {extent}: no ids differ")
    if none_across((pair.a, pair.b), left, right):  # Theorem 26
        why = f"they split {show(compared.text)} differently, but no token stands across such a cut"
        return Stage(_NAME, "proved", f"{why} (Theorem 10)")
    texts = (context.format(compared.text) for context in CONTEXTS)
    why = f"they split {show(compared.text)} differently"
    strings = _strings_cut_differently(left, right)[0]
    stage = pair.tried(
        _NAME,
        why,
        chain(
            texts,
            islice(strings, _FIRST),
            texts_across((pair.a, pair.b), left, right),
            strings,
            _looked_up(pair, compared.text),
            short_strings(),  # one character is hardly ever cut, and there are many
            short_texts(),
        ),
        "pretokenizer",
    )
    # The reason names the text on which ids differ, where that is cut differently too.
    text = stage.witness or compared.text
    if split(left, text) == split(right, text):
        return stage
    return replace(stage, why=stage.why.replace(show(compared.text), show(text), 1))


def _looked_up(pair: TwoModels, text: str) -> Iterator[str]:
    """A text with its last character replaced by what only a lookup of a whole pretoken finds."""
    for model in (pair.a, pair.b):
        for content in islice(sorted(whole_lookups(model)), _LOOKUPS):
            with contextlib.suppress(UnicodeDecodeError):
                yield text[:-1] + content.decode("utf-8")


def _strings_cut_differently(left: Steps, right: Steps) -> tuple[Iterator[str], str]:
    """Short strings over characters of every class that the two cut otherwise; what was tried."""
    classes = representatives((*left, *right))
    length = 1
    while len(classes) ** (length + 1) <= _STRINGS:
        length += 1
    strings = (
        text
        for size in range(1, length + 1)
        for text in map("".join, product(classes, repeat=size))
        if split(left, text) != split(right, text)
    )
    extent = f"tested on all strings of up to {length} characters out of {len(classes)} classes"
    return strings, extent
