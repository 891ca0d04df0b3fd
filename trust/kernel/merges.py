"""Merges over a few symbols: canonical forms, whether two are the same, entries of tables."""

from __future__ import annotations

import random
from base64 import b64encode

from bpe_interop.entries import compare_entries, numbered, without
from bpe_interop.formats.tiktoken.ranks import read_ranks
from bpe_interop.kernel.tables import Numbers
from bpe_interop.merging.canonical import canonical_of
from bpe_interop.model import Alphabet, MergeRule, PairList, RankTable

from .comparing import Answered, Case


def merge_system(rng: random.Random) -> tuple[MergeRule, dict[bytes, int], Alphabet]:
    """A rule over a small alphabet: overlaps, ties, ranks out of order, pairs listed twice."""
    alphabet: Alphabet = rng.choice(("byte", "byte", "char"))
    symbols = (
        [b"a", b"b", b"c"] if alphabet == "byte" else [b"a", "\u00e9".encode(), b"\xf0\x9f\x98\x80"]
    )
    tokens, pairs = list(symbols), []
    for _ in range(rng.randrange(1, 14)):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if len(left + right) > 40:
            continue
        pairs.append((left, right))
        if left + right not in tokens:
            tokens.append(left + right)
    if rng.random() < 0.3:
        tokens.append(b"".join(rng.choices(symbols, k=rng.randrange(2, 6))))
    tokens = [token for token in dict.fromkeys(tokens) if len(token) > 1 or rng.random() < 0.9]
    numbers = list(range(len(tokens)))
    if rng.random() < 0.6:
        rng.shuffle(numbers)
    ids = dict(zip(tokens, numbers, strict=True))
    if rng.random() < 0.5:
        if rng.random() < 0.3:
            rng.shuffle(pairs)
        if rng.random() < 0.2 and pairs:
            pairs.append(rng.choice(pairs))
        known = [pair for pair in pairs if {*pair, b"".join(pair)} <= ids.keys()]
        return PairList(tuple(known)), ids, alphabet
    ranks = dict(ids)
    way = rng.random()
    if way < 0.2:
        ranks = {token: rank for token, rank in ids.items() if rng.random() < 0.8}
    elif way < 0.3:
        ranks = {token: rng.choice((rank, 2**32 - 1)) for token, rank in ids.items()}
    elif way < 0.4:
        ranks = {token: rank // 2 for token, rank in ids.items()}
    return RankTable(ids if ranks == ids else ranks), ids, alphabet


def form_found(rng: random.Random) -> list[Case]:
    """A canonical form."""
    rule, ids, alphabet = merge_system(rng)
    some = frozenset(token for token in ids if rng.random() < 0.9)
    base = rng.choice((None, None, None, ids, ids, {**ids}, some))
    return [Case(lambda: canonical_of(rule, ids, alphabet, base))]


def entries_compared(rng: random.Random) -> list[Case]:
    """Compares two small vocabularies of which most entries are the same."""
    tokens = list(dict.fromkeys(rng.randbytes(rng.choice((1, 1, 2, 3, 20))) for _ in range(12)))
    files = []
    for _ in range(2):
        own = [token for token in tokens if rng.random() < 0.9] or tokens[:1]
        if rng.random() < 0.3:
            rng.shuffle(own)
        step = rng.choice((1, 1, 1, 3, 40_000))
        moved = rng.choice((0, 0, 1))
        numbered_so = [token for token in own if rng.random() < 0.9] or own[:1]
        lines = [b64encode(t) + b" %d" % (tokens.index(t) * step + moved) for t in numbered_so]
        files.append(b"\n".join(lines))
    out = rng.sample(tokens, rng.randrange(len(tokens) + 1))
    wanted = {rng.randrange(14) for _ in range(4)}

    def compared() -> Answered:
        a, b = (read_ranks(data, "x") for data in files)
        here = [token for token in out if token in a]
        rest = without(a, here)
        found = [compare_entries(a, b), compare_entries(rest, b), a == b, rest == a, b != rest]
        named = sorted(numbered(b, wanted).items()), sorted(numbered(rest, wanted).items())
        return Answered([found, named, [*rest.items()]], isinstance(a, Numbers))

    return [Case(compared)]
