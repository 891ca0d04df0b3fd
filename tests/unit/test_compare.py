"""Comparing batches of texts: what counts as an answer, a difference and a failure; shrinking."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from bpe_interop.compare.run import ask_both, compare_texts
from bpe_interop.compare.shrink import first_difference, shrink
from bpe_interop.compare.sides import AROUND, ORDINARY, PARSED, TEMPLATED, Mismatch, Mode, OwnEngine
from bpe_interop.engines import from_files
from bpe_interop.engines.tiktoken import TiktokenEngine
from bpe_interop.errors import DecodeError, EngineError, PatternError, UnstatedError
from bpe_interop.model import BPEModel, Fallback, PairList, Vocab
from bpe_interop.sources import load_source
from bpe_interop.steps import JoinBytes
from fixtures import TOKENIZERS


class Side:
    """A side made of two functions; it counts how often it is asked."""

    name = "side"
    version = "1"
    parses_special = True
    applies_template = True

    def __init__(
        self,
        ids: Callable[[str], list[int]] = lambda text: [*map(ord, text)],
        text: Callable[[Sequence[int]], str] = lambda ids: "".join(map(chr, ids)),
    ) -> None:
        self.ids, self.text = ids, text
        self.asked = self.decoded = self.characters = 0

    def encode(
        self, text: str, *, special: str = "text", add_special_tokens: bool = False
    ) -> list[int]:
        self.asked += 1
        self.characters += len(text)
        ids = self.ids(text.replace("<s>", "\x01") if special == "parse" else text)
        return [0, *ids] if add_special_tokens else ids

    def encode_batch(
        self, texts: Sequence[str], *, special: str = "text", add_special_tokens: bool = False
    ) -> list[list[int]]:
        return [
            self.encode(text, special=special, add_special_tokens=add_special_tokens)
            for text in texts
        ]

    def decode(self, ids: Sequence[int]) -> str:
        self.decoded += 1
        return self.text(ids)


def raising(error: Exception, on: str) -> Callable[[str], list[int]]:
    def ids(text: str) -> list[int]:
        if on in text:
            raise error
        return [*map(ord, text)]

    return ids


def swapped(one: str, other: str) -> Callable[[str], list[int]]:
    return lambda text: [*map(ord, text.replace(one, other))]


# What becomes of a text.


def test_every_text_has_its_outcome() -> None:
    a = Side(raising(EngineError("no"), "x"))
    b = Side(lambda text: raising(PatternError("slow"), "y")(text.replace("q", "Q")))
    texts = ["a", "x", "y", "xy", "q<s>", ""]
    outcomes = compare_texts(a, b, texts, [ORDINARY, PARSED])
    assert [each.compared for each in outcomes] == [2, 0, 0, 0, 2, 2]
    assert [each.one_failed for each in outcomes] == [0, 2, 2, 0, 0, 0]
    assert [len(each.failures_a) for each in outcomes] == [0, 2, 0, 2, 0, 0]
    assert [len(each.failures_b) for each in outcomes] == [0, 0, 2, 2, 0, 0]
    assert [(each.tokens_a, each.tokens_b) for each in outcomes] == [
        (1, 1),
        (0, 1),
        (1, 0),
        (0, 0),
        (4, 4),
        (0, 0),
    ]
    found = outcomes[4].mismatch
    assert found == Mismatch(ORDINARY, "q<s>", (113, 60, 115, 62), (81, 60, 115, 62))
    assert [each.mismatch for each in outcomes if each is not outcomes[4]] == [None] * 5


def test_exhausted_memory_is_a_failure() -> None:
    side = Side(raising(MemoryError(), "x"))
    _, outcome = compare_texts(side, Side(), ["a", "x"], [ORDINARY])
    assert [failure.what for failure in outcome.failures_a] == ["out of memory"]


def test_an_error_that_is_no_answer_is_raised() -> None:
    with pytest.raises(UnstatedError):
        compare_texts(Side(raising(UnstatedError("pattern"), "a")), Side(), ["a"], [ORDINARY])


def test_decoding_is_compared_once_where_the_ids_are_the_same() -> None:
    a, b = Side(), Side(text=lambda ids: "".join(map(chr, ids)).replace("z", "?"))
    modes = [ORDINARY, PARSED, TEMPLATED]
    outcomes = compare_texts(a, b, ["a", "<s>", "z"], modes)
    assert a.decoded == b.decoded == 2 + 3 + 3
    found = outcomes[2].mismatch
    assert found == Mismatch(ORDINARY, "z", (122,), (122,), ("z", "?"))
    assert [each.mismatch for each in outcomes[:2]] == [None, None]


def test_failing_to_decode_is_a_failure() -> None:
    def refuse(ids: Sequence[int]) -> str:
        raise DecodeError("no such id")

    [outcome] = compare_texts(Side(text=refuse), Side(), ["a"], [ORDINARY])
    assert (outcome.compared, outcome.mismatch) == (1, None)
    assert [failure.what for failure in outcome.failures_a] == ["no such id"]
    assert outcome.failures_b == []


def test_a_text_that_differs_in_ids_is_not_said_to_differ_in_decoding() -> None:
    a, b = Side(), Side(lambda text: [*map(ord, text.replace("\x01", "!"))], lambda ids: "other")
    [outcome] = compare_texts(a, b, ["<s>"], [ORDINARY, PARSED])
    assert outcome.mismatch
    assert (outcome.mismatch.mode, outcome.mismatch.decoding) == (PARSED, None)


def test_a_difference_of_the_template_alone() -> None:
    tally = ask_both(Side(), Templated(), ["xyz"], [ORDINARY, AROUND])
    assert tally.mismatch
    assert (tally.mismatch.mode, tally.mismatch.text) == (AROUND, "")
    assert (tally.mismatch.ids_a, tally.mismatch.ids_b) == ((0,), (9,))


class Templated(Side):
    def encode(
        self, text: str, *, special: str = "text", add_special_tokens: bool = False
    ) -> list[int]:
        ids = super().encode(text, special=special)
        return [9, *ids] if add_special_tokens else ids


# A real panic.


def test_a_panic_is_an_outcome() -> None:
    """tiktoken panics on a byte without a token (``src/lib.rs``)."""
    ranks = {b"a": 0, b"b": 1}
    encoding = tiktoken.Encoding("ab", pat_str="a|b|.", mergeable_ranks=ranks, special_tokens={})
    texts = ["a", "abc", "b"]
    outcomes = compare_texts(TiktokenEngine(encoding), Side(), texts, [ORDINARY])
    assert [each.one_failed for each in outcomes] == [0, 1, 0]
    [failure] = outcomes[1].failures_a
    assert (failure.side, failure.how, failure.text) == ("tiktoken", "panicked", "abc")


# Shrinking.


def differs_on(keep: Callable[[str], bool]) -> Side:
    """Gives the other ids, and one more of them, on some texts."""
    return Side(lambda text: [*map(ord, text)] + [7] * keep(text))


@pytest.mark.parametrize(
    ("text", "keep", "smallest"),
    [
        ("x" * 500 + "q" + "y" * 500, lambda t: "q" in t, "q"),
        ("hello 1234 world", lambda t: any(c.isdigit() for c in t), "0"),
        ("we have 98765!", lambda t: "98765" in t, "98765"),
        ("(nested (brackets) here)", lambda t: t.count("(") == t.count(")") > 0, "()"),
        ("Ünïcödé", lambda t: any(ord(c) > 127 for c in t), "é"),
        ("Привет, мир", lambda t: any("а" <= c <= "я" for c in t), "р"),
        ("tab\tand\nline", lambda t: any(c.isspace() for c in t), " "),
        ("AbcABCabc", lambda t: sum(c.isupper() for c in t) >= 2, "AA"),
        ("anything", lambda t: True, ""),
        ("abcabc", lambda t: len(t) >= 3, "aaa"),
        ("x=1; y=2; z=3", lambda t: [c for c in t if c.isdigit()] == [*"123"], "123"),
    ],
)
def test_a_difference_becomes_small_and_simple(
    text: str, keep: Callable[[str], bool], smallest: str
) -> None:
    found = shrink(Side(), differs_on(keep), text, ORDINARY)
    assert found.text == smallest
    assert found.ids_b == (*found.ids_a, 7)


# What must stay in a text is a set of words over few letters, so all texts can be tried.
words = st.lists(st.text("ab1", min_size=1, max_size=3), min_size=1, max_size=3)


@given(words, st.text("ab1 ", max_size=20))
def test_nothing_can_be_left_out(needed: list[str], text: str) -> None:
    def keep(candidate: str) -> bool:
        return all(word in candidate for word in needed)

    whole = text + " ".join(needed)
    found = shrink(Side(), differs_on(keep), whole, ORDINARY).text
    assert keep(found)
    assert len(found) <= len(whole)
    for place in range(len(found)):
        assert not keep(found[:place] + found[place + 1 :])
        for simpler in (
            "ab01"["ab01".index(found[place]) :: -1][1:] if found[place] in "ab01" else ""
        ):
            assert not keep(found[:place] + simpler + found[place + 1 :])


def test_two_characters_go_together() -> None:
    found = shrink(Side(), differs_on(lambda t: len(t) % 2 == 1), "abcde", ORDINARY)
    assert found.text == "a"


def test_the_kind_of_difference_is_kept() -> None:
    def text(ids: Sequence[int]) -> str:
        return "".join(map(chr, ids)).replace("zz", "z")

    b = Side(swapped("q", "Q"), text)
    only_decoding = shrink(Side(), b, "a zz b", ORDINARY)
    assert only_decoding == Mismatch(ORDINARY, "zz", (122, 122), (122, 122), ("zz", "z"))
    ids_first = shrink(Side(), b, "a zz q", ORDINARY)
    assert (ids_first.text, ids_first.decoding) == ("q", None)


def test_what_simplifying_would_make_another_difference_stays() -> None:
    """A difference between splits does not become one between numbers."""

    def ids(text: str) -> list[int]:
        joined = re.sub(r" [0-9]", "\x7f", text)
        return [ord(c) + 1000 * c.isalpha() for c in joined]

    found = shrink(Side(), Side(ids), "in  the year 2023 or 7", ORDINARY)
    assert (found.text, len(found.ids_a), len(found.ids_b)) == ("a", 1, 1)
    found = shrink(Side(), Side(ids), "! 7", ORDINARY)
    assert (found.text, len(found.ids_a), len(found.ids_b)) == (" 0", 2, 1)


@pytest.mark.long
def test_shrinking_ends_with_its_budget() -> None:
    a, b = Side(), differs_on(lambda t: "q" in t)
    shrink(a, b, "q" * 2_000, ORDINARY, budget=40)
    assert a.asked < 60
    a, b = Side(), differs_on(lambda t: t.count("q") > 50_000)
    found = shrink(a, b, "q" * 100_000, ORDINARY)
    assert a.asked < 100
    assert 50_000 < len(found.text) <= 100_000


def test_a_side_that_does_not_answer_twice_alike_is_shown_as_it_is() -> None:
    calls = iter([[1], [1], [2], [2], [3]])
    found = shrink(Side(lambda text: next(calls)), Side(lambda text: [1]), "abc", ORDINARY)
    assert (found.text, found.ids_b) == ("abc", (1,))


@pytest.mark.parametrize("place", [0, 1, 777, 49_990])
def test_a_long_text_is_looked_at_where_it_differs(place: int) -> None:
    text = "ab" * 25_000
    text = text[:place] + "q" + text[place:]
    a, b = Side(), Side(swapped("q", "Q"))
    found = shrink(a, b, text, ORDINARY)
    assert found.text == "q"
    assert a.characters < 1.1 * len(text)


def test_the_first_difference_is_placed() -> None:
    def at(text: str, ids_a: list[int], ids_b: list[int], **said: tuple[str, str]) -> int:
        found = Mismatch(ORDINARY, text, tuple(ids_a), tuple(ids_b), **said)
        return first_difference(Side(), found)

    assert at("abc", [97, 98, 99], [97, 98, 100]) == 2
    assert at("abc", [97, 98, 99], [97, 98]) == 2
    assert at("abc", [1], [2]) == 0
    assert at("abc", [1], [1], decoding=("abc", "abd")) == 2
    assert at("a", [97, 97, 97, 1], [97, 97, 97, 2]) == 1


# In real engines.


@pytest.mark.parametrize("number", ["2023", "a123456789"])
def test_a_stacked_quantifier_is_shown_on_few_digits(number: str) -> None:
    """``\\p{N}{1,3}+`` is possessive for tiktoken, and repeated for Oniguruma."""
    folder = TOKENIZERS / "stacked-tiny" / "huggingface"
    loaded = load_source(folder)
    theirs = from_files("tokenizers", "huggingface", loaded.files, loaded.model)
    right = load_source(TOKENIZERS / "cl100k-tiny" / "tiktoken")
    engine = from_files("tiktoken", "tiktoken", right.files, right.model)
    found = shrink(engine, theirs, number, ORDINARY)
    assert engine.encode(found.text) == list(found.ids_a) != list(found.ids_b)
    assert theirs.encode(found.text) == list(found.ids_b)
    assert len(found.text) <= 4


@pytest.mark.parametrize("mode", [ORDINARY, PARSED, TEMPLATED], ids=lambda mode: mode.scope)
def test_small_texts_are_smallest_among_all(mode: Mode) -> None:
    """Every shorter text over the same letters is tried in both engines."""
    one, two = (
        OwnEngine(load_source(TOKENIZERS / name / "huggingface").model)
        for name in ("template-tiny", "nfc-tiny")
    )
    tally = ask_both(one, two, ["wholly ordinary words, 1234"], [mode])
    assert tally.mismatch
    small = tally.mismatch.text
    for length in range(len(small)):
        for letters in product(sorted(set(small)), repeat=length):
            text = "".join(letters)
            asked: Any = {"special": mode.special, "add_special_tokens": mode.add_special_tokens}
            assert one.encode(text, **asked) == two.encode(text, **asked)


def test_two_of_our_own_sides_fail_and_differ_each_on_its_text() -> None:
    """They are asked for arrays: one text of a batch that fails leaves the others as they are."""
    model = BPEModel(
        vocab=Vocab({b"a": 0, b"b": 1, b"ab": 2}),
        merges=PairList(((b"a", b"b"),)),
        normalizer=(),
        pretokenizer=(),
        decoder=(JoinBytes(),),
        added=(),
    )
    dropping = replace(model, fallback=Fallback("drop"))
    answers = compare_texts(
        OwnEngine(model), OwnEngine(dropping), ["ab", "ac", "", "ba"], [ORDINARY]
    )
    assert [each.compared for each in answers] == [1, 0, 1, 1]
    assert [each.one_failed for each in answers] == [0, 1, 0, 0]
    assert [each.mismatch for each in answers] == [None] * 4
    shifted = replace(model, vocab=Vocab({b"a": 0, b"b": 1, b"ab": 3}))
    answers = compare_texts(OwnEngine(model), OwnEngine(shifted), ["ba", "ab"], [ORDINARY])
    assert [each.mismatch for each in answers] == [None, Mismatch(ORDINARY, "ab", (2,), (3,))]
