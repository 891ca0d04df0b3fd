"""One pretoken to tokens: lookup, symbols, fallback, merging, numbering."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from ..entries import numbered
from ..errors import EncodeError, InvalidModelError
from ..kernel.tables import as_dict, used_among
from ..memo import Memo
from ..merging.merger import Merger
from ..merging.symbols import Symbols, merges_missing, symbols_of, textual
from ..model import BPEModel, PairList
from ..quoting import show

Placed: TypeAlias = tuple[int, int, int]
"""A token's id, and the bytes (start, end) of the pretoken that it stands for."""

_Found: TypeAlias = tuple["int | None", int, int]
"""The same; None for what is no token and has no bytes to fall back to."""

_Cut: TypeAlias = tuple[list[bytes], list[tuple[int, int]]]
"""Symbols, and the bytes (start, end) of the pretoken that each stands for."""


class PretokenEncoder:
    """Encodes single pretokens by a model. Threads may share it.

    Raises:
        InvalidModelError: a merge names the token for unknown text or a token of a byte, so
            that what is missing might merge with its neighbours.
    """

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        self._ids = as_dict(textual(model))
        self._alphabet = model.alphabet
        self._fallback = model.fallback
        kinds = model.vocab.kinds
        self._unused = frozenset(number for number, kind in kinds.items() if kind == "unused")
        self._byte_ids = byte_ids(model) if model.fallback.byte_fallback else {}
        self._merges_all = merges_missing(model.fallback)
        refuse_merged_fallback(model, self._byte_ids.values())
        self._symbols = Symbols(model)
        self._merger = Merger(model.merges, model.affixes)

    def ids(self, content: bytes) -> list[int]:
        """The ids of a pretoken.

        Raises:
            EncodeError: a symbol is not in the vocabulary and the model has no fallback.
        """
        return [number for number, _, _ in self.placed(content)]

    def placed(self, content: bytes) -> Iterator[Placed]:
        """The tokens of a pretoken and where they stand; otherwise as :meth:`ids`."""
        if not content:
            return
        if self._model.lookup_first and content in self._ids:
            yield self._ids[content], 0, len(content)
            return
        unknown, fuse = self._fallback.unknown, self._fallback.fuse
        first = last = -1
        for number, start, end in self._found(content):
            # Unknown symbols beside each other become one unknown token (`fuse_unk`).
            if number is None and fuse and last == start:
                last = end
                continue
            if first >= 0:
                yield self._unknown(unknown), first, last
                first = last = -1
            if number is not None:
                yield number, start, end
            else:
                first, last = start, end
        if first >= 0:
            yield self._unknown(unknown), first, last

    @staticmethod
    def _unknown(number: int | None) -> int:
        if number is None:
            raise InvalidModelError("the token for unknown text is not named", field="fallback")
        return number

    def _found(self, content: bytes) -> Iterator[_Found]:
        start = 0
        for symbols in self._symbols.segments(content):
            spans: list[tuple[int, int]] = []
            for size in self._widths(symbols, start, len(content)):
                spans.append((start, start + size))
                start += size
            if self._merges_all or all(map(self._ids.__contains__, symbols)):
                yield from self._merged(symbols, spans)
            else:
                yield from self._replaced(symbols, spans)

    def _widths(self, symbols: list[bytes], start: int, end: int) -> Iterator[int]:
        """How many bytes of the pretoken each symbol stands for."""
        affixes = self._model.affixes
        for symbol in symbols:
            size = len(symbol) - (len(affixes.prefix) if start else 0)
            # Only the last symbol has the suffix.
            if start + size > end:
                size -= len(affixes.suffix)
            start += size
            yield size

    def _replaced(self, symbols: list[bytes], spans: list[tuple[int, int]]) -> Iterator[_Found]:
        """Missing symbols fall back before merging (tokenizers, ``models/bpe/model.rs``).

        Those that become nothing let their neighbours merge; the others never merge.
        """
        drops = self._fallback.missing == "drop"
        kept: _Cut = ([], [])
        for symbol, span in zip(symbols, spans, strict=True):
            if symbol in self._ids:
                kept[0].append(symbol)
                kept[1].append(span)
            elif not drops or self._as_bytes(symbol, *span) is not None:
                yield from self._merged(*kept)
                kept = ([], [])
                yield from self._missing(symbol, *span)
        yield from self._merged(*kept)

    def _merged(self, symbols: list[bytes], spans: list[tuple[int, int]]) -> Iterator[_Found]:
        """Merges symbols, and puts each token in the place of those it is made of."""
        cut, place = len(self._model.affixes.prefix), 0
        # A token stands in the place of the symbols that it is made of: these are counted off by
        # length, the prefix of each further one being cut.
        for token in self._merger.run(symbols.copy()):
            first, size = place, len(symbols[place])
            while size < len(token):
                place += 1
                size += len(symbols[place]) - cut
            start, end = spans[first][0], spans[place][1]
            place += 1
            number = self._ids.get(token)
            if number is None:
                yield from self._missing(token, start, end)
            elif number in self._unused:
                yield from self._resplit(token, start, end)
            else:
                yield number, start, end

    def _resplit(self, token: bytes, start: int, end: int) -> Iterator[_Found]:
        """An unused token becomes the two that it was merged from, and so on.

        One that is a single character is missing (measured in sentencepiece 0.2.3).
        """
        waiting = [(token, start)]
        while waiting:
            token, start = waiting.pop()
            number = self._ids.get(token)
            if number is not None and number not in self._unused:
                yield number, start, start + len(token)
                continue
            # Lemma 2: all that ever builds a token is the one pair that its own run ends with.
            parts = self._merger.run(symbols_of(token, self._model.alphabet), 2)
            if len(parts) == 2:
                # The left part is popped first.
                waiting += ((parts[1], start + len(parts[0])), (parts[0], start))
            else:
                yield from self._missing(token, start, start + len(token))

    def _missing(self, symbol: bytes, start: int, end: int) -> Iterable[_Found]:
        in_bytes = self._as_bytes(symbol, start, end)
        if in_bytes is not None:
            return in_bytes
        if self._fallback.missing == "drop":
            return ()
        if self._fallback.missing == "unknown":
            return ((None, start, end),)
        raise EncodeError(f"{show(symbol)} is not in the vocabulary, so this text has no encoding")

    def _as_bytes(self, symbol: bytes, start: int, end: int) -> list[_Found] | None:
        """The tokens for the bytes of a symbol, affixes included, where all of them exist."""
        # All of a symbol's bytes, those of its affixes too, or none.
        numbers = [self._byte_ids.get(byte) for byte in symbol]
        if None in numbers:
            return None
        if len(symbol) != end - start:
            return [(number, start, end) for number in numbers]
        return [(number, start + at, start + at + 1) for at, number in enumerate(numbers)]


def byte_ids(model: BPEModel) -> dict[int, int]:
    ids, kinds = model.vocab.ids, model.vocab.kinds
    named = ((byte, ids.get(b"<0x%02X>" % byte, -1)) for byte in range(256))
    return {byte: number for byte, number in named if kinds.get(number) == "byte"}


@Memo
def _merged(rule: PairList) -> frozenset[bytes]:
    return frozenset(chain.from_iterable(rule.pairs))


def refuse_merged_fallback(model: BPEModel, of_bytes: Iterable[int]) -> None:
    """Refuses merges of what missing symbols become.

    Raises:
        InvalidModelError: a merge names the token for unknown text, or one of those for bytes.
    """
    rule = model.merges
    if not isinstance(rule, PairList):
        return
    unknown, kinds = model.fallback.unknown, model.vocab.kinds
    named = numbered(model.vocab.ids, {*of_bytes, *(() if unknown is None else (unknown,))})
    contents = {token: n for n, token in named.items() if kinds.get(n) != "control"}
    # The kernel knows it of most lists without a look at the pairs.
    if used_among(rule.pairs, contents) == set() or contents.keys().isdisjoint(_merged(rule)):
        return
    for index, pair in enumerate(rule.pairs):
        if not contents.keys().isdisjoint(pair):
            what = "unknown text" if unknown in map(contents.get, pair) else "a byte"
            raise InvalidModelError(
                f"a merge names the token for {what}", field="merges", index=index
            )
