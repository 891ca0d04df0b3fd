"""How the entries of two vocabularies differ: tokens and their ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence, Set
from itertools import filterfalse
from typing import NamedTuple

from .kernel.tables import as_dict, differing, tokens_by_id, tokens_by_place, without_tokens


class Entries(NamedTuple):
    """What two vocabularies have in common, and what not, each in its own order.

    Attributes:
        shared: how many tokens both have.
        only_a: the tokens that only the first has.
        only_b: the tokens that only the second has.
        moved: the tokens of both that have other ids.
    """

    shared: int
    only_a: tuple[bytes, ...] = ()
    only_b: tuple[bytes, ...] = ()
    moved: tuple[bytes, ...] = ()

    @property
    def same(self) -> bool:
        """Whether the two have the same tokens with the same ids."""
        return not (self.only_a or self.only_b or self.moved)

    @property
    def differing(self) -> frozenset[bytes]:
        """All tokens that one side has otherwise than the other, or alone."""
        return frozenset((*self.only_a, *self.only_b, *self.moved))


def compare_entries(a: Mapping[bytes, int], b: Mapping[bytes, int]) -> Entries:
    """Compares two vocabularies entry by entry; the kernel does it where it holds both."""
    known = differing(a, b)
    if known is not None:
        return Entries(*known)
    left, right = as_dict(a), as_dict(b)
    if left == right:
        return Entries(len(left))
    # Each look-up in a large dictionary waits for the memory: one of each token, if need be two.
    theirs = map(right.get, left)
    differ = [t for (t, number), other in zip(left.items(), theirs, strict=True) if number != other]
    only_a = tuple(t for t in differ if t not in right)
    shared = len(left) - len(only_a)
    only_b = () if shared == len(right) else tuple(filterfalse(left.__contains__, right))
    return Entries(shared, only_a, only_b, tuple(t for t in differ if t in right))


def without(ids: Mapping[bytes, int], tokens: Collection[bytes]) -> Mapping[bytes, int]:
    """The entries of all other tokens than some, which are in the vocabulary."""
    if not tokens:
        return ids
    rest = without_tokens(ids, tokens)
    if rest is not None:
        return rest
    out = frozenset(tokens)
    return {token: number for token, number in ids.items() if token not in out}


def tokens_at(ids: Mapping[bytes, int], places: Sequence[int]) -> Sequence[bytes]:
    """The tokens at some places of a vocabulary, counted from 0."""
    some = tokens_by_place(ids, places)
    if some is not None:
        return some
    tokens = list(ids)
    return [tokens[at] for at in places]


def numbered(ids: Mapping[bytes, int], numbers: Set[int]) -> dict[int, bytes]:
    """The tokens that have some ids, by id."""
    some = tokens_by_id(ids, numbers)
    if some is not None:
        return some
    return {number: token for token, number in ids.items() if number in numbers}
