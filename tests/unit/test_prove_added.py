"""Verdicts about added tokens, and about what is placed around a text.

Every pair of added tokens is run in tokenizers on all short texts.

``BPE_INTEROP_ADDED=20000`` compares so many random pairs instead of the few of every run.
"""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import islice, product
from random import Random
from typing import Any

import pytest
from small_documents import WITHIN, Json, Side, added, document

from bpe_interop.model import AddedToken
from bpe_interop.proof.added_tokens import _some
from bpe_interop.proof.prove import prove
from bpe_interop.proof.stage import Scope
from bpe_interop.theory.added_tokens import (
    SoughtText,
    chained_texts,
    normalized_matters,
    overlapping_texts,
)

PAIRS = int(os.environ.get("BPE_INTEROP_ADDED") or 200)
SEEDS = 4
LETTERS = {char: number for number, char in enumerate("xyzwabAB _\u2581")}


def sides(one: list[Json], other: list[Json], normalizer: Json | None = None) -> tuple[Side, Side]:
    return (
        Side(document(LETTERS, added_tokens=one, normalizer=normalizer)),
        Side(document(LETTERS, added_tokens=other, normalizer=normalizer)),
    )


def outcome(one: Side, other: Side, scope: Scope, text: str) -> str:
    """The verdict, and that of the engine on one text; a witness must hold in the engine."""
    proof = prove(one.model, other.model, scope)
    assert one.ids(text, scope) != other.ids(text, scope)
    if proof.outcome == "different":
        witness = proof.witness or ""
        assert one.ids(witness, scope) != other.ids(witness, scope)
    return proof.outcome


# A word that is found in every text, and looked up as well.

CUT = {"type": "Split", "pattern": {"String": "w"}, "behavior": "Isolated", "invert": False}


def looked_up(tokens: list[Json]) -> tuple[Side, Side]:
    """Two that look pretokens up; the id of ``xyz`` stands in the vocabulary of the first."""
    for number, token in enumerate(tokens, len(LETTERS)):
        token["id"] = number
    both = [{**LETTERS, "xyz": len(LETTERS)}, LETTERS]
    one, other = (
        Side(document(vocab, added_tokens=tokens, pre_tokenizer=CUT, ignore_merges=True))
        for vocab in both
    )
    return one, other


def test_a_word_that_is_always_cut_out_may_be_looked_up() -> None:
    """Theorem 32 in ``docs/theory.md``."""
    one, other = looked_up([added("xyz"), added("aw", "s"), added("yzw")])
    scopes: tuple[Scope, ...] = ("all", "ordinary")
    for scope in scopes:
        assert prove(one.model, other.model, scope).outcome == "proved"
        for size in range(1, 7):
            for text in map("".join, product("xyzwa"[: 5 if size < 5 else 4], repeat=size)):
                assert one.ids(text, scope) == other.ids(text, scope), text
    bare, without = looked_up([])
    assert bare.ids("xyz", "text") != without.ids("xyz", "text")
    assert prove(one.model, other.model, "text").outcome != "proved"


@pytest.mark.parametrize(
    ("flags", "special", "text"),
    [("", "wx", "wxyz"), ("", "xyzw", "xyzw"), ("s", "b", "wxyzw"), ("w", "b", "bwxyzw")],
)
def test_a_word_that_a_special_token_hides_may_not(flags: str, special: str, text: str) -> None:
    """Theorem 32 in ``docs/theory.md``: what its conditions keep out."""
    one, other = looked_up([added("xyz", flags), added(special, "s")])
    assert outcome(one, other, "ordinary", text) != "proved"


@pytest.mark.parametrize("tokens", [[], ["ab"]])
def test_a_word_that_no_added_token_is_may_not(tokens: list[str]) -> None:
    one, other = looked_up([added(text) for text in tokens])
    assert one.ids("xyz", "ordinary") != other.ids("xyz", "ordinary")
    proof = prove(one.model, other.model, "ordinary")
    assert (proof.outcome, proof.stage, proof.witness) == ("different", "lookup", "xyz")


# A special token that is to be text hides what overlaps it.


@pytest.mark.parametrize(
    ("special", "plain", "new", "text"),
    [
        (["yz"], ["zw"], "xy", "xyzw"),
        (["bx", "xy", "yz"], ["zw"], "ab", "abxyzw"),
        (["yz", "xyzz"], ["zw"], "xy", "xyzw"),
        ([], ["zw"], "yzw", "yzw"),
        ([], ["zw"], "zwz", "zwz"),
        ([], ["yzwx"], "zw", None),
    ],
)
def test_special_tokens_hide_others_in_chains(
    special: list[str], plain: list[str], new: str, text: str | None
) -> None:
    """Theorem 19 in ``docs/theory.md``."""
    base = [*(added(t) for t in plain), *(added(t, "s") for t in special)]
    one, other = sides(base, [*base, added(new, "s")])
    if text is None:
        assert prove(one.model, other.model, "ordinary").outcome != "proved"
    else:
        assert outcome(one, other, "ordinary", text) == "different"


def test_a_special_token_that_no_chain_joins_to_another_hides_nothing() -> None:
    """Theorem 19 in ``docs/theory.md``."""
    base = [added("zw"), added("yz", "s")]
    one, other = sides(base, [*base, added("ab", "s"), added("ba", "s")])
    assert prove(one.model, other.model, "ordinary").outcome == "proved"
    for text in texts("abyzw", 4):
        assert one.ids(text, "ordinary") == other.ids(text, "ordinary")


def test_a_special_token_hides_nothing_in_another_pass() -> None:
    base = [added("zw")]
    one, other = sides(base, [*base, added("yz", "sn")])
    for text in texts("yzw", 5):
        assert one.ids(text, "ordinary") == other.ids(text, "ordinary")
    assert prove(one.model, other.model, "ordinary").outcome == "proved"


def test_what_hides_is_what_the_normalizer_writes() -> None:
    lower: Json = {"type": "Lowercase"}
    base = [added("zw", "n")]
    one, other = sides(base, [*base, added("YZ", "sn")], lower)
    assert outcome(one, other, "ordinary", "yzw") == "different"
    one, other = sides(base, [*base, added("YZ", "s")], lower)
    assert prove(one.model, other.model, "ordinary").outcome == "proved"
    for text in texts("yzYZw", 4):
        assert one.ids(text, "ordinary") == other.ids(text, "ordinary")


def test_texts_of_a_chain_hold_tokens_that_overlap() -> None:
    assert [*overlapping_texts("ab", "bc")] == ["abc"]
    assert [*overlapping_texts("aab", "baa")] == ["aabaa", "baab", "baaab"]
    assert [*overlapping_texts("abc", "b")] == ["abc"]
    assert [*overlapping_texts("ab", "cd")] == []
    start, same, other = SoughtText("ab", True), SoughtText("bc", True), SoughtText("bd", False)
    assert [*chained_texts(start, [same, other], 10)] == ["ab", "abc"]
    most = [*islice(chained_texts(SoughtText("aa", True), [SoughtText("aa", True)], 5), 100)]
    assert 5 <= len(most) < 10


def test_very_long_tokens_are_tried_in_few_texts() -> None:
    """All texts in which these two overlap have gigabytes."""
    one, other = SoughtText("ab" * 20_000, True), SoughtText("ba" * 20_000, True)
    assert len([*chained_texts(one, [one, other], 30)]) == 30
    texts = [*_some("a" * 100_000 for _ in range(1_000))]
    assert len(texts) < 10


# In which of the two passes a token is found.


@pytest.mark.parametrize(
    ("early", "late", "text"),
    [
        (added("a", "r"), added(" b"), "a b"),
        (added("a", "l"), added("b "), "b a"),
        (added("aa"), added("bb", "w"), "aabb"),
        (added("a "), added("bb", "w"), "bba "),
        (added(" a"), added("bb", "w"), " abb"),
        (added("bx"), added("ab"), "abx"),
        (added("b"), added("bab"), "bab"),
    ],
)
def test_the_pass_in_which_a_token_is_found_counts(early: Json, late: Json, text: str) -> None:
    """Each pair breaks one condition of Theorem 18: one pass finds something else than two."""
    one, other = sides([early, late], [early, {**late, "normalized": True}])
    assert outcome(one, other, "all", text) == "different"


def test_a_token_that_begins_in_white_space_taken_along_is_not_proved() -> None:
    """In one pass tokenizers fails on such a text, in two it does not."""
    early, late = added(" ", "l"), added("b", "r")
    one, other = sides([early, late], [early, {**late, "normalized": True}])
    assert one.ids("b  ", "all") is None
    assert other.ids("b  ", "all") is not None
    assert prove(one.model, other.model).outcome != "proved"


def test_tokens_that_never_meet_are_found_alike_in_one_pass_and_in_two() -> None:
    """Theorem 18 in ``docs/theory.md``."""
    early = [AddedToken("_", 1, lstrip=True, rstrip=True)]
    late = [AddedToken("a", 2, lstrip=True, rstrip=True, normalized=True)]
    assert not normalized_matters([*early, *late])
    one, other = sides([added("_", "lr"), added("a", "lr")], [added("_", "lr"), added("a", "lrn")])
    assert prove(one.model, other.model).outcome == "proved"
    for text in texts("a_ b", 6):
        assert one.ids(text, "all") == other.ids(text, "all")


def test_two_tokens_that_are_looked_for_as_one_text_are_not_proved() -> None:
    """Once both are in lower case, tokenizers takes one of them by chance."""
    lower: Json = {"type": "Lowercase"}
    model = Side(document(LETTERS, normalizer=lower)).model
    tokens = [AddedToken(text, number, normalized=True) for number, text in enumerate(("A", "a"))]
    for special in (True, False):
        listed = tuple(replace(token, special=special) for token in tokens)
        twice = replace(model, added=listed)
        assert prove(twice, twice).outcome == "unknown"
        raw = replace(model, added=tuple(replace(token, normalized=False) for token in listed))
        assert prove(raw, raw).outcome == "proved"


def test_a_special_token_on_one_side_that_is_looked_for_as_another_one_is_not_proved() -> None:
    """Which of the two tokenizers takes is left to chance on that side alone."""
    lower: Json = {"type": "Lowercase"}
    model = Side(document(LETTERS, normalizer=lower)).model
    plain = AddedToken("a", 1, normalized=True)
    both = replace(model, added=(plain, AddedToken("A", 0, normalized=True, special=True)))
    alone = replace(model, added=(plain,))
    assert prove(both, alone, "ordinary").outcome != "proved"
    assert prove(alone, both, "ordinary").outcome != "proved"


# Random pairs.


@pytest.mark.parametrize(("old", "new"), [("w", ""), ("ww", "xy"), ("yz", "w")])
def test_what_is_replaced_may_put_a_token_together_or_take_it_apart(old: str, new: str) -> None:
    """Theorem 18 in ``docs/theory.md``."""
    steps: Json = {"type": "Replace", "pattern": {"String": old}, "content": new}
    one, other = sides([added("xy", "n")], [added("xy")], steps)
    assert outcome(one, other, "all", f"x{old}y" if not new else f"x{old}") == "different"


def test_what_a_regex_leaves_out_may_put_a_token_together() -> None:
    """No text is made of it, so the pair may end unknown."""
    steps: Json = {"type": "Replace", "pattern": {"Regex": "w+"}, "content": ""}
    one, other = sides([added("xy", "n")], [added("xy")], steps)
    assert outcome(one, other, "all", "xwy") != "proved"


def texts(letters: str, longest: int) -> list[str]:
    return [
        "".join(chosen)
        for length in range(1, longest + 1)
        for chosen in product(letters, repeat=length)
    ]


def random_added(rng: Random) -> list[Json]:
    """Tokens that often overlap, with all flags."""
    found: dict[str, Json] = {}
    for _ in range(rng.randint(1, 4)):
        text = "".join(rng.choices("ab ", k=rng.choice([1, 2, 2, 3])))
        chosen = [flag for flag in "wlr" if rng.random() < 0.2]
        chosen += [flag for flag in "sn" if rng.random() < 0.4]
        found[text] = added(text, "".join(chosen))
    return [*found.values()]


def changed(rng: Random, tokens: list[Json]) -> list[Json]:
    """The same with one thing changed."""
    made = [dict(token) for token in tokens]
    chance = rng.random()
    if chance < 0.15 and len(made) > 1:
        made.pop(rng.randrange(len(made)))
    elif chance < 0.3:
        made += [
            t for t in random_added(rng)[:1] if t["content"] not in {m["content"] for m in made}
        ]
    elif chance < 0.4:
        rng.shuffle(made)
    else:
        flag = rng.choice(
            ["normalized", "normalized", "special", "lstrip", "rstrip", "single_word"]
        )
        token = rng.choice(made)
        token[flag] = not token[flag]
    return made


SCOPES: tuple[Scope, ...] = ("all", "ordinary")
NORMALIZERS: list[Json | None] = [
    None,
    None,
    {"type": "Lowercase"},
    {"type": "Prepend", "prepend": "_"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "_"},
    {"type": "Replace", "pattern": {"String": "A"}, "content": ""},
    {"type": "Replace", "pattern": {"String": "AA"}, "content": "_A"},
]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_verdict_about_added_tokens_is_that_of_the_engine(seed: int) -> None:
    rng = Random(seed)
    tried = texts("ab ", 4) + ["".join(rng.choices("ab A", k=7)) for _ in range(60)]
    verdicts: dict[str, int] = {"proved": 0, "different": 0, "unknown": 0}
    for _ in range(PAIRS // SEEDS):
        tokens, normalizer = random_added(rng), rng.choice(NORMALIZERS)
        one, other = sides(tokens, changed(rng, tokens), normalizer)
        for scope in SCOPES:
            proof = prove(one.model, other.model, scope)
            verdicts[proof.outcome] += 1
            if proof.outcome == "proved":
                for text, way in product(tried, WITHIN[scope]):
                    assert one.ids(text, way) == other.ids(text, way), (tokens, text)
            elif proof.outcome == "different":
                text = proof.witness or ""
                assert any(one.answer(text, w) != other.answer(text, w) for w in WITHIN[scope])
    assert verdicts["proved"]
    assert verdicts["different"]


def test_the_whole_scope_has_texts_whose_special_strings_are_text() -> None:
    """Parsed, both have the same ids; where it is text, the special one is not found."""
    one, other = sides([added("xy", "n")], [added("xy", "ns")])
    for scope in SCOPES:
        proof = prove(one.model, other.model, scope)
        assert (proof.outcome, proof.stage, proof.witness) == ("different", "added tokens", "xy")
    assert one.ids("xy", "all") == other.ids("xy", "all")
    assert one.ids("xy", "ordinary") != other.ids("xy", "ordinary")


# What is placed around a text.

PLACED = {"a": 0, "b": 1, "x": 2}


def placed(single: str, pair: str) -> Side:
    """Templates by letters: ``A`` and ``B`` are the texts, others are tokens."""

    def parts(letters: str) -> list[Json]:
        return [
            {"Sequence" if letter in "AB" else "SpecialToken": {"id": letter, "type_id": 0}}
            for letter in letters
        ]

    known = {letter: {"id": letter, "ids": [PLACED[letter]], "tokens": [letter]} for letter in "bx"}
    processor = {"type": "TemplateProcessing", "single": parts(single), "pair": parts(pair)}
    return Side(document(PLACED, post_processor=processor | {"special_tokens": known}))


@pytest.mark.parametrize(
    ("one", "other", "outcome"),
    [
        (("xA", "xAB"), ("xA", "xAB"), "proved"),
        (("A", "AB"), ("A", "AB"), "proved"),
        (("xA", "xAB"), ("bA", "xAB"), "different"),
        (("xA", "xAB"), ("A", "xAB"), "different"),
        (("xA", "xAB"), ("xA", "xABx"), "unknown"),
        (("A", "AB"), ("A", "AxB"), "unknown"),
    ],
)
def test_templates_are_compared(one: tuple[str, str], other: tuple[str, str], outcome: str) -> None:
    left, right = placed(*one), placed(*other)
    assert (left.ids("a") != right.ids("a")) is (outcome == "different")
    assert prove(left.model, right.model).outcome == outcome
    assert prove(left.model, right.model, "ordinary").outcome == "proved"


@pytest.mark.parametrize("field", ["added", "sequence_template"])
def test_what_one_side_does_not_say_is_not_proved(field: str) -> None:
    said = placed("xA", "xAB").model
    nothing: dict[str, Any] = {field: None}
    unsaid = replace(said, **nothing)
    assert prove(said, unsaid).outcome == "unknown"
    assert prove(unsaid, said).outcome == "unknown"
