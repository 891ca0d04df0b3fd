"""What a tokenizer makes of texts: bytes per token, tokens per word, which tokens are never met."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

from .model import BPEModel
from .notebook import framed


@dataclass(frozen=True)
class Statistics:
    """What one tokenizer makes of one file of a corpus, or of all (``file`` is empty).

    Every document is encoded by itself: a plain file is cut at line ends into documents of about
    16 KiB. Special tokens in it are ordinary text. A word is what has White_Space around it and
    none inside (``str.split``); ``bytes`` are those of the text in UTF-8.

    Args:
        tokenizer: its name.
        file: the file's name.
        documents: how many there are.
        bytes: their length.
        words: how many they hold.
        counts: how often each id occurs.
        sizes: the length in bytes of each token, by id.
        special: the ids that no ordinary text is meant to become.
    """

    tokenizer: str
    file: str
    documents: int
    bytes: int
    words: int
    counts: Counter[int] = field(repr=False)
    sizes: dict[int, int] = field(repr=False)
    special: frozenset[int] = field(default=frozenset(), repr=False)

    def __repr__(self) -> str:
        file = f", {self.file}" if self.file else ""
        return f"<Statistics {self.tokenizer!r}{file}, {self.tokens:,} tokens>"

    def __str__(self) -> str:
        """The counts and the two quotients, one line each."""
        quotients = {
            "bytes per token": self.bytes_per_token,
            "tokens per word": self.tokens_per_word,
        }
        counts = {
            "documents": self.documents,
            "bytes": self.bytes,
            "words": self.words,
            "tokens": self.tokens,
        }
        return "\n".join(
            [
                repr(self),
                *(f"  {name}: {number:,}" for name, number in counts.items()),
                *(f"  {name}: {q:.3f}" for name, q in quotients.items() if q is not None),
            ]
        )

    def _repr_html_(self) -> str:
        head, *rest = str(self).splitlines()
        return framed(head, rest)

    @cached_property
    def tokens(self) -> int:
        """How many tokens the documents have."""
        return self.counts.total()

    @property
    def bytes_per_token(self) -> float | None:
        """None where there are no tokens."""
        return self.bytes / self.tokens if self.tokens else None

    @property
    def tokens_per_word(self) -> float | None:
        """None where there are no words."""
        return self.tokens / self.words if self.words else None

    @property
    def usable(self) -> int:
        """How many tokens there are, without special ones."""
        return len(self.sizes.keys() - self.special)

    @cached_property
    def unused(self) -> list[int]:
        """The ids of those that do not occur, in order."""
        return sorted(self.sizes.keys() - self.special - self.counts.keys())

    @cached_property
    def lengths(self) -> dict[int, int]:
        """How many of the tokens in the documents have so many bytes, by that number.

        The bytes are the token's own: a space that was put before a text counts.
        """
        counts: Counter[int] = Counter()
        for number, count in self.counts.items():
            counts[self.sizes[number]] += count
        return dict(sorted(counts.items()))


def special_ids(model: BPEModel) -> frozenset[int]:
    """The ids of special tokens."""
    special = {token.id for token in model.added or () if token.special}
    special |= {number for number, kind in model.vocab.kinds.items() if kind == "control"}
    # Any text may become the unknown token.
    return frozenset(special - {model.fallback.unknown})
