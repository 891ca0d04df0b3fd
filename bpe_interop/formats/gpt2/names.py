"""How the two files of a pair are called."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .. import Files

NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {"encoder": ("encoder.json", "vocab.bpe"), "vocab": ("vocab.json", "merges.txt")}
)
"""The two ways of naming the vocabulary and the merges."""


def find_pairs(files: Files) -> list[tuple[str, str, str]]:
    """Vocabulary, merges and the common beginning of their names."""
    pairs = []
    for vocab_end, merges_end in NAMES.values():
        for key in sorted(files):
            begin = key.removesuffix(vocab_end)
            if begin != key and f"{begin}{merges_end}" in files:
                pairs.append((key, f"{begin}{merges_end}", begin.strip("-_.")))
    return pairs
