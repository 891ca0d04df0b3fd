"""Encodings in tiktoken itself: small ones, and those of fixtures."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import tiktoken

GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
SPECIAL = {"<|endoftext|>": 400, "<|pad|>": 402}
HOLDS = "hello<|endoftext|>world<|pad|>"

WORDS = ["he", "ll", "hell", "hello", "wo", "wor", "worl", "world", "fa", "fan", "fant", "fanta"]
SPACED = [" h", " he", " hell", " hello", " w", " wo", " wor", "  ", "   ", "\n\n", "\n ", " \n"]
OTHERS = ["é", "日", "本", "日本", "ab", "abc", "bc", "12", "123", "'l", "'ll", "!!", "!!!", "ta"]


def small(pattern: str = GPT2, name: str = "small") -> tiktoken.Encoding:
    """All bytes, and tokens enough that texts can go on in several ways."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    parts = [b"\xe6\x97", b"\xe6\x9c"]
    for token in [*parts, *(word.encode() for word in [*WORDS, *SPACED, *OTHERS])]:
        ranks.setdefault(token, len(ranks))
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=SPECIAL)


def reference(folder: Path) -> tiktoken.Encoding:
    """A fixture of tiktoken's format."""
    file = next(path for path in folder.iterdir() if path.suffix == ".tiktoken")
    stated = json.loads((folder / f"{file.name}.json").read_text("utf-8"))
    words = file.read_bytes().split()
    ranks = {base64.b64decode(a): int(b) for a, b in zip(words[::2], words[1::2], strict=True)}
    return tiktoken.Encoding(
        "tiny",
        pat_str=stated["pat_str"],
        mergeable_ranks=ranks,
        special_tokens=stated["special_tokens"],
    )
