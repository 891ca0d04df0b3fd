"""Pre-tokenizers against tokenizers' own: all behaviours, inversion, many patterns, any text."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from bpe_interop.steps import (
    Behavior,
    ByteChars,
    Digits,
    Pattern,
    PrefixSpace,
    PreTokenizerStep,
    Punctuation,
    Split,
)
from bpe_interop.text.bytechars import is_mapped, to_bytes
from bpe_interop.text.split import compiled, split

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = [GPT2, CL100K, r"\s+", r"\p{N}", r"a*", r"(?=b)", r"\s|\p{P}+", r"(ab)+", r"a|ab", "x"]
LITERALS = [" ", "a", "ab", "", ".", "--", "é", "▁"]
BEHAVIORS: tuple[Behavior, ...] = get_args(Behavior)
EVERY = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]

texts = st.text(
    st.one_of(
        st.sampled_from("aabbx '\n\r\t-.,19éò²½٣—世 \u0301\u200b\u0085\u001c😀▁Ġ"),
        st.characters(exclude_categories=["Cs"]),
    )
)


def engine_of(step: PreTokenizerStep) -> pre_tokenizers.PreTokenizer:
    """The same step in tokenizers."""
    if isinstance(step, Split):
        pattern = step.pattern if isinstance(step.pattern, str) else Regex(step.pattern.source)
        return pre_tokenizers.Split(pattern, step.behavior, step.invert)
    if isinstance(step, Digits):
        return pre_tokenizers.Digits(step.individual)
    if isinstance(step, Punctuation):
        return pre_tokenizers.Punctuation(step.behavior)
    assert isinstance(step, ByteChars)
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def by_engine(steps: list[PreTokenizerStep], text: str) -> list[str]:
    engine = pre_tokenizers.Sequence([engine_of(step) for step in steps])
    return [part for part, _ in engine.pre_tokenize_str(text) if part]


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=texts)
def test_patterns(pattern: str, invert: bool, behavior: Behavior, text: str) -> None:
    step = Split(Pattern(pattern, "oniguruma"), behavior, invert)
    assert split((step,), text) == (by_engine([step], text), False)


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("literal", LITERALS)
@given(text=texts)
def test_literals(literal: str, invert: bool, behavior: Behavior, text: str) -> None:
    step = Split(literal, behavior, invert)
    assert split((step,), text)[0] == by_engine([step], text)


@pytest.mark.parametrize(
    "step",
    [Digits(True), Digits(False), *map(Punctuation, BEHAVIORS)],
    ids=str,
)
@given(text=texts)
def test_classes(step: PreTokenizerStep, text: str) -> None:
    assert split((step,), text)[0] == by_engine([step], text)


@pytest.mark.parametrize(
    "step",
    [
        Digits(True),
        Punctuation("isolated"),
        Split(Pattern(CL100K, "oniguruma"), "removed", True),
    ],
    ids=lambda step: type(step).__name__,
)
@pytest.mark.parametrize("context", ["{}", "a{}a", " {}\u0301"])
def test_every_code_point(step: PreTokenizerStep, context: str) -> None:
    for start in range(0, len(EVERY), 4096):
        text = "\n".join(context.format(c) for c in EVERY[start : start + 4096])
        assert split((step,), text)[0] == by_engine([step], text), f"from U+{start:04X}"


steps = st.lists(
    st.one_of(
        st.builds(
            Split,
            st.one_of(
                st.sampled_from(LITERALS),
                st.builds(Pattern, st.sampled_from(PATTERNS), st.just("oniguruma")),
            ),
            st.sampled_from(BEHAVIORS),
            st.booleans(),
        ),
        st.builds(Digits, st.booleans()),
        st.builds(Punctuation, st.sampled_from(BEHAVIORS)),
        st.just(ByteChars()),
    ),
    max_size=4,
)


@given(steps, texts)
def test_sequences(chosen: list[PreTokenizerStep], text: str) -> None:
    pretokens, mapped = split(chosen, text)
    assert pretokens == by_engine(chosen, text)
    assert mapped == (ByteChars() in chosen)


@given(texts)
def test_a_prefix_space_comes_before_each_pretoken(text: str) -> None:
    """ByteLevel with add_prefix_space is these steps, the mapping apart."""
    chosen = (Split(" ", "removed"), PrefixSpace(), Split(Pattern(GPT2, "oniguruma"), "isolated"))
    engine = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.ByteLevel(add_prefix_space=True)]
    )
    expected = [part for part, _ in engine.pre_tokenize_str(text) if part]
    assert split((*chosen, ByteChars()), text) == (expected, True)
    assert [p.encode() for p in split(chosen, text)[0]] == [to_bytes(p) for p in expected]


def test_steps_after_the_byte_alphabet_see_its_characters() -> None:
    """In falcon: U+00F2 is C3 B2, written with U+00B2 at the end, which is numeric."""
    assert split((ByteChars(), Digits(True)), "ò1") == (["Ã", "²", "1"], True)


@pytest.mark.parametrize("first_of_all", [True, False])
def test_matches_only_drops_the_rest(first_of_all: bool) -> None:
    only = Split(Pattern(r"\w+", "fancy-regex"), "removed", True)
    chosen = (only,) if first_of_all else (Split("|", "removed"), only)
    assert split(chosen, "ab, cd! ") == (["ab", "cd"], False)


@given(steps.map(lambda chosen: [*chosen, PrefixSpace()]), texts)
def test_alignment_gives_the_same_pretokens(chosen: list[PreTokenizerStep], text: str) -> None:
    aligned = compiled(tuple(chosen)).align(text)
    assert [pretoken for pretoken, _ in aligned] == split(chosen, text)[0]
    for pretoken, spans in aligned:
        assert len(spans) == len(pretoken)
        for char, (start, end) in zip(pretoken, spans, strict=True):
            assert end == start + 1
            if ByteChars() not in chosen:
                assert char in (text[start], " ")
            else:
                assert is_mapped(char) or char == " "


def test_a_byte_character_is_aligned_with_its_character() -> None:
    assert compiled((ByteChars(), Digits(True))).align("aò") == [
        ("aÃ", [(0, 1), (1, 2)]),
        ("²", [(1, 2)]),
    ]
