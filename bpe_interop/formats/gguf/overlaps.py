"""Texts of special tokens that overlap: then the order in which llama.cpp looks for them counts.

It looks for one after the other, the longest first, and only for those that are to be found
(``tokenizer_st_partition``). Others find the leftmost of all in one pass, and leave out what is
not to be found afterwards, with what stands in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence

from ...errors import UnsupportedError
from ...limits import OVERLAP_CHARACTERS
from ...model import AddedToken
from ...text.borders import borders

_LONG = 4096
"""Characters. What longer ends have in common with begins is not looked up, but compared."""

_SEARCHED = 1 << 32
"""Characters. So many are looked through for tokens within others, a second or two."""


_WHITE = "\t\n\v\f\r "
"""What C's ``isspace`` takes for white space."""


def overlaps(texts: Collection[str], taking: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """Pairs of two texts of which the end of the first is the begin of the second, each once.

    Those in ``taking`` take the white space behind them along, and end in whatever it is.

    Raises:
        UnsupportedError: very many of them are very long (``OVERLAP_CHARACTERS``).
    """
    places = {text: place for place, text in enumerate(texts)}
    ordered = sorted(places)
    runs = {text for text in places if len({*text}) == 1}
    lengths = [0, 0, *sorted(map(len, places))]
    spaced = [text for text in ordered if text[:1] in {*_WHITE}] if taking else []
    long = [text for text in ordered if len(text) > _LONG]
    if 2 * len(long) * sum(map(len, long)) > OVERLAP_CHARACTERS.most:
        raise UnsupportedError(OVERLAP_CHARACTERS.passed("the list of special tokens"))
    for text in places:
        # No longer than the longest other one, so that one very long text costs nothing.
        most = min(_LONG, lengths[-1] if len(text) < lengths[-1] else lengths[-2])
        others: set[str] = set()
        for start in range(max(1, len(text) - most), len(text)):
            others.update(_beginning_with(text[start:], ordered))
        if len(text) > _LONG:
            others.update(other for other in long if next(borders(text, other), 0) > _LONG)
        others.discard(text)
        if text in taking:
            others.update(spaced)
        for other in sorted(others, key=places.__getitem__):
            # Of runs of one character (spaces) whoever looks takes the same parts.
            if text in taking or not (text in runs and other in runs):
                yield text, other


def _beginning_with(begin: str, ordered: Sequence[str]) -> Iterator[str]:
    """The longer ones of sorted texts that begin so."""
    for place in range(bisect_right(ordered, begin), len(ordered)):
        if not ordered[place].startswith(begin):
            return
        yield ordered[place]


def equally_long(texts: Collection[str], taking: Collection[str] = ()) -> tuple[str, str] | None:
    """The first of :func:`all_equally_long`; None if there are none."""
    return next(all_equally_long(texts, taking), None)


def all_equally_long(
    texts: Collection[str], taking: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Each two of them that overlap and are equally long in UTF-8.

    Which of the two llama.cpp finds is left to a sort that is not stable.
    """
    for one, two in overlaps(texts, taking):
        if one != two and len(one.encode()) == len(two.encode()):
            yield one, two


def in_order_of_length(
    added: Sequence[AddedToken], taking: Collection[str] = ()
) -> tuple[str, str] | None:
    """Two tokens for which it matters that each is looked for alone; None if there are none."""
    pair = next(overlaps([token.text for token in added], taking), None)
    if pair is not None:
        return pair
    # What is always found may stand in what is special: where that is text, it is found in it.
    plain = [token.text for token in added if not token.special]
    special = [token.text for token in added if token.special]
    together = "\0".join(special)
    if len(plain) * len(together) > _SEARCHED:
        # Too many to compare: what llama.cpp does is right of any.
        return plain[0], special[0]
    inner = next((text for text in plain if text in together), None)
    outer = next((text for text in special if inner is not None and inner in text), None)
    return None if inner is None or outer is None else (inner, outer)
