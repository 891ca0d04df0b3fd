"""Hugging Face's ``Tokenizer`` and ``Encoding``, to be imported in the place of tokenizers.

>>> from bpe_interop.tokenizers import Tokenizer
>>> tokenizer = Tokenizer.from_file("fixtures/tokenizers/gpt2-tiny/huggingface/tokenizer.json")
>>> tokenizer.decode(tokenizer.encode("hello world").ids)
'hello world'

Ids, tokens, offsets and all else of an encoding are those of tokenizers 0.23. Offsets of a text
that a normalizer or a prefix changes are asked of the installed tokenizers, once somebody reads
them. What is not supported (models that are not BPE, training, components as objects) raises
``UnsupportedError``.
"""

from __future__ import annotations

from typing import NoReturn

from . import decoders
from .encoding import Encoding
from .texts import AddedToken
from .tokenizer import Tokenizer, not_here

__all__ = ["AddedToken", "Encoding", "Tokenizer", "__version__", "decoders"]

__version__ = "0.23.3"
"""The version of tokenizers whose names these are."""

_OTHERS = frozenset(
    {
        *("models", "normalizers", "pre_tokenizers", "processors", "trainers", "implementations"),
        *("NormalizedString", "PreTokenizedString", "Regex", "Token"),
        *("BertWordPieceTokenizer", "ByteLevelBPETokenizer", "CharBPETokenizer"),
        *("SentencePieceBPETokenizer", "SentencePieceUnigramTokenizer"),
    }
)


def __getattr__(name: str) -> NoReturn:
    if name in _OTHERS:
        not_here(f"tokenizers.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
