"""Classes that Python's ``regex`` takes for other ones: Python, tokenizers and the automaton."""

from __future__ import annotations

import random
from itertools import product

import pytest
import regex
from tokenizers import Regex, pre_tokenizers

from bpe_interop.errors import PatternError
from bpe_interop.kernel import running
from bpe_interop.kernel.splitter import splitter_of
from bpe_interop.steps import Dialect, Pattern, Split
from bpe_interop.text.matcher import Matcher, python_source
from bpe_interop.text.patterns import as_run, emit, parse, translate
from bpe_interop.text.regex_syntax import matches_empty
from bpe_interop.text.split import Splitter
from bpe_interop.theory.automata import first_difference
from bpe_interop.theory.split_tables import split_tables

TEXTS = ["".join(text) for n in range(1, 5) for text in product("ab1\n", repeat=n)]
CLASSES = r"""[^a] [^b] [^1] [^\n] [^a] [^b] . a b ab \n [ab] [^ab] \s \S \d \D \p{L} \P{L} [\s\S]
[^\s\S] [^\d\D] [^\p{L}\P{L}] [^\sa] [^\P{L}a] [\P{L}a] [\S\n] [\p{L}1] [^\w\W] [\w\W] (?i:[^a])
(?mi:a) [a[^b]]"""
AROUND = r"(?=a) (?![^a]|b) (?=[^a]|[^b]) (?!\S) (?<=[^a]|[^b]) (?<![^a]) $ \z"
MARKS = "? * + ?? ++ *+ {2} {1,2}"


def random_pattern(choose: random.Random, depth: int = 2) -> str:
    def part() -> str:
        body = choose.choice(CLASSES.split())
        if depth and choose.random() < 0.3:
            opening = choose.choice(["(?:", "(?:", "(?>"])
            body = f"{opening}{random_pattern(choose, depth - 1)})"
        elif choose.random() < 0.1:
            return choose.choice(AROUND.split())
        return body + (choose.choice(MARKS.split()) if choose.random() < 0.3 else "")

    options = ["".join(part() for _ in range(choose.choice([1, 1, 2]))) for _ in range(4)]
    return "|".join(options[: choose.randint(1, 4)])


def matches(source: str, text: str) -> list[str]:
    """What Oniguruma matches, without empty matches."""
    split = pre_tokenizers.Split(Regex(source), "removed", invert=True)
    return [piece for piece, _ in split.pre_tokenize_str(text)]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(6))
def test_random_classes_are_matched_as_by_tokenizers_and_the_automaton(seed: int) -> None:
    choose = random.Random(seed)
    dialects: tuple[Dialect, ...] = ("oniguruma", "fancy-regex")
    counts = {"compared": 0, "decided": 0, "as tables": 0}
    while counts["compared"] < 60:
        pattern = Pattern(random_pattern(choose), choose.choice(dialects))
        try:
            node = parse(pattern)
            engine = translate(pattern, "oniguruma").source
        except PatternError:
            continue
        counts["compared"] += 1
        texts = choose.sample(TEXTS, 40)
        expected = [matches(engine, text) for text in texts]
        ours = Matcher(pattern)
        assert [[text[a:b] for a, b in ours.spans(text) if a < b] for text in texts] == expected, (
            pattern
        )
        if not matches_empty(node):  # after these regex goes on elsewhere
            written = regex.compile(translate(pattern, "python").source)
            assert [[m.group() for m in written.finditer(text)] for text in texts] == expected
        step = Split(pattern, "removed", invert=True)
        try:
            tables = split_tables((step,))
        except PatternError:
            continue
        counts["decided"] += 1
        kernel = splitter_of(tables)
        if kernel is not None:
            counts["as tables"] += 1
            assert [kernel.cut(text) for text in texts] == expected, pattern
    assert counts["decided"] > 15
    assert counts["as tables"] == counts["decided"] * (running().kernel == "native")


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [
        ("[^b]|[^a]", "abc", ["a", "b", "c"]),
        (r".++|[^a]|[^\n]", "b\nc", ["b", "\n", "c"]),
        (r"(?:[^a]|\d)1|(?:[^b]|\s)1", "a1b1", ["a1", "b1"]),
        (r"[^\s\S]|b", "ab", ["b"]),
        (r"[^\d\D]", "a1", []),
        (r"[^\p{L}\P{L}]+|1", "a1", ["1"]),
        (r"[^\w\W]", "a ", []),
    ],
)
@pytest.mark.parametrize("dialect", ["oniguruma", "fancy-regex"])
def test_no_negated_class_is_taken_for_another(
    source: str, text: str, expected: list[str], dialect: Dialect
) -> None:
    assert matches(source, text) == expected
    spans = Matcher(Pattern(source, dialect)).spans(text)
    assert [text[start:end] for start, end in spans] == expected
    pieces = pre_tokenizers.Split(Regex(source), "isolated").pre_tokenize_str(text)
    cut = Splitter((Split(Pattern(source, dialect), "isolated"),))(text)
    assert cut == [piece for piece, _ in pieces]
    assert regex.findall(translate(Pattern(source, dialect), "python").source, text) == expected


def test_a_part_that_ignores_case_is_found_whatever_other_flags_it_has() -> None:
    source = r"(?mi:'s)?[^\p{Lu}k]+."
    assert matches(source.replace("?mi", "?i"), "\u00e9K") == ["\u00e9K"]
    pattern = Pattern(source, "fancy-regex")
    assert Matcher(pattern).spans("\u00e9K") == [(0, 2)]
    assert "i:" not in python_source(pattern, parse(pattern))
    with pytest.raises(PatternError, match="where \\(\\?i: begins a match"):
        as_run(Pattern(source, "python"))


@pytest.mark.parametrize("source", ["[^a]|[^b]", r"[^\s\S]|a", r"[^\w\W]", r"'(?i:[^k]|[^l])"])
def test_what_regex_misreads_is_not_decided_by_its_tree(source: str) -> None:
    with pytest.raises(PatternError, match="not decided: Python's regex takes negated classes"):
        as_run(Pattern(source, "python"))


def test_what_is_written_for_regex_is_decided() -> None:
    pattern = Pattern("[^a]|[^b]", "oniguruma")
    assert first_difference(parse(pattern), as_run(translate(pattern, "python"))) is None
    assert as_run(Pattern("[^a]|[^a]b|.", "python")) == parse(Pattern("[^a]|[^a]b|.", "python"))


@pytest.mark.parametrize(
    "source", [r"[^\s\S]+|a", r"(?<=[^\s\S])a|b", r"(?:[^\s\S]b|[^\d\D]){2}|a"]
)
def test_an_empty_class_is_written_as_every_engine_reads_it(source: str) -> None:
    node = parse(Pattern(source, "oniguruma"))
    dialects: tuple[Dialect, ...] = ("oniguruma", "fancy-regex")
    for dialect in dialects:
        assert parse(Pattern(emit(node, dialect), dialect)) == node
    expected = matches(source, "ab")
    assert matches(emit(node, "oniguruma"), "ab") == expected
    assert regex.findall(emit(node, "python"), "ab") == expected
