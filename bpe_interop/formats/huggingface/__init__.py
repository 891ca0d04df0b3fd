r"""Hugging Face ``tokenizer.json`` (https://github.com/huggingface/tokenizers), BPE.

One JSON object:

- ``version``: "1.0"; ``truncation``, ``padding``: settings of batching, kept and not applied: ids
  here are those of whole texts;
- ``added_tokens``: texts cut out before everything else, with flags; their ``id`` is only a
  statement, tokenizers numbers them itself;
- ``normalizer``, ``pre_tokenizer``, ``post_processor``, ``decoder``: a component with a
  ``type``, a ``Sequence`` of them, or null;
- ``model``: ``type`` "BPE" (absent in old files), ``vocab`` (spelling to id), ``merges``
  (``"a b"`` or ``["a", "b"]``), ``ignore_merges`` (whole pretokens are looked up first),
  ``continuing_subword_prefix`` and ``end_of_word_suffix`` (glued to symbols), and what becomes of
  a symbol that has no token: ``byte_fallback`` (tokens such as ``<0xE4>``), ``unk_token``,
  ``fuse_unk``.

It is byte-level where a ``ByteLevel`` normalizer or pre-tokenizer maps text to GPT-2's byte
alphabet, in which the vocabulary is spelled then (``Ġ`` is a space); else pretokens are cut into
characters.

Beside it, ``tokenizer_config.json`` and ``special_tokens_map.json`` say what the special tokens
are for, and hold the chat template.
"""

from __future__ import annotations

import re

from ...model import FIELDS
from .. import Files, Format, when_called
from ..names import BESIDE, MAIN, TABLE

__all__ = ["FORMAT", "sniff"]

_MODEL = re.compile(rb'"model"\s*:\s*[^\s\d]')


def main_file(files: Files) -> str:
    """The name of the ``tokenizer.json`` among the files, which may be called otherwise."""
    named = [name for name in files if name.endswith(".json") and name not in BESIDE]
    return MAIN if MAIN in files or len(named) != 1 else named[0]


def sniff(files: Files) -> bool:
    """Whether there is a JSON file with the keys of a ``tokenizer.json``.

    In a vocabulary, ``"model"`` is a token with a number.
    """
    data = files.get(main_file(files), b"")
    return data.lstrip()[:1] == b"{" and _MODEL.search(data) is not None


FORMAT = Format(
    name="huggingface",
    aliases=("hf",),
    title="Hugging Face tokenizer.json",
    spec="https://huggingface.co/docs/tokenizers",
    engines={
        "tokenizers": "bpe_interop.engines.tokenizers:read",
        "transformers": "bpe_interop.engines.transformers:read",
    },
    holds=frozenset(FIELDS),
    says=frozenset({"sequence_template"}),
    sniff=sniff,
    load=when_called(".read", "load", __name__),
    dump=when_called(".write", "dump", __name__),
    words=when_called(".words", "words", __name__),
    holder="tokenizers",
    names=TABLE["huggingface"],
    handed=("tokenizers", "transformers"),
    served="transformers",
)
