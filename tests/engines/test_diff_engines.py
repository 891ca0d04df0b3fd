"""Pairs that an engine encodes otherwise: ``diff`` never calls them equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import pytest

from bpe_interop.diff import diff
from bpe_interop.testing.tiny import document_of, model_of
from fixtures.piece_model import BYTE, NORMAL, UNKNOWN, UNUSED
from trust.verdicts.sources import Source

Json: TypeAlias = dict[str, Any]
Merges: TypeAlias = Sequence[tuple[str, str]]


def added(text: str, number: int, **flags: bool) -> Json:
    """An added token that is looked for in every normalized text, but for its flags."""
    names = ("single_word", "lstrip", "rstrip", "special")
    plain = dict.fromkeys(names, False) | {"normalized": True}
    return {"id": number, "content": text, **plain, **flags}


def json_source(tokens: Sequence[str], merges: Merges, letters: str, **said: Any) -> Source:
    """A ``tokenizer.json``; what is said of an affix is said of its model.

    A missing symbol does not vanish: what stands beside one would be side by side.
    """
    affixes = {name: said.pop(name) for name in (*said,) if name.endswith(("prefix", "suffix"))}
    ids = {token: number for number, token in enumerate(tokens)} | {"<unk>": 99}
    model = model_of(vocab=ids, merges=[[*p] for p in merges], unk_token="<unk>", **affixes)
    return Source("huggingface", document_of(model, **said), letters)


def texts(letters: str) -> list[str]:
    return ["".join(chosen) for size in range(5) for chosen in product(letters, repeat=size)]


BC = added("bc", 3)
HIDDEN = (["x", "b", "c", "bc"], [("b", "c")], "xbc")
METASPACE: Json = {
    "type": "Metaspace",
    "replacement": "\u2581",
    "prepend_scheme": "always",
    "split": False,
}
# Each with merges; another one has no merges, or those that are named.
APART: dict[str, tuple[Source, Merges]] = {
    "a special token that is to be text hides another": (
        json_source(*HIDDEN, added_tokens=[BC, added("xb", 4, special=True)]),
        [],
    ),
    "a special token whose normal form hides another": (
        json_source(
            *HIDDEN,
            added_tokens=[BC, added("XB", 4, special=True)],
            normalizer={"type": "Lowercase"},
        ),
        [],
    ),
    "a token inside of a word hides another": (
        json_source(*HIDDEN, added_tokens=[BC, added("xb", 4, single_word=True)]),
        [],
    ),
    "a space is written before a text": (
        json_source(
            ["\u2581", "b", "\u2581b"],
            [("\u2581", "b")],
            "b ",
            added_tokens=[added("\u2581b", 2)],
            pre_tokenizer=METASPACE,
        ),
        [],
    ),
    "a normalizer writes the start of a token": (
        json_source(*HIDDEN, added_tokens=[BC], normalizer={"type": "Prepend", "prepend": "b"}),
        [],
    ),
    "an added token's text is in a suffix": (
        json_source(
            ["a", "b", "w", "a</w>", "b</w>", "ab</w>"],
            [("a", "b</w>")],
            "abw",
            added_tokens=[added("w", 2)],
            end_of_word_suffix="</w>",
        ),
        [],
    ),
    "a token is spelled in two ways": (
        json_source(
            ["a", "b", "ab", "aa", "aab", "x"],
            [("a", "a"), ("aa", "b"), ("a", "ab")],
            "abx",
            end_of_word_suffix="b",
        ),
        [("a", "a"), ("aa", "b")],
    ),
}


@pytest.mark.parametrize("name", APART)
def test_what_tokenizers_encodes_otherwise_is_told(name: str) -> None:
    one, merges = APART[name]
    two = one.copy()
    two.facts["model"]["merges"] = [[*pair] for pair in merges]
    _are_told(one, two, "merges", ("ordinary",))


def test_a_token_that_is_spelled_in_two_ways_is_named_so() -> None:
    one, merges = APART["a token is spelled in two ways"]
    two = one.copy()
    two.facts["model"]["merges"] = [[*pair] for pair in merges]
    [found] = diff(one.model(), two.model())
    assert found.how == "a token that is spelled in two ways is merged otherwise in one of them"


def test_the_id_of_an_affixed_symbol_that_is_an_added_token_too() -> None:
    """The text ``##b`` is always found; but the symbol ``##b`` stands for the ``b`` of ``ab``."""
    symbols = ["a", "b", "##a", "##b"]
    one = json_source(
        symbols, [], "ab#", added_tokens=[added("##b", 3)], continuing_subword_prefix="##"
    )
    two = one.copy()
    del two.facts["model"]["vocab"]["##b"]
    _are_told(one, two, "vocab", ("ordinary",))


def pieces(*rows: tuple[str, float, int], unused: Sequence[str] = ()) -> Source:
    """A ``.model`` with byte fallback."""
    bytes_ = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    kinds: Mapping[str, int] = dict.fromkeys(unused, UNUSED)
    facts: Json = {
        "pieces": [
            ["<unk>", 0.0, UNKNOWN],
            *([text, score, kinds.get(text, kind)] for text, score, kind in (*bytes_, *rows)),
        ],
        "byte_fallback": True,
        "suffix": False,
        "unknown": None,
        "dummy": False,
        "remove_extra": False,
        "escape": True,
    }
    return Source("sentencepiece", facts, "abc")


def test_an_unused_character_is_told() -> None:
    rows = [("a", -1.0, NORMAL), ("b", -2.0, NORMAL), ("c", -3.0, NORMAL)]
    _are_told(pieces(*rows), pieces(*rows, unused="c"), "vocab", ("text",))


def test_scores_that_tie_are_not_those_in_one_order() -> None:
    """Of ``ab`` and ``ba`` the leftmost is merged in ``bab``; a list merges ``ab`` first."""
    rows = [("a", -5.0, NORMAL), ("b", -6.0, NORMAL)]
    tied = pieces(("ab", -1.0, NORMAL), ("ba", -1.0, NORMAL), *rows)
    falling = pieces(("ab", -1.0, NORMAL), ("ba", -2.0, NORMAL), *rows)
    _are_told(tied, falling, "merges", ("text",))


def _are_told(one: Source, two: Source, field: str, modes: Sequence[str]) -> None:
    """That an engine shows the difference, and ``diff`` names it from both sides."""
    every = texts(one.letters)
    left, right = one.oracle(), two.oracle()
    seen = any(left.ids(every, mode) != right.ids(every, mode) for mode in modes)
    assert seen
    for a, b in ((one, two), (two, one)):
        assert field in {each.field for each in diff(a.model(), b.model())}
