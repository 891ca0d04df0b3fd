"""The normalizer (Theorem 15)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from typing import Final

from ..diff import difference
from ..errors import EngineMissingError, PatternError
from ..steps import Metaspace, Replace, SentencePieceText
from ..theory import normalizers
from .stage import Stage, TwoModels, short_texts, unstated_side

_NAME: Final = "normalizer"
_LOOKED_AT = 10
"""Where only some texts are run, so many times as many are normalized."""

_KEPT = 1_000
"""So many user-defined pieces, which a normalizer leaves as they are, are tried."""


def _asks_first(pair: TwoModels) -> bool:
    """Whether ``Metaspace`` asks which character of the text the first one comes from."""
    splits = (*(pair.a.pretokenizer or ()), *(pair.b.pretokenizer or ()))
    return any(isinstance(step, Metaspace) and step.prepend == "first" for step in splits)


def normalizer_stage(pair: TwoModels) -> Stage:
    """What is done to a text before it is split."""
    left, right = pair.a.normalizer, pair.b.normalizer
    if left is None or right is None:
        return Stage(
            _NAME, "unknown", f"{unstated_side(pair, 'normalizer')} how texts are normalized"
        )
    found = difference(pair.a, pair.b, "normalizer")
    if found is None:
        return Stage(_NAME, "proved", "the same steps" if left else "none on either side")
    one, two = normalizers.pipeline(pair.a), normalizers.pipeline(pair.b)
    # Theorem 15: a Metaspace that only replaces spaces counts as a step of the normalizer.
    steps = (left, right) if one is None or two is None else (one[0], two[0])
    why = f"other steps: {found.how}"
    first: tuple[str, ...] = ()
    try:
        # Theorem 15, with its condition where Metaspace prepends to the first character only.
        char = normalizers.first_different_character(*steps)
        if char is None and (not _asks_first(pair) or normalizers.same_places(*steps)):
            return Stage(_NAME, "proved", "other steps that write every text alike (Theorem 15)")
        if char is not None:
            first = (char, f"a{char}", f"{char}a")
            why += f"; they write {char!a} differently"
    except (PatternError, EngineMissingError):
        pass  # not decided, so texts are tried below
    kept = (
        text
        for step in (*left, *right)
        if isinstance(step, SentencePieceText)
        for text in step.kept
    )
    short = islice(short_texts(), pair.most and pair.most * _LOOKED_AT)
    tried = chain(islice(kept, _KEPT), short)
    texts = (t for t in tried if pair.one.normalize(t) != pair.two.normalize(t))
    return pair.tried(_NAME, why, chain(first, texts, _beginnings(pair)), _NAME)


def _beginnings(pair: TwoModels) -> Iterator[str]:
    """Texts whose first characters may come from other places, though they are written alike."""
    if not _asks_first(pair):
        return
    for step in (
        *normalizers.canonical_steps(pair.a.normalizer or ()),
        *normalizers.canonical_steps(pair.b.normalizer or ()),
    ):
        if isinstance(step, Replace) and isinstance(step.pattern, str):
            yield step.pattern
    yield from short_texts()
