"""A rank file without the token of a byte, though others are built with that byte."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import tiktoken
import tokenizers
from command_line import Command

from bpe_interop import convert, load
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import LossyConversionError
from bpe_interop.loss import Field
from fixtures import gguf_models as made
from fixtures.file_formats import TO_CHAR

CONTENTS = [bytes([byte]) for byte in range(256) if byte != 0x8C]
CONTENTS += [b"\xef\xbc", b"\xef\xbc\x8c", b"ab"]
PATTERN = r"[\s\S]+"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    lines = (base64.b64encode(each) + f" {n}\n".encode() for n, each in enumerate(CONTENTS))
    (folder / "t.tiktoken").write_bytes(b"".join(lines))
    stated = {"name": "t", "pat_str": PATTERN, "special_tokens": {}}
    (folder / "t.tiktoken.json").write_text(json.dumps(stated), "utf-8")
    return folder


@pytest.mark.long
def test_merges_with_a_byte_without_a_token_are_a_loss(source: Path, tmp_path: Path) -> None:
    ranks = {each: n for n, each in enumerate(CONTENTS)}
    engine = tiktoken.Encoding("t", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    text = "\uff0ca"
    assert load(source).encode(text) == engine.encode(text) == [256, ranks[b"a"]]
    for verify in (True, False):
        with pytest.raises(LossyConversionError) as refused:
            convert(source, tmp_path / "out", "huggingface", verify=verify)
        assert {loss.field for loss in refused.value.losses} == {"fallback", "merges"}
    drop: list[Field] = ["fallback", "merges"]
    convert(source, tmp_path / "out", "huggingface", drop=drop, verify=False)
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert load(tmp_path / "out").encode(text) == written.encode(text).ids == [255, ranks[b"a"]]


@pytest.mark.long
def test_a_pair_without_such_merges_is_what_tokenizers_reads(source: Path, tmp_path: Path) -> None:
    """They are named, and left out: no reader takes a merge of what is no token."""
    with pytest.raises(LossyConversionError) as refused:
        convert(source, tmp_path / "out", "gpt2", verify=False)
    said = {loss.field: loss.what for loss in refused.value.losses}
    assert said["merges"].startswith("symbols merge otherwise: 3 and 2 merges that can be used")
    drop: list[Field] = ["fallback", "merges", "pretokenizer"]
    convert(source, tmp_path / "out", "gpt2", drop=drop, verify=False)
    files = (str(tmp_path / "out" / name) for name in ("encoder.json", "vocab.bpe"))
    engine = tokenizers.Tokenizer(tokenizers.models.BPE.from_file(*files))
    engine.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    text = "\uff0cab"
    ids = load(tmp_path / "out", preset="gpt2").encode(text, disallowed_special=())
    assert ids == engine.encode(text).ids == [CONTENTS.index(b"\xef\xbc"), CONTENTS.index(b"ab")]


@pytest.mark.usefixtures("few_texts")
@pytest.mark.long
def test_of_a_gguf_file_the_text_shows_that_its_neighbours_merge(
    tmp_path: Path, command: Command
) -> None:
    """llama.cpp leaves a byte without a token out after merging, tokenizers before."""
    spelled = [TO_CHAR[byte] for byte in range(256) if byte]
    tokens = [*spelled, "!!", "<|endoftext|>"]
    types = [made.NORMAL] * 256 + [made.CONTROL]
    named = {"tokenizer.ggml.eos_token_id": (made.UINT32, 256)}
    file = made.by_merges(tokens, types, ["! !"], "starcoder", named)
    source = tmp_path / "x.gguf"
    source.write_bytes(file)
    with pytest.raises(LossyConversionError) as refused:
        convert(source, tmp_path / "out", "huggingface")
    [loss] = [each for each in refused.value.losses if each.field == "fallback"]
    text = loss.witness
    assert text is not None
    assert "vanish after merging" in loss.what
    done = command("convert", source, tmp_path / "out", "--to", "hf", "--drop", "fallback")
    assert done.code == 0, done.err
    written = tokenizers.Tokenizer.from_file(str(tmp_path / "out" / "tokenizer.json"))
    assert LlamaCppEngine(file).encode(text) != written.encode(text).ids
    assert "verdict     not the same tokenizer: fallback dropped, which changes " in done.out
