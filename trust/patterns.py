"""``patterns``: random patterns of each dialect, matched by us and by the dialect's own engine."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import click
import regex
import tiktoken
from tokenizers import Regex, pre_tokenizers

from bpe_interop.errors import PatternError
from bpe_interop.steps import Dialect, Pattern
from bpe_interop.text.matcher import Matcher
from bpe_interop.text.misreadings import misread
from bpe_interop.text.patterns import emit, parse
from bpe_interop.text.regex_syntax import matches_empty

from .page import made_of, put, table, write_option

Cutter = Callable[[str], list[str]]

DIALECTS: Final[tuple[Dialect, ...]] = ("fancy-regex", "oniguruma", "python")

_ATOMS = r"""a b k s S 1 \n \r . \s \S \d \w \W \h \p{L} \P{L} \p{N} \p{^Lu} \p{Ll} [ab] [^ab]
[^\s\p{L}] [\w-] [a-k] [^\w\s] [a[^b]] [\w&&[^a]] [[:alpha:]] [[:^space:]] \b \B ^ $ \A \z \Z (?=a)
(?!\S) (?<=a) (?<!\s) (?<=ab|1) (?=ab) (?i:k) (?i:[a-k]) (?i:[^s]) (?i:'s|aB) (?i:1s) \u0301 é
² ſ (?:ab|a) (a|b1) (?>a|ab) (?>ab?) (?m:^) (?m:$) (?m:.) (?s:.) \u0061 []a] [^]a] (?i:\p{Lu})
(?i:[^\p{Lu}1]) \p{Han} [\d\h] (?i:\P{Lu}) (?i:\p{^Ll}) (?i:[\P{Lu}1]) (?i:[[:^upper:]]) (?<=a++)
(?<=(?>a|ab)) (?<!b\z) (?:a?b?) (?:\s.|b?+)"""
_MARKS = "? * + ?? *? +? ?+ *+ ++ {2} {1,2} {2}? {2}+ {1,2}? {1,2}+ {,2} {2,} {3} {1,3}++ +*"
_OPENINGS = ("(?:", "(", "(?i:", "(?>", "(?=", "(?!", "(?<=", "(?<!")
SIGNS: Final = "abkK sS1\n\r'éſ\u212a²ÀA中\u0301ı-.ß"
"""Characters that patterns tell apart."""
TEXTS = 60
"""On so many texts a pattern is compared."""


def random_pattern(choose: random.Random, depth: int = 2) -> str:
    """A pattern, which not every dialect understands."""

    def part() -> str:
        body = choose.choice(_ATOMS.split())
        if depth and choose.random() < 0.25:
            body = f"{choose.choice(_OPENINGS)}{random_pattern(choose, depth - 1)})"
        return body + (choose.choice(_MARKS.split()) if choose.random() < 0.7 else "")

    options = ("".join(part() for _ in range(choose.randint(1, 3))) for _ in range(3))
    return "|".join(list(options)[: choose.choice([1, 1, 2, 3])])


def random_texts(choose: random.Random) -> list[str]:
    """Short texts over signs that patterns tell apart."""
    return ["".join(choose.choices(SIGNS, k=choose.randint(1, 8))) for _ in range(TEXTS)]


def cutter(pattern: Pattern, texts: list[str]) -> Cutter:
    """What the dialect's own engine finds in these texts, without empty matches.

    Raises:
        Exception: the engine's own, where it refuses the pattern.
    """
    if pattern.dialect == "fancy-regex":
        return _of_tiktoken(pattern.source, texts)
    if pattern.dialect == "oniguruma":
        split = pre_tokenizers.Split(Regex(pattern.source), "removed", invert=True)
        return lambda text: [piece for piece, _ in split.pre_tokenize_str(text) if piece]
    compiled = regex.compile(pattern.source)
    return lambda text: [m.group() for m in compiled.finditer(text) if m.group()]


def _of_tiktoken(source: str, texts: list[str]) -> Cutter:
    """Every part of the texts is a token, so each pretoken is looked up whole."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for text in texts:
        for start in range(len(text)):
            for end in range(start + 1, len(text) + 1):
                ranks.setdefault(text[start:end].encode(), len(ranks))
    engine = tiktoken.Encoding("t", pat_str=source, mergeable_ranks=ranks, special_tokens={})
    return lambda text: [engine.decode([number]) for number in engine.encode_ordinary(text)]


def ours(pattern: Pattern, text: str) -> list[str]:
    """What our matcher finds in a text, without empty matches."""
    return [text[start:end] for start, end in Matcher(pattern).spans(text) if start < end]


@dataclass
class Compared:
    """What was compared of a dialect. ``written``: the same patterns in other dialects."""

    patterns: int = 0
    not_understood: int = 0
    texts: int = 0
    written: int = 0
    wrong: list[str] = field(default_factory=list)


def compare(seed: str, dialect: Dialect, found: Compared) -> None:
    """Compares a random pattern with the engine, and what it becomes in the other dialects."""
    choose = random.Random(seed)
    pattern = Pattern(random_pattern(choose), dialect)
    found.patterns += 1
    try:
        node = parse(pattern)
    except PatternError:
        found.not_understood += 1
        return
    if matches_empty(node):  # tiktoken panics where one does
        found.not_understood += 1
        return
    texts = random_texts(choose)
    found.texts += len(texts)
    expected = _cuts(pattern, texts)
    if isinstance(expected, str):
        found.wrong.append(f"{seed}: {pattern.source!r}: {expected}")
        return
    for text, pieces in zip(texts, expected, strict=True):
        if ours(pattern, text) != pieces:
            found.wrong.append(f"{seed}: {pattern.source!r} on {text!r}: the engine: {pieces}")
            return
    # Known faults of Python's ``regex`` stay in its own dialect: no proof asks such a pattern.
    if dialect != "python" or not misread(pattern.source, node):
        found.wrong += _written_otherwise(seed, pattern, texts, expected, found)


def _written_otherwise(
    seed: str, pattern: Pattern, texts: list[str], expected: list[list[str]], found: Compared
) -> Iterator[str]:
    node = parse(pattern)
    for target in DIALECTS:
        try:
            written = Pattern(emit(node, target), target)
        except PatternError:
            continue
        found.written += 1
        if _cuts(written, texts) != expected:
            yield f"{seed}: {pattern.source!r} written as {written.source!r} ({target})"


def _cuts(pattern: Pattern, texts: list[str]) -> list[list[str]] | str:
    """The pretokens of each text in the engine; a sentence where it fails."""
    try:
        return list(map(cutter(pattern, texts), texts))
    except BaseException as error:  # a panic of Rust is no Exception
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return f"the engine fails: {str(error)[:100]}"


@click.command()
@click.option("--count", default=20_000, show_default=True, help="Patterns of each dialect.")
@click.option("--seed", default=1, show_default=True, help="Makes other patterns.")
@write_option
def patterns(count: int, seed: int, page: Path | None) -> None:
    """Match random patterns as each dialect's own engine does, and write them in the others."""
    began = time.perf_counter()
    found: dict[Dialect, Compared] = {dialect: Compared() for dialect in DIALECTS}
    for number in range(count):
        for dialect in DIALECTS:
            compare(f"{seed}:{number}", dialect, found[dialect])
    head = ("dialect", "patterns", "not understood", "texts", "written in a dialect", "wrong")
    rows = [
        (name, each.patterns, each.not_understood, each.texts, each.written, len(each.wrong))
        for name, each in found.items()
    ]
    wrong = [f"- {name}: {each}" for name, of in found.items() for each in of.wrong[:20]]
    settings = {"count": count, "seed": seed}
    seconds = time.perf_counter() - began
    put(page, "patterns", [*made_of("patterns", seconds, settings), "", *table(head, rows), *wrong])
    if wrong:
        raise SystemExit(1)
