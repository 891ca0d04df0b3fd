"""A ``tokenizer.json`` of which the kernel has read the vocabulary and the merges.

Everything else in it is read as ever, from the document without these two; what asks for them
in the document is given them as Python reads them. ``vocab.py`` is the twin.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...errors import FormatError
from ...kernel import LazyDict, LazyList, Numbers, Pairs, Taken, take_vocabulary
from ...model import Affixes, Alphabet, Json, Kind, Vocab
from ...strict_json import Node, parse
from ...text.bytechars import is_mapped, to_bytes
from .spellings import Spellings
from .vocab import SpelledVocabulary


class NotTakenError(Exception):
    """The kernel has read what it cannot hold after all: Python reads the file from the start."""


def take(document: bytes, file: str) -> tuple[Node, Taken] | None:
    """The document, and what the kernel took out of it; None where it leaves all to Python."""
    taken = take_vocabulary(document, "byte" if b'"ByteLevel"' in document else "char")
    if taken is None:
        return None
    try:
        root = parse(taken.rest, file)
    except FormatError:
        return None
    model = root["model"].be(dict)
    model["vocab"] = _spellings(taken)
    model["merges"] = LazyList[Json](taken.merges)
    return root, taken


def words_of(taken: Taken, model: Node, alphabet: Alphabet) -> SpelledVocabulary:
    """The vocabulary as spelled in the file.

    Raises:
        NotTakenError: there are affixes, or a byte has no token, or it was read as what it is
            not.
    """
    affixes = ("continuing_subword_prefix", "end_of_word_suffix")
    if taken.alphabet != alphabet or any(model.get(k).value not in (None, "") for k in affixes):
        raise NotTakenError
    literal = frozenset(token.decode("utf-8") for token in taken.literal)
    ids = _spellings(taken)
    words = SpelledVocabulary(alphabet, Affixes(), ids, SpelledContents(ids, alphabet), literal)
    if alphabet == "byte" and not words.has_every_byte():
        raise NotTakenError
    return words


def without(
    taken: Taken, words: SpelledVocabulary, dropped: Collection[str], byte_tokens: Iterable[str]
) -> tuple[Vocab, Pairs]:
    """The vocabulary without some tokens that no merge names, and its merges.

    Args:
        taken: what the kernel read.
        words: the same as it is spelled.
        dropped: the spellings of those tokens.
        byte_tokens: the spellings of tokens that stand for a byte; not all need be there.

    Raises:
        NotTakenError: a merge names one of them.
    """
    pairs: Pairs | None = taken.pairs
    if dropped:
        pairs = taken.pairs.without(words.contents[text] for text in sorted(dropped))
    if pairs is None:
        raise NotTakenError
    ids, kept = words.ids, sorted(words.literal.difference(dropped))
    kinds: dict[int, Kind] = {ids[text]: "byte" for text in byte_tokens if text in ids}
    kinds.update({ids[text]: "control" for text in kept})
    return Vocab(Numbers(pairs.table), kinds), pairs


def _spellings(taken: Taken) -> Spellings:
    return Spellings(Numbers(taken.table), taken.alphabet, taken.literal, taken.vocab)


class SpelledContents(LazyDict[str, bytes]):
    """What each spelling stands for."""

    __slots__ = ("_alphabet", "_ids")

    def __init__(self, ids: Spellings, alphabet: Alphabet) -> None:
        super().__init__(lambda: {text: self._content(text) for text in ids})
        self._ids, self._alphabet = ids, alphabet

    def __getitem__(self, key: str) -> bytes:
        self._ids[key]
        return self._content(key)

    def _content(self, text: str) -> bytes:
        spelled = self._alphabet == "byte" and is_mapped(text)
        return to_bytes(text) if spelled else text.encode("utf-8")
