"""Every token alone: do both sides decode it to the same bytes?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from ..model import BPEModel, show
from .pairs import Decoded, Pair
from .sides import Own
from .stress import completed, texts_with

_CHUNK = 4_096
_APART = {"control", "unknown", "unused", "byte"}
"""Kinds of tokens to which no text encodes, or only in a row with others: what they decode to
alone is each format's own (docs/formats.md). Byte tokens in their rows are in the texts."""

_TRIED = 300
"""Of how many tokens that decode otherwise texts are tried."""

Asked: TypeAlias = tuple[bytes, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Odd:
    """A token that two sides decode otherwise, or on which one fails (None)."""

    content: bytes
    ids: tuple[int, ...]
    said: Decoded


@dataclass(frozen=True, slots=True)
class Alone:
    """How many tokens were decoded alone, and those on which the sides did not agree."""

    count: int = 0
    odd: tuple[Odd, ...] = ()

    def texts(self, model: BPEModel) -> Iterator[str]:
        """Texts with these tokens: if some text encodes to one, the difference shows there."""
        for each in self.odd[:_TRIED]:
            yield from texts_with(each.content, model)

    def notes(self) -> Iterator[str]:
        """What is to be said of it."""
        if self.count and not self.odd:
            yield f"{self.count:,} tokens decode alike, each alone"
        elif self.odd:
            first = self.odd[0]
            one, two = ("a failure" if said is None else show(said) for said in first.said)
            yield (
                f"{len(self.odd):,} of {self.count:,} tokens decode otherwise, each alone, such as "
                f"{show(first.content)} (ids {' '.join(map(str, first.ids))}): {one} and {two}"
            )


def decode_alone(pair: Pair, a: BPEModel, b: BPEModel, names: tuple[str, str]) -> Alone:
    """Decodes each token that both sides have under one id.

    What is a part of a character is made whole by the tokens of single bytes, so that all of its
    bytes are seen. Two of our own encoders with the same decoder are not asked: they look the
    same token up under the same id.

    Args:
        pair: the two sides.
        a: one side's model.
        b: the other's.
        names: the engines' names.
    """
    if names == (Own.name, Own.name) and a.decoder == b.decoder and a.alphabet == b.alphabet:
        return Alone()
    count, odd = 0, []
    asked = _sequences(a, b)
    while chunk := list(islice(asked, _CHUNK)):
        count += len(chunk)
        answers = pair.decode([ids for _, ids in chunk])
        for (content, ids), said in zip(chunk, answers, strict=True):
            if said[0] != said[1] or said[0] is None:
                odd.append(Odd(content, ids, said))
    return Alone(count, tuple(odd))


def _sequences(a: BPEModel, b: BPEModel) -> Iterator[Asked]:
    """Each token that both have, with the ids to decode."""
    ids, kinds = _shared(a, b), {**b.vocab.kinds, **a.vocab.kinds}
    bytewise = a.alphabet == b.alphabet == "byte"
    for content, number in ids.items():
        if kinds.get(number) in _APART:
            continue
        missing = completed(content) if bytewise else None
        head, tail = (_of_bytes(ids, part) for part in missing or (b"", b""))
        yield content, (*head, number, *tail)


def _shared(a: BPEModel, b: BPEModel) -> dict[bytes, int]:
    return {t: n for t, n in a.vocab.ids.items() if b.vocab.ids.get(t) == n}


def _of_bytes(ids: dict[bytes, int], content: bytes) -> Sequence[int]:
    found = [ids.get(bytes([byte])) for byte in content]
    return [number for number in found if number is not None]
