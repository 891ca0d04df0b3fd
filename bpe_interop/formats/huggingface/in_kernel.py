"""A ``tokenizer.json`` of which the kernel has read the vocabulary and the merges.

Everything else in it is read as ever, from the document without these two; what asks for them
in the document is given them as Python reads them. ``vocab.py`` is the twin.
"""

from __future__ import annotations

from collections.abc import Collection, ValuesView
from typing import TypeVar, overload

from ...errors import FormatError
from ...kernel import LazyDict, LazyList, ListedNumbers, Numbers, Pairs, Taken, take_vocabulary
from ...model import Affixes, Json, Vocab
from ...strict_json import Node, parse
from ...text.bytechars import is_mapped, to_bytes
from .vocab import Words

T = TypeVar("T")


class NotTakenError(Exception):
    """The kernel has read what it cannot hold after all: Python reads the file from the start."""


def take(document: bytes, file: str) -> tuple[Node, Taken] | None:
    """The document, and what the kernel took out of it; None where it leaves all to Python."""
    if b'"ByteLevel"' not in document:
        return None
    taken = take_vocabulary(document)
    if taken is None:
        return None
    try:
        root = parse(taken.rest, file)
    except FormatError:
        return None
    model = root["model"].be(dict)
    model["vocab"] = Spellings(taken)
    model["merges"] = LazyList[Json](taken.merges)
    return root, taken


def words_of(taken: Taken, model: Node) -> Words:
    """The vocabulary as spelled in the file.

    Raises:
        NotTakenError: there are affixes, or a byte has no token.
    """
    affixes = ("continuing_subword_prefix", "end_of_word_suffix")
    if any(model.get(key).value not in (None, "") for key in affixes):
        raise NotTakenError
    literal = frozenset(token.decode("utf-8") for token in taken.literal)
    ids = Spellings(taken)
    words = Words("byte", Affixes(), ids, Contents(ids), literal)
    if not words.has_every_byte():
        raise NotTakenError
    return words


def without(taken: Taken, words: Words, dropped: Collection[str]) -> tuple[Vocab, Pairs]:
    """The vocabulary without some tokens that no merge names, and its merges.

    Raises:
        NotTakenError: a merge names one of them.
    """
    pairs: Pairs | None = taken.pairs
    if dropped:
        pairs = taken.pairs.without(words.contents[text] for text in sorted(dropped))
    if pairs is None:
        raise NotTakenError
    kept = sorted(words.literal.difference(dropped))
    return Vocab(Numbers(pairs.table), {words.ids[text]: "control" for text in kept}), pairs


class Spellings(LazyDict[str, int]):
    """Spellings and their ids, looked up in the kernel's table."""

    __slots__ = ("_literal", "_taken")

    def __init__(self, taken: Taken) -> None:
        super().__init__(taken.vocab)
        self._taken = taken
        self._literal = frozenset(taken.literal)

    def __len__(self) -> int:
        return self._taken.table.sizes[0]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __getitem__(self, key: str) -> int:
        number = self.get(key)
        if number is None:
            raise KeyError(key)
        return number

    @overload
    def get(self, key: str, default: None = None, /) -> int | None: ...
    @overload
    def get(self, key: str, default: int | T, /) -> int | T: ...
    def get(self, key: str, default: int | T | None = None, /) -> int | T | None:
        """The id of a spelling, or the default."""
        mapped = is_mapped(key)
        content = to_bytes(key) if mapped else key.encode("utf-8")
        if (content in self._literal) == mapped:
            return default
        number = self._taken.table.find(content)
        return default if number is None else number

    def values(self) -> ValuesView[int]:
        """The ids, in order."""
        return ListedNumbers(self, self._taken.table)


class Contents(LazyDict[str, bytes]):
    """What each spelling stands for."""

    __slots__ = ("_ids",)

    def __init__(self, ids: Spellings) -> None:
        super().__init__(lambda: {text: _content(text) for text in ids})
        self._ids = ids

    def __getitem__(self, key: str) -> bytes:
        self._ids[key]
        return _content(key)


def _content(text: str) -> bytes:
    return to_bytes(text) if is_mapped(text) else text.encode("utf-8")
