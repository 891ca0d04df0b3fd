"""Pre-tokenizers against tokenizers' own: all behaviours, inversion, many patterns, any text."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

from bpe_interop import model
from bpe_interop.errors import EngineMissingError
from bpe_interop.steps import (
    Behavior,
    ByteChars,
    Digits,
    Lowercase,
    Metaspace,
    NormalizerStep,
    Pattern,
    Prefixing,
    PrefixSpace,
    Prepend,
    PreTokenizerStep,
    Punctuation,
    Replace,
    Split,
    Strip,
    UnicodeForm,
    UnicodeScripts,
    Words,
)
from bpe_interop.text.added_tokens import AddedMatcher
from bpe_interop.text.bytechars import is_mapped, to_bytes
from bpe_interop.text.normalize import leading, normalize
from bpe_interop.text.split import compiled, split
from fixtures.code_points import POINTS

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = [GPT2, CL100K, r"\s+", r"\p{N}", r"a*", r"(?=b)", r"\s|\p{P}+", r"(ab)+", r"a|ab", "x"]
LITERALS = [" ", "a", "ab", "", ".", "--", "é", "▁"]
BEHAVIORS: tuple[Behavior, ...] = get_args(Behavior)
SCHEMES: tuple[Prefixing, ...] = get_args(Prefixing)
WHITE = Pattern(r"\s", "oniguruma")
# Beyond plane 3 hardly anything is assigned.

texts = st.text(
    st.one_of(
        st.sampled_from("aabbx '\n\r\t-.,19éò²½٣—世ーかカЖ \u0301\u200b\u0085\u001c😀▁Ġ"),
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
    if isinstance(step, Metaspace):
        return pre_tokenizers.Metaspace(step.replacement, step.prepend, split=False)
    if isinstance(step, (Words, UnicodeScripts)):
        name = "Whitespace" if isinstance(step, Words) else "UnicodeScripts"
        engine: pre_tokenizers.PreTokenizer = getattr(pre_tokenizers, name)()
        return engine
    assert isinstance(step, ByteChars)
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def by_engine(steps: list[PreTokenizerStep], text: str) -> list[str]:
    engine = pre_tokenizers.Sequence([engine_of(step) for step in steps])
    return [part for part, _ in engine.pre_tokenize_str(text) if part]


@pytest.mark.long
@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=texts)
def test_patterns(pattern: str, invert: bool, behavior: Behavior, text: str) -> None:
    step = Split(Pattern(pattern, "oniguruma"), behavior, invert)
    assert split((step,), text) == (by_engine([step], text), False)


@pytest.mark.long
@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("literal", LITERALS)
@given(text=texts)
def test_literals(literal: str, invert: bool, behavior: Behavior, text: str) -> None:
    step = Split(literal, behavior, invert)
    assert split((step,), text)[0] == by_engine([step], text)


@pytest.mark.parametrize(
    "step",
    [
        Digits(True),
        Digits(False),
        *map(Punctuation, BEHAVIORS),
        Words(),
        UnicodeScripts(),
        *(Metaspace(char, how) for char in "▁_ " for how in SCHEMES),
    ],
    ids=str,
)
@given(text=texts)
def test_classes(step: PreTokenizerStep, text: str) -> None:
    assert split((step,), text)[0] == by_engine([step], text)


@pytest.mark.long
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
    for start in range(0, len(POINTS), 4096):
        text = "\n".join(context.format(c) for c in POINTS[start : start + 4096])
        assert split((step,), text)[0] == by_engine([step], text), f"from U+{start:04X}"


@pytest.mark.parametrize("step", [Words(), UnicodeScripts()], ids=str)
def test_most_code_points(step: PreTokenizerStep) -> None:
    for start in range(0, len(POINTS), 4096):
        text = "a".join(POINTS[start : start + 4096])
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
        st.builds(Metaspace, st.sampled_from("▁_ "), st.sampled_from(SCHEMES)),
        st.sampled_from([ByteChars(), Words(), UnicodeScripts()]),
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


# What several of tokenizers' pre-tokenizers are in these steps.
SAME: list[tuple[pre_tokenizers.PreTokenizer, tuple[PreTokenizerStep, ...]]] = [
    (pre_tokenizers.WhitespaceSplit(), (Split(WHITE, "removed"),)),
    (pre_tokenizers.BertPreTokenizer(), (Split(WHITE, "removed"), Punctuation("isolated"))),
    (pre_tokenizers.CharDelimiterSplit("-"), (Split("-", "removed"),)),
    *(
        (
            pre_tokenizers.Metaspace("▁", scheme, split=True),
            (Metaspace("▁", scheme), Split("▁", "merged_with_next")),
        )
        for scheme in SCHEMES
    ),
]


@pytest.mark.long
@pytest.mark.parametrize(("engine", "chosen"), SAME, ids=[repr(engine) for engine, _ in SAME])
def test_one_name_for_several(
    engine: pre_tokenizers.PreTokenizer, chosen: tuple[PreTokenizerStep, ...]
) -> None:
    def same(text: str) -> None:
        expected = [part for part, _ in engine.pre_tokenize_str(text)]
        assert split(chosen, text)[0] == expected, ascii(text[:20])

    for start in range(0, len(POINTS), 4096):
        same("\n".join(f"a{c}b" for c in POINTS[start : start + 4096]))
    given(texts)(same)()


NORMALIZERS: list[tuple[NormalizerStep, normalizers.Normalizer]] = [
    (UnicodeForm("NFKC"), normalizers.NFKC()),
    (UnicodeForm("NFD"), normalizers.NFD()),
    (Lowercase(), normalizers.Lowercase()),
    (Strip(True, False), normalizers.Strip(left=True, right=False)),
    (Prepend("▁"), normalizers.Prepend("▁")),
    (Prepend("a b"), normalizers.Prepend("a b")),
    (Replace("ab", "▁"), normalizers.Replace("ab", "▁")),
    (Replace("a", ""), normalizers.Replace("a", "")),
    (Replace(Pattern("^ +", "oniguruma"), "ﬁ"), normalizers.Replace(Regex("^ +"), "ﬁ")),
]
PARTS = [" ", "  ", "ab", "a", "b", "▁", "-", "é", "ﬁ", "\u0301", "#", "$"]
RAW, NORMALIZED = model.AddedToken("#", 0), model.AddedToken("$", 1, normalized=True)


@given(
    st.lists(st.sampled_from(NORMALIZERS), max_size=3),
    st.lists(
        st.sampled_from(
            [
                Metaspace("▁", "first"),
                Metaspace("-", "first"),
                Metaspace("▁", "always"),
                Split("▁", "merged_with_next"),
                Split("-", "removed"),
                Split(" ", "isolated"),
                ByteChars(),
                UnicodeScripts(),
            ]
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.lists(st.sampled_from(PARTS), max_size=6).map("".join), min_size=9, max_size=9),
)
def test_first_is_where_the_whole_text_begins(
    chosen: list[tuple[NormalizerStep, normalizers.Normalizer]],
    cuts: list[PreTokenizerStep],
    texts: list[str],
) -> None:
    """Before normalizing, and before added tokens were cut out: as in ``Tokenizer.encode``."""
    tokenizer = Tokenizer(models.BPE(vocab={"?": 0}, merges=[], unk_token="?"))
    tokenizer.normalizer = normalizers.Sequence([engine for _, engine in chosen])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([engine_of(step) for step in cuts])
    tokenizer.add_tokens([AddedToken("#", normalized=False), AddedToken("$", normalized=True)])
    steps = [step for step, _ in chosen]
    for text in texts:
        encoding = tokenizer.encode(text)
        words = [len(list(group)) for _, group in groupby(encoding.word_ids)]
        assert pretoken_lengths(steps, cuts, text) == words, ascii(text)


def pretoken_lengths(
    steps: list[NormalizerStep], cuts: list[PreTokenizerStep], text: str
) -> list[int]:
    """How many characters each pretoken has, an added token counting for one."""
    matcher = AddedMatcher((RAW, NORMALIZED), lambda part: normalize(steps, part))
    splitter = compiled(tuple(cuts))
    found: list[int] = []
    for start, end, number in matcher.find_raw(text, "all"):
        if number is not None:
            found.append(1)
            continue
        segment = text[start:end]
        begins = leading(steps, segment) if start == 0 else 0
        part = normalize(steps, segment)
        for first, last, inner in matcher.find_normalized(part, "all"):
            if inner is not None:
                found.append(1)
                continue
            pretokens = splitter(part[first:last], first=max(0, begins - first))
            found += map(len, pretokens)
            aligned = splitter.align(part[first:last], first=max(0, begins - first))
            assert [pretoken for pretoken, _ in aligned] == pretokens
    return found


def test_first_matters_only_where_a_step_asks() -> None:
    assert compiled((Metaspace("▁", "first"),)).asks_first
    assert not compiled((Metaspace("▁", "always"), Words())).asks_first
    assert split((Metaspace("▁", "first"),), "a b", first=1)[0] == ["▁a▁b"]
    assert split((Metaspace("▁", "first"),), "a b", first=0)[0] == ["a▁b"]


def test_without_tokenizers_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers.pre_tokenizers", None)
    with pytest.raises(EngineMissingError, match="install tokenizers"):
        split((UnicodeScripts(),), "aж")


@given(steps.map(lambda chosen: [*chosen, PrefixSpace()]), texts)
def test_alignment_gives_the_same_pretokens(chosen: list[PreTokenizerStep], text: str) -> None:
    aligned = compiled(tuple(chosen)).align(text)
    assert [pretoken for pretoken, _ in aligned] == split(chosen, text)[0]
    replacements = {step.replacement for step in chosen if isinstance(step, Metaspace)}
    for pretoken, spans in aligned:
        assert len(spans) == len(pretoken)
        for char, (start, end) in zip(pretoken, spans, strict=True):
            assert end == start + 1
            if ByteChars() not in chosen:
                assert char in (text[start], " ", *replacements)
            else:
                assert is_mapped(char) or char in (" ", *replacements)


def test_a_byte_character_is_aligned_with_its_character() -> None:
    assert compiled((ByteChars(), Digits(True))).align("aò") == [
        ("aÃ", [(0, 1), (1, 2)]),
        ("²", [(1, 2)]),
    ]
