"""The last merge of every token, found from those of shorter tokens (Theorem 16).

The run on a token's symbols ends in two parts exactly if both are built by merging and stay as
they are side by side, with only shorter tokens to merge into. Whether they do is read off the
parts' own last merges, so a token costs a few look-ups instead of a run. Tokens are numbers in
the order of their priorities here: what costs is waiting for memory, and numbers are compared
without reading any.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Protocol

from ..model import MAX_ID, Alphabet, MergeRule, RankTable
from .symbols import symbols_of


class Runs(Protocol):
    """What runs merges on symbols until so many are left."""

    def run(self, symbols: list[bytes], keep: int = 1) -> list[bytes]:
        """The symbols that are left."""


@dataclass(frozen=True, slots=True)
class LastMerges:
    """The last merge of each token that merging builds, in the order of priorities; these.

    ``symbols``: the single symbols that are there before merging. ``disordered``: the tokens
    whose merge does not come after those of both their parts.
    """

    splits: Mapping[bytes, tuple[bytes, bytes]]
    priority: Mapping[bytes, int]
    symbols: frozenset[bytes]
    disordered: tuple[bytes, ...]


def last_merges(
    rule: MergeRule,
    tokens: Collection[bytes],
    alphabet: Alphabet,
    base: Container[bytes] | None,
    merger: Callable[[], Runs],
) -> LastMerges | None:
    """The last merges of a system without affixes.

    None where two priorities are equal, or where a list has other pairs between those for one
    token, so that the order of the tokens is not known beforehand.

    Args:
        rule: the merges.
        tokens: the vocabulary.
        alphabet: what a symbol is.
        base: the symbols that are there before merging; None for all.
        merger: gives what runs the merges; asked where only a run tells.
    """
    known = _in_order(rule)
    if known is None:
        return None
    order, listed = known
    singles = _singles(chain(order, tokens), alphabet)
    symbols = frozenset(each for each in singles if base is None or each in base)
    every = [*dict.fromkeys(chain(symbols, order))]

    runs = cache(merger)

    def run(token: bytes) -> list[bytes]:
        return runs().run(symbols_of(token, alphabet), 2)

    left_of, right_of, disordered = _parts(every, len(symbols), listed, run)
    splits = {
        token: (every[x], every[y])
        for token, x, y in zip(every, left_of, right_of, strict=True)
        if x >= 0
    }
    if isinstance(rule, RankTable):
        priority = {token: rule.ranks[token] for token in splits}
    else:
        places = {pair: place for place, pair in enumerate(rule.pairs)}
        priority = {token: places[pair] for token, pair in splits.items()}
    return LastMerges(splits, priority, symbols, tuple(every[at] for at in sorted(disordered)))


def _in_order(
    rule: MergeRule,
) -> tuple[Iterable[bytes], Mapping[bytes, Collection[int]] | None] | None:
    """The tokens that a rule may build, least priority first, and where a list may cut each.

    None where their order is not known beforehand.
    """
    if isinstance(rule, RankTable):
        ranked = sorted(rule.ranks.items(), key=lambda entry: entry[1])
        if len(set(rule.ranks.values())) < len(ranked):
            return None
        return [token for token, rank in ranked if rank != MAX_ID], None
    listed = _cuts(rule.pairs)
    return None if listed is None else (listed, listed)


def _parts(
    every: Sequence[bytes],
    symbols: int,
    listed: Mapping[bytes, Collection[int]] | None,
    run: Callable[[bytes], list[bytes]],
) -> tuple[list[int], list[int], list[int]]:
    """The numbers of the two parts of each token, -1 for none, and the disordered tokens.

    Args:
        every: the symbols, then the other tokens, by number.
        symbols: how many symbols there are.
        listed: where each token may be cut; None for anywhere.
        run: runs the merges on a token until two symbols are left.
    """
    number = {token: at for at, token in enumerate(every)}
    size = len(every)
    left_of, right_of = [-1] * size, [-1] * size
    fires: dict[int, int] = {}
    late: dict[int, int] = {}
    disordered: list[int] = []
    apart = _boundary(symbols, left_of, right_of, fires, late)
    find = number.get
    for at in sorted(range(symbols, size), key=[*map(len, every)].__getitem__):
        token = every[at]
        left = right = -1
        for cut in listed[token] if listed else range(len(token) - 1, 0, -1):
            left, right = find(token[:cut], -1), -1
            if left < 0:
                continue
            right = find(token[cut:], -1)
            if right < 0:
                continue
            stay = apart(left, right)
            if stay:
                break
            if stay is None:
                parts = run(token)
                if len(parts) == 2 and (not listed or len(parts[0]) in listed[token]):
                    left, right = number[parts[0]], number[parts[1]]
                else:
                    right = -1
                break
            right = -1
        if right < 0:
            # Nothing is built from it, so it is not found as a part.
            del number[token]
            continue
        left_of[at], right_of[at], fires[left * size + right] = left, right, at
        last = left if left > right else right
        if last >= at:
            disordered.append(at)
        if late:
            last = max(last, late.get(left, 0), late.get(right, 0))
        if last >= at:
            late[at] = last
    return left_of, right_of, disordered


def _cuts(pairs: Sequence[tuple[bytes, bytes]]) -> Mapping[bytes, Collection[int]] | None:
    """Where each listed token may be cut, in the list's order; None where pairs are mixed."""
    products = list(map(b"".join, pairs))
    lengths = [len(left) for left, _ in pairs]
    first = dict(zip(products, ((length,) for length in lengths), strict=True))
    if len(first) == len(pairs):
        return first
    cuts: dict[bytes, list[int]] = {}
    before = b""
    for product, length in zip(products, lengths, strict=True):
        if product != before and product in cuts:
            return None
        before = product
        cuts.setdefault(product, []).append(length)
    return cuts


def _singles(tokens: Iterable[bytes], alphabet: Alphabet) -> Collection[bytes]:
    """All single symbols that tokens are made of."""
    joined = b"".join(tokens)
    if alphabet == "byte":
        return [bytes((byte,)) for byte in set(joined)]
    return [char.encode("utf-8") for char in set(joined.decode("utf-8", "ignore"))]


def _boundary(
    symbols: int,
    left_of: Sequence[int],
    right_of: Sequence[int],
    fires: Mapping[int, int],
    late: Collection[int],
) -> Callable[[int, int], bool | None]:
    """Asks about last merges that are known: their parts, and what two parts become.

    ``late``: the tokens whose merge does not come after all merges of their parts. The first
    tokens by number are symbols.
    """
    size, find = len(left_of), fires.get

    def apart(left: int, right: int) -> bool | None:
        """Whether two tokens stay as they are side by side; None: this cannot tell.

        What stands at the boundary is taken apart in the order opposite to that in which it
        was merged, and each time it is seen whether the two tokens there would merge with
        each other before what was last taken apart was built.
        """
        limit = size
        while True:
            if find(left * size + right, size) < limit:
                return False
            if late and (left in late or right in late):
                return None
            # Of the same merge on both sides the left one came first.
            if left > right:
                if left < symbols:
                    return True
                limit, left = left, right_of[left]
            else:
                if right < symbols:
                    return True
                limit, right = right + 1, left_of[right]

    return apart
