"""Steps that can never act after the steps before them, as tokenizers runs them."""

from __future__ import annotations

import itertools
import json
from base64 import b64decode
from dataclasses import replace
from typing import Any, Literal

import pytest

from bpe_interop.errors import EngineMissingError, PatternError
from bpe_interop.formats.huggingface import FORMAT
from bpe_interop.model import BPEModel
from bpe_interop.steps import (
    Lowercase,
    NormalizerStep,
    Prepend,
    Replace,
    SentencePieceText,
    Split,
    Strip,
)
from bpe_interop.text.normalize import normalize
from bpe_interop.text.split import split as cut_of
from bpe_interop.theory import acting_steps
from bpe_interop.theory.acting_steps import acting_normalizer, acting_splits, characters, images
from bpe_interop.theory.added_tokens import same_in_one_pass
from trust.verdicts.documents import precompiled

tokenizers = pytest.importorskip("tokenizers")

Json = dict[str, Any]
CHARSMAP = b64decode(precompiled()["precompiled_charsmap"])
LETTERS = " \u2581aA\u00c9\u0301\u00a0\u01301.\n\uff21\x00"


DUMMIES: tuple[Literal["none", "prefix", "suffix"], ...] = ("none", "prefix", "suffix")


def replaces(old: str, new: str) -> Json:
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def pattern(old: str, new: str) -> Json:
    return {"type": "Replace", "pattern": {"Regex": old}, "content": new}


def cuts(what: str, behavior: str = "Isolated", invert: bool = False) -> Json:
    kind = "Regex" if what[:1] in "\\[" else "String"
    return {"type": "Split", "pattern": {kind: what}, "behavior": behavior, "invert": invert}


def metaspace(scheme: str) -> Json:
    return {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": scheme, "split": False}


ESCAPE = replaces(" ", "\u2581")
LOWER: Json = {"type": "Lowercase"}
NFKC: Json = {"type": "NFKC"}
STRIP: Json = {"type": "Strip", "strip_left": True, "strip_right": True}
DIGITS: Json = {"type": "Digits", "individual_digits": True}
GONE = pattern(r"\s+", "")

IDLE: list[tuple[list[Json], list[Json], int, int]] = [
    # normalizer, pre-tokenizer, how many steps of each act
    ([ESCAPE], [cuts(" ", "MergedWithPrevious")], 1, 0),  # Gemma 3's own
    ([ESCAPE], [cuts(" ", "Removed")], 1, 0),
    ([ESCAPE], [cuts("a b")], 1, 0),
    ([ESCAPE], [cuts(" ", "Isolated", True)], 1, 0),
    ([ESCAPE, ESCAPE], [], 1, 0),
    ([ESCAPE, replaces("a b", "x")], [], 1, 0),
    ([{"type": "Prepend", "prepend": "\u2581"}, ESCAPE], [metaspace("never")], 2, 0),
    ([GONE], [cuts(r"\s"), cuts(r"[ \n]a")], 1, 0),
    ([GONE, STRIP], [], 1, 0),
    ([pattern(r"\d", "#")], [DIGITS], 1, 1),  # is_numeric is more than \d
    ([pattern(r"[\p{N}\x{11de0}-\x{11de9}\x{16ff4}-\x{16ff6}]", "#")], [DIGITS], 1, 0),
    ([LOWER], [cuts("[A-Z]")], 1, 0),
    ([LOWER, LOWER], [], 1, 0),
    ([{"type": "StripAccents"}], [cuts("[\u0300-\u036f]")], 1, 0),
    ([], [cuts(" ", "Removed"), cuts(" ")], 0, 1),
]
ACTING: list[tuple[list[Json], list[Json]]] = [
    # a relative in which the last step acts
    ([ESCAPE], [cuts("\u2581")]),
    ([ESCAPE], [cuts(" ", "Removed", True)]),  # all that is not matched goes
    ([ESCAPE, replaces("a", " ")], [cuts(" ")]),
    ([ESCAPE, NFKC], [cuts(" ")]),  # U+00A0 becomes a space
    ([ESCAPE], [metaspace("never"), cuts(r"\s")]),
    ([ESCAPE], [cuts(r"\s")]),
    ([replaces("a b", "x")], [cuts(" ")]),
    ([ESCAPE, STRIP], []),  # of other white space
    ([LOWER], [cuts(r"[\p{Mn}]")]),  # U+0130 has a mark in lower case
    ([ESCAPE, LOWER], []),
    ([replaces("\x00", "a"), {"type": "Prepend", "prepend": "x"}], []),  # whatever the text is
    ([ESCAPE], [metaspace("always")]),  # puts one where there is no space
    ([], [metaspace("never")]),
    ([], [cuts(" "), cuts(" ", "Removed")]),  # what is cut out is still there
    ([], [cuts(" ", "Removed", True), cuts(" ", "Removed")]),  # as is what alone is kept
    ([ESCAPE], [cuts("\uff21")]),
    ([replaces("a", "A")], [cuts("[a]*1")]),  # none of them will do
    ([replaces("a", "A")], [cuts("[1](?![a])")]),
    ([replaces("a", "x")], [cuts("[A](?>1|11)")]),
    ([pattern("[a]{2,}", "x")], [cuts("a")]),  # one stays
]


def tokenizer_json(normalizers: list[Json], splits: list[Json]) -> str:
    return json.dumps(
        {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": [],
            "normalizer": {"type": "Sequence", "normalizers": normalizers},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": splits},
            "post_processor": None, "decoder": None,
            "model": {
                "type": "BPE", "dropout": None, "unk_token": None, "fuse_unk": False,
                "continuing_subword_prefix": None, "end_of_word_suffix": None,
                "byte_fallback": False, "ignore_merges": False, "vocab": {"a": 0}, "merges": [],
            },
        }
    )  # fmt: skip


def model_of(normalizers: list[Json], splits: list[Json]) -> BPEModel:
    return FORMAT.load({"tokenizer.json": tokenizer_json(normalizers, splits).encode()})


def cut_by_tokenizers(normalizers: list[Json], splits: list[Json], texts: list[str]) -> list[Any]:
    tokenizer = tokenizers.Tokenizer.from_str(tokenizer_json(normalizers, splits))
    normal = [tokenizer.normalizer.normalize_str(text) for text in texts]
    cutter = tokenizer.pre_tokenizer
    return [[part for part, _ in cutter.pre_tokenize_str(text) if part] for text in normal]


TEXTS = ["".join(text) for size in (1, 2, 3) for text in itertools.product(LETTERS, repeat=size)]


@pytest.mark.parametrize(("normalizers", "splits", "written", "cutting"), IDLE)
def test_a_step_that_cannot_act_is_left_out(
    normalizers: list[Json], splits: list[Json], written: int, cutting: int
) -> None:
    """Theorem 30: tokenizers gives every short text the same parts without it."""
    model = model_of(normalizers, splits)
    assert len(acting_normalizer(model.normalizer or ())) == written
    assert len(acting_splits(model)) == cutting
    with_all = cut_by_tokenizers(normalizers, splits, TEXTS)
    assert cut_by_tokenizers(normalizers[:written], splits[:cutting], TEXTS) == with_all


@pytest.mark.parametrize(("normalizers", "splits"), ACTING)
def test_a_step_that_acts_stays(normalizers: list[Json], splits: list[Json]) -> None:
    """Theorem 30: without it tokenizers gives some short text other parts."""
    model = model_of(normalizers, splits)
    assert acting_normalizer(model.normalizer or ()) == model.normalizer
    assert acting_splits(model)[-1:] == (model.pretokenizer or ())[-1:]
    less = (normalizers, splits[:-1]) if splits else (normalizers[:-1], splits)
    with_all = cut_by_tokenizers(normalizers, splits, TEXTS)
    assert cut_by_tokenizers(*less, TEXTS) != with_all


@pytest.mark.parametrize(
    ("normalizer", "text", "flags", "alike"),
    [
        (ESCAPE, "<P>", {}, True),
        (ESCAPE, "\u2581P", {}, False),  # found in what is written for a space
        (ESCAPE, "<P>", {"rstrip": True}, False),  # U+2581 is no white space
        (replaces(" ", ""), "<P>", {}, False),  # its parts come together
        (replaces("  ", ""), "<P>", {}, False),
        (replaces("  ", "\u2581 "), "<P>", {}, True),
        (replaces("  ", "P"), "<P>", {}, False),
        (replaces("> ", "  "), "<P>", {}, False),  # where something follows, it is gone
    ],
)
def test_in_which_pass_a_token_is_found_is_all_one(
    normalizer: Json, text: str, flags: Json, alike: bool
) -> None:
    """Theorem 18: as tokenizers finds it in every short text."""
    parts = (text, text[0], text[1:], text[2:], " ", "\u2581", "")
    texts = ["".join(each) for each in itertools.product(parts, repeat=4)]
    ids = []
    for normalized in (True, False):
        document = json.loads(tokenizer_json([normalizer], []))
        vocab = {each: number for number, each in enumerate("\u2581<>P")}
        document["model"]["vocab"] = vocab
        plain = {"lstrip": False, "rstrip": False, "single_word": False, "special": False}
        token = {"id": 4, "content": text, "normalized": normalized} | plain | flags
        document["added_tokens"] = [token]
        source = json.dumps(document)
        ids.append([e.ids for e in tokenizers.Tokenizer.from_str(source).encode_batch(texts)])
        model = FORMAT.load({"tokenizer.json": source.encode()})
        if normalized:
            assert same_in_one_pass(model.normalizer or (), model.added or ()) is alike
    assert (ids[0] == ids[1]) is alike


def pieces(charsmap: bytes, *texts: str) -> SentencePieceText:
    """A normalizer that escapes spaces; ``texts`` are user-defined pieces."""
    return SentencePieceText(charsmap, collapse=False, dummy="none", escape=True, kept=texts)


@pytest.mark.parametrize(
    ("normalizer", "split", "text"),
    [
        ((pieces(b""),), " ", None),
        ((pieces(b"", "ab"),), " ", None),
        ((Replace("A", "x"), pieces(b"")), "A", None),
        ((Replace("A", "x"), pieces(CHARSMAP)), "A", "1\uff21"),  # U+FF21 becomes A
    ],
)
def test_what_sentencepiece_writes(
    normalizer: tuple[NormalizerStep, ...], split: str, text: str | None
) -> None:
    """Theorem 30: the split stays where a text shows that it acts."""
    steps = (Split(split, "isolated"),)
    model = replace(model_of([], []), normalizer=normalizer, pretokenizer=steps)
    assert acting_splits(model) == (() if text is None else steps)
    for each in TEXTS if text is None else [text]:
        written = normalize(normalizer, each)
        assert (cut_of(steps, written)[0] == [written]) is (text is None) or not written


def test_without_the_steps_that_cannot_act_every_text_is_written_alike() -> None:
    """All sequences of three of these; SentencePiece's step in all its ways, after any other."""
    written = [
        SentencePieceText(b"", collapse=collapse, dummy=dummy, escape=escape, kept=kept)
        for collapse, escape in itertools.product((False, True), repeat=2)
        for dummy in DUMMIES
        for kept in ((), ("a b",), ("\u2581",))
    ]
    others: list[NormalizerStep] = [
        Replace("\u2581", "x"), Replace("\u2581", "_"), Replace(" ", "\u2581"), Prepend("\u2581"),
        Strip(True, True), Lowercase(),
    ]  # fmt: skip
    texts = ["", " ", "c d", "a b", " a b c ", "\u2581A \u2581", "xa  bx", "_\u2581_"]
    left_out = 0
    for middle in (*written, *others):
        for first, last in itertools.product(others, repeat=2):
            steps = (first, middle, last)
            acting = acting_normalizer(steps)
            left_out += len(steps) - len(acting)
            for text in texts:
                assert normalize(acting, text) == normalize(steps, text), (steps, text)
    assert left_out > 100


def test_a_step_of_which_nothing_is_known_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(steps: object) -> list[str]:
        raise EngineMissingError("tokenizers is not installed")

    monkeypatch.setattr(acting_steps, "images", absent)
    acting_steps._changed.cache_clear()
    steps = (Replace("A", "a"), Lowercase(), Lowercase())
    assert acting_normalizer(steps) == steps
    acting_steps._changed.cache_clear()


PRIVATE = "".join(map(chr, range(0xF0000, 0x10FFFE)))


@pytest.mark.parametrize("mark", ["\ue000", "\U000f0000"])
def test_the_table_of_steps_that_write_what_stands_between_characters(mark: str) -> None:
    """It may be written as often as there are characters, and be one that is left out itself."""
    every = characters()
    for steps in (
        (Replace("a", mark),),
        (Replace(mark, ""), Replace("a", mark * (acting_steps._BLOCK - 1)), Replace("b", "xy")),
    ):
        written = zip(every, images(steps), strict=True)
        differs = [(char, image) for char, image in written if char != image]
        assert differs == [(c, i) for c in f"ab{mark}" if (i := normalize(steps, c)) != c]


def test_no_character_is_left_to_stand_between_others() -> None:
    with pytest.raises(PatternError, match="every character of private use"):
        list(images((Replace("a", PRIVATE),)))
