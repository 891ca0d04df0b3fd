"""What is refused because it is too much: every limit, in one table.

Real tokenizers stay far below each. A refusal names the limit, so that a file which needs more
can be told from one that is damaged or made to harm. ``docs/limits.md`` shows the same table.
"""

from __future__ import annotations

from typing import NamedTuple


class Limit(NamedTuple):
    """The most of something that is taken.

    Attributes:
        name: what a message calls it.
        most: the largest number that is still taken.
        unit: of what.
        about: what has so many of them, for the table.
        why: why this number.
    """

    name: str
    most: int
    unit: str
    about: str
    why: str

    def passed(self, what: str) -> str:
        """That something has more than that."""
        return f"{what} has more than {self.most:,} {self.unit} (limit {self.name})"


FILE_BYTES = Limit(
    "FILE_BYTES", 1 << 30, "bytes", "a file of a tokenizer", "no file of a tokenizer comes near"
)
JSON_NESTING = Limit(
    "JSON_NESTING",
    100,
    "values one in another",
    "a JSON document",
    "the JSON reader of tokenizers takes 127",
)
COMPANION_BYTES = Limit(
    "COMPANION_BYTES",
    1 << 26,
    "bytes",
    "a file of JSON or a chat template beside a tokenizer",
    "the largest repeat a thousand added tokens",
)
PATTERN_CHARACTERS = Limit(
    "PATTERN_CHARACTERS", 20_000, "characters", "a pattern", "the longest known one has 2,000"
)
PATTERN_NESTING = Limit(
    "PATTERN_NESTING",
    50,
    "groups, classes or repetitions one in another",
    "a pattern",
    "known ones have 4",
)
PATTERN_COUNT = Limit(
    "PATTERN_COUNT", 1_000, "repetitions by one count", "a pattern", "known ones count to 3"
)
PATTERN_STEPS = Limit(
    "PATTERN_STEPS",
    20_000,
    "characters once its counts are written out",
    "a pattern",
    "engines write them out, and take gigabytes for what takes a line",
)
PATTERN_SECONDS = Limit(
    "PATTERN_SECONDS",
    20,
    "seconds, and one more for each 100,000 characters",
    "a match in a text",
    "known patterns end on every text; others may backtrack without end",
)
MESSAGE_CHARACTERS = Limit(
    "MESSAGE_CHARACTERS",
    2_000,
    "characters",
    "a message on the screen",
    "what a file says is repeated in messages; more than a screen is not useful",
)
PAGE_CONNECTIONS = Limit(
    "PAGE_CONNECTIONS",
    500,
    "connections at once",
    "the live page",
    "a browser opens a handful; others wait until one is closed",
)
PAGE_SECONDS = Limit(
    "PAGE_SECONDS",
    10,
    "seconds of silence",
    "a connection to the live page",
    "a browser asks at once; what says nothing is closed",
)
FIXED_LENGTH = Limit(
    "FIXED_LENGTH",
    100_000,
    "characters",
    "the length of the pre-tokenizer FixedLength",
    "Oniguruma repeats no more (`ONIG_MAX_REPEAT_NUM`)",
)
CHARSMAP_EDGES = Limit(
    "CHARSMAP_EDGES",
    1 << 22,
    "edges",
    "the trie of a normalizer's map of characters",
    "SentencePiece's own have 265,000",
)
SENTENCEPIECE_BYTES = Limit(
    "SENTENCEPIECE_BYTES", 1 << 25, "bytes", "a SentencePiece .model", "known ones have 5,000,000"
)
SENTENCEPIECE_PIECES = Limit(
    "SENTENCEPIECE_PIECES", 1 << 21, "pieces", "a SentencePiece .model", "known ones have 300,000"
)
SENTENCEPIECE_UNKNOWN = Limit(
    "SENTENCEPIECE_UNKNOWN",
    100_000,
    "fields that are not known",
    "a SentencePiece .model",
    "each is listed; known models have none",
)
TEKKEN_TOKENS = Limit(
    "TEKKEN_TOKENS", 1 << 24, "tokens", "a tekken.json", "published ones have 131,072"
)
SPECIAL_TOKENS = Limit(
    "SPECIAL_TOKENS",
    100_000,
    "special tokens",
    "a tekken.json, by its settings",
    "published ones have 1,000; a number makes them all",
)
GGUF_HEAD_BYTES = Limit(
    "GGUF_HEAD_BYTES",
    1 << 28,
    "bytes",
    "the keys of a GGUF file",
    "the largest vocabularies that are published need 30,000,000",
)
GGUF_KEYS = Limit("GGUF_KEYS", 1 << 16, "keys", "a GGUF file", "known ones have some dozens")
GGUF_TENSORS = Limit(
    "GGUF_TENSORS", 1 << 20, "tensors", "a GGUF file, with `--into`", "no model comes near"
)
GGUF_NAME_BYTES = Limit(
    "GGUF_NAME_BYTES", 1 << 12, "bytes", "the name of a tensor", "GGML takes 64"
)
GGUF_DIMENSIONS = Limit("GGUF_DIMENSIONS", 8, "dimensions", "a tensor", "GGML takes 4")
GGUF_ALIGNMENT = Limit(
    "GGUF_ALIGNMENT",
    1 << 24,
    "bytes",
    "the alignment of a GGUF file",
    "the default is 32",
)
OVERLAP_CHARACTERS = Limit(
    "OVERLAP_CHARACTERS",
    1 << 24,
    "characters to compare",
    "special tokens of a GGUF file above 4,096 characters, each with each other",
    "known ones have 50 characters",
)
CHAT_CHARACTERS = Limit(
    "CHAT_CHARACTERS",
    1_000_000,
    "characters",
    "what a chat template writes",
    "the live page shows far less; a template is a program, and may never end",
)
CHAT_SECONDS = Limit(
    "CHAT_SECONDS",
    2,
    "seconds",
    "the run of a chat template",
    "known ones take a hundredth; a template is a program, and may never end",
)
PAGE_TOKENIZERS = Limit(
    "PAGE_TOKENIZERS",
    12,
    "tokenizers",
    "the live page",
    "each stays in memory, and no screen shows more beside each other",
)
