"""The encoder of character-level models against tokenizers and sentencepiece, on tiny models."""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from itertools import product
from typing import Any

import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from bpe_interop.encode import Encoder
from bpe_interop.encode.pretoken import PretokenEncoder
from bpe_interop.errors import EncodeError, InvalidModelError
from bpe_interop.merging.canonical import canonical, whole_lookups
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
from bpe_interop.steps import (
    ByteTokens,
    Fuse,
    JoinPieces,
    Metaspace,
    MetaspaceText,
    Prepend,
    Replace,
    Split,
    StripToken,
    WordEnds,
)
from fixtures import TOKENIZERS
from fixtures.piece_model import (
    BYTE,
    BYTE_FALLBACK,
    CONTROL,
    NORMAL,
    TRAINER,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Piece,
    with_field,
    with_pieces,
)

BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
LATE_UNUSED = tuple(map(int, version("sentencepiece").split(".")[:3])) >= (0, 2, 3)
"""From there on, an unused piece that is a single character is unknown."""


# Hugging Face's models.


@dataclass(frozen=True)
class Listed:
    """A BPE model with a pair list, as tokenizers is given it."""

    letters: str
    tokens: list[str]
    pairs: list[tuple[str, str]]
    prefix: str = ""
    suffix: str = ""
    missing: str = "drop"
    byte_tokens: tuple[str, ...] = ()
    lookup: bool = False

    def vocab(self) -> dict[str, int]:
        unknown = [] if self.missing == "drop" else ["<unk>"]
        texts = dict.fromkeys([*unknown, *self.byte_tokens, *self.tokens])
        return {text: number for number, text in enumerate(texts)}

    def engine(self) -> models.BPE:
        options: dict[str, str] = {}
        if self.prefix:
            options["continuing_subword_prefix"] = self.prefix
        if self.suffix:
            options["end_of_word_suffix"] = self.suffix
        if self.missing != "drop":
            options["unk_token"] = "<unk>"
        return models.BPE(
            self.vocab(),
            self.pairs,
            fuse_unk=self.missing == "fuse",
            byte_fallback=bool(self.byte_tokens),
            ignore_merges=self.lookup,
            **options,
        )

    def model(self) -> BPEModel:
        vocab = self.vocab()
        kinds: dict[int, Kind] = {vocab[token]: "byte" for token in self.byte_tokens}
        return BPEModel(
            Vocab({token.encode(): number for token, number in vocab.items()}, kinds),
            PairList(tuple((x.encode(), y.encode()) for x, y in self.pairs)),
            alphabet="char",
            affixes=Affixes(self.prefix.encode(), self.suffix.encode()),
            lookup_first=self.lookup,
            fallback=Fallback(
                "drop" if self.missing == "drop" else "unknown",
                vocab.get("<unk>"),
                self.missing == "fuse",
                bool(self.byte_tokens),
            ),
            normalizer=(),
            pretokenizer=(),
            added=(),
        )

    def texts(self, rng: random.Random) -> list[str]:
        """Also with characters that are in no vocabulary."""
        alphabet = self.letters + "zß" + self.prefix[:1]
        short = [
            *map("".join, product(alphabet, repeat=1)),
            *map("".join, product(alphabet, repeat=2)),
        ]
        long = ["".join(rng.choices(alphabet, k=rng.randrange(3, 14))) for _ in range(30)]
        return [*short, *long, "".join(rng.choices(self.letters, k=200))]


@st.composite
def listed(draw: st.DrawFn, affixes: bool) -> Listed:
    letters = draw(st.sampled_from(["ab", "abc", "aé", "a\u2581b", "ab世"]))
    prefix = draw(st.sampled_from(["", "##", "#", "a", "é"])) if affixes else ""
    suffix = draw(st.sampled_from(["", "</w>", "a", "ab"])) if affixes else ""
    glued = [p + c + s for c in letters for p in {"", prefix} for s in {"", suffix}]
    tokens = draw(st.lists(st.sampled_from(glued), min_size=1, unique=True))
    pairs: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(0, 12))):
        left, right = (draw(st.sampled_from(tokens)) for _ in range(2))
        if not right.startswith(prefix) or right == prefix:
            continue
        merged = left + right[len(prefix) :]
        if len(merged) < 11:
            pairs.append((left, right))
            if merged not in tokens:
                tokens.append(merged)
    pairs = draw(st.permutations(pairs))
    missing = draw(st.sampled_from(["drop", "unknown", "fuse"]))
    bytes_there = draw(st.sampled_from(["none", "all", "some"]))
    byte_tokens = BYTE_TOKENS if bytes_there != "none" else []
    if bytes_there == "some" and missing == "drop":
        byte_tokens = BYTE_TOKENS[0x40:0xC5]
    return Listed(
        letters, tokens, pairs, prefix, suffix, missing, tuple(byte_tokens), draw(st.booleans())
    )


def check_listed(case: Listed, rng: random.Random) -> None:
    engine, encoder = case.engine(), PretokenEncoder(case.model())
    for text in case.texts(rng):
        expected = engine.tokenize(text)
        assert encoder.ids(text.encode()) == [token.id for token in expected], text
        placed = list(encoder.placed(text.encode()))
        assert [number for number, _, _ in placed] == [token.id for token in expected], text
        # tokenizers takes no account of what it drops, nor of affixes among the bytes.
        if case.missing != "drop" and not (case.byte_tokens and case.prefix + case.suffix):
            assert [(start, end) for _, start, end in placed] == [t.offsets for t in expected]


@pytest.mark.long
@settings(max_examples=300)
@given(listed(affixes=False), st.randoms(use_true_random=False))
def test_character_merges_as_in_tokenizers(case: Listed, rng: random.Random) -> None:
    check_listed(case, rng)


@pytest.mark.long
@settings(max_examples=300)
@given(listed(affixes=True), st.randoms(use_true_random=False))
def test_affixes_as_in_tokenizers(case: Listed, rng: random.Random) -> None:
    check_listed(case, rng)


@pytest.mark.long
@settings(max_examples=300)
@given(listed(affixes=True), st.randoms(use_true_random=False))
def test_the_canonical_pairs_are_all_that_ever_merges(case: Listed, rng: random.Random) -> None:
    """As far as no token is built in two ways; and what is unreachable is never given out.

    Lemma 2 in ``docs/theory.md``.
    """
    model = case.model()
    form = canonical(model)
    if form.twofold:
        return
    engine = replace_pairs(case, list(form.splits.values())).engine()
    encoder = PretokenEncoder(replace(model, lookup_first=False))
    found: set[int] = set()
    for text in case.texts(rng):
        ids = encoder.ids(text.encode())
        assert ids == [token.id for token in engine.tokenize(text)], text
        found.update(ids)
    unreachable = {model.vocab.ids[token] for token in form.unreachable}
    assert not found & (unreachable - {model.fallback.unknown})


def replace_pairs(case: Listed, pairs: list[tuple[bytes, bytes]]) -> Listed:
    return replace(case, pairs=[(x.decode(), y.decode()) for x, y in pairs], lookup=False)


@pytest.mark.long
@settings(max_examples=200)
@given(listed(affixes=True))
def test_whole_lookups_are_where_merging_gives_something_else(case: Listed) -> None:
    model = replace(case.model(), lookup_first=True, fallback=Fallback())
    plain = replace(case, lookup=False, missing="unknown", byte_tokens=()).engine()
    for token, number in model.vocab.ids.items():
        text = token.decode()
        if number == model.vocab.ids.get(b"<unk>") or text in case.byte_tokens:
            continue
        merged = [found.value for found in plain.tokenize(text)]
        assert (token in whole_lookups(model)) == (merged != [text]), text


CLIP = Listed(
    "lo", ["l", "o", "l</w>", "o</w>", "lo", "lo</w>"], [("l", "o"), ("l", "o</w>")], "", "</w>"
)


def test_a_suffix_stands_on_the_last_symbol_only() -> None:
    encoder, vocab = PretokenEncoder(CLIP.model()), CLIP.vocab()
    assert encoder.ids(b"lolo") == [vocab["lo"], vocab["lo</w>"]]
    assert list(encoder.placed(b"lol")) == [(vocab["lo"], 0, 2), (vocab["l</w>"], 2, 3)]
    assert encoder.ids(b"") == []
    form = canonical(CLIP.model())
    assert form.splits == {b"lo": (b"l", b"o"), b"lo</w>": (b"l", b"o</w>")}
    assert form.unreachable == form.twofold == ()


def test_a_token_that_two_places_build_in_two_ways_is_said() -> None:
    """``ab`` is the symbol ``a`` with its suffix, and also two symbols merged."""
    case = Listed("ab", ["a", "b", "ab"], [("a", "b")], suffix="b")
    assert [t.value for t in case.engine().tokenize("a")] == ["ab"]
    assert [t.value for t in case.engine().tokenize("aba")] == ["ab", "ab"]
    assert canonical(case.model()).twofold == (b"ab",)


def test_a_prefix_is_cut_where_ranks_decide_too() -> None:
    ids = {token: number for number, token in enumerate([b"a", b"##b", b"##c", b"##bc", b"abc"])}
    model = BPEModel(Vocab(ids), RankTable(ids), alphabet="char", affixes=Affixes(b"##"))
    assert PretokenEncoder(model).ids(b"abc") == [4]
    assert canonical(model).splits == {b"##bc": (b"##b", b"##c"), b"abc": (b"a", b"##bc")}


@pytest.mark.parametrize(("named", "says"), [("<unk>", "unknown text"), ("<0x61>", "a byte")])
def test_merges_of_what_stands_for_missing_symbols_are_refused(named: str, says: str) -> None:
    case = Listed("a", ["a", f"a{named}"], [("a", named)], "", "", "fuse", tuple(BYTE_TOKENS))
    with pytest.raises(InvalidModelError, match=says):
        PretokenEncoder(case.model())


# SentencePiece's models.


@cache
def spm_tiny() -> bytes:
    return (TOKENIZERS / "spm-tiny/sentencepiece/tokenizer.model").read_bytes()


@dataclass(frozen=True)
class Pieces:
    """A SentencePiece BPE model, as sentencepiece is given it."""

    pieces: list[Piece]
    dummy: bool = False

    @property
    def byte_fallback(self) -> bool:
        return any(piece.kind == BYTE for piece in self.pieces)

    def engine(self) -> sentencepiece.SentencePieceProcessor:
        data = with_pieces(spm_tiny(), self.pieces)
        data = with_field(data, TRAINER, BYTE_FALLBACK, int(self.byte_fallback))
        data = with_field(data, 3, 3, int(self.dummy))
        return sentencepiece.SentencePieceProcessor(model_proto=data)

    def model(self) -> BPEModel:
        ids: dict[bytes, int] = {}
        kinds: dict[int, Kind] = {}
        named: dict[int, Kind] = {BYTE: "byte", USER_DEFINED: "user_defined", UNUSED: "unused"}
        merged = [piece for piece in self.pieces if piece.kind in (NORMAL, UNUSED)]
        order = sorted({float32(piece.score) for piece in merged}, reverse=True)
        for number, piece in enumerate(self.pieces):
            if piece.kind in (CONTROL, UNKNOWN):
                continue
            ids[piece.text.encode()] = number
            if piece.kind in named:
                kinds[number] = named[piece.kind]
        ranks = {piece.text.encode(): order.index(float32(piece.score)) for piece in merged}
        added = [(n, p) for n, p in enumerate(self.pieces) if p.kind in (CONTROL, UNKNOWN)]
        return BPEModel(
            Vocab(ids, kinds),
            RankTable(ranks),
            alphabet="char",
            fallback=Fallback(
                "unknown",
                next(n for n, p in added if p.kind == UNKNOWN),
                fuse=True,
                byte_fallback=self.byte_fallback,
                after_merging=any(
                    char.encode() not in ids for token in ranks for char in token.decode()
                ),
            ),
            normalizer=(*([Prepend("\u2581")] if self.dummy else []), Replace(" ", "\u2581")),
            pretokenizer=(),
            added=tuple(AddedToken(piece.text, number) for number, piece in added),
            decoder=(JoinPieces(" \u2047 ", "prefix" if self.dummy else "none", False),),
        )


def float32(score: float) -> float:
    found: float = struct.unpack("<f", struct.pack("<f", score))[0]
    return found


@st.composite
def pieces(draw: st.DrawFn) -> tuple[str, Pieces]:
    """Letters, and a model in which some of them are missing."""
    letters = draw(st.sampled_from(["ab", "abc", "aé", "a\u2581b", "ab世", "abcd\u2581"]))
    texts = draw(st.lists(st.sampled_from(letters), unique=True))
    pool = list(letters)
    for _ in range(draw(st.integers(1, 14))):
        text = draw(st.sampled_from(pool)) + draw(st.sampled_from(pool))
        if len(text) < 9 and text not in texts:
            texts.append(text)
            pool.append(text)
    scores = st.sampled_from(
        draw(st.sampled_from([[-1.0], [-1.0, -2.0], [-1e9, 0.1, 0.1 + 1e-12], range(-40, 0)]))
    )
    kinds = st.sampled_from(
        draw(st.sampled_from([[NORMAL], [NORMAL, UNUSED], [NORMAL, NORMAL, USER_DEFINED, UNUSED]]))
    )
    made = [Piece("<unk>", 0.0, UNKNOWN), Piece("<s>", 0.0, CONTROL)]
    if draw(st.booleans()):
        made += [Piece(text, -1.0, BYTE) for text in BYTE_TOKENS]
    for text in texts:
        kind = draw(kinds)
        if kind == UNUSED and len(text) == 1 and not LATE_UNUSED:
            kind = NORMAL
        made.append(Piece(text, float(draw(scores)), kind))
    return letters, Pieces(made, draw(st.booleans()))


@pytest.mark.long
@settings(max_examples=150)
@given(pieces(), st.randoms(use_true_random=False))
def test_any_pieces_as_in_sentencepiece(case: tuple[str, Pieces], rng: random.Random) -> None:
    letters, made = case
    engine, model = made.engine(), made.model()
    encoder = Encoder(model)
    unreachable = {model.vocab.ids[token] for token in canonical(model).unreachable}
    inside = letters.replace("\u2581", " ") + " "
    for size in (1, 1, 2, 2, 3, 4, 5, 8, 13, 21, 34, 300):
        for alphabet in (inside, inside + "\u2581zß"):
            text = "".join(rng.choices(alphabet, k=size)) + "<s>" * (size == 5)
            expected = engine.encode(text)
            assert encoder.encode(text) == expected, text
            assert encoder.encode_with_offsets(text)[0] == expected, text
            assert encoder.decode(expected) == engine.decode(expected), text
            assert unreachable.isdisjoint(expected), text
            # What misses nothing may be told that missing symbols merge.
            late = replace(model, fallback=replace(model.fallback, after_merging=True))
            assert PretokenEncoder(late).ids(encoder.normalize(text).encode()) == expected, text


@settings(max_examples=150)
@given(pieces())
def test_every_piece_that_is_not_unreachable_is_reached(case: tuple[str, Pieces]) -> None:
    _, made = case
    made = Pieces(made.pieces)
    engine, model = made.engine(), made.model()
    unreachable, kinds = set(canonical(model).unreachable), model.vocab.kinds
    for token, number in model.vocab.ids.items():
        if kinds.get(number) in ("byte", "unused"):
            continue
        reached = engine.encode(token.decode()) == [number]
        assert reached == (token not in unreachable), token


def make(*pieces: Piece, dummy: bool = False) -> Pieces:
    return Pieces([Piece("<unk>", 0.0, UNKNOWN), Piece("<s>", 0.0, CONTROL), *pieces], dummy)


LETTERS = [Piece(char, -9.0) for char in "abc\u2581"]


def test_user_defined_pieces_are_found_first_and_never_merge() -> None:
    made = make(*LETTERS, Piece("bc", kind=USER_DEFINED), Piece("bcc", kind=USER_DEFINED))
    made.pieces.extend([Piece("ab", -1.0), Piece("abc", -1.0), Piece("bca", -1.0)])
    engine, encoder = made.engine(), Encoder(made.model())
    for text in ("abc", "abcc", "abccc", "bcbcc", "bca", "ab bca"):
        assert encoder.encode(text) == engine.encode(text)
    assert encoder.encode_with_offsets("abcca") == ([2, 7, 2], [(0, 1), (1, 4), (4, 5)])
    form = canonical(made.model())
    assert set(form.unreachable) == {b"abc", b"bca"}
    assert b"bc" not in form.splits


def test_unused_pieces_are_split_again_and_again() -> None:
    made = make(*LETTERS, Piece("ab", -1.0, UNUSED), Piece("abc", -2.0, UNUSED))
    engine, encoder = made.engine(), Encoder(made.model())
    assert encoder.encode("abcab") == engine.encode("abcab")
    assert encoder.encode_with_offsets("xabc")[1] == [(0, 1), (1, 2), (2, 3), (3, 4)]
    # An unused piece counts as built: the next merge needs it.
    assert canonical(made.model()).splits == {b"ab": (b"a", b"b"), b"abc": (b"ab", b"c")}


def test_what_is_missing_may_merge_and_falls_back_in_the_end() -> None:
    made = make(*LETTERS, Piece("éé", -1.0), Piece("aé", -2.0))
    engine, encoder = made.engine(), Encoder(made.model())
    for text in ("aéé", "aé", "é", "éééé", "aéx", "aéxéb", "xé\u4e16a"):
        assert encoder.encode(text) == engine.encode(text)
    assert encoder.encode_with_offsets("éxb") == ([0, 3], [(0, 2), (2, 3)])


def test_offsets_of_byte_tokens_are_their_character() -> None:
    made = make(*LETTERS, *(Piece(text, kind=BYTE) for text in BYTE_TOKENS), dummy=True)
    encoder = Encoder(made.model())
    ids, spans = encoder.encode_with_offsets("a\u4e16 b")
    assert ids == made.engine().encode("a\u4e16 b")
    assert spans == [(0, 1), (0, 1), (1, 2), (1, 2), (1, 2), (2, 3), (3, 4)]
    assert [encoder.token_bytes(number) for number in ids] == [
        b" ",
        b"a",
        *(bytes([byte]) for byte in "\u4e16".encode()),
        b" ",
        b"b",
    ]
    assert encoder.decode_bytes(ids) == " a\u4e16 b".encode()
    assert encoder.decode(ids) == "a\u4e16 b"
    assert encoder.decode([1, *ids, 0]) == "a\u4e16 b \u2047 "
    assert encoder.decode([1, *ids, 0], skip_special=True) == "a\u4e16 b"


# Long texts that are one pretoken.


WORDY = [
    *LETTERS,
    Piece("\u2581a", -1.0),
    Piece("ab", -2.0),
    Piece("\u2581\u2581", -3.0),
]


@settings(max_examples=60)
@given(st.lists(st.sampled_from([" a", "ab", "c", "xé", "  ", " cab", "\u4e16"]), min_size=40))
def test_long_texts_in_parts_as_in_sentencepiece(words: list[str]) -> None:
    """Lemma 1 in ``docs/theory.md``."""
    text = "".join(words)
    for made in (make(*WORDY), make(*WORDY, Piece("b\u2581", -1.5)), make(*WORDY, dummy=True)):
        assert Encoder(made.model()).encode(text) == made.engine().encode(text)


def test_a_megabyte_of_one_letter() -> None:
    made = make(*LETTERS, *(Piece("a" * 2**n, -1.0 - n) for n in range(1, 5)))
    text = "a" * 1_000_003
    assert Encoder(made.model()).encode(text) == made.engine().encode(text)


# The pipeline around it.


def piped(prepend: str, normalizer: normalizers.Normalizer | None = None) -> Tokenizer:
    letters = [*"abc\u2581", "\u2581a", "ab", "\u2581b"]
    vocab = {text: number for number, text in enumerate(["<unk>", *letters])}
    pairs = [("\u2581", "a"), ("a", "b"), ("\u2581", "b")]
    engine = Tokenizer(models.BPE(vocab, pairs, unk_token="<unk>", fuse_unk=True))
    if normalizer is not None:
        engine.normalizer = normalizer
    engine.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=prepend, split=True)
    engine.decoder = decoders.Metaspace(prepend_scheme=prepend)
    engine.add_special_tokens(["<s>"])
    return engine


def as_model(engine: Tokenizer, *steps: Replace | Prepend) -> BPEModel:
    vocab = {t: n for t, n in engine.get_vocab().items() if t not in ("<s>", "<unk>")}
    pairs = (("\u2581", "a"), ("a", "b"), ("\u2581", "b"))
    prepend = engine.pre_tokenizer.prepend_scheme
    return BPEModel(
        Vocab({text.encode(): number for text, number in vocab.items()}),
        PairList(tuple((x.encode(), y.encode()) for x, y in pairs)),
        alphabet="char",
        fallback=Fallback("unknown", 0, fuse=True),
        normalizer=steps,
        pretokenizer=(Metaspace("\u2581", prepend), Split("\u2581", "merged_with_next")),
        added=(AddedToken("<unk>", 0), AddedToken("<s>", 8)),
        decoder=(MetaspaceText("\u2581", prepend),),
    )


@pytest.mark.parametrize("prepend", ["always", "first", "never"])
@given(st.lists(st.sampled_from(["<s>", "a", "b", " ", "x", "ab", "\u2581"]), max_size=8))
def test_metaspace_as_in_tokenizers(prepend: str, words: list[str]) -> None:
    text = "".join(words)
    engine = piped(prepend)
    encoder = Encoder(as_model(engine))
    expected = engine.encode(text)
    assert encoder.encode(text, "all") == expected.ids
    assert encoder.encode_with_offsets(text, "all")[0] == expected.ids
    assert encoder.decode(expected.ids) == engine.decode(expected.ids, skip_special_tokens=False)
    engine.encode_special_tokens = True
    assert encoder.encode(text) == engine.encode(text).ids


@given(st.lists(st.sampled_from(["<s>", "a", "b", " ", "x", "ab"]), max_size=8))
def test_metaspace_first_behind_a_normalizer(words: list[str]) -> None:
    text = "".join(words)
    engine = piped("first", normalizers.Replace("x", ""))
    encoder = Encoder(as_model(engine, Replace("x", "")))
    assert encoder.encode(text, "all") == engine.encode(text).ids
    assert encoder.encode_with_offsets(text, "all")[0] == engine.encode(text).ids


def spelled(*steps: Any, **changes: Any) -> Encoder:
    model = as_model(piped("always"))
    return Encoder(replace(model, decoder=steps, **changes))


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ((MetaspaceText("\u2581", "always"),), [b" a", b"ab", b"<0x41>", b"a</w>", b"<s>"]),
        (
            (Replace("\u2581", " "), ByteTokens(), Fuse(), StripToken(" ", 1, 0)),
            [b" a", b"ab", b"A", b"a</w>", b"<s>"],
        ),
        ((JoinPieces("", "prefix", False),), [b" a", b"ab", b"A", b"a</w>", b"<s>"]),
        ((WordEnds("</w>"),), ["\u2581a".encode(), b"ab", b"<0x41>", b"a ", b"<s>"]),
        (None, ["\u2581a".encode(), b"ab", b"<0x41>", b"a</w>", b"<s>"]),
    ],
)
def test_a_tokens_own_bytes_are_as_its_decoder_says(steps: Any, expected: list[bytes]) -> None:
    model = as_model(piped("always"))
    ids = {"\u2581a".encode(): 5, b"ab": 6, b"<0x41>": 9, b"a</w>": 10, b"a": 1, b"b": 2}
    model = replace(
        model, vocab=Vocab(ids, {9: "byte"}), merges=PairList(((b"a", b"b"),)), decoder=steps
    )
    encoder = Encoder(model)
    assert [encoder.token_bytes(number) for number in (5, 6, 9, 10, 8)] == expected
    assert encoder.decode_bytes([5, 6]) == expected[0] + b"ab"


def test_bytes_that_are_no_text_are_no_pretoken_of_characters() -> None:
    encoder = Encoder(make(Piece("a", 0.0)).model())
    with pytest.raises(EncodeError, match="not UTF-8") as raised:
        encoder.encode_pretoken(b"a\xff")
    assert raised.value.where == "byte 1"
