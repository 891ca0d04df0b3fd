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

    ``symbols``: the single symbols that are there before merging.
    """

    splits: Mapping[bytes, tuple[bytes, bytes]]
    priority: Mapping[bytes, int]
    symbols: frozenset[bytes]


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
    listed: Mapping[bytes, Collection[int]] | None = None
    order: Iterable[bytes]
    if isinstance(rule, RankTable):
        ranked = sorted(rule.ranks.items(), key=lambda entry: entry[1])
        order = [token for token, rank in ranked if rank != MAX_ID]
        if len(set(rule.ranks.values())) < len(ranked):
            return None
    else:
        listed = _cuts(rule.pairs)
        if listed is None:
            return None
        order = listed
    singles = _singles(chain(order, tokens), alphabet)
    symbols = frozenset(each for each in singles if base is None or each in base)
    every = [*dict.fromkeys(chain(symbols, order))]
    number = {token: at for at, token in enumerate(every)}
    built = _Built(len(every), len(symbols))
    find, known, apart, runs = number.get, built.known, built.apart, None
    for at in sorted(range(len(symbols), len(every)), key=[*map(len, every)].__getitem__):
        token = every[at]
        for cut in listed[token] if listed else range(len(token) - 1, 0, -1):
            left = find(token[:cut], -1)
            if left < 0 or not known[left]:
                continue
            right = find(token[cut:], -1)
            if right < 0 or not known[right]:
                continue
            stay = apart(left, right)
            if stay:
                built.add(at, left, right)
                break
            if stay is None:
                runs = runs or merger()
                parts = runs.run(symbols_of(token, alphabet), 2)
                if len(parts) == 2 and (not listed or len(parts[0]) in listed[token]):
                    built.add(at, number[parts[0]], number[parts[1]])
                break
    pairs = zip(every, built.left, built.right, strict=True)
    splits = {token: (every[x], every[y]) for token, x, y in pairs if x >= 0}
    if isinstance(rule, RankTable):
        return LastMerges(splits, {token: rule.ranks[token] for token in splits}, symbols)
    places = {pair: place for place, pair in enumerate(rule.pairs)}
    return LastMerges(splits, {t: places[pair] for t, pair in splits.items()}, symbols)


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


class _Built:
    """Last merges that are known. The first tokens by number are symbols; all may be parts.

    ``late``: of tokens whose merge does not come after all merges of their parts, the last one
    in their run.
    """

    __slots__ = ("_fires", "_size", "_symbols", "apart", "known", "late", "left", "right")

    def __init__(self, size: int, symbols: int) -> None:
        self._size, self._symbols = size, symbols
        self.known = bytearray(b"\1" * symbols + bytes(size - symbols))
        self.left, self.right = [-1] * size, [-1] * size
        self.late: dict[int, int] = {}
        self._fires: dict[int, int] = {}
        self.apart = self._boundary()

    def add(self, token: int, left: int, right: int) -> None:
        """Adds a token that is built from two others, which are known."""
        self.left[token], self.right[token], self.known[token] = left, right, True
        self._fires[left * self._size + right] = token
        late = self.late
        last = max(late.get(left, left), late.get(right, right)) if late else max(left, right)
        if last >= token:
            late[token] = last

    def _boundary(self) -> Callable[[int, int], bool | None]:
        size, symbols = self._size, self._symbols
        fires, left_of, right_of, late = self._fires.get, self.left, self.right, self.late

        def apart(left: int, right: int) -> bool | None:
            """Whether two tokens stay as they are side by side; None: this cannot tell.

            What stands at the boundary is taken apart in the order opposite to that in which it
            was merged, and each time it is seen whether the two tokens there would merge with
            each other before what was last taken apart was built.
            """
            limit = size
            while True:
                if fires(left * size + right, size) < limit:
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
