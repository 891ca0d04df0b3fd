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
SPECIAL_TOKENS = Limit(
    "SPECIAL_TOKENS",
    100_000,
    "special tokens",
    "a tekken.json, by its settings",
    "published ones have 1,000; a number makes them all",
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
