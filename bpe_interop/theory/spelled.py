"""Merges with affixes as merges without: each symbol, its affixes on it, is one character.

Then a token that is spelled in two ways is two tokens, what merges is what stands side by side,
and only some contents occur: those whose symbols have the prefix everywhere but at the start,
and the suffix at the end and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from itertools import accumulate

from ..model import Affixes, Alphabet, MergeRule
from .contexts import Contents
from .merges import Canonical, Merger, Priority
from .symbols import spellings

_FIRST = 0xF0000
"""Symbols are numbered from here; which characters these are is of no consequence."""


class SymbolCodes:
    """A character for each symbol."""

    def __init__(self, affixes: Affixes) -> None:
        self._affixes = affixes
        self._codes: dict[bytes, str] = {}
        self._symbols: dict[str, bytes] = {}

    @property
    def ambiguous(self) -> bool:
        """Whether a symbol with the prefix may be another one with the suffix."""
        prefix, suffix = self._affixes.prefix, self._affixes.suffix
        return bool(prefix) and len(prefix) == len(suffix) and prefix[1:] == suffix[:-1]

    def form(
        self,
        rule: MergeRule,
        tokens: Collection[bytes],
        alphabet: Alphabet,
        base: Container[bytes] | None,
    ) -> Canonical:
        """The canonical form, tokens written in these characters."""
        merger = Merger(rule, self._affixes)
        found: dict[bytes, tuple[bytes, bytes]] = {}
        priority: dict[bytes, Priority] = {}
        for token in tokens:
            for symbols in spellings(token, alphabet, self._affixes):
                if base is not None and any(symbol not in base for symbol in symbols):
                    continue
                code = self.code(symbols)
                parts = merger.run([*symbols], 2)
                if len(symbols) < 2 or len(parts) != 2:
                    continue
                rank = merger.priority(*parts)
                if rank is not None:
                    at = self._joins(symbols).index(parts[0]) + 1
                    found[code] = (self.code(symbols[:at]), self.code(symbols[at:]))
                    priority[code] = rank
        ordered = sorted(found, key=priority.__getitem__)
        splits = {token: found[token] for token in ordered}
        return Canonical(splits, {token: priority[token] for token in ordered}, (), ())

    def contents(self, ok: Callable[[bytes], bool] | None) -> Contents:
        """The contents that are pretokens, as far as affixes go, and are accepted."""
        prefix, suffix = self._affixes.prefix, self._affixes.suffix

        def later(symbol: bytes) -> bool:
            return bool(prefix) and symbol.startswith(prefix) and len(symbol) > len(prefix)

        def last(symbol: bytes) -> bool:
            return bool(suffix) and symbol.endswith(suffix) and len(symbol) > len(suffix)

        def never(content: bytes) -> bool:
            symbols = self.symbols(content)
            if prefix and not all(map(later, symbols[1:])):
                return True
            return any(map(last, symbols[:-1]))

        return Contents(
            lambda content: ok is None or ok(self.pretoken(content)),
            never,
            lambda content: later(self.symbols(content)[0]),
            lambda content: bool(suffix) and not last(self.symbols(content)[-1]),
            beside=(b"",),
        )

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
        """A whole content, without affixes."""
        token = self.token(content)
        return token[: len(token) - len(self._affixes.suffix)]

    def _joins(self, symbols: Sequence[bytes]) -> list[bytes]:
        cut = len(self._affixes.prefix)
        return [*accumulate(symbols, lambda left, right: left + right[cut:])]
