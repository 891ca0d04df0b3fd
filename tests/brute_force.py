"""Small random merge systems, and what decides about them by trying every short string."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache
from itertools import groupby, product
from random import Random

from bpe_interop.merging.merger import Merger
from bpe_interop.merging.symbols import symbols_of
from bpe_interop.model import Affixes, Alphabet, MergeRule, PairList, RankTable
from bpe_interop.theory.equality import Decision

NO_AFFIXES = Affixes()


def random_tokens(rng: Random, letters: str, longest: int = 4) -> list[bytes]:
    """The letters, then strings as training makes them, or arbitrary ones."""
    tokens = [letter.encode() for letter in letters]
    arbitrary = rng.random() < 0.3
    for _ in range(rng.randrange(1, 12)):
        if arbitrary:
            new = "".join(rng.choices(letters, k=rng.randrange(2, longest + 1))).encode()
        else:
            new = rng.choice(tokens) + rng.choice(tokens)
        if new not in tokens and len(new.decode()) <= longest:
            tokens.append(new)
    return tokens


def random_ranks(rng: Random, tokens: Sequence[bytes]) -> RankTable:
    """Ranks in order, in any order, or with ties."""
    ranks = list(range(len(tokens)))
    kind = rng.randrange(3)
    if kind == 1:
        rng.shuffle(ranks)
    elif kind == 2:
        ranks = [rng.randrange(max(1, len(tokens) // 2)) for _ in tokens]
        if rng.random() < 0.4:
            ranks.sort()
    return RankTable(dict(zip(tokens, ranks, strict=True)))


def random_pairs(rng: Random, tokens: Sequence[bytes]) -> PairList:
    """Every split of each token or some, in order or not, some of them twice."""
    known = set(tokens)
    pairs = [
        (token[:at], token[at:])
        for token in tokens
        for at in range(1, len(token))
        if token[:at] in known and token[at:] in known
    ]
    if rng.random() < 0.5:
        pairs = rng.sample(pairs, rng.randrange(len(pairs) + 1))
    if rng.random() < 0.4:
        rng.shuffle(pairs)
    if pairs and rng.random() < 0.5:
        pairs += rng.choices(pairs, k=2)
    return PairList(tuple(pairs))


def random_rule(rng: Random, tokens: Sequence[bytes]) -> MergeRule:
    """A rule of either kind."""
    return random_ranks(rng, tokens) if rng.random() < 0.6 else random_pairs(rng, tokens)


def disturbed(rng: Random, rule: MergeRule) -> MergeRule:
    """The rule with one thing moved."""
    if isinstance(rule, RankTable):
        ranks = dict(rule.ranks)
        one, other = rng.choice(list(ranks)), rng.choice(list(ranks))
        if rng.random() < 0.5:
            ranks[one], ranks[other] = ranks[other], ranks[one]
        else:
            ranks[one] = ranks[other]
        return RankTable(ranks)
    pairs = list(rule.pairs)
    if pairs:
        pairs.insert(rng.randrange(len(pairs)), pairs.pop(rng.randrange(len(pairs))))
    return PairList(tuple(pairs))


@cache
def strings(letters: str, longest: int) -> list[bytes]:
    """All strings over the letters, the shortest first."""
    return [
        "".join(chosen).encode()
        for length in range(1, longest + 1)
        for chosen in product(letters, repeat=length)
    ]


def runner(
    rule: MergeRule, alphabet: Alphabet = "byte", affixes: Affixes = NO_AFFIXES
) -> Callable[[bytes], list[bytes]]:
    """What a rule makes of a string, one merge after the other."""
    merger = Merger(rule, affixes)
    return lambda content: merger.run(symbols_of(content, alphabet, affixes))


def runner_with(rule: MergeRule, base: Container[bytes]) -> Callable[[bytes], list[bytes]]:
    """The same where other symbols than these are replaced before merging."""
    run = runner(rule)

    def run_between(content: bytes) -> list[bytes]:
        tokens: list[bytes] = []
        for present, group in groupby(symbols_of(content), base.__contains__):
            part = b"".join(group)
            tokens += run(part) if present else symbols_of(part)
        return tokens

    return run_between


def hold_to_brute_force(
    found: Decision,
    one: Callable[[bytes], object],
    other: Callable[[bytes], object],
    contents: Iterable[bytes],
) -> None:
    """What is proved has no content that differs; what is shown differs, and none is shorter.

    ``contents`` come the shortest first.
    """
    expected = first_difference(one, other, contents)
    if found.content is None:
        assert found.verdict == "proved"
        assert expected is None
    else:
        assert one(found.content) != other(found.content)
        assert expected is None or len(found.content) <= len(expected)


def first_difference(
    one: Callable[[bytes], object], other: Callable[[bytes], object], contents: Iterable[bytes]
) -> bytes | None:
    """The first content on which two functions differ."""
    return next((content for content in contents if one(content) != other(content)), None)
