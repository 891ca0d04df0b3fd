"""Patterns read, written and matched as the real engines do it."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import regex
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from bpe_interop.errors import PatternError
from bpe_interop.limits import PATTERN_SECONDS
from bpe_interop.steps import Dialect, Pattern
from bpe_interop.text import matcher, unicode
from bpe_interop.text.matcher import python_source
from bpe_interop.text.patterns import (
    Matcher,
    emit,
    parse,
    preferred,
    same,
    spaces_never_join,
    translate,
)
from bpe_interop.text.regex_syntax import matches_empty
from bpe_interop.text.spellings import (
    CL100K,
    CL100K_POSSESSIVE,
    CL100K_TRAILING,
    FAMILIES,
    GPT2,
    O200K,
    PREFERRED,
    QWEN2,
    R50K,
)
from fixtures.code_points import POINTS, SCALARS
from fixtures.spellings import SPELLINGS
from trust.patterns import SIGNS, Compared, compare

FANCY: Dialect = "fancy-regex"
ONIG: Dialect = "oniguruma"
PYTHON: Dialect = "python"
DIALECTS = (FANCY, ONIG, PYTHON)
BYTES = {bytes([i]): i for i in range(256)}
Cutter = Callable[[str], list[str]]


def tiktoken_cuts(source: str, text: str, more: list[str] | None = None) -> list[str]:
    """The pretokens of tiktoken: with every substring a token, each is looked up whole."""
    ranks = dict(BYTES)
    if more is None:
        more = [text[i:j] for i in range(len(text)) for j in range(i + 1, len(text) + 1)]
    for piece in more:
        ranks.setdefault(piece.encode(), len(ranks))
    names = {rank: token for token, rank in ranks.items()}
    engine = tiktoken.Encoding("t", pat_str=source, mergeable_ranks=ranks, special_tokens={})
    return [names[i].decode(errors="replace") for i in engine.encode_ordinary(text)]


def engine(pattern: Pattern) -> Cutter:
    """What the dialect's own engine finds, without empty matches."""
    if pattern.dialect == FANCY:
        return lambda text: tiktoken_cuts(pattern.source, text)
    if pattern.dialect == ONIG:
        split = pre_tokenizers.Split(Regex(pattern.source), "removed", invert=True)
        return lambda text: [piece for piece, _ in split.pre_tokenize_str(text) if piece]
    compiled = regex.compile(pattern.source)
    return lambda text: [m.group() for m in compiled.finditer(text) if m.group()]


def matched(matcher: Matcher, text: str) -> list[str]:
    return [text[start:end] for start, end in matcher.spans(text)]


def ours(pattern: Pattern, text: str) -> list[str]:
    return [piece for piece in matched(Matcher(pattern), text) if piece]


TRAPS = [
    (r"a$", "a\na\n"),
    (r"\n$", "a\n\n"),
    (r"a\Z", "a\na\n"),
    (r"a\z", "a\na"),
    (r"^a", "a\na\n"),
    (r"\n^", "a\n"),
    (r"\n(?m:^)", "a\n"),
    (r"(?m:.)", "\n"),
    (r"(?m)^a", "a\na"),
    (r"a{1,2}+", "aaaa"),
    (r"a{1,2}+a", "aaaa"),
    (r"a{2}?", "aaa"),
    (r"a{1,2}?", "aaa"),
    (r"(?:a{2}?)b", "aabb"),
    (r"a{,2}b", "aab"),
    (r"a++a", "aaa"),
    (r"(?>a+)a", "aaa"),
    (r"(?:ab)++a", "ababa"),
    (r"(?:ab|a)++b", "abab"),
    (r"\h+", "1f\t \u00a0g"),
    (r"\w+", "a\u00b2b\u200dc\u0301d_\u00bd"),
    (r"[\w]+", "a\u00b2b\u200dc\u0301d_\u00bd"),
    (r"[^\w\s]+", "a\u00b2b\u200d."),
    (r"\b.", "a \u00b2 \u200d."),
    (r"\B.", "a \u00b2 \u200d."),
    (r"[a-z&&b]", "abc&"),
    (r"[^a&&b]", "abc&"),
    (r"[[:alpha:]]+", "a\u00e91"),
    (r"[[:punct:]]+", "a+$!"),
    (r"[[:^space:]]", "a\u0085 \u00a0"),
    (r"[[:digit:]]+", "1\u0663"),
    (r"[a[^b]]", "ab c]"),
    (r"(?i:k+)", "kK\u212a"),
    (r"(?i:'s)", "'s'S'\u017f"),
    (r"(?i:\u017f)", "sS\u017f"),
    (r"(?i)ab|CD", "AbcD"),
    (r"(?i:[^s])", "sS\u017fa"),
    (r"(?i:\p{Lu})", "aA"),
    (r"(?-i:a)", "aA"),
    (r"\p{IsL}+", "a1"),
    (r"\p{Script=Han}+", "a\u4e2d"),
    (r"\p{^L}\P{^L}", "1a"),
    (r"\pL", "a1"),
    (r"(?<=a|bc)d", "adbcd"),
    (r"(?<!\s)a", "a aa"),
    (r"[\b]", "\b"),
    (r"[]a]+", "]a"),
    (r"\x61\u0062\x{63}", "abc"),
    (r"\N+", "a\nb"),
    (r"(?s:.)", "\n"),
    (r"(?i)\P{Lu}+|.", "ABab1"),
    (r"(?i)\p{^Lu}+|.", "ABab1"),
    (r"(?i)[\P{Lu}1]+|.", "ABab1"),
    (r"(?i:[[:^upper:]])+|[\s\S]", "ABab1"),
    (r"(?i:[^\p{Lu}])+|[\s\S]", "ABab1"),
    (r"(?:\s[^a].|b?+){3}b", "  cb"),
    (r"(?:a*\w*?){5}(?=a)", "baa"),
    (r"(?<=(?>a|ab))c", "abc ac"),
    (r"(?<=a[ab]*+)b", "abab"),
    (r"(?<=\s++)a", "  a"),
]
"""Spellings that mean different things, or nothing, in some dialect, each with a telling text."""


NOT_EVERYWHERE = {source for source, _ in TRAPS[-5:]}
"""What Oniguruma counts, or engines commit to behind a place, otherwise than Python's ``regex``."""


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(("source", "text"), TRAPS)
def test_each_dialect_is_read_as_its_engine_reads_it(
    source: str, text: str, dialect: Dialect
) -> None:
    pattern = Pattern(source, dialect)
    try:
        node = parse(pattern)
    except PatternError:
        return
    expected = engine(pattern)(text)
    assert ours(pattern, text) == expected
    for target in DIALECTS:
        if target == FANCY and matches_empty(node):  # tiktoken panics on empty matches
            continue
        try:
            written = Pattern(emit(node, target), target)
        except PatternError:
            assert target in (ONIG, FANCY)
            assert source in NOT_EVERYWHERE
            continue
        assert engine(written)(text) == expected, written


def test_most_traps_are_understood() -> None:
    """Refusing everything would pass the test above."""
    read = dict.fromkeys(DIALECTS, 0)
    for source, _ in TRAPS:
        for dialect in DIALECTS:
            try:
                parse(Pattern(source, dialect))
            except PatternError:
                continue
            read[dialect] += 1
    assert read[FANCY] >= 48
    assert read[ONIG] >= 44
    assert read[PYTHON] >= 38


@pytest.mark.parametrize(
    ("source", "dialect", "what", "offset"),
    [
        (r"a\X", FANCY, r"\X", 1),
        (r"a\X", ONIG, r"\X", 1),
        (r"(a)\1", ONIG, r"\1", 3),
        (r"\p{Klingon}", FANCY, r"\p{Klingon}", 0),
        (r"\p{IsL}", ONIG, r"\p{IsL}", 0),
        (r"a**", FANCY, "quantifier after a quantifier", 2),
        (r"(?x) a", PYTHON, "(?x", 0),
        (r"a(?i)b", ONIG, "(?i", 1),
        (r"[a", FANCY, "class without an end", 0),
        (r"(a", FANCY, "group without an end", 0),
        (r"a)", FANCY, ")", 1),
        (r"*a", FANCY, "anything to repeat", 0),
        (r"[z-a]", FANCY, "range z-a", 1),
        (r"[\w-a]", FANCY, "range", 1),
        (r"[a--b]", FANCY, "--", 2),
        (r"[a~~b]", FANCY, "~~", 2),
        (r"\<a", FANCY, r"\<", 0),
        (r"\xe9", ONIG, r"\xe9", 0),
        (r"(?i:ss)", ONIG, "'ss'", 4),
        (r"(?i:[\w])", ONIG, "several characters", 4),
        (r"(?i:[[:^space:]])", ONIG, "several characters", 4),
        (r"(?i:[\P{N}a])", ONIG, "several characters", 4),
        (r"(?i:[\u00e0-\u00ff])", PYTHON, "cases", 4),
        (r"(?i:i)", PYTHON, "cases", 4),
        (r"(?i:\p{Lu})", PYTHON, "case is ignored", 4),
        (r"(?:a*)*", ONIG, "endless repetition", 6),
        (r"(?:a?b?){2}", ONIG, "counted repetition", 8),
        (r"(?:a?){2,3}", ONIG, "counted repetition", 6),
        (r"a{2,1}", FANCY, "{2,1}", 1),
        (r"(?(1)a|b)", PYTHON, "(?", 0),
        (r"\Ka", ONIG, r"\K", 0),
        (r"(?<=a+(?=b))b", FANCY, "lookbehind", 0),
        (r"(?<=a(?=b))b", ONIG, "lookbehind", 0),
        (r"(?<=a++)b", ONIG, "lookbehind", 0),
        (r"(?<=(?>a|ab))b", ONIG, "lookbehind", 0),
        (r"(?<!b\z)a", ONIG, "lookbehind", 0),
        (r"(?<!b\Z)a", ONIG, "lookbehind", 0),
        (r"(?<=\w?|a{2}+)b", FANCY, "lookbehind", 0),
    ],
)
def test_what_is_not_understood_is_named_with_its_place(
    source: str, dialect: Dialect, what: str, offset: int
) -> None:
    with pytest.raises(PatternError) as caught:
        parse(Pattern(source, dialect))
    assert what in caught.value.what
    assert f"at character {offset} " in caught.value.what
    assert dialect in caught.value.where
    with pytest.raises(PatternError):
        Matcher(Pattern(source, dialect))


@pytest.mark.long
@pytest.mark.parametrize("dialect", DIALECTS)
def test_random_patterns_match_and_translate_as_in_the_engines(dialect: Dialect) -> None:
    """The long run is ``python -m trust patterns``."""
    found = Compared()
    for number in range(400):
        compare(f"tests:{number}", dialect, found)
    assert found.wrong == []
    assert found.texts > 2_000
    assert found.written > 100


def in_context(chars: str) -> Iterator[str]:
    """Texts with each character alone, between letters and spaces, beside a mark."""
    for start in range(0, len(chars), 4000):
        part = chars[start : start + 4000]
        yield "\n".join(part)
        yield "".join(f"a{c}b {c} {c}\u0301 " for c in part)


def telling() -> list[str]:
    """Characters at the edges of classes, and those on which regex has other tables."""
    names = ("L", "N", "M", "Lu", "Ll", "White_Space", "Han", "P", "S", "Alphabetic")
    codes = {0x17F, 0x212A, 0xB2, 0x200C, 0x200D, 0x10FFFF}
    for name in names:
        mine, theirs = unicode.property_ranges(name), matcher._measured(name)
        codes |= {c + d for a, b in (*mine, *theirs) for c in (a, b) for d in (-1, 0, 1)}
    return [chr(c) for c in sorted(codes) if 0 <= c < 0x110000 and not 0xD800 <= c <= 0xDFFF]


OTHERS = {
    "han": r"\p{Han}+|[^\p{Han}\s]+|\s",
    "word": r"\w+|[^\w\s]+",
    "words": r"\b\w|\w\b|\W",
    "upper": r"(?i:'s)?[^\p{Lu}k]+.|\p{Lu}",
    "punctuation": r"[\p{P}\p{S}]|\p{M}+|[^\p{P}\p{S}\p{M}]+",
}


def cuts_of_tiktoken(source: str, text: str, expected: list[str]) -> bool:
    return tiktoken_cuts(source, text, expected) == expected


@pytest.mark.long
@pytest.mark.parametrize("name", ["gpt2", "cl100k-trailing", "o200k"])
def test_every_code_point_in_context_is_cut_as_by_tiktoken(name: str) -> None:
    matcher = Matcher(SPELLINGS[name])
    source = SPELLINGS[name].source
    for text in in_context(POINTS):
        assert cuts_of_tiktoken(source, text, matched(matcher, text)), ascii(text[:20])


@pytest.mark.long
def test_every_code_point_in_context_is_cut_as_by_tokenizers() -> None:
    pattern = Pattern(CL100K, ONIG)
    cut, matcher = engine(pattern), Matcher(pattern)
    for text in in_context(POINTS):
        assert matched(matcher, text) == cut(text), ascii(text[:20])


@pytest.mark.long
@pytest.mark.parametrize("name", [*SPELLINGS, *OTHERS])
def test_telling_code_points_are_cut_as_by_both_engines(name: str) -> None:
    pattern = SPELLINGS.get(name) or Pattern(OTHERS[name], FANCY)
    here, there = Matcher(pattern), translate(pattern, ONIG)
    cut, matcher = engine(there), Matcher(there)
    for text in in_context("".join(telling())):
        assert cuts_of_tiktoken(pattern.source, text, matched(here, text))
        assert matched(matcher, text) == cut(text)


def test_a_class_without_stand_in_is_spelled_out() -> None:
    """U+0558 is a letter in newer tables; a class of its own leaves nothing to stand for it."""
    for dialect in (FANCY, ONIG):
        pattern = Pattern("\u0558|\\p{L}+|.", dialect)
        text = "a\u0558b\u0558\u0558 \u0c5c\u0558"
        assert ours(pattern, text) == engine(pattern)(text)


@given(st.text(st.sampled_from(SIGNS + "\u0558\u0c5c\u3000")))
def test_spans_and_texts_agree(text: str) -> None:
    matcher = Matcher(SPELLINGS["o200k"])
    assert "".join(matched(matcher, text)) == text


def test_empty_matches_are_reported_where_the_engines_iterate() -> None:
    matcher = Matcher(Pattern(r"a*|b", ONIG))
    assert matcher.spans("baac") == [(0, 0), (1, 3), (4, 4)]
    pieces = pre_tokenizers.Split(Regex("a*|b"), "isolated").pre_tokenize_str("baac")
    assert [piece for piece, _ in pieces] == ["b", "aa", "c"]
    assert Matcher(Pattern(r"a*|b", PYTHON)).spans("ba") == [
        m.span() for m in regex.finditer(r"a*|b", "ba")
    ]


def test_groups_do_not_change_what_is_found() -> None:
    assert matched(Matcher(Pattern(r"(a)(b)?", PYTHON)), "aba") == ["ab", "a"]
    assert matched(Matcher(Pattern(r"(a)(b)?", ONIG)), "aba") == ["ab", "a"]


def test_endless_backtracking_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matcher, "PATTERN_SECONDS", PATTERN_SECONDS._replace(most=1))
    start = time.process_time()
    with pytest.raises(PatternError, match="did not end"):
        matched(Matcher(Pattern(r"(?:a|aa)+b", ONIG)), "a" * 60)
    assert time.process_time() - start < 10


def test_long_runs_end_soon() -> None:
    start = time.process_time()
    for name in SPELLINGS:
        for char in " \na1!\u0558":
            matched(Matcher(SPELLINGS[name]), char * 100_000)
    assert time.process_time() - start < 30


@pytest.mark.parametrize("name", SPELLINGS)
def test_same_spelling_is_kept_where_it_means_the_same(name: str) -> None:
    pattern = SPELLINGS[name]
    kept = translate(pattern, ONIG).source == pattern.source
    assert kept == (name not in ("r50k", "cl100k-trailing"))
    assert translate(pattern, FANCY) is pattern


def test_a_pattern_is_spelled_alike_on_every_python() -> None:
    """U+1B4E is of Unicode 16, which the tables of Python 3.10 to 3.13 do not have."""
    source = r"[\x{1b4e}\x{378}\x{300}\x{3000}b ]{1,2}+"
    for dialect in (FANCY, PYTHON):
        written = translate(Pattern(source, ONIG), dialect).source
        assert written == "(?:[ b\\u0300\\u0378\u1b4e\\u3000]{1,2})+"


def test_possessive_counts_become_atomic_groups() -> None:
    source = translate(Pattern(CL100K_TRAILING, FANCY), ONIG).source
    assert r"(?>\p{N}{1,3})" in source
    assert engine(Pattern(source, ONIG))("12345 \n\t") == ["123", "45", " \n\t"]
    assert engine(Pattern(CL100K_TRAILING, ONIG))("12345") == ["12345"]


def test_same_looks_past_spelling() -> None:
    def alike(a: str, b: str, first: Dialect = FANCY, second: Dialect = FANCY) -> bool:
        return same(Pattern(a, first), Pattern(b, second))

    assert alike(r"[\p{L}]", r"\p{L}")
    assert alike(r"[^\S]", r"\s")
    assert alike(r"(?i:'s|'t)", "'[sS\u017f]|'[tT]")
    assert alike(r"a{1,3}+", r"(?>a{1,3})", FANCY, ONIG)
    assert alike(r"(?:a|b)|c", r"a|(b|c)")
    assert alike(r"[\w&&[^a]]", r"[^\Wa]")
    assert not alike(r"a{1,3}+", r"a{1,3}+", FANCY, ONIG)
    assert not alike(r"\w", r"\w", FANCY, ONIG)
    assert not alike(r"a$", r"a$", FANCY, ONIG)
    assert not alike(r"a$", r"a$", FANCY, PYTHON)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_preferred_spelling_is_the_published_one(dialect: Dialect) -> None:
    assert preferred(Pattern(R50K, FANCY), dialect) == Pattern(GPT2, dialect)
    assert preferred(Pattern(CL100K_POSSESSIVE, FANCY), dialect) == Pattern(CL100K, dialect)
    for source in (GPT2, CL100K, QWEN2, O200K):
        assert preferred(Pattern(source, ONIG), dialect) == Pattern(source, dialect)
    assert preferred(Pattern(r"\s+|\S", ONIG), dialect).source == r"\s+|\S"


def test_a_conditional_spelling_needs_its_vocabulary() -> None:
    trailing = Pattern(CL100K_TRAILING, FANCY)
    exact = translate(trailing, ONIG)
    free, joined = [*BYTES, b"\n\n", b"  "], [*BYTES, b"\n "]
    assert preferred(trailing, ONIG) == exact
    assert preferred(trailing, ONIG, vocabulary=free) == exact
    assert preferred(trailing, ONIG, vocabulary=free, unreachable=list).source == CL100K
    assert preferred(trailing, ONIG, vocabulary=joined, unreachable=list) == exact
    assert preferred(trailing, ONIG, vocabulary=free, unreachable=lambda: [b"  "]) == exact
    assert preferred(Pattern(CL100K, FANCY), ONIG, vocabulary=joined).source == CL100K


SPACES = "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000"


def test_tokens_that_join_are_those_that_can_stand_across_the_cut() -> None:
    """Every byte string across the one place where the two spellings differ, and no other.

    Theorem 27 in ``docs/theory.md``.
    """
    crossing: set[bytes] = set()
    others: set[bytes] = set()
    for left in ("", *SPACES):
        for newline in "\n\r":
            for right in SPACES.replace("\n", "").replace("\r", ""):
                for after in ("", "\t", "\u3000"):
                    before, behind = (left + newline).encode(), (right + after).encode()
                    whole, cut = before + behind, len(before)
                    for i in range(len(whole)):
                        for j in range(i + 1, len(whole) + 1):
                            (crossing if i < cut < j else others).add(whole[i:j])
    assert not any(spaces_never_join([token], ()) for token in crossing)
    assert all(spaces_never_join([token], ()) for token in others - crossing)
    free = [b"", b"\n", b" \n\n", b"  ", b"\na", b"a\n ", b"\n \n", b"\n\x80", b"\xc2\xa0\n"]
    assert spaces_never_join(free, ())
    assert not spaces_never_join((), [b" \n"])
    assert not spaces_never_join((), [b"  "])
    assert spaces_never_join((), [b"\n a", b"a", b"\n \n "[:3] + b"x"])


def test_a_token_across_the_cut_does_make_a_difference() -> None:
    ranks = {**BYTES, b"\n\t": 256}
    ids = [
        tiktoken.Encoding(
            "t", pat_str=source, mergeable_ranks=ranks, special_tokens={}
        ).encode_ordinary("\n\t")
        for source in (CL100K, CL100K_TRAILING)
    ]
    assert ids == [[10, 9], [256]]


def test_no_cl100k_token_stands_across_the_cut(data: Callable[[str], Path]) -> None:
    import base64

    lines = data("cl100k_base/cl100k_base.tiktoken").read_bytes().splitlines()
    tokens = [base64.b64decode(line.split()[0]) for line in lines]
    assert len(tokens) == 100_256
    assert spaces_never_join(tokens, ())


def test_reading_and_matching_load_regex_only_when_used() -> None:
    code = (
        "import sys, bpe_interop.text.patterns, bpe_interop.theory.automata;"
        "print('regex' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_a_word_character_of_python_is_what_its_properties_say() -> None:
    spelled = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]"
    assert same(Pattern(r"\w", PYTHON), Pattern(spelled, PYTHON))
    assert regex.findall(r"\w", SCALARS) == regex.findall(spelled, SCALARS)


def test_the_spelling_for_regex_never_ignores_case() -> None:
    for pattern in (*SPELLINGS.values(), *(p for f in FAMILIES for p in f.equal)):
        assert "(?i" not in python_source(pattern, parse(pattern))
    assert re.escape("a") == emit(parse(Pattern("a", FANCY)), PYTHON)


@pytest.mark.parametrize("source", ["(?<!(a))b", "(?<!x|(?:(a)y))b", "(?<!(?<n>a))b"])
def test_oniguruma_takes_no_capture_group_in_a_negative_lookbehind(source: str) -> None:
    with pytest.raises(Exception, match="invalid pattern in look-behind"):
        pre_tokenizers.Split(Regex(source), "removed")
    with pytest.raises(PatternError, match="a capture group in a negative lookbehind"):
        parse(Pattern(source, "oniguruma"))
    kept = source.replace("?<!", "?<=")
    pre_tokenizers.Split(Regex(kept), "removed")
    parse(Pattern(kept, "oniguruma"))


@pytest.mark.parametrize("dialect", ["fancy-regex", "oniguruma", "python"])
@pytest.mark.parametrize("source", sorted(PREFERRED))
def test_preferred_spellings_are_understood_and_match_something(
    source: str, dialect: Dialect
) -> None:
    """Readers take them without a look."""
    assert not matches_empty(parse(Pattern(source, dialect)))
