"""Whether two merge systems are equal: every verdict against all short strings, and the engines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

import pytest
import sentencepiece
import tiktoken
from brute_force import (
    disturbed,
    first_difference,
    hold_to_brute_force,
    random_pairs,
    random_ranks,
    random_rule,
    random_tokens,
    runner,
    runner_with,
    strings,
)
from conftest import Data
from tokenizers import models

from bpe_interop import load
from bpe_interop.diff import diff
from bpe_interop.merging.canonical import canonical, canonical_of
from bpe_interop.model import Affixes, BPEModel, PairList, RankTable, Vocab
from bpe_interop.theory.equality import Decision, System, decide, system_of
from bpe_interop.theory.unused_pieces import Resplit, decide_resplit
from bpe_interop.theory.utf8 import ends_inside, is_inside_utf8, starts_inside
from fixtures.piece_model import UNKNOWN, Piece, with_pieces, write

Run = Callable[[bytes], object]

LONGEST = {"ab": 8, "abc": 6}


def check(found: Decision, one: Run, other: Run, contents: list[bytes]) -> None:
    """Holds a decision to every content of a list that begins with all the shortest."""
    expected = first_difference(one, other, contents)
    assert found.verdict in ("proved", "different")
    if found.content is None:
        assert expected is None, f"missed {expected!r}"
        return
    assert list(found.ours) == one(found.content)
    assert list(found.theirs) == other(found.content)
    assert found.ours != found.theirs
    assert found.shortest
    if expected is not None:
        assert len(found.content) == len(expected)
    else:
        assert len(found.content) > len(contents[-1])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(60))
def test_every_verdict_and_length_is_that_of_all_short_strings(seed: int) -> None:
    """Theorems 1, 6 and 5 in ``docs/theory.md``."""
    rng = Random(seed)
    for _ in range(60):
        letters = rng.choice(["ab", "abc"])
        tokens = random_tokens(rng, letters)
        a = random_rule(rng, tokens)
        b = disturbed(rng, a) if rng.random() < 0.6 else random_rule(rng, tokens)
        if rng.random() < 0.2:
            b = PairList(tuple(canonical_of(a, tokens).splits.values()))
        if rng.random() < 0.5:
            a, b = b, a
        found = decide(System(a, tokens), System(b, tokens))
        check(found, runner(a), runner(b), strings(letters, LONGEST[letters]))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_symbols_that_are_replaced_before_merging_never_merge(seed: int) -> None:
    rng = Random(seed)
    for _ in range(30):
        tokens = random_tokens(rng, "abc")
        a = random_rule(rng, tokens)
        b = disturbed(rng, a)
        if rng.random() < 0.5:
            b = PairList(tuple(canonical_of(a, tokens).splits.values()))
        bases = [{b"a", b"b", b"c"} - ({b"c"} if rng.random() < 0.5 else set()) for _ in range(2)]
        systems = [
            System(rule, tokens, base=base) for rule, base in zip((a, b), bases, strict=True)
        ]
        one, two = (runner_with(rule, base) for rule, base in zip((a, b), bases, strict=True))
        check(decide(*systems), one, two, strings("abc", 6))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_only_contents_that_count_are_given(seed: int) -> None:
    """Neither those that are looked up nor those that no text gives; then the next shortest.

    Theorem 21 in ``docs/theory.md``.
    """
    rng = Random(seed)
    for _ in range(30):
        tokens = random_tokens(rng, "ab")
        a, b = random_rule(rng, tokens), random_rule(rng, tokens)
        known = set(tokens)

        def ok(content: bytes, known: set[bytes] = known) -> bool:
            return content not in known and content.startswith(b"b")

        systems = System(a, tokens), System(b, tokens)
        found = decide(*systems, ok=ok, never=lambda content: bool(content.strip(b"ab")))
        contents = [content for content in strings("ab", 9) if ok(content)]
        expected = first_difference(runner(a), runner(b), contents)
        if found.verdict == "different":
            assert found.content is not None
            assert ok(found.content)
            assert runner(a)(found.content) != runner(b)(found.content)
            assert expected is None or len(found.content) == len(expected)
        elif found.verdict == "proved":
            assert first_difference(runner(a), runner(b), strings("ab", 8)) is None
        else:
            assert expected is None


UTF8_CHARS = "aéá中串"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_only_valid_utf8_counts_where_only_that_occurs(seed: int) -> None:
    """Theorem 21 in ``docs/theory.md``."""
    rng = Random(seed)
    contents = sorted(strings(UTF8_CHARS, 4), key=len)
    for _ in range(20):
        tokens = [bytes([byte]) for byte in sorted(set(UTF8_CHARS.encode()))]
        for _ in range(rng.randrange(1, 12)):
            word = "".join(rng.choices(UTF8_CHARS, k=3)).encode()
            start = rng.randrange(len(word) - 1)
            token = word[start : start + rng.randrange(2, 5)]
            if token not in tokens:
                tokens.append(token)
        a = random_rule(rng, tokens)
        b = disturbed(rng, a) if rng.random() < 0.8 else random_rule(rng, tokens)
        found = decide(System(a, tokens), System(b, tokens), utf8=True)
        hold_to_brute_force(found, runner(a), runner(b), contents)
        (found.content or b"").decode("utf-8")


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_characters_against_bytes(seed: int) -> None:
    """Theorem 25 in ``docs/theory.md``."""
    rng = Random(seed)
    for _ in range(20):
        letters = "abéá"[: rng.randrange(2, 5)]
        tokens = [letter.encode() for letter in letters]
        for _ in range(rng.randrange(1, 9)):
            token = rng.choice(tokens) + rng.choice(tokens)
            if token not in tokens and len(token) < 7:
                tokens.append(token)
        a, order = random_rule(rng, tokens), tokens[:]
        if rng.random() < 0.5:
            order.insert(rng.randrange(len(order)), order.pop(rng.randrange(len(order))))
        table = {bytes([byte]): byte for byte in range(256)}
        table.update({token: 256 + place for place, token in enumerate(order)})
        found = decide(System(a, tokens, "char"), System(RankTable(table), table))
        one, other = runner(a, "char"), runner(RankTable(table))
        hold_to_brute_force(found, one, other, sorted(strings(letters, 6), key=len))


def random_affixed(rng: Random, affixes: Affixes) -> tuple[list[bytes], list[tuple[bytes, bytes]]]:
    """Tokens and merges that keep to the places that affixes mark."""
    prefix, suffix = affixes.prefix, affixes.suffix
    tokens = [p + c + s for c in (b"a", b"b") for p in {b"", prefix} for s in {b"", suffix}]
    pairs = []
    for _ in range(rng.randrange(1, 10)):
        left, right = rng.choice(tokens), rng.choice(tokens)
        if (suffix and left.endswith(suffix)) or not right.startswith(prefix):
            continue
        token = left + right[len(prefix) :]
        if len(token) < 9:
            pairs.append((left, right))
            tokens += [] if token in tokens else [token]
    return tokens, pairs


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_affixes_keep_symbols_apart(seed: int) -> None:
    """Theorem 22 in ``docs/theory.md``."""
    rng = Random(seed)
    for _ in range(30):
        affixes = rng.choice([Affixes(b"#"), Affixes(suffix=b"$"), Affixes(b"#", b"$$")])
        tokens, pairs = random_affixed(rng, affixes)
        moved = rng.sample(pairs, len(pairs) - (rng.random() < 0.3 and bool(pairs)))
        a, b = PairList(tuple(pairs)), PairList(tuple(moved))
        found = decide(System(a, tokens, affixes=affixes), System(b, tokens, affixes=affixes))
        one, other = runner(a, affixes=affixes), runner(b, affixes=affixes)
        check(found, one, other, strings("ab", 7))


def test_affixes_that_differ_are_no_question_of_merges() -> None:
    empty = PairList(())
    with pytest.raises(ValueError, match="affixes"):
        decide(System(empty, [b"a"]), System(empty, [b"a"], affixes=Affixes(b"#")))


def test_a_symbol_that_is_spelled_in_two_ways_is_left_undecided() -> None:
    """``#$`` may be a later ``$`` or a last ``#``."""
    affixes = Affixes(b"#", b"$")
    one = System(PairList(((b"a", b"#b"),)), [b"a", b"#b", b"ab"], affixes=affixes)
    other = System(PairList(()), [b"a", b"#b", b"ab"], affixes=affixes)
    assert decide(one, other).verdict == "undecided"


def test_contents_of_very_many_tokens_are_left_unseen() -> None:
    """Where nothing counts, and something can always be put beside, the search ends soon."""
    lengths = [0]
    tokens = [b"a", b"aa"]
    one = System(PairList(((b"a", b"a"),)), tokens, "char", tokens)

    def noted(content: bytes) -> bool:
        lengths.append(len(content))
        return False

    found = decide(one, System(PairList(()), tokens, "char", tokens), ok=noted)
    assert found.verdict == "undecided"
    assert max(lengths) <= 128


def resplit_run(resplit: Resplit, content: bytes) -> list[bytes]:
    return [*resplit.run(content)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(20))
def test_unused_tokens_are_split_again(seed: int) -> None:
    """Theorem 23 in ``docs/theory.md``."""
    rng = Random(seed)
    for _ in range(30):
        letters = rng.choice(["ab", "abc"])
        tokens = random_tokens(rng, letters)
        a = random_ranks(rng, tokens)
        unused = {token for token in tokens if len(token) > 1 and rng.random() < 0.3}
        kept = [token for token in tokens if token not in unused]
        b = RankTable({token: a.ranks[token] for token in kept})
        system = System(a, tokens)
        found = decide_resplit(system, unused, System(b, kept))
        contents = strings(letters, LONGEST[letters])
        check(found, partial(resplit_run, Resplit(system, unused)), runner(b), contents)


def test_an_unsaid_budget_is_an_undecided_verdict() -> None:
    tokens = [b"a", b"b", b"ab", b"ba", b"aba", b"bab"]
    one = System(RankTable(dict(zip(tokens, range(6), strict=True))), tokens)
    other = System(RankTable(dict(zip(tokens, [0, 1, 3, 2, 5, 4], strict=True))), tokens)
    assert decide(one, other).verdict == "different"
    found = decide(one, other, budget=-1)
    assert (found.verdict, found.content) == ("undecided", None)


def test_bytes_come_second() -> None:
    one, other = (System(PairList(()), [b"a"], alphabet) for alphabet in ("byte", "char"))
    with pytest.raises(ValueError, match="bytes"):
        decide(one, other)


# The engines.


def ranked(ranks: dict[bytes, int]) -> Callable[[str], list[str]]:
    engine = tiktoken.Encoding("t", pat_str="(?s).+", mergeable_ranks=ranks, special_tokens={})
    names = {rank: token.decode() for token, rank in ranks.items()}
    return lambda text: [names[rank] for rank in engine.encode_ordinary(text)]


def listed(tokens: list[bytes], rule: PairList) -> Callable[[str], list[str]]:
    vocab = {token.decode(): number for number, token in enumerate(tokens)}
    engine = models.BPE(vocab, [(x.decode(), y.decode()) for x, y in rule.pairs])
    return lambda text: [token.value for token in engine.tokenize(text)]


EMPTY = write([(2, write([(3, 2), (4, 8)])), (3, write([(3, 0), (4, 0), (5, 0)]))])
"""A BPE model without pieces, dummy prefix, or anything done to spaces."""


def scored(tokens: list[bytes], rule: RankTable) -> Callable[[str], list[str]]:
    pieces = [Piece(token.decode(), -float(rule.ranks[token])) for token in tokens]
    model = with_pieces(EMPTY, [Piece("<unk>", 0, UNKNOWN), *pieces])
    engine = sentencepiece.SentencePieceProcessor(model_proto=model)
    return lambda text: list(engine.encode(text, out_type=str))


@pytest.mark.parametrize("seed", range(40))
def test_the_engines_confirm_witnesses_and_proofs(seed: int) -> None:
    rng = Random(seed)
    for _ in range(8):
        letters = rng.choice(["ab", "abc"])
        tokens = random_tokens(rng, letters)
        a, b = random_ranks(rng, tokens), random_pairs(rng, tokens)
        if rng.random() < 0.5:
            b = PairList(tuple(canonical_of(a, tokens).splits.values()))
        one, other = scored(tokens, a), listed(tokens, b)
        found = decide(System(a, tokens, "char"), System(b, tokens, "char"))
        if found.content is not None:
            text = found.content.decode()
            assert one(text) == [token.decode() for token in found.ours]
            assert other(text) == [token.decode() for token in found.theirs]
        else:
            for content in strings(letters, LONGEST[letters] - 1):
                assert one(content.decode()) == other(content.decode())


def not_looked_up(ranks: dict[bytes, int], content: bytes) -> bool:
    return content not in ranks


@pytest.mark.parametrize("seed", range(20))
def test_tiktoken_confirms_what_its_lookup_does_not_hide(seed: int) -> None:
    """Theorem 8 in ``docs/theory.md``."""
    rng = Random(seed)
    for _ in range(10):
        tokens = random_tokens(rng, "ab")
        order = rng.sample(range(len(tokens)), len(tokens))
        a = dict(zip(tokens, range(len(tokens)), strict=True))
        b = dict(zip(tokens, order, strict=True))
        systems = System(RankTable(a), tokens), System(RankTable(b), tokens)
        found = decide(*systems, ok=partial(not_looked_up, a))
        one, other = ranked(a), ranked(b)
        if found.content is not None:
            text = found.content.decode()
            assert one(text) == [token.decode() for token in found.ours]
            assert other(text) == [token.decode() for token in found.theirs]
        for content in strings("ab", 7):
            if found.content is None or len(content) < len(found.content):
                assert one(content.decode()) == other(content.decode())


# Parts of UTF-8.


def test_parts_of_utf8_are_told_from_what_no_text_holds() -> None:
    """By every split of characters at the ends of each row of RFC 3629's table."""
    ends = "\x00\x7f\x80\u07ff\u0800\u0fff\u1000\ucfff\ud000\ud7ff\ue000\uffff"
    ends += "\U00010000\U0003ffff\U00040000\U000fffff\U00100000\U0010ffff"
    rng = Random(0)
    for _ in range(3000):
        word = "".join(rng.choices(ends, k=3)).encode()
        start = rng.randrange(len(word))
        part = word[start : rng.randrange(start, len(word)) + 1]
        assert is_inside_utf8(part)
        assert starts_inside(part) == (0x80 <= part[0] < 0xC0)
        after = word[start + len(part) : start + len(part) + 1]
        if part.strip(bytes(range(0x80, 0xC0))):
            assert ends_inside(part) == (b"\x80" <= after < b"\xc0")
    for wrong in (b"\xff", b"\xc0", b"\xe4a", b"a\x80", b"\xe0\x80", b"\xed\xa0", b"\xf4\x90"):
        assert not is_inside_utf8(wrong)
    assert not is_inside_utf8(b"\x80\x80\x80\x80")


# Real files.


@pytest.mark.parametrize(
    ("one", "other", "theorem"),
    [
        ("llama-2/tokenizer.model", "llama-2/tokenizer.json", "Theorem 6"),
        ("mistral-v1/tokenizer.model", "mistral-v1/tokenizer.json", "Theorem 6"),
        ("llama-3/tokenizer.model", "llama-3.2/tokenizer.json", "Theorem 4"),
        ("o200k_base/o200k_base.tiktoken", "gpt-oss/tokenizer.json", "Theorem 4"),
        ("gpt2/tokenizer.json", "gpt2/gpt2.tiktoken", "Theorem 4"),
    ],
)
def test_published_twins_have_one_core(data: Data, one: str, other: str, theorem: str) -> None:
    a, b = (system_of(load(data(name)).model) for name in (one, other))
    found = decide(a, b)
    assert (found.verdict, theorem in found.why) == ("proved", True)


def test_llama_2_is_proved_though_its_runs_of_spaces_are_split_otherwise(data: Data) -> None:
    a = system_of(load(data("llama-2/tokenizer.model")).model)
    b = system_of(load(data("llama-2/tokenizer.json")).model)
    spaces = "\u2581".encode()
    otherwise = [token for token in a.form.splits if a.form.splits[token] != b.form.splits[token]]
    assert len(otherwise) == 8
    assert all(not token.replace(spaces, b"") for token in otherwise)
    assert decide(a, b).verdict == "proved"


@pytest.mark.long
def test_llama_3_without_the_merges_that_recovery_misses(data: Data) -> None:
    """Dropping a merge that fires is shown by its own text; dropping one that never does is not."""
    model = load(data("llama-3/tokenizer.model")).model
    assert isinstance(model.merges, RankTable)
    a = system_of(model)
    lost = [pair for token, pair in a.form.splits.items() if token != b".:.:"]
    b = System(PairList(tuple(lost)), model.vocab.ids)
    found = decide(a, b)
    assert found.content == b".:.:"
    found = decide(a, b, ok=lambda content: content not in model.vocab.ids, utf8=True)
    assert found.content is not None
    assert len(found.content) == 5
    assert b".:.:" in found.ours
    reachable = {t: rank for t, rank in model.merges.ranks.items() if t in a.form.splits}
    assert decide(a, System(RankTable(reachable), reachable)).verdict == "proved"


def test_the_form_of_a_list_is_learned_from_ranks() -> None:
    """Theorem 4 in ``docs/theory.md``."""
    rng = Random(4)
    for _ in range(300):
        tokens = random_tokens(rng, "ab")
        ids = {token: number for number, token in enumerate(tokens)}
        pairs = PairList(tuple(canonical_of(RankTable(ids), ids).splits.values()))
        ranked, listed = BPEModel(Vocab(ids), RankTable(ids)), BPEModel(Vocab(ids), pairs)
        assert "merges" not in [each.field for each in diff(ranked, listed)]
        assert canonical.known(listed)
        assert canonical(listed) == canonical_of(pairs, ids)


def test_nothing_is_learned_where_ranks_have_more_than_their_form() -> None:
    ids = {b"a": 0, b"b": 1, b"c": 2, b"ab": 3, b"bc": 4}
    ranks = RankTable({b"ab": 3, b"bc": 4})
    for kind in ("user_defined", "control"):
        ranked = BPEModel(Vocab(ids, {3: kind}), ranks, "char")
        both = BPEModel(Vocab(ids), PairList(((b"a", b"b"), (b"b", b"c"))), "char")
        one = BPEModel(Vocab(ids), PairList(((b"b", b"c"),)), "char")
        decide(system_of(ranked), system_of(both))
        assert [each.field for each in diff(both, one)] == ["merges"]


def test_ranks_with_affixes_are_never_taken_for_a_list_without() -> None:
    ids = {token: number for number, token in enumerate([b"a", b"b", b"<", b"b<", b"ab<"])}
    suffix = Affixes(suffix=b"<")
    ranked = BPEModel(Vocab(ids), RankTable({b"ab<": 9}), "char", affixes=suffix)
    listed = BPEModel(Vocab(ids), PairList(((b"a", b"b<"),)), "char")
    assert {each.field for each in diff(ranked, listed)} == {"affixes", "merges"}
    assert canonical(listed).splits == {}
