"""What tokenizers make of corpora: bytes per token, tokens per word, which tokens are never met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from .corpora import Document, Shard, read_documents
from .errors import EncodeError
from .model import BPEModel
from .text.notebook import framed
from .tokenizer import Tokenizer


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
        found: Counter[int] = Counter()
        for number, count in self.counts.items():
            found[self.sizes[number]] += count
        return dict(sorted(found.items()))


def measure(
    tokenizers: Sequence[tuple[str, Tokenizer]],
    shards: Sequence[Shard],
    tick: Callable[[int], None] = lambda count: None,
) -> list[Statistics]:
    """What each tokenizer makes of each file, and of all where there are several.

    Args:
        tokenizers: their names and themselves.
        shards: the files of a corpus; each is read once (:func:`.corpora.find_shards`).
        tick: is told how many documents were encoded.

    Raises:
        SourceError: a file cannot be read.
        EncodeError: a document has no encoding.
        UnstatedError: a tokenizer's pattern is not known.
    """
    sides = [_Side(name, tokenizer) for name, tokenizer in tokenizers]
    found: list[Statistics] = []
    for shard in shards:
        found += _of_file(shard, sides, tick)
    if len(shards) > 1:
        found += [_together(found[at :: len(sides)]) for at in range(len(sides))]
    return found


class _Side:
    """A tokenizer, and what is to be known of its tokens."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name, self.tokenizer = name, tokenizer
        self.sizes = {number: len(content) for number, content in tokenizer.vocab.items()}
        self.special = _special(tokenizer.model)


def _of_file(
    shard: Shard, sides: Sequence[_Side], tick: Callable[[int], None]
) -> Iterator[Statistics]:
    counts: list[Counter[int]] = [Counter() for _ in sides]
    documents = size = words = 0
    for document in read_documents(shard):
        for side, counted in zip(sides, counts, strict=True):
            counted.update(_ids(side.tokenizer, document))
        documents, size = documents + 1, size + document.size
        words += len(document.text.split())
        tick(1)
    for side, counted in zip(sides, counts, strict=True):
        yield Statistics(
            side.name, shard.label, documents, size, words, counted, side.sizes, side.special
        )


def _ids(tokenizer: Tokenizer, document: Document) -> list[int]:
    try:
        return tokenizer.encode_ordinary(document.text)
    except EncodeError as error:
        where = f"{document.shard.label}:{document.place.line}"
        raise EncodeError(error.what, where=where, fix=error.fix) from None


def _together(files: Sequence[Statistics]) -> Statistics:
    """The statistics of all files for one tokenizer."""
    first, counts = files[0], Counter[int]()
    for each in files:
        counts.update(each.counts)
    return replace(
        first,
        file="",
        documents=sum(each.documents for each in files),
        bytes=sum(each.bytes for each in files),
        words=sum(each.words for each in files),
        counts=counts,
    )


def _special(model: BPEModel) -> frozenset[int]:
    """Special tokens' ids, but not the unknown token's, which any text may become."""
    special = {token.id for token in model.added or () if token.special}
    special |= {number for number, kind in model.vocab.kinds.items() if kind == "control"}
    return frozenset(special - {model.fallback.unknown})
