"""``Tokenizer`` over models whose tokens are spelled as text: sentencepiece's and tokenizers'."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer as HuggingFaceTokenizer

from bpe_interop.errors import (
    DecodeError,
    DisallowedSpecialError,
    EncodeError,
    LossyConversionError,
)
from bpe_interop.tokenizer import Tokenizer
from fixtures import FIXTURES, TOKENIZERS

MODELS = sorted(path.parts[-3] for path in TOKENIZERS.glob("*/sentencepiece/*.model"))
LISTS = sorted(path.parts[-3] for path in TOKENIZERS.glob("*/huggingface/tokenizer.json"))


def processor(name: str = "spm-tiny") -> SentencePieceProcessor:
    data = (FIXTURES / f"tokenizers/{name}/sentencepiece/tokenizer.model").read_bytes()
    return SentencePieceProcessor(model_proto=data)


def listed(name: str = "spm-tiny") -> HuggingFaceTokenizer:
    path = FIXTURES / f"tokenizers/{name}/huggingface/tokenizer.json"
    return HuggingFaceTokenizer.from_file(str(path))


ENGINES = {name: processor(name) for name in MODELS}
READ = {name: Tokenizer.from_sentencepiece(engine) for name, engine in ENGINES.items()}
LISTED = {name: listed(name) for name in LISTS}
FROM_LISTED = {name: Tokenizer.from_tokenizers(engine) for name, engine in LISTED.items()}
WORDS = [
    " ",
    "  ",
    "the",
    " of",
    "tion",
    "\n",
    "\t",
    "é",
    "日本",
    "🤗",
    "<s>",
    "<unk>",
    "\u2581",
    "1",
]


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
@given(words=st.lists(st.sampled_from(WORDS), max_size=10))
def test_ordinary_text_is_sentencepieces_and_so_is_decoding(name: str, words: list[str]) -> None:
    text, ours, engine = "".join(words), READ[name], ENGINES[name]
    ids = engine.encode(text)
    assert ours.encode_ordinary(text) == ids
    assert ours.encode(text, disallowed_special=()) == ids
    assert ours.decode(ids) == engine.decode(ids)


@pytest.mark.long
@pytest.mark.parametrize("name", LISTS)
@given(words=st.lists(st.sampled_from(WORDS), max_size=10))
def test_listed_merges_are_tokenizers_and_so_is_decoding(name: str, words: list[str]) -> None:
    engine, text = LISTED[name], "".join(words)
    ours = FROM_LISTED[name]
    ids = engine.encode(text, add_special_tokens=False).ids
    assert ours.encode(text, allowed_special="all") == ids
    assert ours.decode(ids) == engine.decode(ids, skip_special_tokens=False)
    assert ours.decode(ids, skip_special_tokens=True) == engine.decode(ids)


def test_control_symbols_are_found_only_when_they_are_named() -> None:
    ours, engine = READ["spm-tiny"], ENGINES["spm-tiny"]
    with pytest.raises(DisallowedSpecialError):
        ours.encode("<s>a")
    spelled = engine.encode("<s>a")
    assert ours.encode("<s>a", disallowed_special=()) == spelled
    named = ours.encode("<s>a", allowed_special={"<s>"})
    assert named == [engine.bos_id(), *engine.encode("a")]
    assert ours.decode(named) == engine.decode(named) == "a"
    fast = ours.with_engine("sentencepiece")
    assert fast.encode("<s>a", allowed_special={"<s>"}) == named
    assert fast.encode_ordinary("<s>a") == spelled


def test_tokens_are_their_own_bytes_and_found_by_their_spelling_too() -> None:
    ours, engine = READ["spm-tiny"], ENGINES["spm-tiny"]
    number = engine.piece_to_id("\u2581the")
    assert ours.id_to_token(number) == ours.decode_single_token_bytes(number) == b" the"
    assert ours.encode_single_token(" the") == ours.encode_single_token(b" the") == number
    assert ours.token_to_id("\u2581the") == number
    byte = engine.piece_to_id("<0x0A>")
    assert ours.decode_single_token_bytes(byte) == b"\n"
    assert ours.token_to_id("\n") == ours.token_to_id("<0x0A>") == byte
    # A token that spells a space comes before the one that stands for its byte.
    assert ours.token_to_id(" ") == engine.piece_to_id("\u2581") != engine.piece_to_id("<0x20>")
    assert ours.token_to_id("<s>") == engine.bos_id()
    assert ours.token_to_id("no such token") is None
    with pytest.raises(DecodeError):
        ours.encode_single_token("no such token")


def test_token_bytes_are_sorted_and_without_added_tokens() -> None:
    ours, engine = READ["spm-tiny"], ENGINES["spm-tiny"]
    values = ours.token_byte_values()
    assert values == sorted(values)
    assert len(values) == engine.get_piece_size() - len(ours.special_tokens_set)
    assert {b" the", b"\n", b"\xff", b"\xe2"} <= set(values)
    assert not any("\u2581".encode() in value for value in values)
    assert ours.n_vocab == engine.get_piece_size()


def test_bytes_keep_the_space_that_decoding_leaves_out() -> None:
    ours = READ["spm-tiny"]
    ids = ours.encode_ordinary("the 🤗")
    assert ours.decode(ids) == "the 🤗"
    assert ours.decode_bytes(ids) == b"".join(ours.decode_tokens_bytes(ids)) == " the 🤗".encode()
    assert ours.decode_with_offsets(ids)[0] == " the 🤗"
    # Where no bytes are joined, there is nothing for ``errors`` to do.
    assert ours.decode(ids[-1:], errors="strict") == "\ufffd"


def test_merges_are_pairs_of_tokens() -> None:
    ours, engine = READ["spm-tiny"], ENGINES["spm-tiny"]
    merges = ours.merges
    for (left, right), token in merges.items():
        parts = engine.id_to_piece(left) + engine.id_to_piece(right)
        assert parts == engine.id_to_piece(token)
    assert next(iter(merges.values())) == max(merges.values(), key=engine.get_score)


def test_unstable_tokens_are_for_bytes() -> None:
    with pytest.raises(EncodeError, match="unstable"):
        READ["spm-tiny"].encode_with_unstable("the")
    with pytest.raises(EncodeError, match="unstable"):
        FROM_LISTED["clip-tiny"].encode_with_unstable("the")


def test_live_objects_there_and_back() -> None:
    ours, engine = READ["spm-tiny"], ENGINES["spm-tiny"]
    again = ours.to_sentencepiece()
    assert again.serialized_model_proto() == engine.serialized_model_proto()
    assert pickle.loads(pickle.dumps(ours)).encode_ordinary("the 🤗") == engine.encode("the 🤗")
    back = FROM_LISTED["spm-tiny"].to_tokenizers()
    text = " the <s> 🤗\n"
    assert back.encode(text).ids == LISTED["spm-tiny"].encode(text).ids


def test_what_sentencepiece_cannot_hold_is_refused() -> None:
    byte_level = TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"
    ours = Tokenizer.from_tokenizers(HuggingFaceTokenizer.from_file(str(byte_level)))
    with pytest.raises(LossyConversionError):
        ours.to_sentencepiece()


def test_saving_a_model(tmp_path: Path) -> None:
    READ["spm-tiny"].save(tmp_path / "out", format="sentencepiece")
    again = SentencePieceProcessor(model_file=str(tmp_path / "out/tokenizer.model"))
    assert again.encode("the <s>") == ENGINES["spm-tiny"].encode("the <s>")


@pytest.mark.parametrize("name", ["llama-2", "mistral-v1"])
def test_published_models(data: Data, corpora: list[Path], name: str) -> None:
    engine = SentencePieceProcessor(model_file=str(data(f"{name}/tokenizer.model")))
    ours = Tokenizer.from_sentencepiece(engine)
    for path in corpora:
        text = path.read_bytes().decode("utf-8")
        ids = engine.encode(text)
        assert ours.encode_ordinary(text) == ids
        assert ours.decode(ids) == engine.decode(ids)
    assert ours.decode_single_token_bytes(engine.piece_to_id("<0xE4>")) == b"\xe4"
