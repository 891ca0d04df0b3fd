"""Where only one of two splitters cuts (Theorem 26): what a token's own characters decide."""

from __future__ import annotations

from itertools import islice, product

from bpe_interop.proof.pretokenizer import _strings_cut_differently
from bpe_interop.steps import Behavior, Pattern, Split
from bpe_interop.text.split import split
from bpe_interop.theory.cuts import DifferingCuts


def at(source: str, behavior: Behavior = "isolated") -> Split:
    return Split(Pattern(source, "oniguruma"), behavior, False)


def test_tokens_far_from_every_such_cut_are_no_doubt_however_many() -> None:
    places = DifferingCuts([at(" ")], [at(" ", "merged_with_next")])
    tokens = [f"{one}{two}".encode() for one, two in product("abcdefghijklmnopqrst", repeat=2)]
    assert places.none_across(tokens)
    assert not places.none_across([*tokens, b" a"])


def test_a_token_is_read_from_its_start() -> None:
    """Between y and a only what stands after an x is cut."""
    places = DifferingCuts([at("xy")], [])
    assert split([at("xy")], "zya")[0] == ["zya"]
    assert split([at("xy")], "xya")[0] == ["xy", "a"]
    assert places.none_across([b"zya"])
    assert not places.none_across([b"xya"])
    assert not places.none_across([b"ya"])


def test_short_strings_that_are_tried_are_cut_otherwise() -> None:
    tried = [*islice(_strings_cut_differently((at("xy"),), ())[0], 5)]
    assert len(tried) == 5
    assert all("xy" in text for text in tried)


def test_a_cut_off_character_is_one_that_ends_with_its_bytes() -> None:
    places = DifferingCuts([at("\u00e9")], [])
    assert "\u00e9".encode()[1:] == b"\xa9"
    assert not places.none_across([b"\xa9a"])
    assert places.none_across([b"\xaaa"])
