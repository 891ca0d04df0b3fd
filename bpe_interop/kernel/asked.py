"""What the other rooms ask of vocabularies and merges that the kernel may hold.

None, or the answer that is always safe, stands for what it does not hold: Python works it out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence, Set

from .pairs import Pairs
from .tables import Numbers


def is_checked(ids: Mapping[bytes, int]) -> bool:
    """Whether the kernel has checked that these are distinct tokens with distinct ids."""
    return isinstance(ids, Numbers)


def are_checked(
    ids: Mapping[bytes, int], merges: Mapping[bytes, int] | Sequence[tuple[bytes, bytes]]
) -> bool:
    """Whether the kernel has found all ranked tokens, or all pairs and products, among tokens."""
    if not isinstance(ids, Numbers):
        return False
    if isinstance(merges, Numbers):
        return merges.table.apart(ids.table)[0] == len(merges)
    return isinstance(merges, Pairs) and merges.table is ids.table


def differing(
    a: Mapping[bytes, int], b: Mapping[bytes, int]
) -> tuple[int, tuple[bytes, ...], tuple[bytes, ...], tuple[bytes, ...]] | None:
    """How many tokens two vocabularies share; those of one only, and those with other ids."""
    if not (isinstance(a, Numbers) and isinstance(b, Numbers)):
        return None
    shared, places = a.table.apart(b.table)
    apart = a.table.some(places)
    moved = tuple(token for token in apart if b.table.place(token) is not None)
    gone = frozenset(moved)
    only_b: tuple[bytes, ...] = ()
    if len(b) > shared:
        there = b.table.some(b.table.apart(a.table)[1])
        only_b = tuple(token for token in there if token not in gone)
    return shared, tuple(token for token in apart if token not in gone), only_b, moved


def without_tokens(
    ids: Mapping[bytes, int], tokens: Collection[bytes]
) -> Mapping[bytes, int] | None:
    """The entries of other tokens than some, which are here."""
    held = isinstance(ids, Numbers) and len(tokens) < len(ids)
    return ids.without(tokens) if held and isinstance(ids, Numbers) else None


def tokens_by_place(ids: Mapping[bytes, int], places: Sequence[int]) -> Sequence[bytes] | None:
    """The tokens at some places of a vocabulary, counted from 0."""
    return ids.table.some(places) if isinstance(ids, Numbers) else None


def tokens_by_id(ids: Mapping[bytes, int], numbers: Set[int]) -> dict[int, bytes] | None:
    """The tokens that have some ids, by id."""
    return ids.numbered(numbers) if isinstance(ids, Numbers) else None


def may_hold(ids: Mapping[bytes, int], part: bytes) -> bool:
    """Whether a token may hold some bytes; False: none does."""
    return not isinstance(ids, Numbers) or part in ids.table.joined()[0]


def in_order(ids: Mapping[bytes, int]) -> bool:
    """Whether the kernel holds these tokens, and their ids grow from one to the next."""
    return isinstance(ids, Numbers) and ids.in_order()


def used_among(pairs: Iterable[tuple[bytes, bytes]], tokens: Iterable[bytes]) -> set[bytes] | None:
    """Which of some tokens are a pair's part or product."""
    return pairs.used(tokens) if isinstance(pairs, Pairs) else None


def table_without(
    pairs: Sequence[tuple[bytes, bytes]], tokens: Iterable[bytes]
) -> tuple[Mapping[bytes, int], Sequence[tuple[bytes, bytes]]] | None:
    """The tokens among which pairs are listed, but for some that no pair names; the same pairs."""
    out = [*tokens]
    left = pairs.without(out) if isinstance(pairs, Pairs) and out else pairs
    return (Numbers(left.table), left) if isinstance(left, Pairs) else None
