"""The GPT-2 pair: a vocabulary in JSON and a list of merges.

Defined by OpenAI's GPT-2 (https://github.com/openai/gpt-2, ``src/encoder.py``); today's reader is
``BPE.from_file`` of tokenizers (``models/bpe/model.rs``), and what it accepts is followed here.
The wire format:

- ``encoder.json`` (also ``vocab.json``): one JSON object, token to id.
- ``vocab.bpe`` (also ``merges.txt``): one merge per line, two tokens and one space between them,
  best first. A line that begins with ``#version`` is passed over, wherever it stands.
- Lines end in LF or CRLF, the last one may end in neither; an empty line is an error.
- A pair that is listed twice counts at its last place.
- Tokens are spelled in GPT-2's byte alphabet: one printable character per byte.
- An entry that is no byte and no product of merges has an id to decode, and no text encodes to it.
  If it is not spelled in the byte alphabet, its content is its own UTF-8 (kind ``control``).
- Pattern, special tokens and sequence template are not in it: they are unknown (``None``).

OpenAI's ``encoder.py`` merges every occurrence of the best pair in one pass. Where a merge comes
before one that builds a part of it, this differs from tokenizers, whose BPE is the engine here
(``docs/theory.md``, Theorem 9).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .. import Files, Format, when_called
from ..names import TABLE

__all__ = ["FORMAT", "NAMES", "find_pairs", "sniff"]

NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"encoder": ("encoder.json", "vocab.bpe"), "vocab": ("vocab.json", "merges.txt")}
)
"""The two ways of naming the vocabulary and the merges."""


def sniff(files: Files) -> bool:
    """Whether a vocabulary and its merges are here, and no ``tokenizer.json`` beside them."""
    return "tokenizer.json" not in files and bool(find_pairs(files))


def find_pairs(files: Files) -> list[tuple[str, str, str]]:
    """Vocabulary, merges and the common beginning of their names."""
    pairs = []
    for vocab_end, merges_end in NAMES.values():
        for key in sorted(files):
            begin = key.removesuffix(vocab_end)
            if begin != key and f"{begin}{merges_end}" in files:
                pairs.append((key, f"{begin}{merges_end}", begin.strip("-_.")))
    return pairs


FORMAT = Format(
    name="gpt2",
    title="GPT-2 vocabulary and merges",
    spec="https://github.com/openai/gpt-2/blob/master/src/encoder.py",
    engines={"tokenizers": "bpe_interop.engines.tokenizers:read_pair"},
    holds=frozenset({"alphabet", "vocab", "merges", "decoder"}),
    needs=frozenset(),
    sniff=sniff,
    load=when_called(".read", "load", __name__),
    dump=when_called(".write", "dump", __name__),
    words=when_called(".words", "words", __name__),
    holder="a pair",
    options={"vocab-names": when_called(".write", "with_vocab_names", __name__)},
    names=TABLE["gpt2"],
)
