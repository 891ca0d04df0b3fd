"""Merge systems against real engines: every short string, long ones, every token's one split."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise, product
from typing import Any

import pytest
import tiktoken
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models

from bpe_interop.merging.canonical import canonical, canonical_of, whole_lookups
from bpe_interop.merging.merger import Merger
from bpe_interop.merging.symbols import symbols_of, textual
from bpe_interop.model import (
    BPEModel,
    Fallback,
    MergeRule,
    PairList,
    RankTable,
    Vocab,
)


def random_tokens(rng: random.Random, letters: str) -> list[bytes]:
    """Base letters, then longer strings: some made as training makes them, some arbitrary."""
    tokens = [letter.encode() for letter in letters]
    arbitrary = rng.random() < 0.3
    for _ in range(rng.randrange(1, 14)):
        if arbitrary:
            new = "".join(rng.choices(letters, k=rng.randrange(2, 6))).encode()
        else:
            new = rng.choice(tokens) + rng.choice(tokens)
        if new not in tokens and len(new) < 12:
            tokens.append(new)
    return tokens


def random_table(rng: random.Random, letters: str) -> dict[bytes, int]:
    """Ranks in order, or in any order, with holes."""
    tokens = random_tokens(rng, letters)
    ranks = rng.sample(range(3 * len(tokens)), len(tokens))
    if rng.random() < 0.5:
        ranks.sort()
    return dict(zip(tokens, ranks, strict=True))


def random_pairs(rng: random.Random, tokens: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
    """Merges of every kind: each split of a token, or one, or none; in any order, repeated."""
    known = set(tokens)
    pairs = [
        (token[:at], token[at:])
        for token in tokens
        for at in range(1, len(token))
        if token[:at] in known and token[at:] in known
    ]
    pairs = rng.sample(pairs, rng.randrange(len(pairs) + 1)) if rng.random() < 0.5 else pairs
    if rng.random() < 0.5:
        rng.shuffle(pairs)
    return pairs + rng.choices(pairs, k=2) if pairs and rng.random() < 0.5 else pairs


def short_strings(letters: str) -> Iterator[bytes]:
    longest = 8 if len(letters) == 2 else 5
    for length in range(1, longest + 1):
        for chosen in product(letters, repeat=length):
            yield "".join(chosen).encode()


def long_strings(rng: random.Random, letters: str) -> Iterator[bytes]:
    """Around the length at which a linked list takes over, and beyond it."""
    for length in (148, 149, 150, 151, 152, 400):
        yield "".join(rng.choices(letters, k=length)).encode()
        yield letters[0].encode() * length


def run(rule: MergeRule, content: bytes) -> list[bytes]:
    return Merger(rule).run(symbols_of(content))


def tiktoken_of(ranks: dict[bytes, int]) -> tiktoken.Encoding:
    return tiktoken.Encoding("t", pat_str="(?s).+", mergeable_ranks=ranks, special_tokens={})


def tokenizers_of(tokens: Sequence[bytes], pairs: Sequence[tuple[bytes, bytes]]) -> models.BPE:
    vocab = {token.decode(): number for number, token in enumerate(tokens)}
    return models.BPE(vocab, [(x.decode(), y.decode()) for x, y in pairs], cache_capacity=0)


@pytest.mark.parametrize("letters", ["ab", "abc"])
@pytest.mark.parametrize("seed", range(150))
def test_rank_tables_merge_as_in_tiktoken(seed: int, letters: str) -> None:
    rng = random.Random(seed)
    ranks = random_table(rng, letters)
    engine, rule = tiktoken_of(ranks), RankTable(ranks)
    for content in (*short_strings(letters), *long_strings(rng, letters)):
        if content not in ranks:  # tiktoken looks whole pretokens up
            expected = [engine.decode_single_token_bytes(i) for i in engine._encode_bytes(content)]
            assert run(rule, content) == expected, (ranks, content)


@pytest.mark.parametrize("letters", ["ab", "abc"])
@pytest.mark.parametrize("seed", range(200))
def test_pair_lists_merge_as_in_tokenizers(seed: int, letters: str) -> None:
    rng = random.Random(seed)
    tokens = random_tokens(rng, letters)
    pairs = random_pairs(rng, tokens)
    engine, rule = tokenizers_of(tokens, pairs), PairList(tuple(pairs))
    for content in (*short_strings(letters), *long_strings(rng, letters)):
        expected = [token.value.encode() for token in engine.tokenize(content.decode())]
        assert run(rule, content) == expected, (pairs, content)


@pytest.mark.parametrize("seed", range(100))
def test_the_canonical_pairs_alone_are_the_whole_rank_table(seed: int) -> None:
    """Theorem 3, in the engines: tokenizers with these merges gives tiktoken's tokens.

    Theorem 4 in ``docs/theory.md``.
    """
    rng = random.Random(seed)
    ranks = random_table(rng, "ab")
    form = canonical_of(RankTable(ranks), ranks)
    listed = tokenizers_of(list(ranks), list(form.splits.values()))
    engine = tiktoken_of(ranks)
    for content in short_strings("ab"):
        merged = [token.value.encode() for token in listed.tokenize(content.decode())]
        if content in ranks:
            built = content in form.splits or len(content) == 1
            assert (merged == [content]) == built
            assert (content in form.unreachable) != built
        else:
            engines = [engine.decode_single_token_bytes(i) for i in engine._encode_bytes(content)]
            assert merged == engines


@pytest.mark.parametrize("seed", range(100))
def test_the_canonical_form_of_a_pair_list_says_the_same(seed: int) -> None:
    """Theorem 3 in ``docs/theory.md``."""
    rng = random.Random(seed)
    tokens = random_tokens(rng, "ab")
    pairs = random_pairs(rng, tokens)
    form = canonical_of(PairList(tuple(pairs)), tokens)
    full, less = tokenizers_of(tokens, pairs), tokenizers_of(tokens, list(form.splits.values()))
    for content in short_strings("ab"):
        expected = [token.value for token in full.tokenize(content.decode())]
        assert [token.value for token in less.tokenize(content.decode())] == expected
        if content in tokens and len(content) > 1:
            assert (content in form.splits) == (expected == [content.decode()])
    assert all(pairs[int(p)] == form.splits[token] for token, p in form.priority.items())
    assert list(form.priority.values()) == sorted(form.priority.values())


def by_definition(ranks: dict[bytes, int], symbols: list[bytes]) -> list[bytes]:
    """One merge at a time: of the least priority, the leftmost."""
    while True:
        places = [
            (ranks[x + y], at) for at, (x, y) in enumerate(pairwise(symbols)) if x + y in ranks
        ]
        if not places:
            return symbols
        at = min(places)[1]
        symbols[at : at + 2] = [symbols[at] + symbols[at + 1]]


def by_runs(rule: MergeRule, tokens: Sequence[bytes]) -> dict[bytes, tuple[bytes, ...]]:
    """Each token that its own run builds, and the two parts that the run comes to."""
    merger = Merger(rule)
    found = {token: tuple(merger.run(symbols_of(token), 2)) for token in tokens}
    return {t: p for t, p in found.items() if len(p) == 2 and merger.priority(*p) is not None}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["ranks", "one pair for each", "many pairs for each"])
def test_last_merges_are_those_of_runs(kind: str) -> None:
    """Theorem 16 in ``docs/theory.md``: the kernel finds them so, and Python by runs."""
    rng = random.Random(kind)
    late = 0
    for _ in range(3000):
        tokens = random_tokens(rng, "ab" if rng.random() < 0.5 else "abc")
        rng.shuffle(tokens)
        rule: MergeRule = RankTable({token: place for place, token in enumerate(tokens)})
        if kind != "ranks":
            cuts = [
                [(t[:n], t[n:]) for n in range(1, len(t)) if {t[:n], t[n:]} <= {*tokens}]
                for t in tokens
            ]
            most = 1 if kind.startswith("one") else 9
            rule = PairList(tuple(p for c in cuts for p in rng.sample(c, min(most, len(c)))))
        form = canonical_of(rule, tokens)
        assert dict(form.splits) == by_runs(rule, tokens)
        assert {t: Merger(rule).priority(*p) for t, p in form.splits.items()} == form.priority
        assert [*form.priority.values()] == sorted(form.priority.values())
        late += bool(form.disordered)
    assert late > 300


@given(
    st.dictionaries(st.text("ab", min_size=2, max_size=5).map(str.encode), st.integers(0, 3)),
    st.text("ab", min_size=151, max_size=200).map(str.encode),
)
def test_ties_go_to_the_left_at_any_length(ranks: dict[bytes, int], content: bytes) -> None:
    for part in (content, content[:150], content[:9]):
        assert run(RankTable(ranks), part) == by_definition(ranks, symbols_of(part))


def test_strictly_monotone_is_told_from_not() -> None:
    ordered = {b"a": 0, b"b": 1, b"ab": 2, b"abb": 3}
    assert canonical_of(RankTable(ordered), ordered).monotone
    swapped = {b"a": 0, b"b": 1, b"ab": 3, b"bb": 5, b"abab": 2}
    form = canonical_of(RankTable(swapped), swapped)
    assert form.disordered == (b"abab",)
    assert not form.monotone


def model(ids: dict[bytes, int], rule: MergeRule | None = None, **fields: Any) -> BPEModel:
    return BPEModel(Vocab(ids), rule or RankTable(ids), **fields)


def test_the_empty_token_is_kept_and_never_reached() -> None:
    ids = {b"a": 0, b"": 1, b"aa": 2}
    made = model(ids, lookup_first=True)
    assert canonical(made).unreachable == (b"",)
    assert whole_lookups(made) == frozenset()
    assert canonical(made) is canonical(made)


def test_tokens_that_only_a_lookup_finds() -> None:
    ids = {b"a": 0, b"b": 1, b"abab": 2}
    assert whole_lookups(model(ids, lookup_first=True)) == {b"abab"}
    assert whole_lookups(model(ids)) == frozenset()


def test_a_dropped_symbol_makes_its_tokens_unreachable() -> None:
    ids = {b"a": 0, b"ab": 1, b"aa": 2}
    assert canonical(model(ids)).unreachable == ()
    dropping = model(ids, fallback=Fallback("drop"))
    assert canonical(dropping).unreachable == (b"ab",)


def test_tokens_that_no_text_spells_are_unreachable() -> None:
    ids = {b"a": 0, b"aa": 1, b" ": 2}
    made = BPEModel(Vocab(ids, {2: "control"}), PairList(((b"a", b"a"),)), lookup_first=True)
    assert canonical(made).unreachable == (b" ",)
    assert b" " not in textual(made)
    assert whole_lookups(made) == frozenset()


def test_a_char_model_merges_characters() -> None:
    ids = {"é".encode(): 0, b"a": 1, "éa".encode(): 2, b"\xc3": 3}
    form = canonical_of(RankTable(ids), ids, "char")
    assert form.splits == {"éa".encode(): ("é".encode(), b"a")}
    assert form.unreachable == (b"\xc3",)


def test_the_largest_rank_never_merges_as_in_tiktoken() -> None:
    ranks = {b"a": 0, b"b": 1, b"ab": 2**32 - 1, b"ba": 5}
    engine = tiktoken_of(ranks)
    expected = [engine.decode_single_token_bytes(i) for i in engine._encode_bytes(b"abab")]
    assert run(RankTable(ranks), b"abab") == expected == [b"a", b"ba", b"b"]


@pytest.mark.long
def test_a_million_letters() -> None:
    """Expected of tokenizers, with all pairs: older versions of tiktoken are quadratic."""
    rng = random.Random(0)
    ranks = {bytes([byte]): byte for byte in range(128)}
    for power in range(1, 21):
        ranks[b"a" * 2**power] = 127 + power
    for left, right in product(b"abcdefgh", repeat=2):
        ranks.setdefault(bytes([left, right]), len(ranks) + 20)
    pairs = [(token[: len(token) // 2], token[len(token) // 2 :]) for token in list(ranks)[128:]]
    engine = tokenizers_of(list(ranks), pairs)
    for content in (b"a" * 1_000_000, bytes(rng.choices(b"abcdefgh", k=1_000_000))):
        expected = [token.value.encode() for token in engine.tokenize(content.decode())]
        assert run(RankTable(ranks), content) == expected


def test_symbols_between_levels_do_not_make_it_quadratic() -> None:
    """Each merge of "ab" makes "abab" possible, which comes first though its rank is less."""
    ranks = {b"a": 0, b"b": 1, b"abab": 2, b"ab": 3}
    assert run(RankTable(ranks), b"ab" * 200_000) == [b"abab"] * 100_000


def test_llama_3_has_unreachable_and_disordered_tokens(data: Data) -> None:
    from base64 import b64decode

    lines = (data / "llama-3/tokenizer.model").read_bytes().splitlines()
    ranks = {b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    form = canonical_of(RankTable(ranks), ranks)
    assert (len(ranks), len(form.unreachable), len(form.disordered)) == (128_000, 588, 81)
    assert " việc".encode() in form.unreachable
    # Recovering merges by "run with the ranks below, demand two parts" loses this token.
    expected = [ranks[token] for token in run(RankTable(ranks), b".:.:9")]
    assert expected == tiktoken_of(ranks)._encode_bytes(b".:.:9") == [ranks[b".:.:"], ranks[b"9"]]
    assert b".:.:" in form.splits


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_published_tables_are_strictly_monotone(data: Data, name: str) -> None:
    data("tiktoken_cache")
    encoding = tiktoken.get_encoding(name)
    ranks = encoding._mergeable_ranks
    form = canonical_of(RankTable(ranks), ranks)
    assert form.monotone
    assert not form.unreachable
    assert len(form.splits) == len(ranks) - 256


def test_the_published_gpt2_merges_are_its_canonical_form(data: Data) -> None:
    from bpe_interop.text.bytechars import to_bytes

    data("tiktoken_cache")
    lines = (data / "gpt2/vocab.bpe").read_text(encoding="utf-8").splitlines()[1:]
    pairs = [tuple(map(to_bytes, line.split(" "))) for line in lines]
    ranks = tiktoken.get_encoding("gpt2")._mergeable_ranks
    assert list(canonical_of(RankTable(ranks), ranks).splits.values()) == pairs
