"""GGUF: the tokenizer in the head of a model file of llama.cpp.

Defined by ``docs/gguf.md`` of ggml (https://github.com/ggml-org/ggml); what the keys mean is what
llama.cpp does with them (``src/llama-vocab.cpp``). ``head.py`` has the wire format. The keys:

- ``tokenizer.ggml.model``: ``gpt2`` (merges over bytes) or ``llama`` (SentencePiece's scores);
  others are refused by name.
- ``tokenizer.ggml.pre``: the name of a splitter that llama.cpp has in its code; see
  ``splitters.py``.
- ``tokenizer.ggml.tokens``, ``.token_type``, ``.scores``, ``.merges``: by id; merges are two
  tokens with a space between them. ``tokens.py`` says what loading makes of the types.
- ``tokenizer.ggml.bos_token_id`` and its like: roles. ``.add_bos_token``, ``.add_eos_token``:
  what is placed around a text.
- ``tokenizer.chat_template``.
- ``tokenizer.huggingface.json``: the tokenizer.json that the keys were made from; see
  ``embedded`` in ``read.py``.
"""

from __future__ import annotations

from ...model import FIELDS
from .. import Files, Format, when_called
from ..names import TABLE
from .head import is_gguf
from .read import load

__all__ = ["FORMAT", "load", "sniff"]


def sniff(files: Files) -> bool:
    """Whether there is one file that begins as GGUF files do."""
    return len(files) == 1 and all(map(is_gguf, files.values()))


FORMAT = Format(
    name="gguf",
    title="GGUF",
    spec="https://github.com/ggml-org/ggml/blob/master/docs/gguf.md",
    engines={"llama.cpp": "bpe_interop.engines.llamacpp:read"},
    holds=frozenset(FIELDS) - {"affixes"},
    says=frozenset({"sequence_template"}),
    sniff=sniff,
    load=load,
    dump=when_called(".write", "dump", __name__),
    words=when_called(".words", "words", __name__),
    holder="llama.cpp",
    names=TABLE["gguf"],
    handed=("llama.cpp",),
    particulars=when_called(".pre_names", "particulars", __name__),
    told=when_called(".pre_names", "sentences", __name__),
    nearest=when_called(".pre_names", "nearest_models", __name__),
    cause=when_called(".pre_names", "cause", __name__),
    embedded=when_called(".read", "embedded", __name__),
    embedding=when_called(".write", "embedding", __name__),
)
