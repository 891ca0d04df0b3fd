"""llama.cpp's own vocabularies as another format and back: its vectors hold in every engine.

``python -m trust gguf published`` does it with all of them, by the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import sentencepiece
from conftest import Data
from tokenizers import Tokenizer

from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.formats import by_name
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.write import dump
from trust.gguf import vectors

MAIN = ("tokenizer.json", ".model")


def in_tokenizers(data: bytes) -> Callable[[str], Sequence[int]]:
    tokenizer = Tokenizer.from_str(data.decode())
    tokenizer.encode_special_tokens = True
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def in_sentencepiece(data: bytes) -> Callable[[str], Sequence[int]]:
    reader = sentencepiece.SentencePieceProcessor(model_proto=data)
    return lambda text: list(reader.encode(text))


@pytest.mark.parametrize(
    ("name", "form", "engine"),
    [
        ("gpt-2", "huggingface", in_tokenizers),
        ("llama-spm", "sentencepiece", in_sentencepiece),
    ],
)
def test_vectors_there_and_back(
    name: str, form: str, engine: Callable[[bytes], Callable[[str], Sequence[int]]], data: Data
) -> None:
    file = data / f"gguf/ggml-vocab-{name}.gguf"
    there = by_name(form).dump(load({"x.gguf": file.read_bytes()}))
    first = next(content for key, content in there.items() if key.endswith(MAIN))
    again = by_name(form).load(there)
    [back] = dump(again).values()
    readers = [engine(first), Encoder(again).encode, LlamaCppEngine(back).encode]
    pairs = vectors(file)
    assert len(pairs) == 47
    for text, ids in pairs:
        assert [list(read(text)) for read in readers] == [ids] * 3, text
