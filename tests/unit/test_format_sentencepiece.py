"""Reading and writing SentencePiece models: meanings, refusals by piece or byte, hostile input."""

from __future__ import annotations

import io
import json
import math
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
from click.testing import CliRunner
from conftest import Data
from hypothesis import given, settings
from hypothesis import strategies as st

from bpe_interop.cli import cli
from bpe_interop.diff import diff
from bpe_interop.encode import Encoder
from bpe_interop.errors import BpeInteropError, FormatError, UnsupportedError
from bpe_interop.fingerprint import fingerprint
from bpe_interop.formats import by_name
from bpe_interop.formats.sentencepiece import schema
from bpe_interop.limits import SENTENCEPIECE_PIECES
from bpe_interop.model import (
    AddedToken,
    BPEModel,
    Fallback,
    RankTable,
    SequenceTemplate,
    TemplateText,
    TemplateToken,
)
from bpe_interop.proof.prove import prove
from bpe_interop.steps import JoinPieces, Prepend, Replace, SentencePieceText
from fixtures import FIXTURES, TOKENIZERS
from fixtures.piece_model import (
    BYTE,
    CHARSMAP,
    CONTROL,
    DENORMALIZER,
    DUMMY_PREFIX,
    ESCAPE,
    NORMAL,
    NORMALIZER,
    PIECES,
    REMOVE_EXTRA,
    TRAINER,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    Piece,
    pieces_of,
    read,
    with_field,
    with_pieces,
    write,
)

FORMAT = by_name("sentencepiece")
CONFIG = "tokenizer_config.json"
MODELS = sorted(TOKENIZERS.glob("*/sentencepiece/tokenizer.model"))
TYPE, VOCAB_SIZE, FALLBACK, BOS, UNK_SURFACE, UNK, BOS_PIECE = 3, 4, 35, 41, 44, 45, 46
"""Fields of ``TrainerSpec``."""

every_model = pytest.mark.parametrize("path", MODELS, ids=[p.parts[-3] for p in MODELS])

BASE = [Piece("<unk>", 0, UNKNOWN), Piece("<s>", 0, CONTROL), Piece("</s>", 0, CONTROL)]
LETTERS = [Piece("\u2581", -1), Piece("a", -2), Piece("b", -3), Piece("ab", -0.5)]
BYTES = [Piece(f"<0x{byte:02X}>", 0, BYTE) for byte in range(256)]


def made(*pieces: Piece, fallback: bool = False) -> bytes:
    """A small model; its normalizer does nothing but escape spaces."""
    spec = write([(TYPE, 2), (FALLBACK, int(fallback))])
    rules = write([(DUMMY_PREFIX, 0), (REMOVE_EXTRA, 0)])
    return with_pieces(write([(TRAINER, spec), (NORMALIZER, rules)]), pieces)


def small(*more: Piece) -> bytes:
    return made(*BASE, *LETTERS, *more)


def load(data: bytes, **beside: bytes) -> BPEModel:
    return FORMAT.load({"tokenizer.model": data, **beside})


def processor(data: bytes) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=data)


def refusal(data: bytes, kind: type[FormatError] = FormatError) -> FormatError:
    with pytest.raises(kind) as caught:
        load(data)
    return caught.value


# What a model says.


@every_model
def test_pieces_are_what_sentencepiece_reads(path: Path) -> None:
    data = path.read_bytes()
    model, engine = load(data), processor(data)
    contents = {number: content.decode() for content, number in model.vocab.ids.items()}
    contents |= {token.id: token.text for token in model.added or ()}
    size = engine.get_piece_size()
    assert contents == {number: engine.id_to_piece(number) for number in range(size)}
    assert model.vocab.scores == {number: engine.get_score(number) for number in range(size)}
    for number in range(size):
        kind = model.vocab.kinds.get(number, "normal")
        assert engine.is_byte(number) == (kind == "byte")
        assert engine.is_unused(number) == (kind == "unused")
        special = engine.is_control(number) or engine.is_unknown(number)
        assert special == any(token.id == number for token in model.added or ())
    for role in ("unk", "bos", "eos", "pad"):
        holders = [token.id for token in model.added or () if role in token.roles]
        assert holders == [n for n in [getattr(engine, f"{role}_id")()] if n >= 0]


@every_model
def test_the_encoder_gives_sentencepieces_ids(path: Path, corpora: list[Path]) -> None:
    data = path.read_bytes()
    encoder, engine = Encoder(load(data)), processor(data)
    for corpus in corpora:
        text = corpus.read_bytes().decode("utf-8")
        ids = engine.encode(text)
        assert encoder.encode(text) == ids
        assert encoder.decode(ids) == engine.decode(ids)


@every_model
def test_written_again_it_has_the_same_bytes(path: Path) -> None:
    data = path.read_bytes()
    model = load(data)
    assert FORMAT.dump(model)["tokenizer.model"] == data
    zeros = 'tokenizer.model: "\u8fd9\u4e2a" has the score 0.0 and "he" -0.0'
    noted = [zeros] if "spm-ties-tiny" in path.parts else []
    assert [note[: len(zeros)] for note in model.origin.notes] == noted
    assert not list(FORMAT.losses(model))


@pytest.mark.parametrize("name", ["llama-2", "mistral-v1"])
def test_published_models_come_back_byte_for_byte(data: Data, name: str) -> None:
    model = data(f"{name}/tokenizer.model").read_bytes()
    read_model = load(model)
    assert FORMAT.dump(read_model) == {"tokenizer.model": model}
    assert read_model.normalizer == (Prepend("\u2581"), Replace(" ", "\u2581"))
    assert read_model.fallback == Fallback("unknown", 0, fuse=True, byte_fallback=True)
    assert isinstance(read_model.merges, RankTable)
    ranks = read_model.merges.ranks
    assert len(ranks) == 31741
    assert len(set(ranks.values())) < len(ranks)  # runs of spaces are tied


OPTIONS: list[dict[str, Any]] = [
    {},
    {"byte_fallback": True, "split_digits": True, "unk_surface": "?", "num_threads": 3},
    {"normalization_rule_name": "nfkc_cf", "remove_extra_whitespaces": True},
    {"normalization_rule_name": "nmt_nfkc", "user_defined_symbols": ["<x>", "the"]},
    {"treat_whitespace_as_suffix": True, "allow_whitespace_only_pieces": True},
    {"treat_whitespace_as_suffix": True, "add_dummy_prefix": False},
    {"add_dummy_prefix": False, "control_symbols": ["<c>", "<d>"], "required_chars": "e"},
    {"pad_id": 0, "bos_id": -1, "eos_id": 5, "unk_id": 2, "eos_piece": "<end>"},
    {"vocabulary_output_piece_score": False, "hard_vocab_limit": False, "accept_language": "en"},
    {"self_test_sample_size": 3, "max_sentence_length": 100, "character_coverage": 0.985},
    {"user_defined_symbols": ["<s>"], "unk_piece": "[U]", "bos_piece": "<s>"},
    {
        "split_by_unicode_script": False,
        "split_by_whitespace": False,
        "pretokenization_delimiter": "|",
    },
]


def train(folder: Path, **options: Any) -> tuple[bytes, bytes]:
    """A model that sentencepiece trains, and the listing that it writes."""
    settings: dict[str, Any] = {"normalization_rule_name": "identity", **options}
    sentencepiece.SentencePieceTrainer.train(
        input=str(FIXTURES / "corpora" / "english.txt"),
        model_prefix=str(folder / "m"),
        model_type="bpe",
        vocab_size=160 + 256 * bool(options.get("byte_fallback")),
        minloglevel=2,
        **settings,
    )
    return (folder / "m.model").read_bytes(), (folder / "m.vocab").read_bytes()


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "plain")
def test_what_sentencepiece_trains_comes_back_byte_for_byte(
    options: dict[str, Any], tmp_path: Path
) -> None:
    data, listing = train(tmp_path, **options)
    model = load(data)
    files = FORMAT.dump(model)
    assert files["tokenizer.model"] == data
    listed = FORMAT.options["vocab-listing"](model, files)
    assert listed == {**files, "tokenizer.vocab": listing}
    assert FORMAT.sniff(listed)
    assert FORMAT.load(listed).vocab == model.vocab
    engine, encoder = processor(data), Encoder(model)
    for text in (" the  lighthouse\t12 <x> ", "\uff21\ufb01 <s>", "caf\u00e9", "", "   "):
        assert encoder.encode(text) == engine.encode(text)


def test_the_listing_is_written_on_request(tmp_path: Path) -> None:
    """Through the command line, beside what is always written."""
    data, listing = train(tmp_path)
    source, target = tmp_path / "m.model", tmp_path / "out"
    done = CliRunner().invoke(
        cli, ["convert", str(source), str(target), "--to", "spm", "--vocab-listing"]
    )
    assert done.exit_code == 0, done.output
    written = {path.name: path.read_bytes() for path in target.iterdir()}
    assert written == {"tokenizer.model": data, "tokenizer.vocab": listing}
    refused = CliRunner().invoke(
        cli, ["convert", str(source), str(tmp_path / "x"), "--to", "hf", "--vocab-listing"]
    )
    assert refused.exit_code != 0
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("rules", "steps"),
    [
        ({}, (Prepend("\u2581"), Replace(" ", "\u2581"))),
        ({DUMMY_PREFIX: 0}, (Replace(" ", "\u2581"),)),
        ({ESCAPE: 0}, (Prepend(" "),)),
        ({ESCAPE: 0, DUMMY_PREFIX: 0}, ()),
        ({REMOVE_EXTRA: 1}, (SentencePieceText(b"", True, "prefix", True, ("b",)),)),
    ],
)
def test_normalizer_settings(rules: Mapping[int, int], steps: tuple[object, ...]) -> None:
    data = made(*BASE, *LETTERS[:2], Piece("b", 0, USER_DEFINED))
    data = with_field(with_field(data, NORMALIZER, DUMMY_PREFIX, None), NORMALIZER, REMOVE_EXTRA, 0)
    for field, value in rules.items():
        data = with_field(data, NORMALIZER, field, value)
    model = load(data)
    assert model.normalizer == steps
    assert FORMAT.dump(model)["tokenizer.model"] == data


def test_a_suffix_is_a_dummy_of_its_own_kind() -> None:
    data = with_field(small(), TRAINER, 24, 1)
    assert load(data).normalizer == (Replace(" ", "\u2581"),)
    data = with_field(data, NORMALIZER, DUMMY_PREFIX, 1)
    model = load(data)
    assert model.normalizer == (SentencePieceText(b"", False, "suffix", True),)
    assert model.decoder == (JoinPieces(" \u2047 ", "suffix", False),)
    assert FORMAT.dump(model)["tokenizer.model"] == data


def test_ranks_are_dense_and_ties_are_equal() -> None:
    model = load(small(Piece("ba", -0.5), Piece("aba", 7), Piece("bb", -0.0), Piece("bbb", 0.0)))
    assert model.merges == RankTable(
        {
            b"aba": 0,
            b"bbb": 1,
            b"bb": 2,
            b"ab": 3,
            b"ba": 3,
            b"\xe2\x96\x81": 4,
            b"a": 5,
            b"b": 6,
        }
    )
    assert math.copysign(1, model.vocab.scores[9]) == -1


SCORES = (0.0, -0.0, 1e-45, -1e-45, -3e-45, 1.1754942e-38, 1.1754944e-38, -3.4028235e38, 16777217.0)
"""Zeros, denormals, the least normal number, and what float32 rounds."""


def test_scores_are_ordered_as_sentencepiece_orders_them() -> None:
    texts = ["".join(chosen) for size in range(2, 6) for chosen in product("ab", repeat=size)]
    differing = 0
    for scores in product(SCORES, repeat=2):
        ids = set()
        for names in (("aa", "ba", "aba"), ("ab", "bb", "ab\u2581"), ("bab", "ba", "ab")):
            pieces = [Piece("a", -5.0), Piece("b", -6.0)]
            pieces += map(Piece, names, (*scores, scores[0]))
            data = with_pieces(small(), [Piece("<unk>", 0.0, UNKNOWN), *pieces])
            engine, encoder = processor(data), Encoder(load(data))
            again = Encoder(load(FORMAT.dump(load(data))["tokenizer.model"]))
            for text in texts:
                expected = engine.encode(text)
                assert encoder.encode(text) == again.encode(text) == expected, (scores, text)
                ids.add(tuple(expected))
        differing += len(ids)
    assert differing > 2000


def test_zeros_of_two_signs_are_no_tie_and_older_releases_are_named() -> None:
    pieces = [Piece("a", -5.0), Piece("b", -6.0), Piece("aa", 0.0)]
    head = [Piece("<unk>", 0.0, UNKNOWN), *pieces]
    below, tied = (with_pieces(small(), [*head, Piece("ba", score)]) for score in (-0.0, 0.0))
    assert processor(below).encode("baa") != processor(tied).encode("baa")
    assert load(below).origin.notes == (
        'tokenizer.model: "aa" has the score 0.0 and "ba" -0.0: sentencepiece since 0.2.2 merges '
        "the first before the second, as is done here; up to 0.2.1 they are a tie",
    )
    assert not load(tied).origin.notes
    proof = prove(load(below), load(tied))
    assert (proof.outcome, proof.stage) == ("different", "core")
    assert fingerprint(load(below))["text"] != fingerprint(load(tied))["text"]
    assert diff(load(below), load(tied))
    text = proof.witness or ""
    assert processor(below).encode(text) != processor(tied).encode(text)


def test_a_score_that_is_left_out_is_zero_and_no_negative_zero() -> None:
    pieces = [field for field in read(small()) if field[0] == PIECES]
    model = load(write([*read(small()), (PIECES, write([(1, b"c")]))]))
    number = len(pieces)
    assert model.vocab.scores[number] == 0.0
    scores = {**model.vocab.scores, number: -0.0}
    changed = replace(model, vocab=replace(model.vocab, scores=scores))
    written = load(FORMAT.dump(changed)["tokenizer.model"])
    assert math.copysign(1, written.vocab.scores[number]) == -1


def test_kinds_and_what_may_merge() -> None:
    model = load(small(Piece("aa", -9, UNUSED), Piece("<t>", 5, USER_DEFINED), Piece("a~", -7)))
    assert model.vocab.kinds == {7: "unused", 8: "user_defined"}
    assert isinstance(model.merges, RankTable)
    assert b"aa" in model.merges.ranks
    assert b"<t>" not in model.merges.ranks
    assert model.fallback.after_merging  # "~" is no piece
    assert not load(small()).fallback.after_merging


@pytest.mark.parametrize("kind", [NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE])
@pytest.mark.parametrize("fallback", [True, False])
def test_a_null_character_is_an_unused_piece_where_bytes_stand_in_for_it(
    kind: int, fallback: bool
) -> None:
    """InternLM has such a piece. Without byte fallback only one that is UNUSED is loaded."""
    pieces = (*BASE, *LETTERS, *(BYTES if fallback else ()), Piece("\0", -9, kind))
    data = made(*pieces, fallback=fallback)
    if not fallback and kind != UNUSED:
        with pytest.raises(RuntimeError, match="null character"):
            processor(data)
        assert "null character" in refusal(data).what
        return
    model, engine, number = load(data), processor(data), len(pieces) - 1
    said = "treats it as an UNUSED piece, and so do we"
    assert sum(said in note for note in model.origin.notes) == (kind != UNUSED)
    encoder, again = Encoder(model), Encoder(FORMAT.load(FORMAT.dump(model)))
    for text in ("\0", "a\0b", "\0\0ab", "a\0 b"):
        ids: list[int] = engine.encode(text)
        assert encoder.encode(text) == again.encode(text) == ids
        assert encoder.decode(ids) == engine.decode(ids)
    assert encoder.decode([number]) == again.decode([number]) == engine.decode([number])


@pytest.mark.parametrize(
    ("field", "value", "roles"),
    [
        (BOS_PIECE, b"</s>", {"<unk>": ("unk",), "<s>": (), "</s>": ("bos", "eos")}),
        (BOS_PIECE, b"", {"<unk>": ("unk",), "<s>": ("bos",), "</s>": ("eos",)}),
        (BOS_PIECE, b"a", {"<unk>": ("unk",), "<s>": (), "</s>": ("eos",)}),
        (BOS_PIECE, b"none", {"<unk>": ("unk",), "<s>": (), "</s>": ("eos",)}),
        (BOS, 77, {"<unk>": ("unk",), "<s>": ("bos",), "</s>": ("eos",)}),
        (UNK, b"a", {"<unk>": (), "<s>": ("bos",), "</s>": ("eos",)}),
        (UNK, b"none", {"<unk>": ("unk",), "<s>": ("bos",), "</s>": ("eos",)}),
    ],
)
def test_roles_go_by_the_pieces_names(
    field: int, value: int | bytes, roles: dict[str, tuple[str, ...]]
) -> None:
    data = with_field(small(), TRAINER, field, value)
    model, engine = load(data), processor(data)
    assert {token.text: token.roles for token in model.added or ()} == roles
    for role in ("unk", "bos", "eos", "pad"):
        holders = [token.id for token in model.added or () if role in token.roles]
        assert holders == [n for n in [getattr(engine, f"{role}_id")()] if n >= 0]
    assert FORMAT.dump(model)["tokenizer.model"] == data


def test_an_unk_surface_of_nothing_is_not_an_absent_one() -> None:
    for value, said in ((None, " \u2047 "), (b"", ""), (b"?", "?")):
        data = with_field(small(), TRAINER, UNK_SURFACE, value)
        model = load(data)
        assert model.decoder == (JoinPieces(said, "none", False),)
        assert Encoder(model).decode([4, 0]) == processor(data).decode([4, 0]) == f"a{said}"
        assert FORMAT.dump(model)["tokenizer.model"] == data


def test_whether_fields_are_present_is_kept() -> None:
    data = small()
    bare = [(number, value) for number, value in read(data) if number == PIECES]
    odd = [write([(1, b"zz")]), write([(1, b"zy"), (2, -9.0), (3, NORMAL)])]
    spec = write([(TYPE, 2)])
    samples = write([(1, write([(1, b"ab"), (2, b"ab")])), (1, write([(1, b"")]))])
    for fields in (
        [*bare, *((PIECES, piece) for piece in odd), (TRAINER, spec)],
        [*bare, (TRAINER, spec), (NORMALIZER, b""), (4, samples), (DENORMALIZER, b"")],
        [*bare, (TRAINER, write([(1, b"x"), (1, b"\xff"), (2, b""), (TYPE, 2), (52, 2**64 - 1)]))],
    ):
        model = load(write(fields))
        assert FORMAT.dump(model)["tokenizer.model"] == write(fields)
        assert model.origin.notes == ()
        json.dumps(model.extras)


def test_a_changed_model_is_written_as_it_is() -> None:
    """What only the source's file said never overrides what the model says."""
    data = with_field(small(), NORMALIZER, ESCAPE, None)
    model = load(with_field(data, TRAINER, FALLBACK, None))
    changed = replace(
        model,
        normalizer=(),
        decoder=(JoinPieces("!", "none", False),),
        added=(*(model.added or ()), AddedToken("<x>", 9)),
        vocab=replace(model.vocab, scores={}),
    )
    suffix = with_field(with_field(data, TRAINER, 24, 1), NORMALIZER, DUMMY_PREFIX, 1)
    moved = replace(load(suffix), normalizer=(Prepend("\u2581"), Replace(" ", "\u2581")))
    assert FORMAT.load(FORMAT.dump(moved)).normalizer == moved.normalizer
    again = FORMAT.load(FORMAT.dump(changed))
    assert (again.normalizer, again.decoder) == (changed.normalizer, changed.decoder)
    assert [token.text for token in again.added or ()] == ["<unk>", "<s>", "</s>", "<x>"]
    assert not {d.field for d in diff(changed, again)} & {"merges", "fallback", "pretokenizer"}
    assert again.vocab.kinds == {7: "unused", 8: "unused"}


# What is not kept, and said.


def test_other_orders_of_the_same_fields_are_noted() -> None:
    fields = read(small())
    model = load(write(fields[::-1]))
    assert model.vocab.ids[b"a"] == len(pieces_of(small())) - 1 - 4
    assert "not the same bytes" in model.origin.notes[0]
    assert len(FORMAT.load(FORMAT.dump(model)).vocab.ids) == 4


def test_fields_of_others_are_noted() -> None:
    spec = write([(TYPE, 2), (99, b"x"), (250, 7)])
    more = [(TRAINER, spec), (200, b"abc"), (PIECES, write([(1, b"z"), (2, 0.0), (300, 1)]))]
    model = load(write([*read(small()), *more]))
    assert model.origin.notes == (
        "trainer_spec: field number 99 is not known; it is not kept",
        "trainer_spec: field number 250 is not known; it is not kept",
        "the model: field number 200 is not known; it is not kept",
        "pieces[]: field number 300 is not known; it is not kept",
    )
    assert FORMAT.load(FORMAT.dump(model)).origin.notes == ()


# Refused, by name and place.


@pytest.mark.parametrize(("number", "name"), [(3, "normalizer_spec"), (5, "denormalizer_spec")])
def test_an_unknown_field_of_a_normalizer_is_no_note(number: int, name: str) -> None:
    """It says what becomes of a text, so without it other ids could be given."""
    data = write([*read(small()), (number, write([(7, 1)]))])
    with pytest.raises(
        UnsupportedError, match=rf"{name} \(byte \d+\): field number 7 is not known"
    ):
        load(data)


def test_models_that_are_not_bpe_are_refused_by_name(tmp_path: Path) -> None:
    for number, name in ((1, "UNIGRAM"), (3, "WORD"), (4, "CHAR")):
        data = with_field(small(), TRAINER, TYPE, number)
        for file in ("tokenizer.model", "sentencepiece.bpe.model"):
            assert FORMAT.sniff({file: data})
            with pytest.raises(UnsupportedError) as caught:
                FORMAT.load({file: data})
            assert f"the model is {name}, not BPE" in caught.value.what
            assert caught.value.where == f"{file}: trainer_spec.model_type"
    unsaid = refusal(with_field(small(), TRAINER, TYPE, None), UnsupportedError)
    assert "UNIGRAM" in unsaid.what
    assert "no type is given" in unsaid.what


def test_t5_is_refused_by_name(data: Data) -> None:
    with pytest.raises(UnsupportedError, match="UNIGRAM"):
        load(data("t5/spiece.model").read_bytes())


REFUSED: list[tuple[bytes, str, str]] = [
    (small(Piece("", -9)), "the piece is empty", "pieces[7]"),
    (small(Piece("ab", -9)), 'the piece "ab" is already there, as pieces[6]', "pieces[7]"),
    (small(Piece("<s>", -9)), 'the piece "<s>" is already there, as pieces[1]', "pieces[7]"),
    (small(Piece("a\0", -9)), "holds a null character", "pieces[7]"),
    (small(Piece("a\0", -9, UNUSED)), "holds a null character", "pieces[7]"),
    (small(Piece("\0", -9)), "holds a null character", "pieces[7]"),
    (small(Piece("\0", -9, CONTROL)), "holds a null character", "pieces[7]"),
    (small(Piece("aa", math.nan)), 'the score of "aa" is nan', "pieces[7]"),
    (small(Piece("aa", math.inf)), 'the score of "aa" is inf', "pieces[7]"),
    (small(Piece("aa", -math.inf)), 'the score of "aa" is -inf', "pieces[7]"),
    (made(*LETTERS), "there is no UNKNOWN piece", "pieces"),
    (small(Piece("?", 0, UNKNOWN)), "a second UNKNOWN piece; pieces[0] is one", "pieces[7]"),
    (made(*BASE), "the vocabulary is empty", "pieces"),
    (made(), "there are no pieces", ""),
    (made(*BASE, *LETTERS, fallback=True), "256 of the 256 byte pieces are missing", "pieces"),
    (
        made(*BASE, *LETTERS, *BYTES[:65], *BYTES[66:], fallback=True),
        "1 of the 256 byte pieces are missing, such as <0x41>",
        "pieces",
    ),
    (small(BYTES[0]), 'a byte piece, "<0x00>", and byte_fallback is false', "pieces[7]"),
    (
        made(*BASE, *LETTERS, Piece("<0xe4>", 0, BYTE), fallback=True),
        'the byte piece "<0xe4>" is not <0x00> to <0xFF>',
        "pieces[7]",
    ),
    (small(Piece("aa", 0, 9)), "the value 9 is not known", "pieces[7].type (byte "),
    (
        with_field(small(), TRAINER, TYPE, 7),
        "the value 7 is not known",
        "trainer_spec.model_type (byte ",
    ),
    (
        with_field(small(), TRAINER, UNK_SURFACE, b"\xff"),
        "not UTF-8",
        "trainer_spec.unk_surface",
    ),
    (
        with_field(small(), TRAINER, 10, math.nan),
        "nan is not a finite number",
        "trainer_spec.character_coverage",
    ),
    (
        with_field(small(), NORMALIZER, CHARSMAP, b"\xff\xff\xff\xff"),
        "the character map is damaged",
        "normalizer_spec.precompiled_charsmap",
    ),
    (
        write([*read(small()), (DENORMALIZER, write([(CHARSMAP, b"\1")]))]),
        "the character map is damaged",
        "denormalizer_spec.precompiled_charsmap",
    ),
    (
        with_field(small(), TRAINER, VOCAB_SIZE, b"x"),
        "expected a varint value, found a length-delimited one",
        "trainer_spec.vocab_size (byte ",
    ),
    (
        write([*read(small()), (PIECES, 3)]),
        "expected a length-delimited value, found a varint one",
        "pieces[7] (byte ",
    ),
    (
        write([*read(small()), (PIECES, write([(1, b"z"), (2, 3)]))]),
        "expected a 32-bit value, found a varint one",
        "pieces[7].score (byte ",
    ),
    (b"", "the file is empty", ""),
    (b"nonsense", "this is not a protobuf message", "byte 0"),
    (b"\x0f\x01", "this is not a protobuf message", "byte 0"),
    (small()[:-1], "truncated in normalizer_spec", "byte "),
    (small()[:3], "truncated in pieces[0]: 14 bytes should follow, 1 are left", "byte 1"),
    (b"\x0b\x0a\x01z", "truncated: a group does not end", "byte "),
    (b"\x0c", "a group ends that did not begin", "byte "),
    # protobuf's parser for Python takes a field of number 0 in a group; sentencepiece does not.
    (small() + b"\x0b\x00\x00\x0c", "no field begins so", "byte "),
    (small() + b"\xa3\x06\x02\x00\xa4\x06", "no field begins so", "byte "),
    (b"\xff" * 12, "a number is longer than ten bytes", "byte 0"),
    (b"\n" + b"\xff" * 9 + b"\x7f", "truncated", "byte 1"),
]


@pytest.mark.parametrize(("data", "said", "where"), REFUSED, ids=[r[1][:40] for r in REFUSED])
def test_refusals_name_the_place(data: bytes, said: str, where: str) -> None:
    error = refusal(data)
    assert said in error.what
    assert error.where.startswith(f"tokenizer.model: {where}" if where else "tokenizer.model")


def test_a_surface_that_is_not_utf_8_is_refused() -> None:
    bad = write([*read(small()), (PIECES, write([(1, b"a\xe2\x96"), (2, -9.0)]))])
    error = refusal(bad)
    assert error.where == "tokenizer.model: pieces[7]"
    assert "not UTF-8" in error.what


def test_white_space_rules_for_decoded_text_are_refused() -> None:
    path = TOKENIZERS / "spm-charsmap-tiny/sentencepiece/tokenizer.model"
    data = with_field(path.read_bytes(), DENORMALIZER, DUMMY_PREFIX, 1)
    error = refusal(data, UnsupportedError)
    assert error.where == "tokenizer.model: denormalizer_spec.add_dummy_prefix"


def test_absurd_sizes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before they are parsed where there are too many bytes, and before they are walked."""
    assert (
        "more than 33,554,432 bytes (limit SENTENCEPIECE_BYTES)"
        in refusal(b"\n\x00" * ((1 << 24) + 1)).what
    )
    less = SENTENCEPIECE_PIECES._replace(most=1 << 10)
    monkeypatch.setattr(schema, "SENTENCEPIECE_PIECES", less)
    assert "more than 1,024 pieces (limit SENTENCEPIECE_PIECES)" in refusal(b"\n\x00" * 1025).what
    flood = refusal(small() + b"\x9a\x06\x00" * 100_001)
    assert "more than 100,000 fields that are not known (limit SENTENCEPIECE_UNKNOWN)" in flood.what


def complaint(data: bytes) -> str:
    """What we say of a file; empty where it is a model. Anything else is raised."""
    try:
        model = load(data)
    except BpeInteropError as error:
        return error.what
    list(FORMAT.losses(model))
    FORMAT.load(FORMAT.dump(model))
    return ""


def test_every_truncation_is_a_model_or_an_error() -> None:
    """Where sentencepiece refuses what is left, so do we."""
    data = small(Piece("aa", -9, UNUSED), *BYTES[:2])
    data = with_field(with_field(data, TRAINER, FALLBACK, 0), TRAINER, 1, b"x" * 200)
    for end in range(len(data)):
        said = complaint(data[:end])
        try:
            processor(data[:end] or b"\n")
        except RuntimeError:
            assert said


@settings(max_examples=100)
@given(st.binary(max_size=60))
def test_random_bytes(data: bytes) -> None:
    complaint(data)
    assert FORMAT.sniff({"tokenizer.model": data}) in (True, False)


def test_no_protobuf_is_imported() -> None:
    """Whoever runs another version of it in the same program is not disturbed."""
    code = (
        "import sys\n"
        "from bpe_interop.formats import by_name\n"
        "row = by_name('spm')\n"
        "unknown = b'\\xa0\\x06\\x01'\n"
        "data = open(sys.argv[1], 'rb').read() + unknown\n"
        "row.dump(row.load({'tokenizer.model': data}))\n"
        "assert not any(m.startswith('google') for m in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(MODELS[0])], check=True)


# Telling files apart.


def test_sniffing() -> None:
    data = MODELS[0].read_bytes()
    assert FORMAT.sniff({"tokenizer.model": data})
    assert FORMAT.sniff({"anything": data})
    assert FORMAT.sniff({"m.model": data, CONFIG: b"{}"})
    assert FORMAT.sniff({"m.model": b"\x12\x02\x18\x02"})
    assert not FORMAT.sniff({"tokenizer.model": b"IQ== 0\nIg== 1\n"})
    assert not FORMAT.sniff({"tokenizer.model": b""})
    assert not FORMAT.sniff({"tokenizer.json": b"{}"})
    assert not FORMAT.sniff({"text": b"\n\nHello world\n"})
    assert not FORMAT.sniff({})


# The file beside it.

BOS_TOKEN, EOS_TOKEN = TemplateToken("<s>", (1,)), TemplateToken("</s>", (2,))
BOS_B, EOS_B = TemplateToken("<s>", (1,), 1), TemplateToken("</s>", (2,), 1)
A, B = TemplateText("A", 0), TemplateText("B", 1)


@pytest.mark.parametrize(
    ("config", "template"),
    [
        ({}, None),
        ({"add_eos_token": True}, None),
        ({"add_bos_token": False}, SequenceTemplate()),
        ({"add_bos_token": False, "add_eos_token": False}, SequenceTemplate()),
        (
            {"add_bos_token": True, "add_eos_token": False},
            SequenceTemplate((BOS_TOKEN, A), (BOS_TOKEN, A, BOS_B, B)),
        ),
        (
            {"add_bos_token": True, "add_eos_token": True, "bos_token": {"content": "<s>"}},
            SequenceTemplate((BOS_TOKEN, A, EOS_TOKEN), (BOS_TOKEN, A, EOS_TOKEN, BOS_B, B, EOS_B)),
        ),
        (
            {"add_bos_token": False, "add_eos_token": True},
            SequenceTemplate((A, EOS_TOKEN), (A, EOS_TOKEN, B, EOS_B)),
        ),
    ],
)
def test_what_stands_around_a_text(
    config: dict[str, Any], template: SequenceTemplate | None
) -> None:
    model = load(small(), **{CONFIG: json.dumps(config).encode()})
    assert model.sequence_template == template
    files = FORMAT.dump(model)
    assert (CONFIG in files) == (template is not None)
    assert FORMAT.load(files).sequence_template == template
    assert set(model.origin.files) == {"tokenizer.model", CONFIG}


def test_a_bos_that_the_model_lacks_leaves_the_template_unsaid() -> None:
    config = {"add_bos_token": True, "bos_token": "<bos>", "chat_template": "{{ x }}"}
    model = load(small(), **{CONFIG: json.dumps(config).encode()})
    assert model.sequence_template is None
    assert model.chat_template == "{{ x }}"
    files = FORMAT.dump(model)
    # With the roles that the .model gives itself: transformers does not read them there.
    roles = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    assert json.loads(files[CONFIG]) == {"chat_template": "{{ x }}", **roles}
    assert FORMAT.load(files).chat_template == "{{ x }}"


@pytest.mark.parametrize(
    "named",
    [
        [{"name": "default", "template": "d"}, {"name": "tool", "template": "t"}],
        {"default": "d", "tool": "t"},
    ],
)
def test_of_several_chat_templates_the_default_is_the_models(named: Any) -> None:
    model = load(small(), **{CONFIG: json.dumps({"chat_template": named}).encode()})
    assert model.chat_template == "d"


def test_a_malformed_configuration_is_an_error() -> None:
    for config in (b"{", b'{"add_bos_token": 1}', b'{"chat_template": 3}'):
        with pytest.raises(FormatError, match=CONFIG):
            load(small(), **{CONFIG: config})


def test_nothing_is_said_without_it() -> None:
    model = load(small())
    assert model.sequence_template is None
    assert model.chat_template is None
    assert list(FORMAT.dump(model)) == ["tokenizer.model"]


def test_live_trained_models_need_no_file() -> None:
    """A model in memory, as ``model_writer`` gives it."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the lamp and the lamps"] * 5),
        model_writer=writer,
        model_type="bpe",
        vocab_size=24,
        minloglevel=2,
    )
    assert FORMAT.dump(load(writer.getvalue()))["tokenizer.model"] == writer.getvalue()
