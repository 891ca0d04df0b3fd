"""Verdicts about patterns for every text, against brute force in the real engines."""

from __future__ import annotations

import random
from itertools import product

import pytest
from tokenizers import Regex, pre_tokenizers

from bpe_interop.errors import PatternError
from bpe_interop.steps import ByteChars, Dialect, Pattern, PreTokenizerStep, Split
from bpe_interop.text.patterns import parse, translate
from bpe_interop.text.regex_syntax import Node, matches_empty
from bpe_interop.text.spellings import (
    CL100K,
    CL100K_POSSESSIVE,
    CL100K_TRAILING,
    FAMILIES,
    GPT2,
    O200K,
    QWEN2,
    R50K,
    PatternFamily,
)
from bpe_interop.theory.automata import continuation, first_difference, uncovered
from bpe_interop.theory.pretokens import can_occur, occurrence
from bpe_interop.theory.splitters import compared_cuts, newer_characters
from fixtures.spellings import SPELLINGS


def tree(source: str, dialect: Dialect = "oniguruma") -> Node:
    return parse(Pattern(source, dialect))


class Engine:
    """A pattern in tokenizers (Oniguruma)."""

    def __init__(self, source: str) -> None:
        self._split = pre_tokenizers.Split(Regex(source), "removed", invert=True)

    def first(self, text: str) -> int | None:
        """Length of the match at the start of the text."""
        found = self._split.pre_tokenize_str(text)
        return found[0][1][1] if found and found[0][1][0] == 0 else None


@pytest.mark.parametrize(
    ("a", "a_dialect", "b", "b_dialect", "witness"),
    [
        (GPT2, "fancy-regex", GPT2, "oniguruma", None),
        (R50K, "fancy-regex", GPT2, "oniguruma", None),
        (R50K, "oniguruma", GPT2, "oniguruma", None),
        (CL100K_POSSESSIVE, "fancy-regex", CL100K, "oniguruma", None),
        (CL100K_TRAILING, "fancy-regex", CL100K, "fancy-regex", "\n\t"),
        (CL100K_TRAILING, "fancy-regex", CL100K_TRAILING, "oniguruma", "0000"),
        (CL100K, "fancy-regex", QWEN2, "oniguruma", "00"),
        (QWEN2, "fancy-regex", QWEN2, "oniguruma", None),
        (O200K, "fancy-regex", O200K, "oniguruma", None),
        (r"\w+", "fancy-regex", r"\w+", "oniguruma", "\u00b2"),
    ],
)
def test_the_decision_table(
    a: str, a_dialect: Dialect, b: str, b_dialect: Dialect, witness: str | None
) -> None:
    found = first_difference(tree(a, a_dialect), tree(b, b_dialect))
    assert (found and len(found)) == (witness and len(witness))
    assert (found is None) == (witness is None)


def test_the_end_of_the_text_is_no_end_of_a_line() -> None:
    """Oniguruma's ``$`` is also before a line feed, its ``\\z`` is not."""
    line, text = r"a+$|a|\n", r"a+\z|a|\n"
    assert [Engine(pattern).first("aa\n") for pattern in (line, text)] == [2, 1]
    assert first_difference(tree(line), tree(text)) == "aa\n"


def test_surrogates_are_in_no_text() -> None:
    every = tree(r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]")
    assert uncovered(every) is None
    assert first_difference(every, tree(r"[\s\S]")) is None


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_splits_every_text_alike(family: PatternFamily) -> None:
    preferred = Pattern(family.preferred, "oniguruma")
    dialects: tuple[Dialect, ...] = ("fancy-regex", "oniguruma", "python")
    for dialect in dialects:
        assert parse(Pattern(family.preferred, dialect)) == parse(preferred)
    for pattern in family.equal:
        assert first_difference(parse(pattern), parse(preferred)) is None
    for pattern in family.trailing:
        assert first_difference(parse(pattern), parse(preferred)) is not None


@pytest.mark.parametrize("name", SPELLINGS)
def test_known_patterns_cover_every_text_and_translate(name: str) -> None:
    node = parse(SPELLINGS[name])
    assert uncovered(node) is None
    assert first_difference(node, parse(translate(SPELLINGS[name], "oniguruma"))) is None


def test_a_trailing_difference_is_one_in_tokenizers_too() -> None:
    witness = first_difference(tree(CL100K_TRAILING, "fancy-regex"), tree(CL100K))
    assert witness is not None
    here = translate(Pattern(CL100K_TRAILING, "fancy-regex"), "oniguruma").source
    assert Engine(here).first(witness) != Engine(CL100K).first(witness)


ATOMS = ["a", "b", "[ab]", "[^a]", r"\s", "1", r"\n", "(?!a)", "(?=b)", "(?!b)", "$", r"\z"]
MARKS = ["", "", "", "?", "*", "+", "??", "*?", "+?", "?+", "*+", "++", "{2}", "{1,2}", "{2,}"]
ALPHABET = "ab1 \n"
TEXTS = ["".join(text) for n in range(5) for text in product(ALPHABET, repeat=n)]


def random_pattern(choose: random.Random, depth: int = 1) -> str:
    def part() -> str:
        if depth and choose.random() < 0.25:
            return f"(?:{random_pattern(choose, 0)})" + choose.choice(MARKS)
        return choose.choice(ATOMS) + choose.choice(MARKS)

    options = ("".join(part() for _ in range(choose.randint(1, 3))) for _ in range(3))
    return "|".join(list(options)[: choose.randint(1, 3)])


def random_decidable(choose: random.Random) -> tuple[str, Node]:
    """A pattern of the decidable shape that matches no empty text."""
    while True:
        source = random_pattern(choose)
        try:
            node = tree(source)
            uncovered(node)
        except PatternError:
            continue
        if not matches_empty(node):
            return source, node


def mutated(choose: random.Random, source: str) -> tuple[str, Node]:
    """A pattern one character away from another, of the same shape."""
    for _ in range(100):
        at = choose.randrange(len(source) + 1)
        changed = source[:at] + choose.choice(["", *ATOMS, "+", "?"]) + source[at + 1 :]
        try:
            node = tree(changed)
            uncovered(node)
        except PatternError:
            continue
        if not matches_empty(node):
            return changed, node
    return source, tree(source)


@pytest.mark.parametrize("seed", range(60))
def test_verdicts_agree_with_brute_force_in_tokenizers(seed: int) -> None:
    """Theorem 11 in ``docs/theory.md``."""
    choose = random.Random(seed)
    source, node = random_decidable(choose)
    other_source, other = mutated(choose, source)
    a, b = Engine(source), Engine(other_source)
    lengths = {text: a.first(text) for text in TEXTS}

    witness = first_difference(node, other)
    differing = [len(text) for text in TEXTS if lengths[text] != b.first(text)]
    if witness is None:
        assert not differing, (source, other_source)
    else:
        assert a.first(witness) != b.first(witness), (source, other_source, witness)
        assert not differing or len(witness) <= differing[0]

    open_text = uncovered(node)
    bare = [len(text) for text in TEXTS if text and not lengths[text]]
    if open_text is None:
        assert not bare, source
    else:
        assert a.first(open_text) is None, (source, open_text)
        assert not bare or len(open_text) <= bare[0]

    for pretoken in TEXTS[1:156]:
        rest = continuation(node, pretoken)
        if rest is None:
            seen = [t for t in TEXTS if t.startswith(pretoken) and lengths[t] == len(pretoken)]
            assert not seen, (source, pretoken)
        else:
            assert a.first(pretoken + rest) == len(pretoken), (source, pretoken, rest)


def test_pretokens_that_no_text_gives() -> None:
    """Theorem 11 in ``docs/theory.md``."""
    cl100k = tree(CL100K)
    assert continuation(cl100k, "hello") == ""
    assert continuation(cl100k, "1234") is None
    assert continuation(cl100k, "a b") is None
    assert continuation(cl100k, "\n ") is None
    assert continuation(tree(CL100K_TRAILING, "fancy-regex"), "\n ") == ""
    assert continuation(cl100k, "'ss") is None
    assert continuation(tree(r"a+(?=b)"), "aa") == "b"
    assert continuation(cl100k, "") is None


@pytest.mark.parametrize(
    "steps",
    [
        (),
        (Split(Pattern(CL100K, "oniguruma"), "isolated"),),
        (Split(Pattern(r"\d", "oniguruma"), "removed"),),
        (Split(Pattern(r"(?<=a)b|[^b]+", "oniguruma"), "isolated"),),
        (Split(" ", "removed"),),
        (ByteChars(),),
        (Split(Pattern(CL100K, "oniguruma"), "isolated"), Split(" ", "removed")),
    ],
)
def test_whether_a_pretoken_can_occur_is_told_with_and_without_a_text(
    steps: tuple[PreTokenizerStep, ...],
) -> None:
    for content in (
        b"",
        b"a",
        b"ab",
        b"a b",
        b"<|x|>",
        b" ",
        b"\n ",
        b"1234",
        b"\xff",
        "é".encode(),
    ):
        assert can_occur(steps, content) is occurrence(steps, content).possible


def test_unicode_witnesses() -> None:
    assert uncovered(tree(r"\p{L}+")) == "!"
    assert uncovered(tree(r"[^\u3042]")) == "\u3042"
    assert first_difference(tree(r"\p{Lu}"), tree(r"[\p{Lu}-]")) == "-"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (r"(?<=a)b", "lookbehind"),
        (r"\bb", "lookbehind"),
        (r"a(?=bc)", "more than one character"),
        (r"(?:ab)++", "possessive"),
        (r"(?>ab|a)", "atomic"),
        (r"\Aa", "text start"),
        (r"a\Z", "final newline"),
        (r"(?:[ab]{1,100}){150}", "counts"),
    ],
)
def test_what_is_not_decided_says_so(source: str, why: str) -> None:
    for ask in (uncovered, lambda node: continuation(node, "a"), lambda n: first_difference(n, n)):
        with pytest.raises(PatternError, match=f"not decided: .*{why}"):
            ask(tree(source))


def matches_of(source: str) -> tuple[Split]:
    return (Split(Pattern(source, "oniguruma"), "removed", invert=True),)


def test_two_patterns_alone_are_decided_by_their_languages() -> None:
    compared = compared_cuts(matches_of("a+|[^a]"), matches_of("[^a]|a+"))
    assert (compared.text, compared.by) == (None, "Theorem 11")
    compared = compared_cuts(matches_of("a+|[^a]"), matches_of("[^a]|a{1,2}"))
    assert (compared.text, compared.by) == ("aaa", "Theorem 11")


def test_a_text_that_is_taken_not_to_be_there_shows_no_difference() -> None:
    """U+0897 is of Unicode 16: the patterns differ in it alone."""
    one, two = matches_of("[a\u0897]+|[^a\u0897]"), matches_of("a+|[^a]")
    assert compared_cuts(one, two).text in ("a\u0897", "\u0897a", "\u0897\u0897")
    compared = compared_cuts(one, two, newer_characters())
    assert (compared.text, compared.why, compared.by) == (None, "", "Theorem 14")
    compared = compared_cuts(one, matches_of("[^a]|a{1,2}"), newer_characters())
    assert compared.text == "aaa"


def test_the_empty_text_shows_no_difference() -> None:
    """``a+`` and ``a*`` leave the empty text without a pretoken that has ids."""
    compared = compared_cuts(matches_of("a+"), matches_of("a*"))
    assert compared.text is None
    assert "matches nothing" in compared.why
