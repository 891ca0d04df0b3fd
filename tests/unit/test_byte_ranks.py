"""Ids as ranks over bytes: each condition of Theorems 13 and 25 by a tokenizer that breaks it.

Lists of merges run in tokenizers, scores in sentencepiece, ids as ranks in tiktoken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import product

import pytest
import sentencepiece
import tiktoken
import tokenizers
from tokenizers import models, pre_tokenizers

from bpe_interop.model import BPEModel, Fallback, Kind, PairList, RankTable, Vocab
from bpe_interop.steps import ByteChars, Pattern, PreTokenizerStep, Split
from bpe_interop.text.bytechars import BYTE_TO_CHAR, to_chars
from bpe_interop.theory.byte_ranks import as_byte_ranks, over_bytes, rank_table
from fixtures.piece_model import (
    BYTE_FALLBACK,
    BYTE_PIECES,
    TRAINER,
    UNKNOWN,
    Piece,
    with_field,
    with_pieces,
    write,
)

from bpe_interop.formats import sentencepiece as pieces_format  # isort: skip

Pair = tuple[bytes, bytes]
NORMAL: Kind = "normal"
LETTERS = [bytes([byte]) for byte in range(256)]
FALLS_BACK = with_field(
    write([(2, write([(3, 2), (4, 8)])), (3, write([(3, 0), (4, 0), (5, 0)]))]),
    TRAINER,
    BYTE_FALLBACK,
    1,
)


def byte_model(
    pairs: list[Pair], order: list[bytes], steps: tuple[PreTokenizerStep, ...] = ()
) -> BPEModel:
    """A list of merges over all bytes; the tokens that it builds have ids in an order of theirs."""
    ids = {token: number for number, token in enumerate([*LETTERS, *order])}
    return BPEModel(Vocab(ids), PairList(tuple(pairs)), normalizer=(), pretokenizer=steps)


def in_tokenizers(model: BPEModel, *splits: pre_tokenizers.PreTokenizer) -> tokenizers.Tokenizer:
    assert isinstance(model.merges, PairList)
    vocab = {to_chars(token): number for token, number in model.vocab.ids.items()}
    engine = models.BPE(vocab, [(to_chars(a), to_chars(b)) for a, b in model.merges.pairs])
    tokenizer = tokenizers.Tokenizer(engine)
    mapped = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([mapped, *splits])
    return tokenizer


def in_tiktoken(ranks: Mapping[bytes, int]) -> tiktoken.Encoding:
    return tiktoken.Encoding("t", pat_str="(?s).+", mergeable_ranks={**ranks}, special_tokens={})


def test_a_text_that_tiktoken_looks_up_shows_nothing() -> None:
    """``abcd`` is a token, and other merges come first in a rank file: a longer text shows it."""
    pairs = [(b"a", b"b"), (b"c", b"d"), (b"ab", b"cd"), (b"b", b"c")]
    model = byte_model(pairs, [b"bc", b"ab", b"cd", b"abcd"])
    rewrite = as_byte_ranks(model)
    assert (rewrite.rule, rewrite.shown) == (None, True)
    assert rewrite.witness is not None
    ours, theirs = in_tokenizers(model), in_tiktoken(model.vocab.ids)
    assert ours.encode(rewrite.witness).ids != theirs.encode_ordinary(rewrite.witness)


def test_a_content_that_no_text_leaves_to_merging_shows_nothing() -> None:
    """``aba`` is cut into letters, unless a space is before it."""
    pattern = " .+|."
    model = byte_model(
        [(b"b", b"a"), (b"a", b"b")],
        [b"ab", b"ba"],
        (Split(Pattern(pattern, "oniguruma"), "isolated"),),
    )
    rewrite = as_byte_ranks(model)
    assert (rewrite.rule, rewrite.shown) == (None, True)
    assert rewrite.witness is not None
    cut = pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ours = in_tokenizers(model)
    ours.pre_tokenizer = pre_tokenizers.Sequence([cut, byte_level])
    theirs = tiktoken.Encoding(
        "t", pat_str=pattern, mergeable_ranks={**model.vocab.ids}, special_tokens={}
    )
    assert ours.encode("aba").ids == theirs.encode_ordinary("aba")
    assert ours.encode(rewrite.witness).ids != theirs.encode_ordinary(rewrite.witness)


def test_two_tokens_that_are_not_in_order_are_named() -> None:
    model = byte_model([(b"a", b"b"), (b"b", b"c")], [b"bc", b"ab"])
    assert '("ab" merges before "bc", with ids 257 and 256)' in as_byte_ranks(model).what
    assert over_bytes(model) is None


def test_where_no_two_are_out_of_order_none_are_named() -> None:
    """The ids are in order; but over ranks any split merges, and the list has one."""
    model = byte_model([(b"a", b"b"), (b"ab", b"c"), (b"c", b"d")], [b"ab", b"abc", b"cd"])
    short = replace(model, merges=PairList(((b"a", b"b"), (b"c", b"d"))))
    rewrite = as_byte_ranks(short)
    assert rewrite.rule is None
    assert rewrite.what == "the ids are not in the order of the merges"
    assert rewrite.witness is not None
    ours, theirs = in_tokenizers(short), in_tiktoken(short.vocab.ids)
    assert ours.encode(rewrite.witness).ids != theirs.encode_ordinary(rewrite.witness)


BEFORE = [
    *(bytes([lead]) for lead in range(0xE1, 0xF0)),
    *(bytes([byte]) for byte in range(0x80, 0xC0)),
    *(bytes([lead]) for lead in range(0xF1, 0xF5)),
]
"""Every byte that may stand before 0x81 within a character, where 0x82 follows."""


def test_what_is_cut_inside_characters_is_compared_by_bytes() -> None:
    """``81 82`` and ``82 61`` meet only where a step cuts off what merges with 0x81 before."""
    first = [(byte, b"\x81") for byte in BEFORE]
    pairs = [*first, (b"\x81", b"\x82"), (b"\x82", b"a")]
    order = [left + right for left, right in first] + [b"\x82a", b"\x81\x82"]
    whole = byte_model(pairs, order)
    assert as_byte_ranks(whole).rule == RankTable(whole.vocab.ids)
    mapped = BYTE_TO_CHAR[0xE3]
    cut = byte_model(pairs, order, (ByteChars(), Split(mapped, "isolated")))
    assert as_byte_ranks(cut).rule is None
    text = "\u3042a"
    ids = whole.vocab.ids
    bytes_cut = [ids[b"\xe3"], ids[b"\x81\x82"], ids[b"a"]]
    ours = in_tokenizers(cut, pre_tokenizers.Split(mapped, "isolated"))
    assert ours.encode(text).ids == bytes_cut
    theirs = in_tiktoken(ids)
    assert theirs.encode_ordinary(text) == in_tokenizers(whole).encode(text).ids
    parts = [theirs._encode_bytes(part) for part in (b"\xe3", b"\x81\x82a")]
    assert [number for part in parts for number in part] != bytes_cut


def of_pieces(pieces: list[Piece]) -> tuple[BPEModel, sentencepiece.SentencePieceProcessor]:
    data = with_pieces(FALLS_BACK, [Piece("<unk>", 0, UNKNOWN), *pieces])
    engine = sentencepiece.SentencePieceProcessor(model_proto=data)
    return pieces_format.load({"tokenizer.model": data}), engine


def test_a_byte_that_only_longer_tokens_have_is_lacking() -> None:
    """``é`` is a token, and 0xC3 by itself is none."""
    few = [piece for piece in BYTE_PIECES if piece.text != "<0xC3>"]
    ids = {b"\xc3\xa9": 0, b"a": 1}
    ids |= {piece.text.encode(): 2 + place for place, piece in enumerate(few)}
    vocab = Vocab(ids, dict.fromkeys(range(2, 257), "byte"))
    fallback = Fallback("unknown", 300, fuse=True, byte_fallback=True)
    model = BPEModel(
        vocab, PairList(()), alphabet="char", fallback=fallback, normalizer=(), pretokenizer=()
    )
    rewrite = as_byte_ranks(model)
    assert (rewrite.rule, rewrite.what) == (None, "1 bytes have no token")
    assert rewrite.witness == "\u00c0"
    assert over_bytes(model) is None


def test_a_missing_character_by_itself_is_its_bytes_on_both_sides() -> None:
    """``éa`` merges in sentencepiece; where ``a`` goes elsewhere, no text is shown for it."""
    taken = ["a ", "a\n", "aa", "a1", "a."]
    pieces = [*BYTE_PIECES, *(Piece(text, -1.0) for text in taken), Piece("éa", -9.0)]
    model, engine = of_pieces(pieces)
    rewrite = as_byte_ranks(model)
    assert (rewrite.rule, rewrite.shown) == (None, True)
    assert '"éa" is merged from "é", which is no token' in rewrite.what
    assert rewrite.witness is not None
    theirs = in_tiktoken(rank_table(model))
    assert theirs.encode_ordinary("éa ") == engine.encode("éa ")
    assert theirs.encode_ordinary(rewrite.witness) != engine.encode(rewrite.witness)


@pytest.mark.parametrize("stated", [False, True])
def test_a_model_of_characters_is_one_over_bytes(stated: bool) -> None:
    """Whether or not it is stated that a piece is normal."""
    model, engine = of_pieces([*BYTE_PIECES, Piece("ab", -1.0), Piece("abé", -2.0), Piece("é", -3)])
    normal = dict.fromkeys(model.vocab.ids.values() if stated else (), NORMAL)
    model = replace(model, vocab=replace(model.vocab, kinds={**normal, **model.vocab.kinds}))
    again = over_bytes(model)
    assert again is not None
    assert again.alphabet == "byte"
    theirs = in_tiktoken(again.vocab.ids)
    for size in (1, 2, 3, 4):
        for text in map("".join, product("abéc", repeat=size)):
            if text.encode() not in again.vocab.ids:
                assert theirs.encode_ordinary(text) == engine.encode(text)


def test_a_token_without_bytes_has_no_rank() -> None:
    model = BPEModel(Vocab({b"": 0, b"a": 1}), PairList(()), normalizer=(), pretokenizer=())
    assert rank_table(model) == {b"a": 1}


@pytest.mark.parametrize("kind", ["control", "unused"])
def test_what_a_rank_file_leaves_out_is_not_asked_for_its_place(kind: Kind) -> None:
    """Token types of GGUF, which a model over bytes may have too."""
    vocab = Vocab({b"a": 0, b"b": 1, b"aba": 2, b"ab": 3}, {3: kind})
    pairs = PairList(((b"a", b"b"), (b"ab", b"a")))
    model = BPEModel(vocab, pairs, normalizer=(), pretokenizer=())
    rewrite = as_byte_ranks(model)
    assert rank_table(model) == {b"a": 0, b"b": 1, b"aba": 2}
    assert (rewrite.rule is None) == (kind == "unused")
