"""What llama.cpp refuses of a GGUF file is refused, and what it decodes otherwise is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from in_llama_cpp import ids_in_each

from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import EngineError, FormatError
from bpe_interop.formats import by_name
from bpe_interop.model import BPEModel
from fixtures import TOKENIZERS
from fixtures.gguf_models import (
    ARRAY,
    BOOL,
    BYTE,
    FLOAT32,
    INT32,
    NORMAL,
    STRING,
    UINT32,
    UNUSED,
    USER_DEFINED,
    gguf,
)
from trust.encoders.gguf_damage import Keys, keys_of

KINDS = ("gguf-tiny", "gguf-llama3-tiny", "gguf-spm-tiny", "gguf-gemma4-tiny")
TOKENS, TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"


def keys_in(kind: str) -> Keys:
    return keys_of((TOKENIZERS / kind / "gguf" / "tiny.gguf").read_bytes())


def load(keys: Keys) -> BPEModel:
    return by_name("gguf").load({"tiny.gguf": gguf(keys)})


@pytest.mark.long
@pytest.mark.parametrize(
    ("key", "right", "wrong"),
    [
        ("general.alignment", (UINT32, 32), (INT32, 32)),
        ("general.file_type", (UINT32, 1), (STRING, "a")),
        ("split.count", None, (UINT32, 1)),
        ("tokenizer.ggml.add_bos_token", (BOOL, True), (UINT32, 1)),
        ("tokenizer.ggml.add_eos_token", (BOOL, False), (STRING, "")),
        ("tokenizer.ggml.add_sep_token", (BOOL, False), (ARRAY, (BOOL, [False]))),
        ("tokenizer.ggml.add_space_prefix", (BOOL, True), (FLOAT32, 1.0)),
        ("tokenizer.ggml.remove_extra_whitespaces", (BOOL, False), (UINT32, 0)),
        ("tokenizer.ggml.token_type_count", (UINT32, 1), (INT32, 1)),
        ("tokenizer.ggml.eot_token_id", (UINT32, 1), (INT32, 1)),
        ("tokenizer.ggml.eom_token_id", (UINT32, 1), (BOOL, True)),
        ("tokenizer.ggml.suppress_tokens", (ARRAY, (INT32, [1])), (ARRAY, (UINT32, [1]))),
        ("tokenizer.ggml.scores", (ARRAY, (FLOAT32, [0.0] * 2000)), (ARRAY, (FLOAT32, [0.0]))),
    ],
)
def test_a_key_has_the_type_without_which_the_engine_fails(
    key: str, right: Any, wrong: Any, tmp_path: Path
) -> None:
    good, bad = [], []
    for kind in KINDS:
        keys = keys_in(kind)
        if right is not None:
            load({**keys, key: right})
            good.append(gguf({**keys, key: right}))
        with pytest.raises(FormatError) as error:
            load({**keys, key: wrong})
        assert key in error.value.where
        bad.append(gguf({**keys, key: wrong}))
    ids = ids_in_each("a", [*good, *bad], tmp_path)
    assert None not in ids[: len(good)]
    assert ids[len(good) :] == [None] * len(bad)


def test_a_file_of_no_architecture_is_told_of() -> None:
    for kind in KINDS:
        keys = keys_in(kind)
        del keys["general.architecture"]
        assert any("it names no general.architecture" in note for note in load(keys).origin.notes)
        with pytest.raises(EngineError, match="unknown model architecture"):
            LlamaCppEngine(gguf(keys))


def test_gemma4_needs_the_token_that_it_puts_first() -> None:
    keys = keys_in("gguf-gemma4-tiny")
    del keys["tokenizer.ggml.bos_token_id"]
    with pytest.raises(FormatError, match="puts the bos token before each text"):
        load(keys)
    engine = LlamaCppEngine(gguf(keys))
    with pytest.raises(EngineError, match="crashed"):
        engine.encode("a", add_special_tokens=True)


@pytest.mark.parametrize(
    ("kind", "text", "type", "decoded"),
    [
        ("gguf-tiny", "ab\u2581", NORMAL, "ab[UNK_BYTE_0xe29681ab\u2581]"),
        ("gguf-tiny", "<0x41>", BYTE, "A"),
        ("gguf-tiny", "zzz", UNUSED, ""),
        ("gguf-spm-tiny", "zzz", UNUSED, ""),
        ("gguf-spm-tiny", "\u2581zz", USER_DEFINED, "\u2581zz"),
        ("gguf-spm-tiny", "\u2581zz", NORMAL, " zz"),
        ("gguf-gemma4-tiny", "zzz", UNUSED, ""),
    ],
)
def test_a_token_decodes_as_the_type_says(kind: str, text: str, type: int, decoded: str) -> None:
    """Alone, among others, and in a stream; and a verdict knows it."""
    keys = keys_in(kind)
    for name, value in ((TOKENS, text), (TYPES, type), ("tokenizer.ggml.scores", -99.0)):
        if name in keys:
            keys[name][1][1].append(value)
    number = len(keys[TOKENS][1][1]) - 1
    encoder, engine = Encoder(load(keys)), LlamaCppEngine(gguf(keys))
    other = engine.encode("x")
    space = engine.encode(" x")
    for ids in (
        [*other, number, *other],
        [number, number],
        [number, *space],
        [*other * 40, number, *other],
    ):
        back = engine.decode(ids)
        assert decoded.strip() in back
        assert encoder.decode(ids) == back
        stream = encoder.decode_stream()
        assert "".join(stream.texts(ids)) == back
    assert encoder.decode(other) == engine.decode(other)


def test_a_token_that_fills_a_hole_and_may_be_a_pretoken_decodes_to_nothing() -> None:
    keys = keys_in("gguf-llama3-tiny")
    assert not load(keys).origin.notes
    keys["tokenizer.ggml.pre"] = STRING, "minicpm5"
    model = load(keys)
    assert LlamaCppEngine(gguf(keys)).decode([401]) == ""
    assert Encoder(model).decode([401]) == ""
