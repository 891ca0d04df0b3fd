"""Merges with affixes as merges without: each symbol, its affixes on it, is one character.

By Theorem 22 a token that is spelled in two ways is two tokens then, and only some contents occur.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from itertools import accumulate

from ..merging.canonical import Canonical
from ..merging.merger import Merger, Priority
from ..merging.symbols import spellings, symbols_of
from ..model import Affixes, Alphabet, MergeRule
from .contexts import Contents

_FIRST = 0xF0000
"""Symbols are numbered from here; which characters these are is of no consequence."""


class SymbolCodes:
    """A character for each symbol.

    Args:
        affixes: what is on the symbols.
        alphabet: what is one symbol.
        missing: a symbol, without affixes, that is in no vocabulary, and is dropped or becomes
            what never merges; nothing, where none is.
    """

    def __init__(self, affixes: Affixes, alphabet: Alphabet, missing: bytes = b"") -> None:
        self._affixes, self._alphabet, self._missing = affixes, alphabet, missing
        self._codes: dict[bytes, str] = {}
        self._symbols: dict[str, bytes] = {}
        self._found_places: dict[bytes, list[tuple[bool, bool]]] = {}

    @property
    def ambiguous(self) -> bool:
        """Whether a symbol with the prefix may be another one with the suffix."""
        return any(len(self._places(symbol)) > 1 for symbol in self._codes)

    def form(
        self,
        rule: MergeRule,
        tokens: Collection[bytes],
        alphabet: Alphabet,
        base: Container[bytes] | None,
    ) -> Canonical:
        """The canonical form, tokens written in these characters."""
        merger = Merger(rule, self._affixes)
        splits_of: dict[bytes, tuple[bytes, bytes]] = {}
        priority: dict[bytes, Priority] = {}
        for token in tokens:
            for symbols in spellings(token, alphabet, self._affixes):
                if base is not None and any(symbol not in base for symbol in symbols):
                    continue
                code = self.code(symbols)
                # Lemma 2: the last merge of the run on the token's own symbols.
                parts = merger.run([*symbols], 2)
                if len(parts) != 2:
                    continue
                rank = merger.priority(*parts)
                if rank is not None:
                    at = self._joins(symbols).index(parts[0]) + 1
                    splits_of[code] = (self.code(symbols[:at]), self.code(symbols[at:]))
                    priority[code] = rank
        # Theorem 3: the splits in the order of their priorities.
        ordered = sorted(splits_of, key=priority.__getitem__)
        splits = {token: splits_of[token] for token in ordered}
        return Canonical(splits, {token: priority[token] for token in ordered}, (), ())

    def contents(self, ok: Callable[[bytes], bool] | None) -> Contents:
        """The contents that are pretokens, as far as affixes go, and are accepted."""
        prefix, suffix = self._affixes.prefix, self._affixes.suffix

        def later(symbol: bytes) -> bool:
            return any(place[0] for place in self._places(symbol))

        def last(symbol: bytes) -> bool:
            return any(place[1] for place in self._places(symbol))

        # Theorem 22: the prefix is on all symbols but the first, the suffix on the last alone.
        # Beside a missing symbol, what merges may begin with the prefix, or end without the suffix.
        def never(content: bytes) -> bool:
            symbols = self.symbols(content)
            if prefix and not all(map(later, symbols[1:])):
                return True
            return any(map(last, symbols[:-1]))

        return Contents(
            lambda content: ok is None or ok(self.pretoken(content)),
            never,
            lambda content: not self._missing and later(self.symbols(content)[0]),
            lambda content: (
                not self._missing and bool(suffix) and not last(self.symbols(content)[-1])
            ),
            lambda symbol: tuple(self._places(self.symbols(symbol)[0])),
            (b"",),
        )

    def _places(self, symbol: bytes) -> list[tuple[bool, bool]]:
        """Where in a pretoken a symbol may stand: not at its start; at its end."""
        known = self._found_places.get(symbol)
        if known is not None:
            return known
        prefix, suffix = self._affixes.prefix, self._affixes.suffix
        self._found_places[symbol] = places = [
            (before, after)
            for before in ((False, True) if prefix else (False,))
            for after in ((False, True) if suffix else (False,))
            if (not before or symbol.startswith(prefix))
            and (not after or symbol.endswith(suffix))
            and self._is_symbol(symbol[len(prefix) * before : len(symbol) - len(suffix) * after])
        ]
        return places

    def _is_symbol(self, content: bytes) -> bool:
        try:
            return len(symbols_of(content, self._alphabet)) == 1
        except UnicodeDecodeError:
            return False  # no text, so no character

    def alphabet(self) -> list[bytes]:
        """All characters so far."""
        return [char.encode("utf-8") for char in self._symbols]

    def code(self, symbols: Sequence[bytes]) -> bytes:
        """Symbols in these characters."""
        for symbol in symbols:
            if symbol not in self._codes:
                char = chr(_FIRST + len(self._codes))
                self._codes[symbol] = char
                self._symbols[char] = symbol
        return "".join(map(self._codes.__getitem__, symbols)).encode("utf-8")

    def symbols(self, content: bytes) -> list[bytes]:
        """What :meth:`code` was given."""
        return [self._symbols[char] for char in content.decode("utf-8")]

    def token(self, content: bytes) -> bytes:
        """A token as the vocabulary spells it."""
        return self._joins(self.symbols(content))[-1]

    def pretoken(self, content: bytes) -> bytes:
        """A whole content, without affixes; what is missing stands where they ask for it."""
        prefix, suffix = self._affixes.prefix, self._affixes.suffix
        symbols = self.symbols(content)
        starts = any(place[0] for place in self._places(symbols[0]))
        ends = bool(suffix) and not any(place[1] for place in self._places(symbols[-1]))
        joined = self._joins(symbols)[-1]
        if suffix and not ends:
            joined = joined[: len(joined) - len(suffix)]
        if starts:
            joined = self._missing + joined[len(prefix) :]
        return joined + self._missing if ends else joined

    def _joins(self, symbols: Sequence[bytes]) -> list[bytes]:
        cut = len(self._affixes.prefix)
        return [*accumulate(symbols, lambda left, right: left + right[cut:])]
