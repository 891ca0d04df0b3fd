"""What commands rightly refuse with exit code 2, and why: rows for :mod:`.commands`."""

from __future__ import annotations

from typing import NamedTuple


class Refusal(NamedTuple):
    """Sources and commands (patterns of ``fnmatch``), words of the answer, and the reason."""

    sources: tuple[str, ...]
    commands: str
    words: str
    reason: str


_BESIDE = ("*_config.json", "*special_tokens_map.json", "*.tiktoken.json", "*/minbpe/*.vocab")
_TEXTS = ("corpora*", "seeds*", "*README*", "*MANIFEST*", "*.inp", "*.out", "versions.json")
_PAIRS = ("*/gpt2", "*/gpt2/*", "gpt2", "gpt2/*", "roberta", "roberta/*", "tiktoken_cache/*")
_RANKS = (
    "*.tiktoken",
    "tiktoken_cache/*",
    "llama-3",
    "llama-3/*",
    "[a-z]*_base",
    "qwen*",
    "whisper",
)
_WORDS = "[!t]*"
"""Every command but ``train``, which takes a file for a text."""

REFUSALS: tuple[Refusal, ...] = (
    Refusal(_BESIDE, _WORDS, "this is none of:", "a file beside a tokenizer, alone"),
    Refusal(_BESIDE, _WORDS, "this belongs beside a tokenizer", "a file beside a tokenizer, alone"),
    Refusal(_TEXTS, _WORDS, "this is none of:", "a text or a table, and no tokenizer"),
    Refusal(_TEXTS, _WORDS, "no tokenizer is here", "a text or a table, and no tokenizer"),
    Refusal(_TEXTS, _WORDS, "not a JSON object", "a text or a table, and no tokenizer"),
    Refusal(("clip/*.gz",), _WORDS, "this is packed", "a compressed list of merges"),
    Refusal(("bert*",), _WORDS, "is WordPiece, not BPE", "a tokenizer without merges"),
    Refusal(("t5*",), _WORDS, "not BPE", "a tokenizer without merges"),
    Refusal(_PAIRS, _WORDS, "not known", "a GPT-2 pair, which does not state its normalizer"),
    Refusal(_PAIRS, _WORDS, "does not state", "a GPT-2 pair, which states no special tokens"),
    Refusal(_RANKS, _WORDS, "not known", "a rank file, which does not state its pattern"),
    Refusal(_RANKS, _WORDS, "does not state", "a rank file, which states no special tokens"),
    Refusal(_RANKS, "verify", "UNKNOWN", "a rank file, which states no special tokens"),
    Refusal(("roberta*",), _WORDS, "contradicts it", "a preset that is another tokenizer's"),
    Refusal(("gguf", "whisper"), _WORDS, "several tokenizers", "a folder of several tokenizers"),
    Refusal(("tiktoken_cache",), _WORDS, "no tokenizer is here", "files of hashed names"),
    Refusal(("tiktoken_cache/*",), _WORDS, " without ", "merges under a hashed name, alone"),
    Refusal(
        ("*",), "train", "not UTF-8", "a file or folder of bytes that are no text, as a corpus"
    ),
    Refusal(("*",), "train", "it begins as JSON does", "a file of JSON, as a corpus of plain text"),
    Refusal(("*",), "train", "merges were asked for", "a corpus in which no pair is twice"),
)
"""Exit code 2 is right where a row fits the source and the command, and its words were said."""

PRESETS: dict[str, str] = {
    "shuffled-tiny/gpt2*": "gpt2",
    "gpt2": "gpt2",
    "gpt2/[evm]*": "gpt2",
    "roberta*": "gpt2",
}
"""Sources that do not state all, and a preset that does: these are run with it, too."""
