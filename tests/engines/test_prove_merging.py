"""Conditions of the stages about merging and ids, each by a pair that breaks it alone.

The engines say what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal

import pytest
from small_documents import Json, Side, document

from bpe_interop.encode import Encoder
from bpe_interop.engines import from_files
from bpe_interop.formats import by_name
from bpe_interop.model import AddedToken, Fallback
from bpe_interop.proof.ids import ids_stage
from bpe_interop.proof.merging import core_stage
from bpe_interop.proof.stage import Stage, TwoModels
from bpe_interop.steps import Split
from bpe_interop.text.bytechars import BYTE_TO_CHAR
from fixtures.gguf_models import BOOL, by_scores
from fixtures.piece_model import CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from trust.verdicts.sources import Source

EVERY = {char: number for number, char in enumerate(BYTE_TO_CHAR.values())}
BYTE_LEVEL: Json = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def pieces(*listed: tuple[str, int], dummy: bool = False) -> Source:
    """A ``.model`` with these pieces, the first the best."""
    rows: list[list[object]] = [["<unk>", 0.0, UNKNOWN], ["<s>", 0.0, CONTROL]]
    rows += [[text, -1.0 - place, kind] for place, (text, kind) in enumerate(listed)]
    facts: Json = {"pieces": rows, "byte_fallback": False, "suffix": False, "unknown": None}
    facts |= {"dummy": dummy, "remove_extra": False, "escape": True}
    return Source("sentencepiece", facts, "")


def normal(*texts: str) -> list[tuple[str, int]]:
    return [(text, NORMAL) for text in texts]


def compared(one: Source, two: Source, stage: Callable[[TwoModels], Stage]) -> str:
    """What a stage says of two models, in both orders."""
    first = stage(TwoModels(one.model(), two.model(), "ordinary")).outcome
    assert first == stage(TwoModels(two.model(), one.model(), "ordinary")).outcome
    return first


def ids(source: Source, texts: Sequence[str]) -> list[list[int] | None]:
    return source.oracle().ids(texts, "ordinary")


@pytest.mark.parametrize("dummy", [False, True])
def test_a_user_defined_token_of_one_side_only(dummy: bool) -> None:
    """Both have the tokens ``ab`` and ``ba``; each side cuts out another one first.

    With a dummy prefix no added token of the other side could stand for it.
    """
    tokens = ("ab", "ba", "a", "b")
    one, two = (
        pieces(*((t, USER_DEFINED if t == cut else NORMAL) for t in tokens), dummy=dummy)
        for cut in ("ab", "ba")
    )
    assert ids(one, ["bab"]) != ids(two, ["bab"])
    assert compared(one, two, core_stage) != "proved"


def test_the_id_of_a_user_defined_token() -> None:
    one, two = (
        pieces(*((text, kind), ("<x>", CONTROL))[::order], *normal("a", "b"))
        for text, kind, order in (("ab", USER_DEFINED, 1), ("ab", USER_DEFINED, -1))
    )
    assert ids(one, ["ab"]) != ids(two, ["ab"])
    assert compared(one, two, ids_stage) != "proved"


def test_the_id_of_an_unused_token() -> None:
    """Merging builds ``ab``, and then it is split again: no text is given it."""
    one, two = (
        pieces(*(("ab", UNUSED), ("<x>", CONTROL))[::order], *normal("a", "b")) for order in (1, -1)
    )
    texts = ["".join(text) for n in range(4) for text in product("ab", repeat=n)]
    assert ids(one, texts) == ids(two, texts)
    assert compared(one, two, ids_stage) == "proved"


def test_an_unused_token_on_the_way_to_another() -> None:
    """``ab`` is split again; the other side builds ``abc`` from its end."""
    rest = normal("bc", "abc", "a", "b", "c")
    one, two = pieces(("ab", UNUSED), *rest), pieces(*rest)
    texts = ["".join(text) for n in range(7) for text in product("abc", repeat=n)]
    named: list[list[list[str]]] = []
    for source in (one, two):
        names = [row[0] for row in source.facts["pieces"]]
        named.append([[names[number] for number in each or []] for each in ids(source, texts)])
    assert named[0] == named[1]
    assert compared(one, two, core_stage) == "proved"


def test_the_same_symbols_with_and_without_a_suffix() -> None:
    """No last symbol has a token where it ends in the suffix."""
    one = Side(document({"a": 0, "b": 1}))
    two = Side(document({"a": 0, "b": 1}, end_of_word_suffix="</w>"))
    assert (one.ids("ab"), two.ids("ab")) == ([0, 1], [0])
    assert core_stage(TwoModels(one.model, two.model, "all")).outcome == "different"


def test_the_same_merges_with_and_without_a_suffix() -> None:
    vocab = {"a": 0, "b": 1, "ab": 2, "b</w>": 3, "ab</w>": 4}
    one = Side(document(vocab, merges=[["a", "b"]]))
    two = Side(document(vocab, merges=[["a", "b"]], end_of_word_suffix="</w>"))
    assert one.ids("ab") == [2]
    assert two.ids("ab") == [0, 3]
    assert core_stage(TwoModels(one.model, two.model, "all")).outcome == "different"


@pytest.mark.parametrize(
    ("lost", "kept", "suffix", "text"), [("y", "x", None, "y"), ("a</w>", "x", "</w>", "a")]
)
def test_a_byte_without_a_token(lost: str, kept: str, suffix: str | None, text: str) -> None:
    """Both sides drop another byte; the second drops one more."""
    known = {char: n for char, n in EVERY.items() if char != kept} | {"a</w>": 300}
    one, two = (
        Side(document(vocab, pre_tokenizer=BYTE_LEVEL, end_of_word_suffix=suffix))
        for vocab in (known, {token: n for token, n in known.items() if token != lost})
    )
    assert one.ids(text) != two.ids(text)
    assert core_stage(TwoModels(one.model, two.model, "all")).outcome == "different"


@pytest.mark.parametrize(("first", "second"), [("", ""), ("x", "x"), ("", "x"), ("x", "")])
def test_other_rules_for_what_is_no_token(first: str, second: str) -> None:
    """They count where a byte has none; then they are what is said."""
    one, two = (
        Side(
            document(
                {char: n for char, n in EVERY.items() if char != lost} | {"<unk>": 300},
                pre_tokenizer=BYTE_LEVEL,
                unk_token=unknown,
            )
        )
        for lost, unknown in ((first, "<unk>"), (second, None))
    )
    for text in ("ay", "\u00e9\u4e2d", "\0"):
        assert one.ids(text) == two.ids(text)
    equal = one.ids("x") == two.ids("x")
    assert equal is (first == second == "")
    models = one.model, two.model
    if equal:  # a reader says that there is no rule
        assert one.model.fallback == two.model.fallback == Fallback()
        models = replace(one.model, fallback=Fallback("drop")), two.model
    for pair in (models, models[::-1]):
        found = core_stage(TwoModels(*pair, "all"))
        assert found.outcome == ("proved" if equal else "different")
        assert found.why.startswith("other rules for symbols without a token") is not equal


NO_PREFIX = {"tokenizer.ggml.add_space_prefix": (BOOL, False)}
BYTE_NAMES = [f"<0x{byte:02X}>" for byte in range(256)]


def test_the_bytes_of_a_missing_symbol_are_those_of_its_affixes_too() -> None:
    """``y</w>`` becomes eight bytes, of which the second side has no ``<``: it drops the symbol."""
    known = ["a", "b", "a</w>", "b</w>", "<", "<</w>", *BYTE_NAMES]
    one, two = (
        Side(
            document(
                {token: n for n, token in enumerate(known) if token not in lost},
                byte_fallback=True,
                end_of_word_suffix="</w>",
            )
        )
        for lost in (["<0x01>"], ["<0x01>", "<0x3C>"])
    )
    assert one.ids("<") == two.ids("<")
    assert one.ids("ay") != two.ids("ay")
    found = core_stage(TwoModels(one.model, two.model, "all"))
    assert found.outcome == "different"
    assert one.ids(found.witness or "") != two.ids(found.witness or "")


def test_the_byte_of_a_character_that_has_a_token_counts_nowhere() -> None:
    """In a GGUF file what is missing may merge before; what becomes bytes is one character."""
    known = ["<unk>", "a", "b", *BYTE_NAMES]
    file = {"t.gguf": by_scores(known, [2, 1, 1, *[6] * 256], [0.0] * 259, NO_PREFIX)}
    one, engine = by_name("gguf").load(file), from_files("llama.cpp", "gguf", file)
    assert one.fallback.after_merging
    vocab = {token: n for n, token in enumerate(known) if token not in ("<unk>", "<0x61>")}
    two = Side(document(vocab, byte_fallback=True, unk_token="<unk>"))
    for text in ("ab", "ya", "\u00e9"):
        assert engine.encode(text, special="text") == two.ids(text)
    for pair in ((one, two.model), (two.model, one)):
        assert core_stage(TwoModels(*pair, "all")).outcome == "proved"


@pytest.mark.parametrize(("lost", "unknown"), [("x", "<unk>"), ("", None)])
def test_merges_across_characters_change_nothing(lost: str, unknown: str | None) -> None:
    """``C3 a`` is in no text, unless what is between the two is dropped; here nothing is."""
    vocab = {char: n for char, n in EVERY.items() if char != lost}
    vocab |= {"\u00c3a": 300, "<unk>": 301}
    merges = (["\u00c3", "a"],)
    one, two = (
        Side(document(vocab, merges=each, pre_tokenizer=BYTE_LEVEL, unk_token=unknown))
        for each in (merges, ())
    )
    for text in ("\u00e3a", "\u00c3a", "\u00e9a", "xa"):
        assert one.ids(text) == two.ids(text)
    models = one.model, two.model
    if unknown is None:
        assert one.model.fallback == Fallback()
        dropped = Fallback("drop")
        models = replace(one.model, fallback=dropped), replace(two.model, fallback=dropped)
    assert core_stage(TwoModels(*models, "all")).outcome == "proved"


def test_what_one_side_finds_first_holds_no_token_of_the_other() -> None:
    """A user-defined piece is an added token in what is written, which builds ``abc`` beside."""
    one = pieces(("ab", USER_DEFINED), *normal("abc", "a", "b", "c"))
    files = by_name("huggingface").dump(one.model())
    two = by_name("huggingface").load(files)
    assert core_stage(TwoModels(one.model(), two, "ordinary")).outcome == "proved"


CUT_AT_B = (Split("b", "isolated"),)
FOUND_FIRST = AddedToken("ab", 2, special=False, normalized=True)


@pytest.mark.parametrize(
    ("token", "steps", "text"),
    [
        # Found before the normalizer, it takes a part of what is found after it.
        (AddedToken("bc", 900, special=False), (), "abc"),
        # In the normalized text U+2581 may be a space.
        (AddedToken("c c", 900, special=False), (), "c\u2581c"),
        (AddedToken("cc", 900, special=True), (), "cc"),
        (AddedToken("cc", 900, special=False, rstrip=True), (), "cc "),
        # What is found before a text is split is in no pretoken.
        (None, CUT_AT_B, "ab"),
    ],
)
def test_what_added_tokens_stand_for_is_found_alike(
    token: AddedToken | None, steps: tuple[Split, ...], text: str
) -> None:
    """The conditions of Theorem 24, each of them broken; no reader gives such pairs."""
    plain = pieces(("ab", USER_DEFINED), *normal("abc", "a", "b", "c")).model()
    assert plain.vocab.ids[b"ab"] == FOUND_FIRST.id
    late = () if token is None else (AddedToken(token.text, 900, special=False, normalized=True),)
    one = replace(plain, added=() if token is None else (token,), pretokenizer=steps)
    ordinary = {n: kind for n, kind in plain.vocab.kinds.items() if kind != "user_defined"}
    two = replace(
        plain,
        added=(FOUND_FIRST, *late),
        pretokenizer=steps,
        vocab=replace(plain.vocab, kinds=ordinary),
    )
    alike = replace(two, added=(FOUND_FIRST,), pretokenizer=())
    for a, b in ((plain, alike), (alike, plain)):
        assert core_stage(TwoModels(a, b, "ordinary")).outcome == "proved"
    assert Encoder(one).encode(text) != Encoder(two).encode(text)
    for a, b in ((one, two), (two, one)):
        assert core_stage(TwoModels(a, b, "ordinary")).outcome != "proved"


@pytest.mark.parametrize(
    ("token", "text"),
    [
        (b".\xd5", ".\u055a"),
        (b"\x9a.", "\u055a."),
        (b"\x9a\xd5", "\u055a\u055a"),
        (b"\xb8\x80.", "\u2e00."),
        (b".\xe1\xa0", ".\u1800"),
    ],
)
def test_a_token_that_most_characters_are_cut_off_from(token: bytes, text: str) -> None:
    """The first characters that make it whole are letters, which the pattern cuts off.

    Theorem 21 in ``docs/theory.md``.
    """
    ranks = [[bytes([byte]).decode("latin-1"), byte] for byte in range(256)]
    pattern = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    facts: Json = {"name": "t", "pat_str": pattern, "special_tokens": {}, "ranks": ranks}
    ends = range(2, len(token) + 1)
    more = [[token[:end].decode("latin-1"), 254 + end] for end in ends]
    one, two = (
        Source("tiktoken", facts, ""),
        Source("tiktoken", facts | {"ranks": ranks + more}, ""),
    )
    assert ids(one, [text]) != ids(two, [text])
    assert compared(one, two, core_stage) == "different"


@pytest.mark.parametrize("field", ["pretokenizer", "normalizer"])
def test_steps_that_write_bytes_are_not_given_to_a_model_of_characters(
    field: Literal["pretokenizer", "normalizer"],
) -> None:
    """The pattern cuts between the bytes of a character, which are none of its symbols."""
    cut: Json = {"type": "Split", "pattern": {"Regex": r"\p{L}+"}, "behavior": "Isolated"}
    cut |= {"invert": False}
    mapped, plain = (
        Side(document(EVERY, normalizer=normalizer, pre_tokenizer=cut, unk_token="a"))
        for normalizer in ({"type": "ByteLevel"}, None)
    )
    text = "\u00e9"
    assert mapped.ids(text) != plain.ids(text)
    assert {mapped.model.alphabet, plain.model.alphabet} == {"byte", "char"}
    for one, two in ((mapped.model, plain.model), (plain.model, mapped.model)):
        tried = TwoModels(one, two, "ordinary").tried("pre-tokenizer", "why", [text], field)
        assert (tried.outcome, tried.witness) == ("different", text)
