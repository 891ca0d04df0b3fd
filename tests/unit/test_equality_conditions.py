"""Each condition under which two merge systems are called equal, by a pair that breaks it alone."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from bpe_interop.formats import by_name
from bpe_interop.merging.canonical import canonical
from bpe_interop.model import Affixes, BPEModel, Fallback, PairList, RankTable, Vocab
from bpe_interop.text.bytechars import BYTE_TO_CHAR
from bpe_interop.theory.equality import System, decide, plainly_equal, system_of
from bpe_interop.theory.symbol_codes import SymbolCodes

E = "\u00e9".encode()
TOKENS = [b"a", b"b", b"ab"]
CHARS = [E, b"a", E + b"a"]
LIST, RANKS = PairList(((b"a", b"b"),)), RankTable({b"a": 97, b"b": 98, b"ab": 256})
CHAR_LIST, CHAR_RANKS = PairList(((E, b"a"),)), RankTable({E: 0, b"a": 1, E + b"a": 2})
NOTHING = PairList(())
LONG = [b"a", b"b", b"c", b"ab", b"abc"]
LONG_LIST = PairList(((b"a", b"b"), (b"ab", b"c")))
LONG_RANKS = RankTable({token: rank for rank, token in enumerate(LONG)})
EVERY = [bytes([byte]) for byte in range(256)] + [b"ab"]
"""All bytes and one token, as files have them: then the kernel holds their tables."""

APART: dict[str, tuple[System, System, bytes]] = {
    "one merges characters, the other their bytes": (
        System(CHAR_LIST, CHARS, "char"),
        System(CHAR_LIST, CHARS),
        E,
    ),
    "a token is left out of one": (System(RANKS, TOKENS), System(RANKS, TOKENS[:2]), b"ab"),
    "a symbol is replaced before ranks merge it": (
        System(RANKS, TOKENS, base={b"a"}),
        System(LIST, TOKENS),
        b"ab",
    ),
    "a symbol is replaced before a list merges it": (
        System(RANKS, TOKENS),
        System(LIST, TOKENS, base={b"a"}),
        b"ab",
    ),
    "a character is replaced before ranks merge it": (
        System(CHAR_RANKS, CHARS, "char", base={E}),
        System(CHAR_LIST, CHARS, "char", base={E, b"a"}),
        E + b"a",
    ),
    "a character is replaced before a list merges it": (
        System(CHAR_RANKS, CHARS, "char", base={E, b"a"}),
        System(CHAR_LIST, CHARS, "char", base={E}),
        E + b"a",
    ),
}
"""Systems, and the shortest content of which they make other tokens."""

ALIKE: dict[str, tuple[System, System]] = {
    "symbols": (System(RANKS, TOKENS), System(LIST, TOKENS)),
    "symbols that are all there": (
        System(RANKS, TOKENS, base={b"a", b"b"}),
        System(LIST, TOKENS, base={b"a", b"b"}),
    ),
    "symbols that are all among the tokens": (
        System(RANKS, TOKENS, base=TOKENS),
        System(LIST, TOKENS, base=TOKENS),
    ),
    "characters": (System(CHAR_RANKS, CHARS, "char"), System(CHAR_LIST, CHARS, "char")),
    "characters that are all there": (
        System(CHAR_RANKS, CHARS, "char", base={E, b"a"}),
        System(CHAR_LIST, CHARS, "char", base={E, b"a"}),
    ),
    "tokens that merge on, over symbols that are all there": (
        System(LONG_RANKS, LONG, base={b"a", b"b", b"c"}),
        System(LONG_LIST, LONG, base={b"a", b"b", b"c"}),
    ),
}
"""Ranks and a list, which are the same by Theorem 4 and by Theorem 13."""


@pytest.fixture(params=["as it is", "in Python"])
def compared(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms compared by the kernel, where it can; then without."""
    if request.param == "in Python":
        for name in ("ranked_as_listed", "listed_as_ranked"):
            monkeypatch.setattr(f"bpe_interop.theory.equality.{name}", lambda *given: None)


@pytest.mark.usefixtures("compared")
@pytest.mark.parametrize("name", APART)
@pytest.mark.parametrize("formed", [False, True])
def test_systems_that_one_condition_keeps_apart(name: str, formed: bool) -> None:
    one, two, content = APART[name]
    one, two = (System(s.rule, s.tokens, s.alphabet, s.base) for s in (one, two))
    if formed:
        assert two.form  # then it is compared first
    found = decide(one, two)
    assert (found.verdict, found.content) == ("different", content)


@pytest.mark.usefixtures("compared")
@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize(("formed", "theorem"), [(False, "Theorem 4"), (True, "Theorem 13")])
def test_ranks_and_a_list_are_the_same_in_two_ways(name: str, formed: bool, theorem: str) -> None:
    one, two = (System(s.rule, s.tokens, s.alphabet, s.base) for s in ALIKE[name])
    if formed:
        assert two.form
    for pair in ((one, two), (two, one)):
        assert theorem in (plainly_equal(*pair) or "")


def test_what_counts_decides() -> None:
    one, two = System(LIST, TOKENS), System(NOTHING, TOKENS)
    found = decide(one, two, ok=lambda content: False, never=lambda content: len(content) > 2)
    assert (found.verdict, found.content) == ("undecided", None)
    assert decide(one, two, never=lambda content: b"b" in content).verdict == "proved"


def test_what_is_put_beside_a_difference_may_not_make_what_never_occurs() -> None:
    tokens = [b" ", b"x", b"y", b"xy"]
    one, two = System(PairList(((b"x", b"y"),)), tokens), System(NOTHING, tokens)
    found = decide(one, two, ok=lambda c: c.startswith(b" "), never=lambda c: b" x" in c)
    assert found.content is not None
    assert found.ours != found.theirs
    assert found.content.startswith(b" ")
    assert b" x" not in found.content


def test_what_is_no_utf8_does_not_count_whatever_else_does_not() -> None:
    """``C3 a`` is in no text: the lead of two bytes is followed by no letter."""
    tokens = [b"\xc3", b"a", b"\xc3a"]
    one, two = System(PairList(((b"\xc3", b"a"),)), tokens), System(NOTHING, tokens)
    assert decide(one, two).content == b"\xc3a"
    assert decide(one, two, utf8=True).verdict == "proved"
    assert decide(one, two, utf8=True, never=lambda content: b"z" in content).verdict == "proved"


def test_ranks_know_no_affixes() -> None:
    """The product of a list's merge drops the prefix; ranks glue contents together."""
    affixes, tokens = Affixes(b"#"), [b"a", b"b", b"#a", b"#b", b"ab", b"a#b"]
    listed = System(PairList(((b"a", b"#b"),)), tokens, affixes=affixes)
    ranked = System(RankTable({each: n for n, each in enumerate(tokens)}), tokens, affixes=affixes)
    for pair in ((listed, ranked), (ranked, listed)):
        assert plainly_equal(*pair) is None


def test_a_missing_symbol_is_none_that_is_there() -> None:
    """The byte 00 is a token: it merges with what follows, on both sides alike."""
    pairs = ((b"\0", b"##a"), (b"##\0", b"##a"))
    tokens = [b"\0", b"##\0", b"##a", b"##b", b"##ab", b"\0a", b"##\0a"]
    one, two = (
        System(PairList(rule), tokens, base=tokens, affixes=Affixes(b"##"))
        for rule in (pairs, (*pairs, (b"##a", b"##b")))
    )
    found = decide(one, two)
    assert (found.verdict, found.content) == ("different", b"\x01ab")


def test_a_missing_symbol_is_an_error_or_becomes_bytes() -> None:
    """Only an error leaves merging as it is: bytes stand there before it."""
    vocab = Vocab({b"a": 0, b"ab": 1})
    for byte_fallback, base in ((False, None), (True, {b"a": 0, b"ab": 1})):
        fallback = Fallback("error", byte_fallback=byte_fallback)
        model = BPEModel(vocab, RankTable({b"ab": 0}), alphabet="char", fallback=fallback)
        assert system_of(model).base == base


def ranked_file() -> BPEModel:
    rows = [base64.b64encode(token) + f" {rank}\n".encode() for rank, token in enumerate(EVERY)]
    return by_name("tiktoken").load({"t.tiktoken": b"".join(rows)})


def listed_file(*more: str) -> BPEModel:
    """Merges ``ab``; of ``more`` tokens it builds none."""
    vocab = {"".join(BYTE_TO_CHAR[byte] for byte in each): n for n, each in enumerate(EVERY)}
    vocab |= {token: 300 + n for n, token in enumerate(more)}
    model: dict[str, Any] = {"type": "BPE", "vocab": vocab, "merges": [["a", "b"]]}
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    document = {"added_tokens": [], "pre_tokenizer": step, "decoder": step}
    document |= {"model": model | {"ignore_merges": True}}
    return by_name("huggingface").load({"tokenizer.json": json.dumps(document).encode()})


@pytest.mark.parametrize("lost", ["of the ranks", "of the list"])
def test_what_the_kernel_holds_says_nothing_of_symbols_that_are_replaced(lost: str) -> None:
    """``b`` is replaced on one side before anything merges."""
    ranked, listed = ranked_file(), listed_file()
    base = [None if lost == side else {*EVERY} - {b"b"} for side in ("of the list", "of the ranks")]
    one = System(ranked.merges, ranked.vocab.ids, base=base[0])
    two = System(listed.merges, listed.vocab.ids, base=base[1])
    assert (two if lost == "of the ranks" else one).form  # then the kernel has it
    found = decide(one, two)
    assert (found.verdict, found.content) == ("different", b"ab")


@pytest.mark.parametrize("vocabulary", ["its own", "a dictionary", "that of another file"])
def test_a_form_that_was_learned_is_that_of_the_model(vocabulary: str) -> None:
    """A list has one token more than the ranks: no merge builds it, and only a lookup finds it."""
    larger = listed_file("zz")
    listed = larger if vocabulary == "its own" else listed_file()
    if vocabulary == "a dictionary":
        listed = replace(listed, vocab=Vocab({**larger.vocab.ids}))
    elif vocabulary == "that of another file":
        listed = replace(listed, vocab=larger.vocab)
    assert decide(system_of(ranked_file()), system_of(listed)).verdict == "proved"
    assert canonical.known(listed)
    assert canonical(listed).unreachable == (b"zz",)


@pytest.mark.parametrize("replaced", [0, 1])
def test_a_symbol_that_one_side_replaces_may_stand_where_a_suffix_is_asked_for(
    replaced: int,
) -> None:
    """``ab`` is never last, as no symbol has the suffix; a missing one after it is the last."""
    tokens, rules = [b"a", b"b", b"ab"], (LIST, NOTHING)
    one, two = (
        System(rule, tokens, "char", tokens if side == replaced else None, Affixes(suffix=b"</w>"))
        for side, rule in enumerate(rules)
    )
    found = decide(one, two)
    assert (found.verdict, found.content) == ("different", b"abx")


@pytest.mark.parametrize(
    ("affixes", "symbols", "text"),
    [
        (Affixes(prefix=b"##"), [b"a", b"##b"], b"ab"),
        (Affixes(prefix=b"##"), [b"##b"], b"xb"),
        (Affixes(suffix=b"</w>"), [b"a", b"b</w>"], b"ab"),
        (Affixes(suffix=b"</w>"), [b"a", b"b"], b"abx"),
        (Affixes(b"##", b"</w>"), [b"##a", b"##b"], b"xabx"),
        (Affixes(b"##", b"</w>"), [b"a</w>"], b"a"),
    ],
)
def test_a_pretoken_has_missing_symbols_where_its_own_ask_for_them(
    affixes: Affixes, symbols: list[bytes], text: bytes
) -> None:
    codes = SymbolCodes(affixes, "char", b"x")
    assert codes.pretoken(codes.code(symbols)) == text
