"""tiktoken's habits: what its users call works here with the same arguments and errors."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import tiktoken
from conftest import Data
from hypothesis import given
from hypothesis import strategies as st
from tiktoken_encodings import CL100K, GPT2, HOLDS, SPECIAL, small
from tokenizers import Tokenizer as HuggingFaceTokenizer

import bpe_interop
from bpe_interop.engines import from_model
from bpe_interop.errors import (
    DecodeError,
    DisallowedSpecialError,
    EncodeError,
    EngineError,
    EngineMissingError,
    LossyConversionError,
    PatternError,
    TargetError,
    UnstatedError,
)
from bpe_interop.formats import FormatOption, all_formats, by_name
from bpe_interop.kernel import running, set_aside
from bpe_interop.steps import PrefixSpace
from bpe_interop.tokenizer import Tokenizer
from fixtures import TOKENIZERS

ENCODINGS = {"gpt2-like": small(GPT2), "cl100k-like": small(CL100K)}
SMALL = {name: Tokenizer.from_tiktoken(encoding) for name, encoding in ENCODINGS.items()}

ENGINES = {name: SMALL["gpt2-like"].with_engine(name) for name in (None, "tiktoken", "tokenizers")}

CALLS: dict[str, Callable[[Any], object]] = {
    "encode": lambda e: e.encode("hello world"),
    "encode empty": lambda e: e.encode(""),
    "encode a special": lambda e: e.encode(HOLDS),
    "encode one allowed": lambda e: e.encode(HOLDS, allowed_special={"<|pad|>"}),
    "encode both allowed": lambda e: e.encode(HOLDS, allowed_special=set(SPECIAL)),
    "encode all allowed": lambda e: e.encode(HOLDS, allowed_special="all"),
    "encode none disallowed": lambda e: e.encode(HOLDS, disallowed_special=()),
    "encode one allowed, none disallowed": lambda e: e.encode(
        HOLDS, allowed_special={"<|endoftext|>"}, disallowed_special=()
    ),
    "encode another disallowed": lambda e: e.encode("hello", disallowed_special={"ell"}),
    "encode another disallowed, absent": lambda e: e.encode("hi", disallowed_special=["ell"]),
    "encode a text disallowed by letters": lambda e: e.encode("hello", disallowed_special="ox"),
    "encode allowed and disallowed": lambda e: e.encode(
        HOLDS, allowed_special={"<|pad|>"}, disallowed_special={"<|pad|>"}
    ),
    "encode allows the unknown": lambda e: e.encode("hello", allowed_special={"<nope>"}),
    "encode frozenset": lambda e: e.encode(HOLDS, allowed_special=frozenset(SPECIAL)),
    "encode allowed list": lambda e: e.encode("hello", allowed_special=["<|pad|>"]),
    "encode allowed list 2": lambda e: e.encode(
        "hello", allowed_special=["<|pad|>"], disallowed_special=()
    ),
    "encode allowed text": lambda e: e.encode("hello", allowed_special="<|pad|>"),
    "encode allowed None": lambda e: e.encode("hello", allowed_special=None),
    "encode positional": lambda e: e.encode("hello", "all"),
    "encode bytes": lambda e: e.encode(b"hello"),
    "encode None": lambda e: e.encode(None),
    "encode number": lambda e: e.encode(1, disallowed_special=()),
    "encode disallowed None": lambda e: e.encode(HOLDS, disallowed_special=None),
    "encode disallowed list": lambda e: e.encode(HOLDS, disallowed_special=["<|pad|>"]),
    "encode disallowed empty list": lambda e: e.encode(HOLDS, disallowed_special=[]),
    "encode disallowed number": lambda e: e.encode("hello", disallowed_special=7),
    "encode_to_numpy None": lambda e: e.encode_to_numpy(HOLDS, disallowed_special=None).tolist(),
    "unstable None": lambda e: e.encode_with_unstable(HOLDS, disallowed_special=None)[0],
    "_encode_bytes": lambda e: e._encode_bytes("hello 日本".encode()),
    "_encode_bytes special": lambda e: e._encode_bytes(HOLDS.encode()),
    "_encode_bytes cut": lambda e: e._encode_bytes(b"hello wor\xe6\x97"),
    "_encode_bytes surrogate": lambda e: e._encode_bytes(b"hello\xed\xa0\x80 wor"),
    "_encode_bytes empty": lambda e: e._encode_bytes(b""),
    "_encode_bytes text": lambda e: e._encode_bytes("hello"),
    "_encode_bytes None": lambda e: e._encode_bytes(None),
    "_encode_bytes list": lambda e: e._encode_bytes([104]),
    "_encode_single_piece": lambda e: e._encode_single_piece("hello world"),
    "_encode_single_piece bytes": lambda e: e._encode_single_piece(b"\xe6\x97\xff"),
    "_encode_single_piece one": lambda e: e._encode_single_piece("h"),
    "_encode_single_piece special": lambda e: e._encode_single_piece("<|pad|>"),
    "_encode_single_piece number": lambda e: e._encode_single_piece(7),
    "_encode_single_piece surrogate": lambda e: e._encode_single_piece("\ud800"),
    "_special_tokens": lambda e: e._special_tokens,
    "_pat_str": lambda e: e._pat_str,
    "_mergeable_ranks": lambda e: e._mergeable_ranks,
    "its parts make another": lambda e: tiktoken.Encoding(
        "again",
        pat_str=e._pat_str,
        mergeable_ranks=e._mergeable_ranks,
        special_tokens=e._special_tokens,
    ).encode(HOLDS, allowed_special="all"),
    "encode surrogates": lambda e: e.encode("a\ud83d\udc4db\ud800c"),
    "encode_ordinary": lambda e: e.encode_ordinary(HOLDS),
    "encode_ordinary surrogates": lambda e: e.encode_ordinary("\udc00 \ud83d\udc4d"),
    "encode_ordinary number": lambda e: e.encode_ordinary(1),
    "encode_batch": lambda e: e.encode_batch(["hello", "", "world"], num_threads=2),
    "encode_batch special": lambda e: e.encode_batch(["hello", HOLDS]),
    "encode_batch all": lambda e: e.encode_batch(["hello", HOLDS], allowed_special="all"),
    "encode_batch one": lambda e: e.encode_batch([HOLDS], allowed_special={"<|pad|>"}),
    "encode_batch none": lambda e: e.encode_batch([HOLDS], disallowed_special=()),
    "encode_batch number": lambda e: e.encode_batch(["hello", 1]),
    "encode_ordinary_batch": lambda e: e.encode_ordinary_batch(["hello", HOLDS], num_threads=1),
    "encode_single_token": lambda e: e.encode_single_token("hello"),
    "encode_single_token bytes": lambda e: e.encode_single_token(b"\xe6\x97"),
    "encode_single_token special": lambda e: e.encode_single_token("<|pad|>"),
    "encode_single_token unknown": lambda e: e.encode_single_token("hello world"),
    "encode_single_token number": lambda e: e.encode_single_token(7),
    "encode_to_numpy": lambda e: e.encode_to_numpy("hello world").tolist(),
    "encode_to_numpy type": lambda e: str(e.encode_to_numpy("hello", allowed_special="all").dtype),
    "encode_to_numpy special": lambda e: e.encode_to_numpy(HOLDS).tolist(),
    "unstable special": lambda e: e.encode_with_unstable(HOLDS),
    "decode": lambda e: e.decode([104, 101, 400, 108]),
    "decode empty": lambda e: e.decode([]),
    "decode stray bytes": lambda e: e.decode([104, 0xE6, 0xFF, 108]),
    "decode strict": lambda e: e.decode([0xE6, 0x97], errors="strict"),
    "decode ignore": lambda e: e.decode([0xE6, 104], "ignore"),
    "decode a tuple": lambda e: e.decode((104, 101)),
    "decode an array": lambda e: e.decode(np.array([104, 101], dtype=np.int64)),
    "decode unknown": lambda e: e.decode([104, 401]),
    "decode negative": lambda e: e.decode([-1]),
    "decode too large": lambda e: e.decode([2**32]),
    "decode texts": lambda e: e.decode(["a"]),
    "decode a text": lambda e: e.decode("ab"),
    "decode floats": lambda e: e.decode([104.0]),
    "decode a number": lambda e: e.decode(104),
    "decode None": lambda e: e.decode(None),
    "decode_bytes": lambda e: e.decode_bytes([0xE6, 400, 104]),
    "decode_bytes unknown": lambda e: e.decode_bytes([99999]),
    "decode_batch": lambda e: e.decode_batch([[104], [], [400]], num_threads=2),
    "decode_batch strict": lambda e: e.decode_batch([[104], [0xFF]], errors="strict"),
    "decode_bytes_batch": lambda e: e.decode_bytes_batch([[104], [0xFF]], num_threads=3),
    "decode_single_token_bytes": lambda e: e.decode_single_token_bytes(0xE6),
    "decode_single_token_bytes special": lambda e: e.decode_single_token_bytes(402),
    "decode_single_token_bytes unknown": lambda e: e.decode_single_token_bytes(401),
    "decode_single_token_bytes negative": lambda e: e.decode_single_token_bytes(-1),
    "decode_single_token_bytes text": lambda e: e.decode_single_token_bytes("a"),
    "decode_tokens_bytes": lambda e: e.decode_tokens_bytes([104, 400, 0xE6]),
    "decode_tokens_bytes unknown": lambda e: e.decode_tokens_bytes([104, 401]),
    "decode_with_offsets": lambda e: e.decode_with_offsets([104, 0xE6, 0x97, 0xA5, 400, 101]),
    "decode_with_offsets stray": lambda e: e.decode_with_offsets([104, 0xE6]),
    "decode_with_offsets empty": lambda e: e.decode_with_offsets([]),
    "n_vocab": lambda e: e.n_vocab,
    "max_token_value": lambda e: e.max_token_value,
    "eot_token": lambda e: e.eot_token,
    "special_tokens_set": lambda e: e.special_tokens_set,
    "special_tokens_set may be changed": lambda e: e.special_tokens_set - {"<|pad|>"},
    "token_byte_values": lambda e: e.token_byte_values(),
    "is_special_token": lambda e: [e.is_special_token(n) for n in (104, 400, 401, 402, -1)],
    "is_special_token text": lambda e: e.is_special_token("<|pad|>"),
    "name": lambda e: e.name,
}


def outcome(call: Callable[[], object]) -> tuple[object, type[BaseException] | None]:
    try:
        return call(), None
    except Exception as error:
        return None, type(error)


@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("which", ENCODINGS)
def test_calls_do_what_tiktokens_do(which: str, what: str) -> None:
    expected, failure = outcome(lambda: CALLS[what](ENCODINGS[which]))
    found, error = outcome(lambda: CALLS[what](SMALL[which]))
    assert found == expected
    if failure is None:
        assert error is None
    else:
        assert error is not None
        assert issubclass(error, failure)


def test_a_disallowed_special_token_is_named_with_the_ways_out() -> None:
    with pytest.raises(DisallowedSpecialError) as caught:
        SMALL["gpt2-like"].encode(HOLDS, allowed_special={"<|endoftext|>"})
    message = str(caught.value)
    for part in (
        "'<|pad|>'",
        "keeps users from smuggling one in",
        "allowed_special={'<|pad|>', ...}",
        "disallowed_special=()",
    ):
        assert part in message


TEXTS = [*SPECIAL, "<|endof", "text|>", "hello", "<", "|>", "ell"]
SOME = st.frozensets(st.sampled_from([*SPECIAL, "ell", "<nope>"]))


@given(
    text=st.lists(st.sampled_from(TEXTS), max_size=5).map("".join),
    allowed=st.one_of(st.just("all"), SOME),
    disallowed=st.one_of(st.just("all"), st.just(()), SOME, SOME.map(list)),
)
def test_whatever_is_allowed_or_not_is_as_in_tiktoken(
    text: str, allowed: Any, disallowed: Any
) -> None:
    expected, failure = outcome(
        lambda: ENCODINGS["gpt2-like"].encode(
            text, allowed_special=allowed, disallowed_special=disallowed
        )
    )
    for engine in (None, "tiktoken", "tokenizers"):
        tokenizer = ENGINES[engine]
        asked: Any = {"allowed_special": allowed, "disallowed_special": disallowed}
        found, error = outcome(partial(tokenizer.encode, text, **asked))
        assert found == expected
        assert (error is None) is (failure is None)
        assert error is None or issubclass(error, failure or ())
        batch, error = outcome(partial(tokenizer.encode_batch, [text], **asked))
        assert batch == (None if failure else [expected])


PIECES = ["hello", " wo", "日本", "é", " ", "\n", "  ", "12", "<|pad|>"]
CUT = [b"\xe6", b"\x97", b"\xff", b"\xed\xa0\x80", b"\xf0\x9f", b"\xc0\x80", b"\xe6\x97\xa5"]


@pytest.mark.parametrize("which", ENCODINGS)
@given(
    parts=st.lists(
        st.one_of(st.sampled_from(PIECES).map(str.encode), st.sampled_from(CUT), st.binary()),
        max_size=6,
    )
)
def test_bytes_encode_as_in_tiktoken(which: str, parts: list[bytes]) -> None:
    encoding, tokenizer = ENCODINGS[which], SMALL[which]
    content = b"".join(parts)
    assert tokenizer._encode_bytes(content) == encoding._encode_bytes(content)
    if content:
        ids = encoding._encode_single_piece(content)
        assert tokenizer._encode_single_piece(content) == ids


def test_what_tiktoken_cannot_hold_has_no_ranks_and_no_pattern() -> None:
    pieces = fixture("spm-tiny", "sentencepiece")
    with pytest.raises(LossyConversionError):
        _ = pieces._mergeable_ranks
    silent = Tokenizer(replace(SMALL["gpt2-like"].model, added=None, pretokenizer=None))
    with pytest.raises(UnstatedError, match="pattern"):
        _ = silent._pat_str
    with pytest.raises(UnstatedError, match="special tokens"):
        _ = silent._special_tokens
    several = replace(
        SMALL["gpt2-like"].model,
        pretokenizer=(PrefixSpace(),),
    )
    with pytest.raises(PatternError, match="no pattern"):
        _ = Tokenizer(several)._pat_str


def test_a_list_of_merges_has_ranks_where_it_can() -> None:
    written = fixture("gpt2-tiny", "huggingface")
    ranks = written.to_tiktoken()._mergeable_ranks
    assert written._mergeable_ranks == ranks
    assert written._pat_str == written.to_tiktoken()._pat_str


def test_without_end_of_text_there_is_no_eot_token() -> None:
    encoding = tiktoken.Encoding(
        "none", pat_str=r"\w", mergeable_ranks={b"a": 0}, special_tokens={"<pad>": 1}
    )
    for each, error in ((encoding, KeyError), (Tokenizer.from_tiktoken(encoding), DecodeError)):
        with pytest.raises(error):
            _ = each.eot_token
        assert (each.n_vocab, each.max_token_value) == (2, 1)


def same_completions(encoding: tiktoken.Encoding, tokenizer: Tokenizer, text: str) -> None:
    for asked in ({"allowed_special": "all"}, {"disallowed_special": ()}):
        stable, completions = encoding.encode_with_unstable(text, **asked)
        ours = tokenizer.encode_with_unstable(text, **asked)
        assert ours[0] == stable, (text, asked)
        assert ours[1] == sorted(completions), (text, asked)


LETTERS = [*"helowrdfanta  \n\n\t'12!.é日本\u3000\r", *SPECIAL, "e\u0301"]


@pytest.mark.parametrize("which", ENCODINGS)
@given(text=st.lists(st.sampled_from(LETTERS), max_size=12).map("".join))
def test_unstable_tokens_are_tiktokens(which: str, text: str) -> None:
    same_completions(ENCODINGS[which], SMALL[which], text)


def test_unstable_tokens_need_tokens_that_spell_the_text() -> None:
    for name in ("nfc-tiny", "prefix-tiny"):
        with pytest.raises(EncodeError, match="unstable"):
            fixture(name, "huggingface").encode_with_unstable("hello")


@pytest.mark.parametrize("which", ENCODINGS)
@given(text=st.text(st.characters(codec=None), max_size=40))
def test_any_text_encodes_as_in_tiktoken(which: str, text: str) -> None:
    encoding, tokenizer = ENCODINGS[which], SMALL[which]
    ids = encoding.encode(text, allowed_special="all")
    assert tokenizer.encode(text, allowed_special="all") == ids
    assert tokenizer.decode(ids) == encoding.decode(ids)
    assert tokenizer.decode_with_offsets(ids) == encoding.decode_with_offsets(ids)


def fixture(name: str, format: str, **changes: Any) -> Tokenizer:
    folder = TOKENIZERS / name / format
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    return Tokenizer(replace(by_name(format).load(files), **changes))


# What is ours beside.


def test_it_pickles() -> None:
    tokenizer = SMALL["gpt2-like"].with_engine("tiktoken")
    again = pickle.loads(pickle.dumps(tokenizer))
    assert again.encode(HOLDS, allowed_special="all") == ENCODINGS["gpt2-like"].encode(
        HOLDS, allowed_special="all"
    )
    assert again.engine == "tiktoken"
    assert again.vocab == tokenizer.vocab


def test_many_threads_may_use_one() -> None:
    encoding = ENCODINGS["cl100k-like"]
    rng = random.Random(1)
    texts = ["".join(rng.choices(LETTERS, k=200)) for _ in range(64)]
    expected = [encoding.encode(text, allowed_special="all") for text in texts]
    for engine in (None, "tiktoken", "tokenizers"):
        fresh = Tokenizer.from_tiktoken(encoding, engine=engine)
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(partial(fresh.encode, allowed_special="all"), texts))
        assert found == expected


def fastest(library: str) -> str | None:
    """What ``"auto"`` is: our own encoder where the native kernel runs, else a library."""
    return None if running().kernel == "native" else library


def test_engines_give_the_same_ids() -> None:
    texts = ["", "hello world", HOLDS, "日本 \n\n 123!!!", "\ud800 lone", "long " * 2000]
    ours = SMALL["gpt2-like"]
    for engine in ("tiktoken", "tokenizers", "auto"):
        tokenizer = ours.with_engine(engine)
        assert tokenizer.engine == (fastest("tiktoken") if engine == "auto" else engine)
        for allowed in ("all", frozenset[str](), {"<|pad|>"}, {"<|pad|>", "<|endoftext|>"}):
            asked: Any = {"allowed_special": allowed, "disallowed_special": ()}
            assert tokenizer.encode_batch(texts, **asked) == ours.encode_batch(texts, **asked)
            ids, ends = tokenizer.encode_to_arrays(texts, **asked)
            assert ids.tolist() == [*chain.from_iterable(ours.encode_batch(texts, **asked))]
            assert ends.tolist() == [*accumulate(map(len, ours.encode_batch(texts, **asked)))]
            assert [tokenizer.encode(text, **asked) for text in texts] == [
                ours.encode(text, **asked) for text in texts
            ]
        asked = {"allowed_special": {"<|endoftext|>"}}
        text = "hello<|endoftext|>world"
        assert tokenizer.encode(text, **asked) == ours.encode(text, **asked)
    with set_aside():
        assert "tiktoken" in repr(ours.with_engine("auto"))
    assert ours.engine is None


def test_a_text_that_the_engine_fails_on_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = SMALL["gpt2-like"].with_engine("tiktoken")

    def fail(*args: object, **named: object) -> list[int]:
        raise EngineError("it panicked")

    monkeypatch.setattr(tokenizer._engine, "encode", fail)
    monkeypatch.setattr(tokenizer._engine, "encode_batch", fail)
    expected = ENCODINGS["gpt2-like"].encode_ordinary("hello")
    assert tokenizer.encode("hello") == expected
    assert tokenizer.encode_batch(["hello"]) == [expected]


def test_an_engine_that_is_not_exact_is_refused_and_not_chosen() -> None:
    nfc = fixture("nfc-tiny", "huggingface")
    with pytest.raises(LossyConversionError, match="normalizer"):
        nfc.with_engine("tiktoken")
    assert nfc.with_engine("auto").engine == fastest("tokenizers")
    with set_aside():
        assert nfc.with_engine("auto").engine == "tokenizers"
    with pytest.raises(EngineError, match="there is no engine 'fast'"):
        nfc.with_engine("fast")


def test_a_missing_engine_is_said_or_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    tokenizer = SMALL["gpt2-like"]
    with pytest.raises(EngineMissingError, match="tiktoken is not installed"):
        tokenizer.with_engine("tiktoken")
    with set_aside():
        assert tokenizer.with_engine("auto").engine == "tokenizers"
        monkeypatch.setitem(sys.modules, "tokenizers", None)
        assert tokenizer.with_engine("auto").engine is None


def test_what_the_source_does_not_say_is_an_error_when_needed() -> None:
    silent = replace(SMALL["gpt2-like"].model, added=None)
    tokenizer = Tokenizer(silent, engine="auto")
    assert tokenizer.engine is None
    for call in (
        lambda: tokenizer.encode("hello"),
        lambda: tokenizer.special_tokens_set,
        lambda: tokenizer.to_tiktoken(),
        lambda: tokenizer.with_engine("tiktoken"),
    ):
        with pytest.raises(UnstatedError, match=r"preset|sidecar"):
            call()
    assert tokenizer.decode([104, 101]) == "he"


def test_ids_and_tokens() -> None:
    tokenizer = SMALL["gpt2-like"]
    encoding = ENCODINGS["gpt2-like"]
    assert tokenizer.token_to_id(" hello") == encoding.encode_single_token(" hello")
    assert tokenizer.token_to_id(b"\xe6") == 0xE6
    assert tokenizer.token_to_id("<|pad|>") == 402
    assert tokenizer.token_to_id("no such token") is None
    assert tokenizer.id_to_token(402) == b"<|pad|>"
    assert tokenizer.id_to_token(401) is None
    by_tiktoken = {
        encoding.encode_single_token(token): token for token in encoding.token_byte_values()
    }
    assert tokenizer.vocab == by_tiktoken | {400: b"<|endoftext|>", 402: b"<|pad|>"}
    assert list(tokenizer.vocab) == sorted(tokenizer.vocab)


def test_ids_by_role_and_how_many_ids_there_are() -> None:
    tokenizer = fixture("cl100k-tiny", "huggingface")
    said = json.loads((TOKENIZERS / "cl100k-tiny/huggingface/tokenizer.json").read_text())
    [end] = [each["id"] for each in said["added_tokens"] if each["content"] == "<|endoftext|>"]
    assert tokenizer.eos_token_id == end
    assert tokenizer.pad_token_id is None
    assert len(tokenizer) == len(tokenizer.vocab) < tokenizer.n_vocab
    with pytest.raises(UnstatedError):
        _ = Tokenizer(replace(tokenizer.model, added=None)).bos_token_id


@pytest.mark.parametrize("name", ["cl100k-tiny", "spm-tiny", "nfc-tiny", "template-tiny"])
@given(text=st.text(max_size=30), most=st.integers(0, 30))
def test_counts_and_beginnings(name: str, text: str, most: int) -> None:
    tokenizer = fixture(name, "huggingface")
    for library in (None, "tokenizers"):
        engine = tokenizer.with_engine(library)
        assert engine.count(text) == len(engine.encode(text))
        placed = engine.encode(text, add_special_tokens=True)
        assert engine.count(text, add_special_tokens=True) == len(placed)
    found = tokenizer.truncate(text, most)
    assert text.startswith(found)
    assert tokenizer.count(found) <= most
    # No other beginning that ends with a token, and cuts no character, is longer.
    _, spans = tokenizer.encode_with_offsets(text)
    for (_, end), (start, _) in pairwise([*spans, (len(text), len(text))]):
        if len(found) < end <= start:
            assert tokenizer.count(text[:end]) > most


def test_merges_are_in_rank_order_and_spell_their_token() -> None:
    tokenizer = SMALL["cl100k-like"]
    assert list(tokenizer.merges.values()) == list(range(256, 256 + len(tokenizer.merges)))
    for (left, right), product in tokenizer.merges.items():
        assert tokenizer.vocab[left] + tokenizer.vocab[right] == tokenizer.vocab[product]
    # As tokenizers lists them: strings of the byte alphabet, in the file's order.
    listed = fixture("gpt2-tiny", "huggingface")
    file = HuggingFaceTokenizer.from_file(str(TOKENIZERS / "gpt2-tiny/huggingface/tokenizer.json"))
    pairs = [
        tuple(m.split(" ")) if isinstance(m, str) else tuple(m)
        for m in json.loads(file.to_str())["model"]["merges"]
    ]
    expected = {
        (file.token_to_id(a), file.token_to_id(b)): file.token_to_id(a + b) for a, b in pairs
    }
    assert list(listed.merges.items()) == list(expected.items())


def test_decoding_without_special_tokens() -> None:
    tokenizer = SMALL["gpt2-like"]
    assert tokenizer.decode([104, 400, 101, 402], skip_special_tokens=True) == "he"


def test_the_sequence_template() -> None:
    tokenizer = fixture("template-tiny", "huggingface")
    reference = HuggingFaceTokenizer.from_file(
        str(TOKENIZERS / "template-tiny/huggingface/tokenizer.json")
    )
    texts = ["hello", "", "a b"]
    expected = [reference.encode(text).ids for text in texts]
    assert tokenizer.encode_batch(texts, add_special_tokens=True) == expected
    ids, _ = tokenizer.encode_to_arrays(texts, add_special_tokens=True)
    assert ids.tolist() == [*chain.from_iterable(expected)]
    assert tokenizer.encode(texts[0], add_special_tokens=True) == expected[0]
    assert tokenizer.encode(texts[0]) == reference.encode(texts[0], add_special_tokens=False).ids


def test_offsets_are_those_of_tokenizers() -> None:
    file = str(TOKENIZERS / "cl100k-tiny/huggingface/tokenizer.json")
    reference = HuggingFaceTokenizer.from_file(file)
    tokenizer = fixture("cl100k-tiny", "huggingface")
    text = "Hello, 日本 <|endoftext|>  world"
    found = reference.encode(text, add_special_tokens=False)
    assert tokenizer.encode_with_offsets(text, allowed_special="all") == (found.ids, found.offsets)
    with pytest.raises(ValueError, match="disallowed"):
        tokenizer.encode_with_offsets(text)


def test_pretokens() -> None:
    tokenizer = SMALL["gpt2-like"]
    assert tokenizer.pretokenize("hello  world's") == ["hello", " ", " world", "'s"]
    content: Any = b"hello"
    with pytest.raises(TypeError):
        tokenizer.pretokenize(content)


def test_live_objects_pass_the_gate() -> None:
    nfc = fixture("nfc-tiny", "huggingface")
    with pytest.raises(LossyConversionError, match="normalizer"):
        nfc.to_tiktoken()
    wrong: Any = ["nonsense"]
    with pytest.raises(ValueError, match="not a field"):
        nfc.to_tokenizers(drop=wrong)


def test_saving(tmp_path: Path) -> None:
    tokenizer = SMALL["gpt2-like"]
    target = tmp_path / "mine.tiktoken"
    assert tokenizer.save(target) == ()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "mine.tiktoken",
        "mine.tiktoken.json",
    ]
    with pytest.raises(TargetError, match="already there"):
        tokenizer.save(target)
    tokenizer.save(target, force=True)
    tokenizer.save(tmp_path / "hf", format="hf")
    file = HuggingFaceTokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    expected = ENCODINGS["gpt2-like"].encode(HOLDS, allowed_special="all")
    assert file.encode(HOLDS).ids == expected
    with pytest.raises(TargetError, match="format"):
        tokenizer.save(tmp_path / "other")
    with pytest.raises(LossyConversionError):
        fixture("nfc-tiny", "huggingface").save(tmp_path / "new", format="tiktoken")
    assert not (tmp_path / "new").exists()


def test_numbers_beyond_ids_are_both_errors() -> None:
    with pytest.raises(DecodeError):
        SMALL["gpt2-like"].decode([-100])


# Names that people import.


def test_the_public_names_are_these_and_each_is_what_it_says() -> None:
    assert bpe_interop.__all__ == [
        "BPEModel", "Conversion", "Difference", "Loss", "Report", "Statement", "Tokenizer",
        "convert", "diff", "errors", "load", "measure", "replace_control_characters", "train",
        "verify",
    ]  # fmt: skip
    assert issubclass(bpe_interop.errors.BpeInteropError, Exception)
    for name in {*bpe_interop.__all__} - {"errors"}:
        assert callable(getattr(bpe_interop, name)), name


def test_a_function_stays_in_reach_of_its_name_when_its_module_is_imported() -> None:
    code = (
        "import bpe_interop, bpe_interop.train, bpe_interop.diff;"
        "from bpe_interop.train import learn;"
        "tok = bpe_interop.train('Hello Hello Hello', merges=3);"
        "print(tok.encode('Hello'), 'tokenizers' in __import__('sys').modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[258, 111] False"


# As minbpe prints tokens (minbpe/base.py, replace_control_characters).
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Hello, world!\nThis is a test.\r\n", r"Hello, world!\u000aThis is a test.\u000d\u000a"),
        ("\x1b[2J\x00\x7f\x9b", r"\u001b[2J\u0000\u007f\u009b"),
        ("\u202eabc\u200d\ufeff\xad", r"\u202eabc\u200d\ufeff\u00ad"),
        ("\ud800\ue000\U000e0001", r"\ud800\ue000\ue0001"),
        ("plain é 日本 🎉 \xa0\u2028", "plain é 日本 🎉 \xa0\u2028"),
        ("", ""),
    ],
)
def test_control_characters_are_replaced_for_people(text: str, shown: str) -> None:
    assert bpe_interop.replace_control_characters(text) == shown
    kept = bpe_interop.replace_control_characters(text, keep="\n")
    assert kept == shown.replace(r"\u000a", "\n")


def test_importing_it_imports_no_engine() -> None:
    code = (
        "import sys, bpe_interop.tokenizer, bpe_interop.engines;"
        "print({'tiktoken','tokenizers','transformers','sentencepiece','numpy'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


# Real encodings.


@pytest.fixture(scope="module", params=["gpt2", "cl100k_base"])
def real(request: pytest.FixtureRequest, data: Data) -> tuple[tiktoken.Encoding, Tokenizer]:
    data("tiktoken_cache")
    encoding = tiktoken.get_encoding(request.param)
    return encoding, Tokenizer.from_tiktoken(encoding)


def test_real_encodings_behave_alike(real: tuple[tiktoken.Encoding, Tokenizer]) -> None:
    encoding, tokenizer = real
    for what, call in CALLS.items():
        expected, failure = outcome(partial(call, encoding))
        found, error = outcome(partial(call, tokenizer))
        assert found == expected, what
        assert (error is None) == (failure is None), what
        assert error is None or issubclass(error, failure or ()), what


def cuttings(folder: Path, count: int) -> Iterator[str]:
    """Pieces of real texts, cut anywhere."""
    rng = random.Random(7)
    names = ["botchan.txt", "donquixote.txt", "wagahaiwa_nekodearu.txt", "xiyou.txt"]
    texts = [(folder / name).read_text("utf-8") for name in names]
    for _ in range(count):
        text = rng.choice(texts)
        start = rng.randrange(len(text))
        yield text[start : start + rng.randrange(1, 25)]


@pytest.mark.long
def test_real_unstable_tokens(real: tuple[tiktoken.Encoding, Tokenizer], data: Data) -> None:
    encoding, tokenizer = real
    fixed = ["hello fanta", "\n\n", " \n \n", "x = 1\n    ", "<|endoftext|>", "a<|endoftext|> b"]
    for text in [*fixed, *cuttings(data("corpora"), 40)]:
        same_completions(encoding, tokenizer, text)


KNOWN = [
    ("gpt2", "    hello world!!!", "220 220 220 23748 995 10185"),
    ("cl100k_base", "    hello world!!!", "262 24748 1917 12340"),
    (
        "cl100k_base",
        "안녕하세요 👋 (hello in Korean!)",
        "31495 230 75265 243 92245 62904 233 320 15339 304 16526 16715",
    ),
    (
        "o200k_base",
        "The quick brown fox jumps over the lazy dog",
        "976 4853 19705 68347 65613 1072 290 29082 6446",
    ),
    ("o200k_base", "My name is صفوان", "5444 1308 382 37315 10878"),
]


@pytest.mark.parametrize(("name", "text", "ids"), KNOWN)
def test_published_ids(data: Data, name: str, text: str, ids: str) -> None:
    data("tiktoken_cache")
    tokenizer = Tokenizer.from_tiktoken(tiktoken.get_encoding(name))
    expected = list(map(int, ids.split()))
    for engine in (None, "auto"):
        assert tokenizer.with_engine(engine).encode(text) == expected
    assert tokenizer.decode(expected) == text


def test_bytes_that_are_not_utf8(data: Data) -> None:
    data("tiktoken_cache")
    tokenizer = Tokenizer.from_tiktoken(tiktoken.get_encoding("cl100k_base"))
    stray = [tokenizer.encode_single_token(b"\xff"), *tokenizer.encode("a")]
    assert tokenizer.decode(stray) == "\ufffda"
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode(stray, errors="strict")


def test_a_text_on_which_tiktoken_panics_is_ours(data: Data) -> None:
    """A million spaces: the pattern's backtracking ends tiktoken, and its merging alone is fine."""
    data("tiktoken_cache")
    encoding = tiktoken.get_encoding("o200k_base")
    tokenizer = Tokenizer.from_tiktoken(encoding, engine="tiktoken")
    spaces = " " * 1_000_000
    with pytest.raises(EngineError, match="panicked"):
        from_model("tiktoken", tokenizer.model).encode(spaces)
    assert tokenizer.encode(spaces) == encoding._encode_single_piece(spaces)


@pytest.mark.parametrize("name", ["template-tiny", "spm-tiny"])
def test_offsets_of_what_a_template_places_are_those_of_tokenizers(name: str) -> None:
    folder = TOKENIZERS / name / "huggingface"
    theirs = HuggingFaceTokenizer.from_file(str(folder / "tokenizer.json"))
    ours = bpe_interop.load(folder)
    for text in ("", "the cat", "a b"):
        expected = theirs.encode(text, add_special_tokens=True)
        found = ours.encode_with_offsets(text, add_special_tokens=True)
        assert found == (expected.ids, expected.offsets)
        assert len(found[0]) > len(ours.encode_with_offsets(text)[0])


def test_roles_are_those_of_the_special_tokens() -> None:
    tokenizer = bpe_interop.load(TOKENIZERS / "template-tiny" / "huggingface")
    assert tokenizer.roles == {"bos": "<|begin_of_text|>", "eos": "<|end_of_text|>"}
    named = tokenizer.with_special_tokens(["<a>", "<b>"], roles={"eos": "<a>", "pad": "<a>"})
    own = {"bos": "<|begin_of_text|>", "eos": "<a>", "pad": "<a>"}
    assert named.roles == own
    assert named.with_special_tokens([], roles={"pad": "<b>"}).roles == {**own, "pad": "<b>"}


# Batches as a tokenizer.json states them.

TINY = TOKENIZERS / "template-tiny" / "huggingface" / "tokenizer.json"
BATCH = ["one", "", "another text, which is longer than the others", "two words"]
PADDINGS: list[dict[str, Any]] = [
    {"pad_id": 3, "pad_token": "x"},
    {"direction": "left", "pad_id": 1},
    {"length": 5},
    {"length": 6, "pad_to_multiple_of": 4, "direction": "left"},
    {"pad_to_multiple_of": 8, "pad_id": 2},
]
TRUNCATIONS: list[dict[str, Any] | None] = [
    None,
    {"max_length": 5},
    {"max_length": 4, "direction": "left", "strategy": "only_first"},
    {"max_length": 100, "strategy": "only_second"},
]


@pytest.mark.parametrize("template", [True, False])
@pytest.mark.parametrize("truncation", TRUNCATIONS)
@pytest.mark.parametrize("padding", PADDINGS)
def test_a_batch_is_filled_up_and_truncated_as_tokenizers_does(
    tmp_path: Path, padding: dict[str, Any], truncation: dict[str, Any] | None, template: bool
) -> None:
    engine = HuggingFaceTokenizer.from_file(str(TINY))
    engine.enable_padding(**padding)
    if truncation:
        engine.enable_truncation(**truncation)
    engine.save(str(tmp_path / "tokenizer.json"))
    tokenizer = bpe_interop.load(tmp_path)
    rows = tokenizer.encode_batch(BATCH, pad=True, add_special_tokens=template)
    assert rows == [e.ids for e in engine.encode_batch(BATCH, add_special_tokens=template)]
    assert tokenizer.encode_batch([], pad=True) == []
    bare = [tokenizer.encode(text) for text in BATCH]
    assert tokenizer.encode_batch(BATCH) == bare  # without being asked, nothing is cut


def test_what_a_file_cannot_be_obeyed_in_is_said(tmp_path: Path) -> None:
    for tokenizer in (bpe_interop.load(TINY), SMALL["gpt2-like"]):
        with pytest.raises(UnstatedError, match="does not say how a batch is filled up"):
            tokenizer.encode_batch(BATCH, pad=True)
    engine = HuggingFaceTokenizer.from_file(str(TINY))
    engine.enable_padding()
    engine.enable_truncation(5, strategy="only_second")
    engine.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(EncodeError, match="to be truncated is not there"):
        bpe_interop.load(tmp_path).encode_batch(BATCH, pad=True)
    document = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    document["truncation"] |= {"max_length": 0, "strategy": "LongestFirst"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(EncodeError, match="max_length 0 has no place for"):
        bpe_interop.load(tmp_path).encode_batch(BATCH, pad=True, add_special_tokens=True)


def test_texts_are_measured() -> None:
    tokenizer, encoding = SMALL["gpt2-like"], ENCODINGS["gpt2-like"]
    texts = ["hello hello", HOLDS, "", "na\u00efve \ud83d\ude00"]
    found = tokenizer.measure(iter(texts))
    ids = [encoding.encode_ordinary(text) for text in texts]
    assert (found.documents, found.tokens) == (4, sum(map(len, ids)))
    assert found.counts == Counter(chain.from_iterable(ids))
    assert found.bytes == sum(len(encoding.decode_bytes(row)) for row in ids)
    assert found.words == sum(len(text.split()) for text in texts)
    assert found.tokens_per_word == found.tokens / found.words
    with pytest.raises(TypeError, match="not one str"):
        tokenizer.measure("hello")


def test_options_of_writing_are_those_of_the_formats() -> None:
    assert set(get_args(FormatOption)) == {o for row in all_formats() for o in row.options}
    assert set(get_args(FormatOption)) == {"plugin", "vocab-listing", "vocab-names"}
