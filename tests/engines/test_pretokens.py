"""Which contents are a pretoken of some text, held to what tokenizers cuts from short texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import product

import pytest
from small_documents import Json, Side, document
from tokenizers import Regex, Tokenizer, pre_tokenizers

from bpe_interop.steps import ByteChars, Digits, Pattern, PreTokenizerStep, Split
from bpe_interop.text.bytechars import BYTE_TO_CHAR
from bpe_interop.theory.pretokens import can_occur, occurrence, text_for

LETTERS = "a .1b"
COVERS = Pattern(r" ?[a-z]+|\s+(?!\S)|\s|[^\sa-z]", "oniguruma")
WORDS = Pattern(r"[a-z]+(?=\.)|[0-9]+", "oniguruma")
GAPS = Pattern(r"[1.b]|a(?!b)| (?!a)", "oniguruma")
BEHIND = Pattern(r"(?<=a)\.|[^.]+|\.", "oniguruma")

DECIDED: dict[str, tuple[PreTokenizerStep, ...]] = {
    "matches and nothing else": (Split(COVERS, "isolated"),),
    "matches and nothing else, inverted": (Split(COVERS, "isolated", invert=True),),
    "matches only": (Split(WORDS, "removed", invert=True),),
}
OPEN: dict[str, tuple[PreTokenizerStep, ...]] = {
    "what is between matches too": (Split(WORDS, "isolated"),),
    "what is between matches where more follows": (Split(GAPS, "isolated"),),
    "what is between matches only": (Split(WORDS, "removed"),),
    "matches with what is before": (Split(COVERS, "merged_with_previous"),),
    "unmatched text with what is before": (Split(WORDS, "merged_with_previous", invert=True),),
    "a string": (Split(".", "isolated"),),
    "a string only": (Split(".", "removed", invert=True),),
    "cut again": (Split(COVERS, "isolated"), Digits(individual=True)),
    "cut again at a string": (Split(WORDS, "removed", invert=True), Split("a", "isolated")),
    "not by a pattern": (Digits(individual=True),),
    "a lookbehind": (Split(BEHIND, "isolated"),),
    "nothing": (),
}


def engine(step: PreTokenizerStep) -> pre_tokenizers.PreTokenizer:
    if isinstance(step, Digits):
        return pre_tokenizers.Digits(individual_digits=True)
    assert isinstance(step, Split)
    pattern = step.pattern if isinstance(step.pattern, str) else Regex(step.pattern.source)
    return pre_tokenizers.Split(pattern, step.behavior, step.invert)


@cache
def cut(steps: tuple[PreTokenizerStep, ...]) -> frozenset[str]:
    """Every pretoken of every text of up to five letters."""
    runs = pre_tokenizers.Sequence([engine(step) for step in steps])
    texts = ("".join(text) for size in range(1, 6) for text in product(LETTERS, repeat=size))
    return frozenset(pretoken for text in texts for pretoken, _ in runs.pre_tokenize_str(text))


def contents() -> list[str]:
    return ["".join(each) for size in (1, 2, 3) for each in product(LETTERS, repeat=size)]


def shown(steps: Sequence[PreTokenizerStep], text: str, content: str) -> bool:
    pieces = pre_tokenizers.Sequence([engine(step) for step in steps]).pre_tokenize_str(text)
    return content in [pretoken for pretoken, _ in pieces]


@pytest.mark.parametrize("name", DECIDED)
def test_one_split_is_decided(name: str) -> None:
    steps = DECIDED[name]
    there = cut(steps)
    for content in contents():
        occurs = occurrence(steps, content.encode())
        assert occurs.possible is (content in there), content
        assert can_occur(steps, content.encode()) is (content in there), content
        assert occurs.text is None or shown(steps, occurs.text, content)
    assert 0 < len(there.intersection(contents())) < len(contents())


@pytest.mark.parametrize("name", OPEN)
def test_of_other_steps_only_a_text_is_found(name: str) -> None:
    """No content that the engine cuts is called impossible, and a text that is given shows it."""
    steps = OPEN[name]
    there = cut(steps)
    for content in contents():
        occurs = occurrence(steps, content.encode())
        if occurs.possible:
            assert occurs.text is not None
            assert shown(steps, occurs.text, content)
        else:
            assert occurs.possible is None
            assert can_occur(steps, content.encode()) is None
    assert any(occurrence(steps, content.encode()).possible for content in there)


@pytest.mark.parametrize("half", [b"\xc3", b"a\xa9", b"\xff"])
def test_a_part_of_a_character_is_a_pretoken_only_where_bytes_are_cut(half: bytes) -> None:
    assert occurrence((Split(COVERS, "isolated"),), half).possible is False
    assert can_occur((Split(COVERS, "isolated"),), half) is False
    assert occurrence((ByteChars(), Split(COVERS, "isolated")), half).possible is None


def test_nothing_is_no_pretoken() -> None:
    for steps in (*DECIDED.values(), *OPEN.values()):
        assert occurrence(steps, b"").possible is False
        assert can_occur(steps, b"") is False


def test_of_bytes_in_their_alphabet_no_text_is_split_to_see() -> None:
    """What stands behind ByteChars sees other characters: é is two there."""
    steps = (ByteChars(), Split(Pattern(r"\p{Ll}+|.", "oniguruma"), "isolated"))
    assert occurrence(steps, "\u00e9".encode()).possible is None
    halves = (ByteChars(), Split("\u00c3", "isolated"))
    assert occurrence(halves, "\u00c3".encode()).possible is None


ESCAPE: Json = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
SHORTER: Json = {"type": "Replace", "pattern": {"Regex": "b+"}, "content": "b"}
PREPEND: Json = {"type": "Prepend", "prepend": "\u2581"}
METASPACE: Json = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always"}
DIGITS: Json = {"type": "Digits", "individual_digits": True}
BYTES: Json = {"type": "ByteLevel", "add_prefix_space": True, "use_regex": False}
BYTES |= {"trim_offsets": True}


@pytest.mark.parametrize(
    ("content", "there", "steps"),
    [
        ("ba", True, {}),
        ("\u2581a", True, {"normalizer": ESCAPE}),
        (" a", False, {"normalizer": ESCAPE}),
        ("ba", True, {"normalizer": SHORTER}),
        ("bba", False, {"normalizer": SHORTER}),
        ("\u2581a", True, {"normalizer": PREPEND}),
        ("a", False, {"normalizer": PREPEND}),
        ("\u2581a", True, {"pre_tokenizer": METASPACE}),
        ("a", False, {"pre_tokenizer": METASPACE}),
        (" \u00e9", True, {"pre_tokenizer": BYTES}),
        ("\u00e9", False, {"pre_tokenizer": BYTES}),
        ("1", True, {"pre_tokenizer": DIGITS}),
        ("11", False, {"pre_tokenizer": DIGITS}),
        ("", False, {}),
        ("ba", True, {"ignore_merges": True}),
    ],
)
def test_of_a_model_a_text_is_found_that_leaves_a_content_to_merging(
    content: str, there: bool, steps: Json
) -> None:
    stated = document({"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")], **steps)
    text = text_for(Side(stated).model, content.encode())
    assert (text is not None) is there
    tokenizer = Tokenizer.from_str(json.dumps(stated))
    texts = ["".join(each) for size in (1, 2, 3) for each in product("ab 1\u00e9", repeat=size)]
    cut = set()
    for each in texts if text is None else [text]:
        normal = tokenizer.normalizer.normalize_str(each) if tokenizer.normalizer else each
        cutter = tokenizer.pre_tokenizer
        cut |= {part for part, _ in cutter.pre_tokenize_str(normal)} if cutter else {normal}
    mapped = "".join(map(BYTE_TO_CHAR.__getitem__, content.encode()))
    assert ((mapped if steps.get("pre_tokenizer") is BYTES else content) in cut) is there


def test_what_is_looked_up_is_not_left_to_merging() -> None:
    stated = document({"a": 0, "b": 1, "ab": 2}, ignore_merges=True)
    side = Side(stated)
    assert (side.ids("ab"), text_for(side.model, b"ab")) == ([2], None)
