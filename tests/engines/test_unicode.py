"""The shipped tables against the engines they were measured from."""

from __future__ import annotations

import itertools
import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version

import pytest
import tiktoken
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

from bpe_interop.encode.plan import _normal_form
from bpe_interop.errors import PatternError
from bpe_interop.kernel import running
from bpe_interop.steps import Lowercase
from bpe_interop.text import unicode
from bpe_interop.text.character_maps import character_map
from bpe_interop.text.unicode import (
    CharClass,
    FormName,
    Ranges,
    char_class,
    form_table,
    property_ranges,
)
from fixtures.code_points import SCALARS

BYTES = {bytes([i]): i for i in range(256)}
CATEGORIES = """Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp
Cc Cf Co Cn"""


# Classes are texts, in the order of their code points: a set of 140,000 characters takes 18 MB.


def members(ranges: Ranges) -> str:
    codes = (c for a, b in ranges for c in range(a, b + 1) if not 0xD800 <= c <= 0xDFFF)
    return "".join(map(chr, codes))


def by_tiktoken(pattern: str) -> str:
    engine = tiktoken.Encoding("t", pat_str=pattern, mergeable_ranks=BYTES, special_tokens={})
    return bytes(engine.encode_ordinary(SCALARS)).decode()


def by_tokenizers(pattern: str) -> str:
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return "".join(p for part in parts(SCALARS) for p, _ in split.pre_tokenize_str(part))


def parts(text: str, size: int = 20_000) -> Iterator[str]:
    for start in range(0, len(text), size):
        yield text[start : start + size]


def edges(tables: Iterable[Ranges]) -> list[str]:
    """Code points at which some table begins or ends, and their neighbours."""
    codes = {c + d for table in tables for a, b in table for c in (a, b) for d in (-1, 0, 1)}
    return [chr(c) for c in sorted(codes) if 0 <= c < 0x110000 and not 0xD800 <= c <= 0xDFFF]


def test_the_tables_were_measured_from_no_older_engines() -> None:
    """What the tables say is compared below with the engines that are installed, whichever."""
    assert unicode.UNICODE_TABLES.unicode == "16.0"
    for name, measured in unicode.UNICODE_TABLES.engines.items():
        newer = tuple(map(int, version(name).split("."))) > tuple(map(int, measured.split(".")))
        assert not newer, "run fixtures/make_unicode_tables.py and read what changed"
    assert set(unicode.UNICODE_TABLES.engines) == {"tiktoken", "tokenizers"}


def test_no_other_name_is_made_up() -> None:
    with pytest.raises(AttributeError):
        unicode.__getattr__("UNICODE")


@pytest.mark.long
@pytest.mark.parametrize("name", CATEGORIES.split())
def test_general_categories_are_tiktokens(name: str) -> None:
    assert members(property_ranges(name)) == by_tiktoken(rf"\p{{{name}}}")


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["L", "LC", "M", "N", "P", "S", "Z", "C", "Han", "Alphabetic", "White_Space"]
)
def test_groups_and_scripts_are_tokenizers(name: str) -> None:
    assert members(property_ranges(name)) == by_tokenizers(rf"\p{{{name}}}")


@pytest.mark.parametrize("name", ["Latin", "Cyrillic", "Hiragana", "Hangul", "Thai", "Common"])
def test_scripts_are_tiktokens(name: str) -> None:
    assert members(property_ranges(name)) == by_tiktoken(rf"\p{{{name}}}")


@pytest.mark.long
@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("Extended_Pictographic", "Extended_Pictographic"),
        ("ExtPict", "Extended_Pictographic"),
        ("Emoji_Presentation", "Emoji_Presentation"),
        ("Hani", "Han"),
        ("Ideo", "Ideographic"),
        ("XIDS", "XID_Start"),
        ("punct", "P"),
    ],
)
def test_binary_properties_and_aliases_are_both_engines(spelling: str, name: str) -> None:
    assert unicode.property_named(spelling) == name
    ours = members(property_ranges(name))
    assert ours == by_tiktoken(rf"\p{{{spelling}}}")
    assert ours == by_tokenizers(rf"\p{{{spelling}}}")


def test_property_names_are_matched_loosely() -> None:
    assert unicode.property_named("lowercase letter") == "Ll"
    assert unicode.property_named("LowercaseLetter") == "Ll"
    assert unicode.property_named("han") == "Han"
    assert unicode.property_named("Han", "gc") is None
    assert unicode.property_named("Klingon") is None
    with pytest.raises(PatternError, match="Klingon"):
        property_ranges("Klingon")


def test_case_orbits_are_the_engines() -> None:
    orbits = unicode.case_orbits()
    assert set(orbits[ord("k")]) == set(map(ord, "kK\u212a"))
    assert set(orbits[ord("s")]) == set(map(ord, "sS\u017f"))
    text = "\n".join(map(chr, sorted(orbits)))
    for code in sorted(orbits)[::7]:
        split = pre_tokenizers.Split(Regex(f"(?i:\\x{{{code:x}}})"), "removed", invert=True)
        found = {piece for piece, _ in split.pre_tokenize_str(text)}
        assert found == set(map(chr, orbits[code])), hex(code)


def isolated(step: pre_tokenizers.PreTokenizer) -> str:
    """Characters that the step cuts off between two letters."""
    return "".join(
        piece
        for part in parts(SCALARS.replace("a", ""))
        for piece, _ in step.pre_tokenize_str("a" + "a".join(part) + "a")
        if len(piece) == 1 and piece != "a"
    )


def test_numeric_is_what_digits_cuts() -> None:
    numeric = members(char_class("numeric").ranges)
    assert numeric == isolated(pre_tokenizers.Digits(individual_digits=True))


def test_punctuation_is_what_punctuation_cuts() -> None:
    punctuation = members(char_class("punctuation").ranges)
    assert punctuation == isolated(pre_tokenizers.Punctuation("isolated"))


def test_whitespace_is_what_whitespace_split_drops() -> None:
    step = pre_tokenizers.WhitespaceSplit()
    kept = "".join(piece for part in parts(SCALARS) for piece, _ in step.pre_tokenize_str(part))
    white = members(char_class("whitespace").ranges)
    assert kept == SCALARS.translate(dict.fromkeys(map(ord, white)))


def test_word_is_what_single_word_asks() -> None:
    """An added token with single_word does not match beside a word character."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    tokenizer.add_tokens([AddedToken("<t>", single_word=True)])
    number = tokenizer.token_to_id("<t>")
    word = char_class("word")
    for char in edges([word.ranges, property_ranges("L"), property_ranges("N")]):
        assert (number not in tokenizer.encode(char + "<t>").ids) == word.contains(char), char


@pytest.mark.parametrize("name", ["numeric", "punctuation", "whitespace", "word", "regex_space"])
def test_contains_agrees_with_the_ranges(name: unicode.ClassName) -> None:
    one = char_class(name)
    inside = members(one.ranges)
    assert all(one.contains(c) == (c in inside) for c in edges([one.ranges]))


@given(st.text(st.sampled_from("ab1\u00b2\u0663 \t\u3000.,\u3002\U0001d7ce\U0001f600")))
def test_runs_cover_the_text_and_alternate(text: str) -> None:
    one: CharClass = char_class("numeric")
    runs = one.runs(text)
    assert "".join(text[a:b] for a, b, _ in runs) == text
    assert all(one.contains(c) == inside for a, b, inside in runs for c in text[a:b])
    assert all(x[2] != y[2] and x[1] == y[0] for x, y in itertools.pairwise(runs))


def test_ranges_are_merged_and_complemented() -> None:
    assert unicode.merge([(5, 6), (1, 2), (3, 3), (6, 9)]) == ((1, 3), (5, 9))
    assert unicode.complement(((0, 3), (7, 0x10FFFF))) == ((4, 6),)
    assert unicode.complement(()) == ((0, 0x10FFFF),)


def in_form(engine: Callable[[str], str]) -> dict[str, str]:
    """The characters that a normal form changes, to what they become.

    Nothing is composed with a line feed nor moved over it, so many are normalized at once.
    """
    found = {}
    for part in parts(SCALARS.replace("\n", "")):
        pairs = zip(part, engine("\n".join(part)).split("\n"), strict=True)
        found.update({c: form for c, form in pairs if form != c})
    assert engine("\n") == "\n"
    return found


@pytest.mark.long
@pytest.mark.skipif(running().kernel != "native", reason="no kernel")
@pytest.mark.parametrize("name", ["NFC", "NFD", "NFKC", "NFKD"])
def test_the_kernel_keeps_and_writes_normal_forms_as_tokenizers_does(name: FormName) -> None:
    """Every character; a sample of starters with marks that are composed, moved or blocked."""
    form, engine = _normal_form(name), getattr(normalizers, name)().normalize_str
    assert form is not None
    due = in_form(engine)
    assert [c for c in SCALARS if form.keeps(c) != (due.get(c, c) == c)] == []
    if "K" not in name:
        assert [c for c in SCALARS if form.write(c) != due.get(c, c)] == []
    classes = form_table(name).classes
    odd = [c for c in SCALARS if classes[ord(c)]]
    rng = random.Random(name)
    for mark in rng.sample([c for c in SCALARS if 0 < classes[ord(c)] < 253], 60):
        for starter in [*rng.sample(odd, 400), *SCALARS[0x41:0x250]]:
            for text in (starter + mark, f"{starter}\u0323{mark}", f"{starter}\u0301{mark}"):
                theirs = engine(text)
                assert not form.keeps(text) or theirs == text, ascii(text)
                assert form.write(text) in (None, theirs), ascii(text)
    joined = (
        () if name.endswith("D") else ("\u1100\u1161", "\uac00\u11a8", "\u0bc6\u0bbe", "e\u0301")
    )
    assert not any(map(form.keeps, (*joined, "\u00e9\u0323", "\u2126")))


def test_lower_case_is_that_of_tokenizers_wherever_it_is_certain() -> None:
    """Theorem 36 in ``docs/theory.md``."""
    tables = character_map((Lowercase(),))
    ours = dict(zip(tables.changed[::2], tables.changed[1::2], strict=True))
    due = in_form(normalizers.Lowercase().normalize_str)
    certain = [c for c in SCALARS if tables.kinds[ord(c)] != 255]
    assert [c for c in certain if chr(ours.get(ord(c), ord(c))) != due.get(c, c)] == []
    # New characters, and one that becomes two.
    newer = members(unicode.merge((*unicode.NEW_IN_16, *property_ranges("Cn"))))
    odd = {*SCALARS}.difference(certain, newer)
    assert {c for c in odd if unicodedata.category(c) != "Cn"} == {"\u0130"}


def test_the_characters_of_unicode_16_are_those_that_llama_cpp_has_no_class_for(data: Data) -> None:
    """``unicode-data.cpp`` has the flags of each range of code points; 1 is unassigned."""
    source = data("corpora/code/unicode-data.cpp").read_text(encoding="utf-8")
    rows = source.split("unicode_ranges_flags")[1].split("};")[0]
    found = re.findall(r"\{0x([0-9A-F]+), 0x([0-9A-F]+)\}", rows)
    flags = [(int(first, 16), int(flag, 16)) for first, flag in found]
    ends = [first - 1 for first, _ in flags[1:]] + [0x10FFFF]
    unassigned = {
        code
        for (first, flag), end in zip(flags, ends, strict=True)
        if flag & 1
        for code in range(first, end + 1)
    }
    ours = {code for first, last in property_ranges("Cn") for code in range(first, last + 1)}
    newer = {code for first, last in unicode.NEW_IN_16 for code in range(first, last + 1)}
    # Its tables leave the surrogates and the planes of private use unassigned.
    private = {code for first, last in property_ranges("Co") for code in range(first, last + 1)}
    assert unassigned - ours - private - {*range(0xD800, 0xE000)} == newer
    assert len(newer) == 5185
