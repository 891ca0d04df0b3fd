"""Splitting and encoding in the native kernel: what Python gives, and what the engines give."""

from __future__ import annotations

import json
import random
import sys
import threading
from array import array
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from operator import is_
from pathlib import Path
from typing import Any

import pytest
from conftest import Data
from sentencepiece import SentencePieceProcessor
from tokenizers import Regex, pre_tokenizers
from tokenizers import Tokenizer as EngineTokenizer

from bpe_interop import load
from bpe_interop.encode import Encoder
from bpe_interop.encode.plan import plan_of
from bpe_interop.engines import from_model
from bpe_interop.errors import DecodeError, DisallowedSpecialError, EncodeError, PatternError
from bpe_interop.formats import by_name
from bpe_interop.kernel import library, running, set_aside
from bpe_interop.kernel.decoder import decoder_of
from bpe_interop.kernel.encoder import COUNT, SharedIntegers, TextEncoder
from bpe_interop.kernel.splitter import SplitTable, splitter_of
from bpe_interop.model import (
    AddedToken,
    Affixes,
    BPEModel,
    Fallback,
    Kind,
    PairList,
    RankTable,
    Vocab,
)
from bpe_interop.sources import load_source
from bpe_interop.steps import (
    ByteChars,
    Dialect,
    JoinBytes,
    JoinPieces,
    Lowercase,
    Metaspace,
    NormalizerStep,
    Pattern,
    PrefixSpace,
    Prepend,
    PreTokenizerStep,
    Replace,
    Split,
)
from bpe_interop.text import spellings
from bpe_interop.text.character_maps import character_map, is_character_map
from bpe_interop.text.patterns import parse
from bpe_interop.text.regex_syntax import Node
from bpe_interop.text.split import Splitter
from bpe_interop.text.surrogates import repair
from bpe_interop.text.unicode import LAST, PAGE
from bpe_interop.theory import split_tables as tables
from bpe_interop.theory.automata import Machine, machine_of
from bpe_interop.theory.gaps import with_gaps
from bpe_interop.tokenizer import Tokenizer
from fixtures import TOKENIZERS
from trust.kernel import pieces
from trust.kernel.texts import short_texts
from trust.kernel.works import compare

NATIVE = running().kernel == "native"
needs_library = pytest.mark.skipif(not NATIVE, reason=f"Python only: {running().why_not}")

PATTERNS = {
    name: getattr(spellings, name)
    for name in (
        *("GPT2", "R50K", "CL100K", "CL100K_POSSESSIVE", "CL100K_TRAILING", "QWEN2", "O200K"),
    )
}


def one(source: str) -> Split:
    return Split(Pattern(source, "oniguruma"), "isolated")


SPACE = "\u2581".encode()
BYTES = {bytes([byte]): byte for byte in range(256)}


def small(**changes: Any) -> BPEModel:
    """A model of bytes with a few merges."""
    ids = {**BYTES, b"ab": 256, b"abab": 257, b" a": 258, b"\xc3\xa9": 259, b"xyz": 260}
    pairs = ((b"a", b"b"), (b"ab", b"ab"), (b" ", b"a"), (b"\xc3", b"\xa9"))
    model = BPEModel(
        vocab=Vocab(ids),
        merges=PairList(pairs),
        normalizer=(),
        pretokenizer=(one(spellings.GPT2),),
        added=(AddedToken("<s>", 300), AddedToken("<t>", 301, special=False)),
    )
    return replace(model, **changes)


def characters(**changes: Any) -> BPEModel:
    """A model of characters with ranks, of which two are equal."""
    ids = {b"a": 0, b"b": 1, b"ab": 2, b"ba": 3, b"aba": 4, SPACE: 5, SPACE + b"a": 6}
    ranks = {b"ab": 0, b"ba": 0, b"aba": 1, SPACE + b"a": 2}
    model = BPEModel(
        vocab=Vocab(ids),
        merges=RankTable(ranks),
        alphabet="char",
        fallback=Fallback("unknown", 9, fuse=True),
        normalizer=(Prepend("\u2581"), Replace(" ", "\u2581")),
        pretokenizer=(),
        added=(AddedToken("<unk>", 9), AddedToken("<t>", 10, special=False)),
    )
    return replace(model, **changes)


def whole_of(model: BPEModel) -> TextEncoder | None:
    """The kernel's encoder of whole texts, in which no special token is allowed."""
    return Encoder(model)._whole(frozenset())


def merging_bytes() -> BPEModel:
    """A list that merges the token for a byte."""
    ids = {b"a": 0, b"<0x61>": 1, b"a<0x61>": 2}
    return characters(
        vocab=Vocab(ids, {1: "byte"}),
        merges=PairList(((b"a", b"<0x61>"),)),
        fallback=Fallback("unknown", 9, byte_fallback=True),
    )


# The tables.


def in_threads(work: Callable[[int], None]) -> None:
    """Four threads that each do a work, which is given another seed."""
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("name", PATTERNS)
def test_published_patterns_have_small_tables_without_gaps(name: str) -> None:
    (table,) = tables.split_tables((one(PATTERNS[name]),))
    assert table.covers
    assert len(table.transitions) // table.stride < 25
    assert len(table.pages) * PAGE == LAST + 1


@pytest.mark.parametrize(("source", "least"), [(r"ab*c?|\s+(?!\S)|\s+", 50), ("a+", 10)])
def test_a_wrong_entry_is_found_by_the_proof(source: str, least: int) -> None:
    """Theorem 11: each entry that a text can reach is changed, in each flag and in its state.

    In ``a+`` a match that goes on and one that begins are in the same state.
    """
    step = one(source)
    (table,) = tables.split_tables((step,))
    pattern = step.pattern
    assert isinstance(pattern, Pattern)
    machine = machine_of(parse(pattern))
    signatures, numbers = tables._numbered(machine)
    letters = {signature: letter_of(table, numbers, n) for n, signature in enumerate(signatures)}
    tables._prove_transitions(machine, table, letters)
    changed = 0
    for place in range(0, len(table.transitions), table.stride):
        for letter in (*{*letters.values()}, table.end):
            for other in (1, 2, 4, table.stride << tables.SHIFT):
                wrong = array("I", table.transitions)
                wrong[place + letter] ^= other
                entry = wrong[place + letter]
                if entry >> tables.SHIFT >= len(wrong) or (other > 4 and entry & tables.BACK):
                    continue  # it is refused by the kernel, or means the same
                changed += 1
                with pytest.raises((AssertionError, IndexError)):
                    tables._prove_transitions(machine, replace(table, transitions=wrong), letters)
    assert changed > least


def letter_of(table: SplitTable, numbers: bytes, number: int) -> int:
    code = numbers.index(number)
    page = table.pages[code // PAGE]
    return table.classes[page * PAGE + code % PAGE]


def test_a_wrong_class_is_found_by_the_proof() -> None:
    step = one(spellings.GPT2)
    pattern = step.pattern
    assert isinstance(pattern, Pattern)
    machine = machine_of(parse(pattern))
    (table,) = tables.split_tables((step,))
    signatures, numbers = tables._numbered(machine)
    merged = [letter_of(table, numbers, number) for number in range(len(signatures))]
    tables._prove_classes(machine, signatures, numbers, table, merged)
    for code in (0x41, 0xE9, 0x65E5, 0x1F600, LAST):
        wrong = bytearray(numbers)
        wrong[code] = (wrong[code] + 1) % len(signatures)
        with pytest.raises(AssertionError):
            tables._prove_classes(machine, signatures, bytes(wrong), table, merged)
    wrong_signatures = [signatures[0] ^ 1, *signatures[1:]]
    with pytest.raises(AssertionError):
        tables._prove_classes(machine, wrong_signatures, numbers, table, merged)
    classes = bytearray(table.classes)
    classes[0x41] ^= 1
    wrong_table = replace(table, classes=bytes(classes))
    with pytest.raises(AssertionError):
        tables._prove_classes(machine, signatures, numbers, wrong_table, merged)


@pytest.mark.parametrize(
    "step", [one("(?<=a)b"), one("a*"), PrefixSpace(), Split(Pattern("a", "python"), "isolated")]
)
def test_what_has_no_table_is_said(step: PreTokenizerStep) -> None:
    with pytest.raises(PatternError):
        tables.split_tables((step,))


def test_a_table_that_is_too_large_is_refused_here_or_there() -> None:
    with pytest.raises(PatternError, match="more than a table holds"):
        tables.split_tables((one("a{600}"),))
    (table,) = tables.split_tables((one("a{300}b"),))
    large = replace(table, transitions=table.transitions * 40)
    assert splitter_of((large,)) is None
    assert not NATIVE or splitter_of((table,)) is not None


# Splitting.


@pytest.mark.long
@needs_library
@pytest.mark.parametrize("name", PATTERNS)
def test_every_code_point_is_cut_as_by_python(name: str) -> None:
    """Each one between letters, behind a space, before a digit: in one text of all of them."""
    step = one(PATTERNS[name])
    splitter = splitter_of(tables.split_tables((step,)))
    assert splitter is not None
    stride = 7
    codes = range(len(name) % stride, LAST + 1, stride)
    text = "".join(f" a{chr(code)}1" for code in codes if not 0xD800 <= code < 0xE000)
    assert splitter.cut(text) == Splitter((step,))(text)


@needs_library
def test_characters_that_are_read_again_and_again_are_left_to_python() -> None:
    splitter = splitter_of(tables.split_tables((one("ab*c|a"),)))
    assert splitter is not None
    assert splitter.cut("a" + "b" * 50) == ["a", "b" * 50]
    step = one("x[^y]*y|x")
    splitter = splitter_of(tables.split_tables((step,)))
    assert splitter is not None
    assert splitter.cut("x" * 300) == ["x"] * 300
    assert splitter.cut("x" * 100_000) is None


@pytest.mark.long
@needs_library
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("pretokens", 16),
        ("ids", 16),
        ("ids of characters", 14),
        ("added tokens", 20),
        ("normal forms", 30),
        ("maps of characters", 60),
        ("ids decoded", 30),
        ("ids of characters decoded", 20),
        ("pretokens counted", 12),
    ],
)
def test_the_kernel_answers_as_python_does(name: str, count: int) -> None:
    """The short run of ``python -m trust kernel``."""
    found = compare(name, count, seed=14)
    assert found.different == []
    assert found.cases // 3 < found.native
    assert found.texts >= 104 * count or name.endswith("decoded")


# Encoding.


@needs_library
def test_what_a_model_has_decides_who_encodes() -> None:
    assert plan_of(small()).part is not None
    beyond = {
        "affixes": small(affixes=Affixes(prefix=b"x"), merges=PairList(())),
        "affixes ": small(affixes=Affixes(suffix=b"x"), merges=RankTable(small().vocab.ids)),
        "affixes  ": replace(characters(), affixes=Affixes(suffix=b"x"), merges=PairList(())),
        "of several kinds": small(vocab=Vocab(small().vocab.ids, {256: "unused"})),
        "no table  ": replace(characters(), pretokenizer=(Metaspace("_", "always"),)),
        "irregular  ": replace(characters(), vocab=Vocab({b"": 7, b"a": 0}), merges=PairList(())),
        "names the token for a byte": merging_bytes(),
        "another token": small(fallback=Fallback("unknown", unknown=300, byte_fallback=True)),
        "names the token for unknown": small(
            merges=PairList(((b"a", b"b"),)), fallback=Fallback("unknown", unknown=97)
        ),
        "not stated": small(pretokenizer=None),
        "no table": small(pretokenizer=(PrefixSpace(),)),
        "irregular": small(vocab=Vocab({**small().vocab.ids, b"": 999}), lookup_first=True),
        "irregular ": small(vocab=Vocab({**small().vocab.ids, b"ab": 2**32 - 1})),
        "no table ": small(pretokenizer=(one("a{600}b"),)),
        "no table   ": small(pretokenizer=(Split(Pattern("a+", "python"), "isolated"), one("b+"))),
    }
    for why, model in beyond.items():
        found = plan_of(model)
        assert found.part is None
        assert why.strip() in found.why_not


LETTERS = (
    "\u00f2 \u00b2\u00bc12",
    "a\u00b212345",
    "x\u00b2\u00b23456 7",
    "\u0661\u06622 !!\u00e9'S",
)


@needs_library
@pytest.mark.parametrize("name", ["stacked-tiny", "clip-tiny"])
def test_steps_that_see_letters_and_a_suffix_are_in_the_kernel(name: str) -> None:
    """Falcon's and CLIP's kind. With tokenizers, ids of many texts are in the goldens."""
    folder = TOKENIZERS / name / "huggingface"
    engine = EngineTokenizer.from_file(str(folder / "tokenizer.json"))
    encoder = Encoder(load_source(folder).model)
    assert encoder._plan.part is not None
    rng = random.Random(2)
    texts = [*LETTERS, *map(repair, short_texts(rng, (*LETTERS, *"ab 1\u00b2", "</w>", "99")))]
    for text in (*texts, "".join(texts), "ab" * 300):
        found = encoder.encode_with_offsets(text)
        assert [found[0], encoder.encode(text)] == [
            engine.encode(text, add_special_tokens=False).ids
        ] * 2
        with set_aside():
            assert Encoder(replace(encoder.model)).encode_with_offsets(text) == found


SPACES: dict[str, Any] = {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}
ODD = (
    *("Hello  WORLD", "DON'T", "\t\r\n", "\x1c\x1f", "\x85", "\u00a0 ", "\u2028", "a", " ", "!"),
    *(
        "\u00c9",
        "E\u0301",
        "\u0130",
        "\u03a3",
        "\u1e9e",
        "\u023a",
        "\u65e5",
        "\u0378",
        "\U00016ea0",
    ),
)


@needs_library
@pytest.mark.parametrize(
    "steps",
    [
        [{"type": "NFC"}, SPACES, {"type": "Lowercase"}],
        [{"type": "Lowercase"}, {**SPACES, "content": "a"}, {"type": "NFD"}],
        [SPACES, {**SPACES, "pattern": {"String": "l"}, "content": " "}, SPACES],
    ],
)
def test_clips_kind_of_normalizer_is_in_the_kernel(
    steps: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Of any text that is ASCII, and of most others; the ids are those of tokenizers.

    Theorem 36 in ``docs/theory.md``.
    """
    document = json.loads((TOKENIZERS / "clip-tiny/huggingface/tokenizer.json").read_text("utf-8"))
    document["normalizer"] = {"type": "Sequence", "normalizers": steps}
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(document), "utf-8")
    engine, encoder = EngineTokenizer.from_file(str(file)), Encoder(load(file).model)
    whole = encoder._whole(frozenset())
    assert whole is not None
    rng, by_kernel = random.Random(5), 0
    texts = ["".join(rng.choices(ODD, k=rng.randrange(9))) for _ in range(600)]
    for text in (*ODD, *texts, "".join(map(chr, range(128))), "A \n " * 40, "".join(ODD) * 9):
        found = whole.encode(text)
        by_kernel += found is not None
        wanted = engine.encode(text, add_special_tokens=False).ids
        assert found == wanted or (found is None and not text.isascii())
        assert encoder.encode(text) == wanted
        placed = encoder.encode_with_offsets(text)
        with set_aside():
            assert Encoder(replace(encoder.model)).encode_with_offsets(text) == placed
    assert by_kernel > 150


@needs_library
def test_clip_is_in_the_kernel_and_has_the_ids_of_its_engine(data: Data) -> None:
    file = data("clip/tokenizer.json")
    encoder, engine = Encoder(load(file).model), EngineTokenizer.from_file(str(file))
    whole = encoder._whole(frozenset())
    assert whole is not None
    assert encoder._plan.why_not == ""
    for name in ("udhr/udhr_rus.txt", "udhr/udhr_jpn.txt", "code/server.cpp"):
        text = data(f"corpora/{name}").read_text("utf-8")
        assert whole.encode(text) == engine.encode(text, add_special_tokens=False).ids


def test_which_steps_are_maps_of_characters() -> None:
    def replaced(source: str, content: str, dialect: Dialect = "oniguruma") -> Replace:
        return Replace(Pattern(source, dialect), content)

    maps: list[NormalizerStep] = [
        Lowercase(),
        Replace("a", "b"),
        Replace("\u00e9", "e"),
        replaced(r"\s+", " "),
    ]
    maps += [replaced("[ab]", "c"), replaced("[ab]++", "c"), replaced("\u00e9+", "\u00e8")]
    others: list[NormalizerStep] = [
        Prepend("a"),
        Replace("ab", "c"),
        Replace("a", ""),
        Replace("a", "bc"),
    ]
    others += [
        replaced("a+?", "b"),
        replaced("a{2,}", "b"),
        replaced("a*", "b"),
        replaced("(", "b"),
    ]
    others += [replaced("[^a]", "b"), Replace(" ", "\u2581"), replaced(r"\s", " ", "python")]
    others += [
        Replace("\ud800", "a"),
        Replace("\u00e9", "\ud800"),
        replaced("[^\x00-\U0010ffff]", "a"),
    ]
    assert [is_character_map(step) for step in (*maps, *others)] == [True] * 7 + [False] * 14
    with pytest.raises(TypeError, match="no map of characters"):
        character_map((Prepend("a"),))


WORDS = (
    *(r"\p{L}+|\p{N}|[^\s\p{L}\p{N}]+", "[^ ]+", "ab*c|a", r"a b|'s|\p{L}+|'", r"\S\s|\S+"),
    *(r"\p{L}+(?=\s|$)|\p{L}", "(?i:k)+", "[^x]+"),
)


@pytest.mark.parametrize("source", WORDS)
def test_gaps_are_at_the_beginning_of_what_follows_them(source: str) -> None:
    """Theorem 35 in ``docs/theory.md``, beside tokenizers."""
    step = Split(Pattern(source, "oniguruma"), "removed", invert=True)
    found = with_gaps(step)
    assert found is not None
    joint, gaps = found
    engine = pre_tokenizers.Split(Regex(source), "removed", invert=True)
    letters = "aabbck's 1.  \nx\u00e9\u212a\u00a0"
    members = "".join(c for c in letters if any(a <= ord(c) <= b for a, b in gaps))
    rng, cut = random.Random(source), Splitter((joint,))
    for _ in range(400):
        text = "".join(rng.choices(letters, k=rng.randrange(14)))
        words = [str(piece).lstrip(members) for piece in cut(text)]
        assert [*filter(None, words)] == [piece for piece, _ in engine.pre_tokenize_str(text)]


def test_what_else_lies_between_words_is_no_gap() -> None:
    """A character that may begin a match, or what is not dropped."""
    for source in ("ab", "a+b", r"\p{L}+(?=\s)"):
        assert with_gaps(Split(Pattern(source, "oniguruma"), "removed", invert=True)) is None
    assert with_gaps(one("[a-z]+")) is None
    assert with_gaps(Split(Pattern(spellings.GPT2, "oniguruma"), "removed", invert=True)) is None


@needs_library
@pytest.mark.parametrize("lookup_first", [False, True])
@pytest.mark.parametrize("rest", [(), (one("b+"),), (one("b+"), ByteChars(), one("a"))])
def test_words_that_were_not_met_are_cut_again(
    rest: tuple[PreTokenizerStep, ...], lookup_first: bool
) -> None:
    """With offsets; long ones too, which are not remembered (Theorem 35)."""
    steps = (Split(Pattern(r"\w+|[^\w\s]+", "oniguruma"), "removed", invert=True), *rest)
    model = small(pretokenizer=steps, lookup_first=lookup_first)
    encoder = Encoder(model)
    rng = random.Random(1)
    texts = [
        "".join(rng.choices(("ab", "abab", " ", "b", "\n", "xyz", "."), k=9)) for _ in range(99)
    ]
    for text in ("", " ", "abab  ab\u00e9\u3000", "ab" * 90 + " ", " " * 200 + "abab", *texts):
        found = [encoder.encode(text), encoder.encode_with_offsets(text), encoder.encode(text)]
        with set_aside():
            own = Encoder(replace(model))
            assert [own.encode(text), own.encode_with_offsets(text), own.encode(text)] == found
    assert encoder._plan.part is not None


@needs_library
@pytest.mark.parametrize("steps", [(one(spellings.GPT2),), (one("a+"), one("b+")), ()])
def test_what_is_asked_for_is_a_beginning(steps: tuple[PreTokenizerStep, ...]) -> None:
    encoder = Encoder(small(pretokenizer=steps, added=()))
    text = "abab a\u00e9\u65e5 xyz " * 60
    ids, spans = encoder.encode_with_offsets(text)
    for most in (0, 1, 2, 64, 200, len(ids) - 1, len(ids)):
        some, places = encoder.encode_with_offsets(text, most=most)
        assert min(most + 1, len(ids)) <= len(some) <= len(ids)
        assert (some, places) == (ids[: len(some)], spans[: len(some)])
    one_text = (one(spellings.GPT2),)
    assert steps != one_text or len(encoder.encode_with_offsets(text, most=9)[0]) < len(ids) / 2


@needs_library
def test_an_empty_token_is_never_an_id_and_the_kernel_takes_the_rest() -> None:
    model = small(vocab=Vocab({**small().vocab.ids, b"": 999}))
    assert plan_of(model).part is not None
    encoder = Encoder(model)
    assert encoder.encode("abab a") == [257, 258]
    assert encoder.encode("") == []
    for text in ("", " ", "xyz abab<s> \u00e9\n", "\x00"):
        answer = encoder.encode_with_offsets(text, frozenset({"<s>"}))
        with set_aside():
            assert Encoder(replace(model)).encode_with_offsets(text, frozenset({"<s>"})) == answer


@needs_library
def test_whisper_has_an_empty_token_and_the_ids_of_its_engine(data: Data) -> None:
    file = data("whisper-tiny/tokenizer.json")
    model = load(file).model
    assert b"" in model.vocab.ids
    assert plan_of(model).part is not None
    engine = EngineTokenizer.from_file(str(file))
    for name in ("udhr/udhr_rus.txt", "udhr/udhr_jpn.txt", "code/server.cpp"):
        text = data(f"corpora/{name}").read_text("utf-8")
        wanted = engine.encode(text, add_special_tokens=False).ids
        assert Encoder(model).encode(text) == wanted


@needs_library
def test_in_python_only_nothing_is_native() -> None:
    model = small()
    encoder = Encoder(model)
    with set_aside():
        assert plan_of(model).part is None
        assert encoder.encode("abab a") == [257, 258]
    assert plan_of(model).part is not None
    assert encoder.encode("abab a") == [257, 258]


@needs_library
@pytest.mark.parametrize("engine", ["tokenizers", "tiktoken"])
def test_awkward_texts_have_the_ids_of_the_engines(engine: str) -> None:
    """Ranks for tiktoken, listed merges for tokenizers; every pattern; lookup first or not."""
    rng = random.Random(5)
    parts = [" ", "\n", "a", "b", "ab", "\u00e9", "'s", "12345", "xyz", "\U0001f600", "\u2028", "A"]
    texts = ["".join(rng.choices(parts, k=rng.randrange(30))) for _ in range(60)]
    texts += ["ab" * 40, "a" * 65, "\u00e9" * 33, " " * 70 + "a", ""]
    ranks = RankTable({**BYTES, b"ab": 256, b"abab": 257, b" a": 258, b"\xc3\xa9": 259})
    for name, source in PATTERNS.items():
        model = small(pretokenizer=(one(source),))
        if engine == "tiktoken":
            pattern = Pattern(source, "fancy-regex")
            model = small(
                vocab=Vocab({**ranks.ranks, b"xyz": 260}),
                merges=RankTable({**ranks.ranks, b"xyz": 260}),
                lookup_first=True,
                pretokenizer=(Split(pattern, "removed", invert=True),),
                added=(),
            )
        encoder = Encoder(model)
        assert plan_of(model).part is not None
        other = from_model(engine, model)
        for text in texts:
            assert encoder.encode(text) == other.encode(text), (name, text)


@needs_library
@pytest.mark.parametrize("ahead", [1, 7, 40, 10_000])
def test_lists_are_made_while_further_texts_are_encoded(
    ahead: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bpe_interop.kernel.encoder._BATCH", ahead)
    encoder = Encoder(characters())
    texts = ["aba", "", "x", "bab a", "a" * 30, "x<t>y"] * 4
    wanted = [encoder.encode(text) for text in texts]
    for threads in (1, 2, 3):
        assert encoder.encode_each(texts, threads=threads) == wanted
        assert encoder.encode_each([], threads=threads) == []
    native = plan_of(encoder.model).part
    assert native is not None
    odd = ["aba", "\ud800"]
    for threads in (1, 2):
        with pytest.raises(UnicodeEncodeError):
            native.lists_of_each(odd * 3, threads)


@needs_library
def test_characters_merge_as_by_hand() -> None:
    """Ties: the leftmost pair; spaces; what is missing, fused; a word and the same word again."""
    encoder = Encoder(characters())
    for _ in range(2):
        assert encoder.encode("aba") == [5, 4]
        assert encoder.encode("bab a") == [5, 3, 1, 6]
        assert encoder.encode("xy xb") == [5, 9, 5, 9, 1]
        assert encoder.encode("x<t>y") == [5, 9, 10, 5, 9]
    assert encoder.encode("") == []
    assert encoder.encode_each(["aba", "", "x"], threads=2) == [[5, 4], [], [5, 9]]
    apart = Encoder(characters(fallback=Fallback("unknown", 9)))
    assert apart.encode("xy") == [5, 9, 9]


@needs_library
def test_the_kernel_says_where_tokens_stand() -> None:
    """In characters: fused unknown ones, a prefix, and none where characters have vanished."""
    raw = whole_of(characters())
    assert raw is not None
    assert raw.encode_placed("") == ([], [])
    assert raw.encode_placed("xy\u65e5 b") == ([5, 9, 5, 1], [(0, 1), (0, 3), (3, 4), (4, 5)])
    assert raw.encode_placed("aab") == ([6, 2], [(0, 1), (1, 3)])
    apart = whole_of(characters(fallback=Fallback("unknown", 9)))
    assert apart is not None
    assert apart.encode_placed("xy") == ([5, 9, 9], [(0, 1), (0, 1), (1, 2)])
    dropping = whole_of(characters(fallback=Fallback("drop")))
    assert dropping is not None
    assert dropping.encode_placed("ab") == ([5, 2], [(0, 1), (0, 2)])
    assert dropping.encode_placed("axb") is None
    in_bytes = whole_of(small())
    assert in_bytes is not None
    placed = [259, 0xE6, 0x97, 0xA5, 97], [(0, 1), (1, 2), (1, 2), (1, 2), (2, 3)]
    assert in_bytes.encode_placed("\u00e9\u65e5a") == placed


@needs_library
@pytest.mark.parametrize("name", ["llama-2", "qwen3", "gpt-oss"])
def test_published_models_have_offsets_from_the_kernel(name: str, data: Data) -> None:
    """Text with characters that fall back to bytes, composed ones, special tokens."""
    text = "Na\u00efve caf\u00e9s, \u65e5\u672c\u8a9e\U0001f600\U000130de <s> x\n\n  123 'll"
    model = load(data(f"{name}/tokenizer.json")).model
    encoder = whole_of(model)
    assert encoder is not None
    assert encoder.encode_placed(text) is not None
    allowed = frozenset(token.text for token in model.added or () if token.special)
    answer = Encoder(model).encode_with_offsets(text, allowed)
    with set_aside():
        assert Encoder(replace(model)).encode_with_offsets(text, allowed) == answer


@needs_library
@pytest.mark.parametrize("seed", range(4))
def test_random_pieces_have_the_ids_of_sentencepiece(seed: int) -> None:
    """Models with every kind of piece, as sentencepiece itself encodes with them."""
    rng = random.Random(f"pieces {seed}")
    by_kernel = 0
    for _ in range(40):
        data = pieces.random_file(rng)
        model = by_name("sentencepiece").load({"tokenizer.model": data})
        processor = SentencePieceProcessor(model_proto=data)
        encoder = Encoder(model)
        by_kernel += plan_of(model).part is not None
        for _ in range(8):
            text = repair(pieces.random_text(rng))
            assert encoder.encode(text) == processor.encode(text), (seed, text)
    assert by_kernel == 40


@needs_library
@pytest.mark.parametrize("name", ["llama-2", "mistral-v1"])
def test_real_models_of_characters_have_the_ids_of_their_engines(name: str, data: Data) -> None:
    model = by_name("sentencepiece").load(
        {"tokenizer.model": data(f"{name}/tokenizer.model").read_bytes()}
    )
    processor = SentencePieceProcessor(model_file=str(data(f"{name}/tokenizer.model")))
    assert whole_of(model) is not None
    encoder = Encoder(model)
    for part in ("war-and-peace.txt", "xiyou.txt", "code/ggml.c", "utf8_sequence_0x10ffff.txt"):
        whole = data(f"corpora/{part}").read_text("utf-8", "replace")
        text = whole[len(whole) // 2 :][:60_000].replace("\0", "")
        assert encoder.encode(text) == processor.encode(text), part
        ids = encoder.encode(text)
        assert encoder.decode(ids) == processor.decode(ids)
        cut = ids[3:-2]  # it may begin and end within a character
        assert encoder.decode(cut) == processor.decode(cut)
        short = [line for line in text.splitlines()[:200] if line]
        assert encoder.encode_each(short, threads=2) == processor.encode(short)


@needs_library
@pytest.mark.parametrize("name", ["llama-2", "mistral-v1"])
def test_real_documents_of_characters_are_encoded_and_decoded_as_by_tokenizers(
    name: str, data: Data
) -> None:
    path = data(f"{name}/tokenizer.json")
    tokenizer, engine = load(path), EngineTokenizer.from_file(str(path))
    assert whole_of(tokenizer.model) is not None
    for part in ("war-and-peace.txt", "xiyou.txt", "utf8_sequence_0x10ffff.txt"):
        whole = data(f"corpora/{part}").read_text("utf-8", "replace")
        text = whole[len(whole) // 3 :][:40_000]
        ids = engine.encode(text, add_special_tokens=False).ids
        assert tokenizer.encode_ordinary(text) == ids, part
        short = [*text[:3000].splitlines(), " a", "a", "", "\u2581", "  "]
        own = [each.ids for each in engine.encode_batch(short, add_special_tokens=False)]
        assert tokenizer.encode_ordinary_batch(short, num_threads=2) == own
        for some in (ids, ids[1:-1], [1, *ids, 2], [*ids[:50], 1, 0, *ids[50:90]]):
            assert tokenizer.decode(some) == engine.decode(some, skip_special_tokens=False)


@needs_library
def test_ids_that_are_no_text_together_are_decoded_in_python() -> None:
    """Bytes that make a character only over a piece that says nothing, or none at all."""
    ids = {
        b"a": 0,
        SPACE + b"a": 1,
        **{f"<0x{byte:02X}>".encode(): 9 + byte for byte in range(256)},
    }
    kinds: dict[int, Kind] = dict.fromkeys(range(9, 265), "byte")
    model = characters(
        vocab=Vocab(ids, kinds),
        merges=RankTable({SPACE + b"a": 0}),
        fallback=Fallback("unknown", 300, fuse=True, byte_fallback=True),
        added=(AddedToken("<unk>", 300), AddedToken("<s>", 301)),
        decoder=(JoinPieces("?", "prefix", False),),
    )
    encoder = Encoder(model)
    high, low = 9 + 0xC3, 9 + 0xA9
    many = [1] * 40
    assert encoder.decode([301, *many, high, low, 300, 301]) == "a" + " a" * 39 + "\u00e9?"
    assert encoder.decode([*many, high, 301, low]) == "a" + " a" * 39 + "\ufffd\ufffd"
    assert encoder.decode([high, low, *many]) == "\u00e9" + " a" * 40
    assert encoder.decode([301] * 40) == ""
    with pytest.raises(DecodeError, match="no token with the id 302"):
        encoder.decode([*many, 302])


@needs_library
def test_a_missing_byte_is_told_by_python() -> None:
    ids = {token: number for token, number in small().vocab.ids.items() if token != b"z"}
    encoder = Encoder(small(vocab=Vocab(ids), lookup_first=True))
    assert encoder.encode("xyz") == [260]
    with pytest.raises(EncodeError, match='"z" is not in the vocabulary'):
        encoder.encode("xyz z")
    with pytest.raises(EncodeError, match='"z" is not in the vocabulary'):
        encoder.encode_each(["a", "xyz z"], threads=2)
    bare = Encoder(small(vocab=Vocab(ids), lookup_first=True, added=()))
    for each in (encoder, bare):
        assert rows(each.encode_joined(["a", "xyz", "b"])) == [[97], [260], [98]]
        with pytest.raises(EncodeError, match='"z" is not in the vocabulary'):
            each.encode_joined(["a", "xyz z", "b"])


def rows(joined: tuple[Sequence[int], Sequence[int]]) -> list[list[int]]:
    ids, ends = joined
    return [list(ids[start:end]) for start, end in pairwise((0, *ends))]


@needs_library
def test_added_tokens_and_normalizers_are_around_the_kernel() -> None:
    encoder = Encoder(small(normalizer=(Lowercase(),)))
    assert encoder.encode("ABAB<s><t>AB") == [257, 60, 115, 62, 301, 256]
    allowed = frozenset({"<s>"})
    assert encoder.encode("ABAB<s><t>AB", allowed) == [257, 300, 301, 256]
    texts = ["ABAB<s>", "", "<t><s>ab", "\ud83d\ude00\ud83d"]
    expected = [encoder.encode(text, allowed) for text in texts]
    assert encoder.encode_each(texts, allowed, threads=2) == expected
    assert rows(encoder.encode_joined(texts, allowed, threads=2)) == expected
    assert expected[:3] == [[257, 300], [], [301, 300, 256]]
    assert expected[3] == [240, 159, 152, 128, 239, 191, 189]


@needs_library
def test_long_texts_and_batches_in_threads_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    words = ["".join(rng.choices("ab\u00e9 x", k=rng.randrange(1, 20))) for _ in range(3000)]
    texts = [" ".join(rng.choices(words, k=400)) for _ in range(60)]
    tokenizer = Tokenizer(small())
    with set_aside():
        expected = [tokenizer.encode_ordinary(text) for text in texts]
    assert tokenizer.encode_ordinary_batch(texts, num_threads=4) == expected
    assert tokenizer.encode_batch(texts) == expected
    assert rows(tokenizer.encode_to_arrays(texts)) == expected
    with monkeypatch.context() as small_calls:
        small_calls.setattr("bpe_interop.kernel.encoder._BATCH", 50_000)
        assert rows(tokenizer.encode_to_arrays(texts, num_threads=1)) == expected
    assert [tokenizer.encode_to_numpy(text).tolist() for text in texts] == expected
    whole = "".join(texts)
    with set_aside():
        ids = tokenizer.encode(whole)
    assert len(ids) > 4096
    assert tokenizer.encode(whole) == ids
    with pytest.raises(DisallowedSpecialError):
        tokenizer.encode_to_numpy("<s>")
    assert tokenizer.encode_to_numpy("<s>", allowed_special={"<s>"}).tolist() == [300]
    assert tokenizer.encode_to_numpy("ab").dtype == "uint32"


@needs_library
def test_threads_share_an_encoder() -> None:
    encoder, wrong = Encoder(small()), []
    texts = ["ab" * size + " \u00e9x" * (size % 7) for size in range(200)]
    with set_aside():
        expected = [encoder.encode(text) for text in texts]

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for place in rng.choices(range(len(texts)), k=1500):
            if encoder.encode(texts[place]) != expected[place]:
                wrong.append(place)

    in_threads(work)
    assert wrong == []


@needs_library
def test_what_has_no_token_is_told_by_python() -> None:
    encoder = Encoder(small(decoder=(JoinBytes(),)))
    ids = [256, 300, 301, 195, 65] * 20
    assert encoder.decode(ids) == "ab<s><t>\ufffdA" * 20
    assert encoder.decode(array("I", ids), errors="ignore") == "ab<s><t>A" * 20
    assert encoder.decode(ids, skip_special=True) == "ab<t>\ufffdA" * 20
    assert encoder.decode_bytes(ids) == b"ab<s><t>\xc3A" * 20
    for number in (302, 2**32 - 1, 2**32, -1):
        with pytest.raises(DecodeError, match=f"no token with the id {number}"):
            encoder.decode([*ids, number])
    with pytest.raises(UnicodeDecodeError):
        encoder.decode(ids, errors="strict")


@pytest.mark.parametrize(
    "source",
    [
        "(?:[^\n]){0,300}Q|" + "|".join(f"[{chr(i)}-{chr(i + 300)}]x" for i in range(256, 456, 2)),
        "(?:" + "|".join(f"{chr(i)}[a-z]" for i in range(256, 456)) + ")*" + "a?" * 500 + "-",
        "|".join(f"[{chr(i)}-{chr(i + 300)}]" for i in range(256, 556)),
        "a{250}|" + "|".join(f"{chr(i)}x" for i in range(256, 356)),
    ],
    ids=["many threads", "one thread, many ways", "many sets", "many rounds"],
)
def test_a_pattern_that_makes_much_work_is_refused_before_it_does(
    source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed: visits of the automaton, and entries compared while states merge."""
    machines: list[Machine] = []

    class Counted(Machine):
        def __init__(self, node: Node) -> None:
            super().__init__(node)
            machines.append(self)

    monkeypatch.setattr(tables, "Machine", Counted)
    monkeypatch.setattr(tables, "_MOST_WORK", 300_000)
    with pytest.raises(PatternError, match=r"too much work|more than a table holds"):
        tables.split_tables((one(source),))
    assert machines[0].visits < 330_000


@pytest.mark.parametrize("aside", [False, True])
def test_ids_are_numbers_whatever_holds_them(aside: bool) -> None:
    """Bytes are a sequence of numbers, each one an id, and no numbers of 32 bits."""
    encoder = Encoder(small(decoder=(JoinBytes(),)))
    held: list[Any] = [bytes(40), bytearray(40), memoryview(bytes(80))[::2], (0,) * 40]
    held += [array("B", bytes(40)), array("Q", bytes(320)), [False] * 40]
    with set_aside() if aside else nullcontext():
        for ids in held:
            assert encoder.decode_bytes(ids) == bytes(40), type(ids)
        assert encoder.decode(bytes(range(65, 106))) == bytes(range(65, 106)).decode()
        wrong: list[Any] = [[-1] * 40, [2**32] * 40, [None] * 40, "a" * 40]
        for ids in wrong:
            with pytest.raises(DecodeError, match="there is no token with the id"):
                encoder.decode(ids)


@needs_library
@pytest.mark.parametrize("change", ["ids[0] = 66", "ids.extend([66] * 100_000)", "del ids[:]"])
def test_ids_that_another_thread_changes_are_those_that_were_given(
    change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = Encoder(small(decoder=(JoinBytes(),)))
    ids = array("I", [65] * 1000)  # more than are answered in one call
    loaded = library.library()
    assert loaded is not None
    size = loaded.decoder_size

    def as_another_thread(*given: Any) -> int:
        found = size(*given)
        exec(change, {"ids": ids})
        return found

    monkeypatch.setattr(loaded, "decoder_size", as_another_thread)
    before = ids[:]
    assert encoder.decode(ids) == "A" * 1000
    assert ids != before


class Shouting(str):
    """A text that has its own ways."""

    __slots__ = ()

    def encode(self, *given: Any, **named: Any) -> bytes:
        return b"AB"

    def isascii(self) -> bool:
        return False

    def __str__(self) -> str:
        return "AB"

    def __getitem__(self, place: Any) -> str:
        return "AB"


@pytest.mark.parametrize("aside", [False, True])
def test_a_text_is_str(aside: bool) -> None:
    """Bytes are none: which characters they stand for is not said."""
    encoder = Encoder(small())
    with set_aside() if aside else nullcontext():
        for no_text in (b"ab", None, 5, ["ab"]):
            given: Any = no_text
            for call in (encoder.encode, encoder.encode_array, encoder.encode_with_offsets):
                with pytest.raises(TypeError, match=f"not {type(given).__name__}"):
                    call(given)
            for each in (encoder.encode_each, encoder.encode_joined):
                with pytest.raises(TypeError, match=f"not {type(given).__name__}"):
                    each([given, "a"])
        own = Shouting("ab")
        assert encoder.encode(own) == [*encoder.encode_array(own)] == [256]
        assert encoder.encode_with_offsets(own) == ([256], [(0, 2)])
        assert encoder.encode_each([own]) == [[256]]
        assert [*encoder.encode_joined([own])[0]] == [256]


def test_lists_share_integers_where_numpy_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same integers of Python as without; those of larger ids, and of few, are their own."""
    import_module("numpy")
    integers = SharedIntegers()
    ids = array("I", random.Random(3).choices(range(300, COUNT), k=COUNT // 8)) + array("I", [0])
    given = [integers.as_list(ids) for _ in range(10)]
    assert given == [ids.tolist()] * 10
    assert {type(each) for each in given[9]} == {int}
    assert all(map(is_, given[8], given[9]))
    assert not any(map(is_, given[0][:9], given[9]))
    for other in (array("I", [COUNT]) + ids, array("I", [2**32 - 1] * 999), array("I"), ids[:9]):
        assert integers.as_list(other) == other.tolist()
    monkeypatch.delitem(sys.modules, "numpy")
    assert not any(map(is_, integers.as_list(ids)[:9], given[9]))
    assert "numpy" not in sys.modules


@needs_library
def test_ids_are_joined_whatever_their_number_and_their_sizes() -> None:
    contents = {number: bytes([65 + number]) * size for number, size in enumerate((0, 1, 15, 900))}
    joined = decoder_of(contents)
    assert joined is not None
    rng = random.Random(0)
    asked = [
        rng.choices(range(4), k=rng.choice((0, 1, 8, 9, 10, 511, 512, 513))) for _ in range(200)
    ]
    given = [joined.join(ids) for ids in asked]  # none is written over by those that come later
    for ids, answer in zip(asked, given, strict=True):
        assert answer == b"".join(map(contents.__getitem__, ids))
    assert joined.join([3, 4]) is None


@needs_library
def test_threads_share_a_decoder() -> None:
    encoder, wrong = Encoder(small(decoder=(JoinBytes(),))), []
    lists = [[97 + place % 20] * (24 + place) for place in range(60)]

    def work(seed: int) -> None:
        for place in random.Random(seed).choices(range(len(lists)), k=3000):
            if encoder.decode(lists[place]) != "".join(map(chr, lists[place])):
                wrong.append(place)

    in_threads(work)
    assert wrong == []
