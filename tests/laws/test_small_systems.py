"""Small systems of merges, all pairs of a family: verdicts against running both on every string.

Here is no chance: a comparison that the search for a difference makes is missed by one of these
pairs, if it is needed. The merging is written out once more, as sentencepiece does it: of the
neighbours whose text is a token, the leftmost of the lowest rank merge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import combinations, pairwise, permutations, product

import pytest

from bpe_interop.model import RankTable
from bpe_interop.theory.equality import System, decide

LONGEST = 6


def merged(symbols: list[bytes], ranks: Mapping[bytes, int]) -> list[bytes]:
    symbols = symbols[:]
    while True:
        pairs = [left + right for left, right in pairwise(symbols)]
        found = [(ranks[token], at) for at, token in enumerate(pairs) if token in ranks]
        if not found:
            return symbols
        _, at = min(found)
        symbols[at : at + 2] = [pairs[at]]


def closed(letters: bytes, longest: int, most: int) -> Iterator[tuple[bytes, ...]]:
    """Sets of longer tokens each of which can be put together from two of the others."""
    singles = {bytes([letter]) for letter in letters}
    every = [
        bytes(token) for size in range(2, longest + 1) for token in product(letters, repeat=size)
    ]
    for count in range(1, most + 1):
        for some in combinations(every, count):
            known = singles | {*some}
            if all(any(t[:i] in known and t[i:] in known for i in range(1, len(t))) for t in some):
                yield some


def family(some: tuple[bytes, ...]) -> list[dict[bytes, int]]:
    """The tokens in every order, with equal ranks too, and without the first of them."""
    systems = [
        {token: rank // same for rank, token in enumerate(order)}
        for order in permutations(some)
        for same in (1, 2)
    ]
    return [*systems, {token: rank for rank, token in enumerate(some[1:])}]


@cache
def strings(letters: bytes) -> tuple[bytes, ...]:
    sizes = range(1, LONGEST + 1)
    return tuple(bytes(each) for size in sizes for each in product(letters, repeat=size))


Runs = dict[bytes, tuple[bytes, ...]]


def system(letters: bytes, ranks: Mapping[bytes, int]) -> tuple[System, Runs]:
    table = {bytes([letter]): 100 + letter for letter in letters} | dict(ranks)
    runs = {
        text: tuple(merged([bytes([byte]) for byte in text], ranks)) for text in strings(letters)
    }
    return System(RankTable(table), table), runs


@pytest.mark.long
@pytest.mark.parametrize(
    ("letters", "longest", "most", "step"), [(b"ab", 3, 3, 1), (b"ab", 4, 3, 4), (b"abc", 3, 3, 19)]
)
def test_verdicts_on_all_orders_of_a_few_tokens(
    letters: bytes, longest: int, most: int, step: int
) -> None:
    """Of all sets of tokens each so-many-th; of these, all pairs of systems."""
    verdicts = {"proved": 0, "different": 0}
    for some in [*closed(letters, longest, most)][::step]:
        systems = [system(letters, ranks) for ranks in family(some)]
        for (a, left), (b, right) in combinations(systems, 2):
            differ = [text for text in left if left[text] != right[text]]
            decision = decide(a, b)
            verdicts[decision.verdict] += 1
            if decision.verdict == "proved":
                assert not differ, (a.rule, b.rule)
                continue
            content = decision.content
            assert content is not None
            assert (decision.ours, decision.theirs) == (left[content], right[content])
            assert decision.ours != decision.theirs
            assert decision.shortest
            assert len(content) == min(map(len, differ))
    assert min(verdicts.values()) > 100


def raced(left: bytes, shared: bytes, right: bytes, ranks: Mapping[bytes, int]) -> bool:
    """Whether ``left`` and ``shared`` merge into a token before ``shared`` and ``right`` do.

    Within the three everything merges as it does alone; across them only these two merges happen.
    """
    parts = [[bytes([byte]) for byte in part] for part in (left, shared, right)]
    while True:
        found = [
            (ranks[a + b], place, at)
            for place, symbols in enumerate(parts)
            for at, (a, b) in enumerate(pairwise(symbols))
            if a + b in ranks
        ]
        whole = [len(symbols) == 1 for symbols in parts]
        if whole[0] and whole[1]:
            found.append((ranks[left + shared], 0, len(left)))
        if whole[1] and whole[2]:
            found.append((ranks[shared + right], 1, len(shared)))
        _, place, at = min(found)
        symbols = parts[place]
        if len(symbols) == 1:
            return place == 0
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]


@pytest.mark.parametrize(("letters", "longest", "most"), [(b"ab", 4, 3), (b"ab", 3, 4)])
def test_of_two_merges_that_overlap_the_first_is_known(
    letters: bytes, longest: int, most: int
) -> None:
    """Theorem 6: what two numbers say is what merging one after the other gives."""
    firsts = {True: 0, False: 0}
    for some in closed(letters, longest, most):
        for ranks in family(some)[:-1]:
            spines = system(b"", ranks)[0].spines
            for left, (one, shared) in spines.splits.items():
                for right in spines.starting.get(shared, ()):
                    first = spines.left_first(left, right)
                    assert first is raced(one, shared, spines.splits[right][1], ranks)
                    firsts[first] += 1
    assert min(firsts.values()) > 100
