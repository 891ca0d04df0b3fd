"""Character-level tokenizer.json files: read, written, and SentencePiece models written as such."""

from __future__ import annotations

import copy
import json
import random
from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import tokenizers
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from random_models import random_model, random_model_text

from bpe_interop.compare.verdict import assumptions
from bpe_interop.diff import diff
from bpe_interop.encode import Encoder
from bpe_interop.errors import BpeInteropError, FormatError, UnsupportedError
from bpe_interop.formats import by_name
from bpe_interop.loss import Loss
from bpe_interop.model import Affixes, BPEModel, Fallback, RankTable
from bpe_interop.steps import (
    BertText,
    ByteChars,
    ByteTokens,
    Fuse,
    JoinBytes,
    JoinTokens,
    Metaspace,
    Pattern,
    PrefixSpace,
    Prepend,
    Punctuation,
    Replace,
    Split,
    StripToken,
    UnicodeScripts,
    Words,
)
from fixtures import TOKENIZERS
from trust.verdicts.documents import precompiled, random_document, random_splitter
from trust.verdicts.texts import texts_for

FORMAT, PIECES = by_name("huggingface"), by_name("sentencepiece")
MODELS = sorted(path.parent.name for path in TOKENIZERS.glob("*/sentencepiece"))
SPACE = "\u2581"
BYTES = {f"<0x{byte:02X}>": 300 + byte for byte in range(256)}


def document(**changes: Any) -> dict[str, Any]:
    """A small valid character-level tokenizer.json: a, b, U+2581 and the tokens ab, U+2581 a."""
    model = changes.pop("model", {})
    vocab = {"<unk>": 0, "a": 1, "b": 2, SPACE: 3, "ab": 4, f"{SPACE}a": 5, "a b": 6}
    whole = {"type": "BPE", "unk_token": "<unk>", "vocab": vocab, "merges": ["a b", f"{SPACE} a"]}
    value = dict.fromkeys(("normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {**value, "version": "1.0", "added_tokens": [], **changes, "model": {**whole, **model}}


def load(value: Any) -> BPEModel:
    return FORMAT.load({"tokenizer.json": json.dumps(value).encode()})


def engine(value: Any) -> tokenizers.Tokenizer:
    return tokenizers.Tokenizer.from_str(json.dumps(value))


# Components: each spelling means what the engine says it means when it writes it again.

METASPACE = {"type": "Metaspace", "replacement": SPACE}
SPLIT_BEFORE = Split(SPACE, "merged_with_next")
WHITE = Split(Pattern(r"\s", "oniguruma"), "removed")


@pytest.mark.parametrize(
    ("component", "steps"),
    [
        (METASPACE, (Metaspace(SPACE, "always"), SPLIT_BEFORE)),
        ({**METASPACE, "add_prefix_space": True}, (Metaspace(SPACE, "always"), SPLIT_BEFORE)),
        ({**METASPACE, "str_rep": "x"}, (Metaspace(SPACE, "always"), SPLIT_BEFORE)),
        ({**METASPACE, "split": None}, (Metaspace(SPACE, "always"), SPLIT_BEFORE)),
        ({**METASPACE, "split": False}, (Metaspace(SPACE, "always"),)),
        (
            {**METASPACE, "prepend_scheme": "never", "add_prefix_space": True},
            (Metaspace(SPACE, "never"), SPLIT_BEFORE),
        ),
        (
            {**METASPACE, "prepend_scheme": "never", "add_prefix_space": False},
            (Metaspace(SPACE, "never"), SPLIT_BEFORE),
        ),
        (
            {**METASPACE, "prepend_scheme": "first", "split": False},
            (Metaspace(SPACE, "first"),),
        ),
        (
            {"type": "Metaspace", "replacement": " ", "split": False},
            (PrefixSpace(),),
        ),
        ({"type": "WhitespaceSplit"}, (WHITE,)),
        ({"type": "Whitespace"}, (Words(),)),
        ({"type": "UnicodeScripts"}, (UnicodeScripts(),)),
        ({"type": "BertPreTokenizer"}, (WHITE, Punctuation("isolated"))),
        ({"type": "CharDelimiterSplit", "delimiter": "-"}, (Split("-", "removed"),)),
        (
            {"type": "FixedLength"},
            (Split(Pattern(r"[\s\S]{1,5}", "oniguruma"), "isolated"),),
        ),
        ({"type": "Sequence", "pretokenizers": []}, ()),
    ],
)
def test_pretokenizers(component: dict[str, Any], steps: tuple[object, ...]) -> None:
    value = document(pre_tokenizer=component)
    assert load(value).pretokenizer == steps
    said = json.loads(engine(value).to_str())
    assert load(said).pretokenizer == steps
    written = FORMAT.dump(load(value))
    assert FORMAT.load(written).pretokenizer == steps


@pytest.mark.parametrize("accents", [None, True, False])
@pytest.mark.parametrize("lowercase", [True, False])
def test_bert_takes_accents_off_where_it_lowers(accents: bool | None, lowercase: bool) -> None:
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": False}
    value = document(normalizer={**bert, "strip_accents": accents, "lowercase": lowercase})
    strips = lowercase if accents is None else accents
    assert load(value).normalizer == (BertText(True, False, strips, lowercase),)
    assert FORMAT.load(FORMAT.dump(load(value))).normalizer == load(value).normalizer


@pytest.mark.parametrize(
    ("component", "steps"),
    [
        (None, (JoinTokens(),)),
        ({"type": "Sequence", "decoders": []}, (Fuse(),)),
        (
            {"type": "Sequence", "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}]},
            (ByteTokens(), Fuse()),
        ),
        (
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            (StripToken(" ", 1, 0),),
        ),
        (
            {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
            (JoinBytes(mapped_added=True),),
        ),
    ],
)
def test_decoders(component: Any, steps: tuple[object, ...]) -> None:
    model = load(document(decoder=component))
    assert model.decoder == steps
    assert FORMAT.load(FORMAT.dump(model)).decoder == steps


def test_a_byte_level_normalizer_maps_before_the_pre_tokenizer() -> None:
    split = {"type": "Split", "pattern": {"String": "a"}, "behavior": "Isolated", "invert": False}
    plain = document(normalizer={"type": "ByteLevel"}, model={"merges": ["a b"]})
    assert load(plain).pretokenizer == ()
    value = {**plain, "pre_tokenizer": split}
    assert load(value).alphabet == "byte"
    assert load(value).pretokenizer == (ByteChars(), Split("a", "isolated"))
    value["added_tokens"] = [{**added(7, "<x>"), "normalized": True}]
    assert path_of(value, UnsupportedError) == "$.added_tokens[0]"


# What becomes of missing characters.

NO_UNKNOWN: dict[str, Any] = {"unk_token": None, "merges": []}


@pytest.mark.parametrize(
    ("model", "fallback"),
    [
        ({}, Fallback("unknown", 0)),
        ({"fuse_unk": True}, Fallback("unknown", 0, fuse=True)),
        ({"unk_token": None}, Fallback("drop")),
        ({"unk_token": "<none>"}, Fallback("error")),
        ({"byte_fallback": True}, Fallback("unknown", 0)),
        (
            {"byte_fallback": True, "vocab": {"<unk>": 0, "a": 1, **BYTES}, "merges": []},
            Fallback("unknown", 0, fuse=True, byte_fallback=True),
        ),
        (
            {**NO_UNKNOWN, "byte_fallback": True, "vocab": {"a": 1, "<0x62>": 2}},
            Fallback("drop", byte_fallback=True),
        ),
    ],
)
def test_fallbacks(model: dict[str, Any], fallback: Fallback) -> None:
    value = document(model=model)
    assert load(value).fallback == fallback
    theirs, ours = engine(value), Encoder(load(value))
    for text in ("a", "bcc\u00e9b", "cc"):
        if fallback.missing == "error" and text != "a":
            with pytest.raises(BpeInteropError):
                ours.encode(text)
            with pytest.raises(Exception, match="not found in the vocabulary"):
                theirs.encode(text)
        else:
            assert ours.encode(text) == theirs.encode(text).ids


def test_byte_fallback_without_byte_tokens_is_noted() -> None:
    notes = load(document(model={"byte_fallback": True})).origin.notes
    assert any("never falls back" in note for note in notes)


def test_byte_tokens_are_of_their_kind_only_where_they_are_fallen_back_to() -> None:
    vocab = {"<unk>": 0, "a": 1, **BYTES}
    on = load(document(model={"vocab": vocab, "merges": [], "byte_fallback": True}))
    assert set(on.vocab.kinds.values()) == {"byte"}
    off = load(document(model={"vocab": vocab, "merges": []}))
    assert not off.vocab.kinds


def test_empty_affixes_are_none() -> None:
    empty = {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
    assert load(document(model=empty)).affixes == Affixes()


def test_only_pairs_can_hold_a_space() -> None:
    pairs = [["a", "b"], ["a b", "a"]]
    vocab = {**document()["model"]["vocab"], "a ba": 7}
    model = load(document(model={"vocab": vocab, "merges": pairs}))
    written = json.loads(FORMAT.dump(model)["tokenizer.json"])
    assert written["model"]["merges"] == pairs
    strings = document(model={"vocab": vocab, "merges": ["a b", "a b a"]})
    assert path_of(strings) == "$.model.merges[1]"
    with pytest.raises(Exception, match="invalid at line"):
        engine(strings)


FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)


def added(number: int, content: str) -> dict[str, Any]:
    return {"id": number, "content": content, "special": True, **FLAGS}


@pytest.mark.parametrize(
    ("token", "model"),
    [
        ("a", {}),
        ("a</w>", {"end_of_word_suffix": "</w>", "vocab": {"a</w>": 0, "b": 1}, **NO_UNKNOWN}),
        ("##b", {"continuing_subword_prefix": "##", "vocab": {"a": 0, "##b": 1}, **NO_UNKNOWN}),
        ("<0x62>", {"byte_fallback": True, "vocab": {"a": 0, "<0x62>": 1}, **NO_UNKNOWN}),
        ("ab", {}),
    ],
)
def test_an_added_token_that_ordinary_text_gives_stays_in_the_vocabulary(
    token: str, model: dict[str, Any]
) -> None:
    value = document(model=model)
    value["added_tokens"] = [added(value["model"]["vocab"][token], token)]
    loaded, theirs = load(value), engine(value)
    assert token.encode() in loaded.vocab.ids
    theirs.encode_special_tokens = True
    for text in ("a", "ab", "bb", "bba"):
        assert Encoder(loaded).encode(text) == theirs.encode(text).ids
    assert b"<unk>" in load(document()).vocab.ids
    assert b"<unk>" not in load(document(added_tokens=[added(0, "<unk>")])).vocab.ids


def test_the_unknown_token_is_written_into_the_vocabulary() -> None:
    vocab = {"a": 0, "b": 1, "<unk>": 2}
    value = document(model={"vocab": vocab, "merges": []}, added_tokens=[added(2, "<unk>")])
    written = json.loads(FORMAT.dump(load(value))["tokenizer.json"])
    assert written["model"]["vocab"] == vocab
    assert engine(written).encode("axb").ids == engine(value).encode("axb").ids == [0, 2, 1]


# Random tokenizers, against the engine: read, and written again.


def outcome(run: Callable[[], Any]) -> Any:
    """What a call gives, or "failed"; a panic is no Exception."""
    try:
        return run()
    except BaseException as error:
        if isinstance(error, BpeInteropError) or type(error) in (Exception, panic()):
            return "failed"
        raise


@cache
def panic() -> type[BaseException]:
    # Not at import: Rust reads its symbols for the first panic of a process, 55 MB.
    try:
        tokenizers.decoders.Strip("a", 0, 1).decode([""])
    except BaseException as error:
        return type(error)
    raise AssertionError


def agree(value: dict[str, Any], texts: Sequence[str]) -> None:
    """The engine, our encoder and what we write again give the same ids and decode alike."""
    theirs = tokenizers.Tokenizer.from_str(engine(value).to_str())
    model = load(json.loads(theirs.to_str()))
    files = FORMAT.dump(model)
    assert not list(FORMAT.losses(model))
    assert not diff(model, FORMAT.load(files))
    again = tokenizers.Tokenizer.from_str(files["tokenizer.json"].decode())
    for special in (False, True):
        theirs.encode_special_tokens = again.encode_special_tokens = not special
        for text in texts:
            agree_on(text, theirs, again, Encoder(model), special)


def agree_on(
    text: str,
    theirs: tokenizers.Tokenizer,
    again: tokenizers.Tokenizer,
    ours: Encoder,
    special: bool,
) -> None:
    ids = outcome(lambda: theirs.encode(text).ids)
    assert outcome(lambda: ours.encode(text, "all" if special else frozenset())) == ids
    assert outcome(lambda: again.encode(text).ids) == ids
    if ids == "failed":
        return
    decoded = outcome(lambda: theirs.decode(ids, skip_special_tokens=False))
    assert outcome(lambda: ours.decode(ids)) == decoded
    assert outcome(lambda: again.decode(ids, skip_special_tokens=False)) == decoded


_PARTS = (
    *("a", "b", "ab", "aab", " ", "  ", SPACE, "\u00e9", "e\u0301", "\u65e5", "\u65e5\u672c", "\n"),
    *("1", "12", ".", "-", "A", "<s>", "<unk>", "x", "\U0001f642", "\ufb01", "<0x41>", "\u00a0"),
)


def random_text(rng: random.Random) -> str:
    """A text of parts that mean something to some component, and of which many have no token."""
    return "".join(rng.choice(_PARTS) for _ in range(rng.randint(0, 10)))


NOT_UNDERSTOOD = (
    "names or makes the token for unknown text",
    "tokenizers then puts unknown tokens after the byte tokens",
    "a Metaspace after ByteLevel puts in what is no byte",
    "normalizing leaves nothing of the added token",
    "an added token that is looked for in what a ByteLevel normalizer has mapped",
    "have the same id",
)
"""Why a random document may be refused; for nothing else."""


@pytest.mark.long
@settings(max_examples=850)
@given(st.integers(0, 2**32))
def test_random_tokenizers(seed: int) -> None:
    rng = random.Random(seed)
    source = random_document(rng)
    value = source.facts | {"post_processor": None}
    if rng.random() < 0.2:
        steps = [value["pre_tokenizer"]] if value["pre_tokenizer"] else []
        steps += [random_splitter(rng)] if rng.random() < 0.8 else []
        value["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    texts = [rng.choice(texts_for(rng, source, source)) for _ in range(6)]
    texts += [random_text(rng) for _ in range(6)]
    try:
        agree(value, texts)
    except BpeInteropError as error:
        if not any(why in error.what for why in NOT_UNDERSTOOD):
            raise
        assume(False)


# Refusals, each with its place.


def path_of(value: Any, error: type[BpeInteropError] = FormatError) -> str:
    with pytest.raises(error) as caught:
        load(value)
    return caught.value.where.removeprefix("tokenizer.json: ")


NORMALIZER, PRETOKENIZER, DECODER = "$.normalizer", "$.pre_tokenizer", "$.decoder"
CTC = {"type": "CTC", "pad_token": "a", "word_delimiter_token": "|", "cleanup": True}
WITH_BYTES = {**document()["model"]["vocab"], **BYTES}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"normalizer": {"type": "Odd"}}, NORMALIZER),
        ({"normalizer": {"type": "Precompiled"}}, NORMALIZER),
        (
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": None}},
            f"{NORMALIZER}.precompiled_charsmap",
        ),
        (
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "a"}},
            f"{NORMALIZER}.precompiled_charsmap",
        ),
        (
            {"normalizer": {"type": "Precompiled", "precompiled_charsmap": ""}},
            f"{NORMALIZER}.precompiled_charsmap",
        ),
        ({"normalizer": {"type": "BertNormalizer", "lowercase": True}}, NORMALIZER),
        (
            {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend"}]}},
            f"{NORMALIZER}.normalizers[0]",
        ),
        ({"normalizer": {"type": "Prepend", "prepend": ""}}, f"{NORMALIZER}.prepend"),
        (
            {
                "normalizer": {
                    "type": "Sequence",
                    "normalizers": [{"type": "ByteLevel"}, {"type": "NFC"}],
                }
            },
            f"{NORMALIZER}.normalizers[0]",
        ),
        ({"pre_tokenizer": {"type": "Delimiter", "delimiter": "a"}}, PRETOKENIZER),
        (
            {"pre_tokenizer": {"type": "CharDelimiterSplit", "delimiter": "ab"}},
            f"{PRETOKENIZER}.delimiter",
        ),
        ({"pre_tokenizer": {"type": "Metaspace"}}, PRETOKENIZER),
        (
            {"pre_tokenizer": {"type": "Metaspace", "replacement": "ab"}},
            f"{PRETOKENIZER}.replacement",
        ),
        (
            {"pre_tokenizer": {**METASPACE, "prepend_scheme": "last"}},
            f"{PRETOKENIZER}.prepend_scheme",
        ),
        (
            {"pre_tokenizer": {**METASPACE, "prepend_scheme": None}},
            f"{PRETOKENIZER}.prepend_scheme",
        ),
        ({"pre_tokenizer": {**METASPACE, "str_rep": 1}}, f"{PRETOKENIZER}.str_rep"),
        (
            {"pre_tokenizer": {**METASPACE, "add_prefix_space": False}},
            f"{PRETOKENIZER}.add_prefix_space",
        ),
        ({"pre_tokenizer": {"type": "FixedLength", "length": 0}}, f"{PRETOKENIZER}.length"),
        ({"pre_tokenizer": {"type": "FixedLength", "length": 100_001}}, f"{PRETOKENIZER}.length"),
        ({"pre_tokenizer": {"type": "Digits"}}, PRETOKENIZER),
        ({"decoder": CTC}, DECODER),
        (
            {"decoder": {"type": "Strip", "content": "", "start": 0, "stop": 0}},
            f"{DECODER}.content",
        ),
        (
            {"decoder": {"type": "Strip", "content": "a", "start": -1, "stop": 0}},
            f"{DECODER}.start",
        ),
        ({"decoder": {"type": "BPEDecoder"}}, DECODER),
        (
            {"decoder": {"type": "Replace", "pattern": {"String": ""}, "content": "a"}},
            f"{DECODER}.pattern",
        ),
        (
            {"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, CTC]}},
            f"{DECODER}.decoders[1]",
        ),
        ({"model": {"dropout": 0.5}}, "$.model.dropout"),
        ({"model": {"fuse_unk": 1}}, "$.model.fuse_unk"),
        ({"model": {"unk_token": 0}}, "$.model.unk_token"),
        ({"model": {"end_of_word_suffix": 0}}, "$.model.end_of_word_suffix"),
        ({"model": {"merges": [["a", "b"], ["ab", "b"]]}}, "$.model.merges[1]"),
        ({"model": {"merges": ["a b", "a <unk>"]}}, "$.model.merges[1]"),
        ({"model": {"vocab": {"a": 1, "b": 1}, "merges": []}}, "$.model.vocab"),
        (
            {
                "model": {
                    "continuing_subword_prefix": "##",
                    "vocab": {"a": 0, "##b": 1, "ab": 2, "b": 3},
                    "merges": ["a ##b", "a b"],
                }
            },
            "$.model.merges[1]",
        ),
        (
            {"model": {"byte_fallback": True, "vocab": WITH_BYTES, "merges": ["a b", "< <0x41>"]}},
            "$.model.merges[1]",
        ),
        (
            {
                "model": {
                    "byte_fallback": True,
                    "vocab": {**WITH_BYTES, "<0x4": 8, "1>": 9},
                    "merges": ["<0x4 1>"],
                }
            },
            "$.model.merges[0]",
        ),
        (
            {
                "model": {
                    "byte_fallback": True,
                    "vocab": {t: n for t, n in WITH_BYTES.items() if t != "<0x62>"},
                }
            },
            "$.model.byte_fallback",
        ),
    ],
)
def test_what_is_malformed_or_refused_is_named_by_its_path(
    change: dict[str, Any], path: str
) -> None:
    assert path_of(document(**change)) == path


def test_a_damaged_character_map_is_an_error() -> None:
    for damaged in (b"abc", b"\x04\0\0\0", b"\xff" * 64):
        broken = {"type": "Precompiled", "precompiled_charsmap": b64encode(damaged).decode()}
        assert path_of(document(normalizer=broken)).startswith("$.normalizer.precompiled_charsmap")


WHOLE = document(
    normalizer={
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": SPACE},
            {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
            precompiled(),
        ],
    },
    pre_tokenizer={"type": "Sequence", "pretokenizers": [METASPACE, {"type": "WhitespaceSplit"}]},
    decoder={
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            {"type": "BPEDecoder", "suffix": "</w>"},
            {"type": "WordPiece", "prefix": "##", "cleanup": True},
        ],
    },
    model={"byte_fallback": True, "end_of_word_suffix": "</w>", "fuse_unk": True},
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = list(value.items()) if isinstance(value, dict) else []
    inner = list(enumerate(value)) if isinstance(value, list) else inner
    found = [path] if path else []
    return found + [place for key, child in inner for place in _places(child, (*path, key))]


def complaint(value: Any) -> str | None:
    """What our own error says; None where there is none. Any other error is raised."""
    try:
        load(value)
    except BpeInteropError as error:
        return error.what
    return None


@pytest.mark.parametrize("path", _places(WHOLE), ids=lambda path: ".".join(map(str, path)))
def test_a_wrong_json_type_gives_a_model_or_our_own_error(path: tuple[Any, ...]) -> None:
    wrongs: tuple[Any, ...] = (None, True, -1, 2**70, 1.5, "", "x", [], {}, [[]], {"type": "NFC"})
    for wrong in wrongs:
        value = copy.deepcopy(WHOLE)
        place = value
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = wrong
        assert complaint(value) != ""


# SentencePiece models, written as a tokenizer.json.


def written(data: bytes) -> tuple[BPEModel, list[Loss], tokenizers.Tokenizer]:
    model = PIECES.load({"tokenizer.model": data})
    engine = tokenizers.Tokenizer.from_str(FORMAT.dump(model)["tokenizer.json"].decode())
    engine.encode_special_tokens = True
    return model, list(FORMAT.losses(model)), engine


def model_file(name: str) -> bytes:
    return (TOKENIZERS / name / "sentencepiece" / "tokenizer.model").read_bytes()


REFUSED = {
    "spm-charsmap-tiny": {"normalizer", "decoder"},
    "spm-odd-tiny": {"vocab", "merges", "fallback"},
    "spm-suffix-tiny": {"normalizer"},
    "spm-ties-tiny": {"merges"},
}


@pytest.mark.parametrize("name", MODELS)
def test_models_are_exact_or_refused_with_a_text_that_shows_it(
    name: str, corpora: list[Path]
) -> None:
    _, losses, theirs = written(model_file(name))
    source = sentencepiece.SentencePieceProcessor(model_proto=model_file(name))
    assert {x.field for x in losses if x.grade != "metadata"} == REFUSED.get(name, set())
    for loss in losses:
        if loss.grade == "ids" and loss.shown and loss.witness is not None:
            assert source.encode(loss.witness) != theirs.encode(loss.witness).ids
    if name in REFUSED:
        return
    for text in [line for path in corpora for line in path.read_text("utf-8").split("\n")[:60]]:
        ids = source.encode(text)
        assert theirs.encode(text).ids == ids
        assert theirs.decode(ids, skip_special_tokens=False) == source.decode(ids)


@pytest.mark.long
@settings(max_examples=100)
@example(1002871)  # a text that showed one loss alone, and nothing beside the others
@given(st.integers(0, 2**32))
def test_random_models_are_exact_or_refused(seed: int) -> None:
    rng = random.Random(seed)
    data = random_model(rng)
    model, losses, theirs = written(data)
    source = sentencepiece.SentencePieceProcessor(model_proto=data)
    again = FORMAT.load(FORMAT.dump(model))
    changed = {d.field for d in diff(model, again) if d.kind == "different"}
    assert changed == {loss.field for loss in losses}
    assert FORMAT.dump(again) == FORMAT.dump(model)
    grades = {loss.grade for loss in losses}
    for text in [random_model_text(rng) for _ in range(20)] if "ids" not in grades else ():
        ids = source.encode(text)
        assert theirs.encode(text).ids == ids
        if "text" not in grades:
            assert theirs.decode(ids, skip_special_tokens=False) == source.decode(ids)
    for loss in losses:
        if loss.witness is not None and loss.shown:
            ids, others = source.encode(loss.witness), theirs.encode(loss.witness).ids
            decoded = theirs.decode(others, skip_special_tokens=False)
            if loss.grade == "ids":
                assert ids != others
            else:
                assert source.decode(ids) != decoded


def test_user_defined_pieces_become_added_tokens_or_stay_symbols() -> None:
    model, _, theirs = written(model_file("spm-user-tiny"))
    kinds = model.vocab.kinds
    users = {t.decode(): n for t, n in model.vocab.ids.items() if kinds.get(n) == "user_defined"}
    added = {token.content: number for number, token in theirs.get_added_tokens_decoder().items()}
    assert users.items() <= added.items()
    assert "user_defined" not in {d.field for d in diff(model, FORMAT.load(FORMAT.dump(model)))}


def test_a_pair_of_files_differs_only_in_what_one_format_cannot_say() -> None:
    for name in ("spm-tiny", "spm-unk-tiny", "spm-user-tiny"):
        model = PIECES.load({"tokenizer.model": model_file(name)})
        twin = load(json.loads((TOKENIZERS / name / "huggingface/tokenizer.json").read_text()))
        found = {d.field for d in diff(model, twin) if d.kind == "different"}
        assert found <= {"decoder", "extras", "added"}
        assert isinstance(model.merges, RankTable)


def test_llama_2_comes_back_field_by_field(data: Any) -> None:
    files = {"tokenizer.json": data("llama-2/tokenizer.json").read_bytes()}
    model = FORMAT.load(files)
    again = FORMAT.load(FORMAT.dump(model))
    assert (again.vocab, again.merges, again.fallback) == (
        model.vocab,
        model.merges,
        model.fallback,
    )
    assert (again.normalizer, again.pretokenizer, again.decoder) == (
        (Prepend(SPACE), Replace(" ", SPACE)),
        (),
        model.decoder,
    )
    assert (again.added, again.sequence_template) == (model.added, model.sequence_template)


@pytest.mark.parametrize(("name", "kind"), [("t5", "Unigram"), ("bert-base-cased", "WordPiece")])
def test_other_models_are_refused_by_name(name: str, kind: str, data: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"the model is {kind}, not BPE"):
        FORMAT.load({"tokenizer.json": data(f"{name}/tokenizer.json").read_bytes()})


def test_a_merge_that_would_be_cut_inside_a_character_is_refused() -> None:
    """tokenizers takes as many bytes off the right part as the prefix has, and aborts."""
    vocab = {"<unk>": 0, "a": 1, "\u0120": 2, "a\u0120": 3}
    model = {"vocab": vocab, "merges": [["a", "\u0120"]], "continuing_subword_prefix": "b"}
    with pytest.raises(UnsupportedError, match="ends inside a character"):
        load(document(model=model))


CUT = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
FILL = {"strategy": {"Fixed": 3}, "direction": "Right", "pad_to_multiple_of": None,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "ids", "said"),
    [
        ({"truncation": CUT}, [2], ["truncation: "]),
        ({"padding": FILL}, [2, 1, 0], ["padding: "]),
        ({"padding": {**FILL, "strategy": "BatchLongest"}}, [2, 1], []),
        ({"padding": {**FILL, "strategy": "BatchLongest", "pad_to_multiple_of": 4}},
         [2, 1, 0, 0], ["padding: "]),
    ],
)  # fmt: skip
def test_truncation_and_padding_are_told_of(
    changes: dict[str, Any], ids: list[int], said: list[str]
) -> None:
    """Ids are those of whole texts; tokenizers itself cuts and fills up."""
    value = document(**changes)
    found = engine(value)
    assert found.encode("ba").ids == ids
    found.no_truncation()
    found.no_padding()
    model = load(value)
    assert Encoder(model).encode("ba") == found.encode("ba").ids == [2, 1]
    notes = [n for n in model.origin.notes if n.startswith(("truncation", "padding"))]
    assert [note[: len(start)] for note, start in zip(notes, said, strict=True)] == said
    granted = assumptions((model, model), {"tokenizers"})
    assert "truncation and padding are off, though a file asks for them" in granted


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
MISSING = object()


def engine_loads(value: Any) -> bool:
    try:
        engine(value)
    except Exception:  # tokenizers has no type of its own
        return False
    return True


def we_load(value: Any) -> bool:
    try:
        load(value)
    except FormatError:
        return False
    return True


@pytest.mark.parametrize("key", sorted(CUT.keys() | FILL.keys()))
@pytest.mark.parametrize(
    "value", [MISSING, None, {}, [], "", "Right", "OnlyFirst", "BatchLongest", 0, -1, 1.5, True,
              2**32, 2**64, {"Fixed": 2}, {"Fixed": -1}]
)  # fmt: skip
def test_truncation_and_padding_are_read_where_tokenizers_reads_them(key: str, value: Any) -> None:
    for name, valid in (("truncation", CUT), ("padding", FILL)):
        if key in valid:
            changed = {**valid, key: value}
            if value is MISSING:
                del changed[key]
            whole = document(**{name: changed})
            assert we_load(whole) is engine_loads(whole)


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"added_tokens": None}, "$.added_tokens"),
        ({"pre_tokenizer": {**BYTE_LEVEL, "use_regex": None}}, "$.pre_tokenizer.use_regex"),
        ({"post_processor": {**BYTE_LEVEL, "use_regex": None}}, "$.post_processor.use_regex"),
        ({"decoder": {**BYTE_LEVEL, "use_regex": None}}, "$.decoder.use_regex"),
        ({"pre_tokenizer": {"type": "Punctuation", "behavior": None}}, "$.pre_tokenizer.behavior"),
        ({"truncation": []}, "$.truncation"),
        ({"padding": False}, "$.padding"),
    ],
)  # fmt: skip
def test_null_is_not_absent_where_tokenizers_says_so(changes: dict[str, Any], path: str) -> None:
    value = document(**changes)
    assert not engine_loads(value)
    assert path_of(value) == path


PARTS = {"normalizer": "normalizers", "pre_tokenizer": "pretokenizers",
         "post_processor": "processors", "decoder": "decoders"}  # fmt: skip


@pytest.mark.parametrize("name", PARTS)
def test_no_part_of_a_sequence_is_null(name: str) -> None:
    value = document(**{name: {"type": "Sequence", PARTS[name]: [None]}})
    with pytest.raises(Exception, match="did not match any variant"):
        engine(value)
    assert path_of(value, FormatError) == f"$.{name}.{PARTS[name]}[0]"


@pytest.mark.parametrize(
    ("changes", "kind", "path"),
    [
        ({"id": True}, 0, "special_tokens.b.id"),
        ({"tokens": None}, 0, "special_tokens.b.tokens"),
        ({"ids": [-1]}, 0, "special_tokens.b.ids[0]"),
        ({}, -1, "single[0].Sequence.type_id"),
    ],
)
def test_a_template_that_tokenizers_does_not_load_is_refused(
    changes: dict[str, Any], kind: int, path: str
) -> None:
    text = [{"Sequence": {"id": "A", "type_id": kind}}]
    pair = [{"Sequence": {"id": name, "type_id": 0}} for name in "AB"]
    token = {"id": "b", "ids": [2], "tokens": ["b"], **changes}
    value = document(post_processor={"type": "TemplateProcessing", "single": text, "pair": pair,
                                     "special_tokens": {"b": token}})  # fmt: skip
    with pytest.raises(Exception, match="did not match any variant"):
        engine(value)
    assert path_of(value, FormatError) == f"$.post_processor.{path}"
