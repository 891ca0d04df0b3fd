"""How a text becomes ids, step by step: pretokens, symbols, and every merge with its rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Literal, TypeAlias

from ..merging.merger import Priority
from ..model import Allowed
from . import Encoder
from .offsets import PlacedPretoken
from .pretoken import PretokenEncoder, _Found

How: TypeAlias = Literal["added", "whole", "merged"]
Became: TypeAlias = Literal["bytes", "unknown", "dropped", "split"]


@dataclass(frozen=True, slots=True)
class Merge:
    """One merge: the symbols from ``first`` to ``middle`` and from there to ``last`` become one.

    Symbols are counted as they were before merging. ``rank`` is that of the product where ranks
    belong to tokens, else the place of the pair in the list of merges. ``id`` is None where the
    product is no token of the vocabulary.
    """

    rank: Priority
    first: int
    middle: int
    last: int
    left: bytes
    right: bytes
    token: bytes
    id: int | None


@dataclass(frozen=True, slots=True)
class SymbolRun:
    """Symbols that merge among themselves, and their merges in order.

    ``spans`` are the bytes (start, end) of the pretoken that each symbol stands for.
    """

    symbols: tuple[bytes, ...]
    spans: tuple[tuple[int, int], ...]
    merges: tuple[Merge, ...]

    def groups(self) -> list[tuple[int, int]]:
        """What the symbols are in the end: groups of them (first, last)."""
        ends = {place: place + 1 for place in range(len(self.symbols))}
        for merge in self.merges:
            ends[merge.first] = merge.last
            del ends[merge.middle]
        return list(ends.items())


@dataclass(frozen=True, slots=True)
class Replaced:
    """What is no token, or an unused one, and the ids that it became.

    ``span`` are the bytes (start, end) of the pretoken that it stands for.
    """

    symbol: bytes
    became: Became
    ids: tuple[int, ...]
    span: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Explained:
    """A pretoken, or an added token, and how it became ids.

    ``content`` is what was encoded, in bytes: after the normalizer, with what was put before it.
    ``start`` and ``end`` are the characters of the text that it comes from. ``spans`` are the
    bytes of ``content`` that each id stands for. ``how``: ``added``: found in the text first;
    ``merged``: by the merges of ``runs``, in order; ``whole``: looked up as it is, before any
    merging. Then ``runs`` says what merging would do: mostly the same, but some tokens are found
    in no other way. There is none where a symbol of it is no token by itself.
    """

    content: bytes
    start: int
    end: int
    how: How
    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    runs: tuple[SymbolRun, ...] = ()
    replaced: tuple[Replaced, ...] = ()

    @property
    def merges_alike(self) -> bool:
        """Whether merging would make the whole pretoken into the token that it spells."""
        if len(self.runs) != 1 or len(self.runs[0].groups()) != 1:
            return False
        run = self.runs[0]
        made = run.merges[-1].token if run.merges else run.symbols[0]
        return made == self.content


class Explainer(Encoder):
    """An encoder that can also say how it comes to its ids. Threads may share one."""

    def explain(self, text: str, allowed_special: Allowed = frozenset()) -> list[Explained]:
        """The pretokens and added tokens of a text in order; their ids are :meth:`encode`'s.

        Raises:
            The errors of :meth:`encode`.
        """
        return [self._explained(piece) for piece in self._pieces(text, allowed_special)]

    def _explained(self, piece: PlacedPretoken) -> Explained:
        content, number = piece.content, piece.number
        if number is not None:
            content = self.token_bytes(number)
            return Explained(content, *piece.span(0, 1), "added", (number,), ((0, len(content)),))
        noting = _Noting(self._pretoken)
        placed = list(noting.placed(content))
        whole = noting.looks_up(content)
        runs = noting.unneeded(content) if whole else noting.runs
        return Explained(
            content,
            *piece.span(0, len(content)),
            "whole" if whole else "merged",
            tuple(number for number, _, _ in placed),
            tuple((first, last) for _, first, last in placed),
            tuple(runs),
            tuple(noting.replaced),
        )


class _Noting(PretokenEncoder):
    """An encoder of one pretoken that notes what it does; it shares all else with another."""

    def __init__(self, ready: PretokenEncoder) -> None:
        vars(self).update(vars(ready))
        self.runs: list[SymbolRun] = []
        self.replaced: list[Replaced] = []

    def _merged(self, symbols: list[bytes], spans: list[tuple[int, int]]) -> Iterator[_Found]:
        if symbols:
            self.runs.append(self._run(symbols, spans))
        yield from super()._merged(symbols, spans)

    def _run(self, symbols: list[bytes], spans: list[tuple[int, int]]) -> SymbolRun:
        cut, merging = len(self._model.affixes.prefix), symbols.copy()
        merges = tuple(
            Merge(rank, first, middle, end, left, right, token, self._ids.get(token))
            for rank, first, middle, end, left, right in self._merger.steps(merging)
            if (token := left + right[cut:])
        )
        return SymbolRun(tuple(symbols), tuple(spans), merges)

    def looks_up(self, content: bytes) -> bool:
        """Whether a pretoken is found whole, before any merging."""
        return self._model.lookup_first and content in self._ids

    def unneeded(self, content: bytes) -> Iterator[SymbolRun]:
        """What merging would do to a pretoken that was looked up."""
        start = 0
        for symbols in self._symbols.segments(content):
            sizes = list(self._widths(symbols, start, len(content)))
            ends = list(accumulate(sizes, initial=start))
            if self._merges_all or all(map(self._ids.__contains__, symbols)):
                yield self._run(symbols, list(pairwise(ends)))
            start = ends[-1]

    def _replaced(self, symbols: list[bytes], spans: list[tuple[int, int]]) -> Iterator[_Found]:
        if self._fallback.missing == "drop":
            for symbol, span in zip(symbols, spans, strict=True):
                if symbol not in self._ids and self._as_bytes(symbol, *span) is None:
                    self._note(symbol, "dropped", [], span)
        yield from super()._replaced(symbols, spans)

    def _resplit(self, token: bytes, start: int, end: int) -> Iterator[_Found]:
        parts = list(super()._resplit(token, start, end))
        self._note(token, "split", parts, (start, end))
        yield from parts

    def _missing(self, symbol: bytes, start: int, end: int) -> Iterable[_Found]:
        parts = list(super()._missing(symbol, start, end))
        unknown = [number for number, _, _ in parts] == [None]
        became: Became = "unknown" if unknown else "bytes" if parts else "dropped"
        self._note(symbol, became, parts, (start, end))
        return parts

    def _note(
        self, symbol: bytes, became: Became, parts: list[_Found], span: tuple[int, int]
    ) -> None:
        numbers = (self._fallback.unknown if n is None else n for n, _, _ in parts)
        ids = tuple(number for number in numbers if number is not None)
        self.replaced.append(Replaced(symbol, became, ids, span))
