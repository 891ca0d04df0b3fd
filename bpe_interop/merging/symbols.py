"""What merging starts from: the symbols of a pretoken or of a token.

Affixes are glued on (Theorem 22 in ``docs/theory.md``), and user-defined tokens cut out before
(Theorem 24).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from ..errors import InvalidModelError
from ..model import Affixes, Alphabet, BPEModel, Fallback, text_of

_BYTES = tuple(bytes([byte]) for byte in range(256))
NO_AFFIXES = Affixes()


def symbols_of(
    content: bytes, alphabet: Alphabet = "byte", affixes: Affixes = NO_AFFIXES
) -> list[bytes]:
    """Cuts a pretoken into what it is before merging, affixes glued on.

    Raises:
        UnicodeDecodeError: the alphabet is ``char`` and the content is not UTF-8.
    """
    if alphabet == "byte":
        symbols = [_BYTES[byte] for byte in content]
    else:
        symbols = [char.encode("utf-8") for char in content.decode("utf-8")]
    if symbols and (affixes.prefix or affixes.suffix):
        symbols[1:] = [affixes.prefix + symbol for symbol in symbols[1:]]
        symbols[-1] += affixes.suffix
    return symbols


def spellings(
    token: bytes, alphabet: Alphabet = "byte", affixes: Affixes = NO_AFFIXES
) -> Iterator[list[bytes]]:
    """The symbols that make up a token: one list for each place in a pretoken it may stand in.

    Without affixes there is one. With a suffix, a token that ends in it may be the last of a
    pretoken; with a prefix, one that begins with it may be any but the first. A content that is
    not text (``alphabet="char"``) has none.
    """
    prefix, suffix = affixes.prefix, affixes.suffix
    for later in (False, True) if prefix and token.startswith(prefix) else (False,):
        inner = token[len(prefix) :] if later else token
        for last in (False, True) if suffix and inner.endswith(suffix) else (False,):
            content = inner[: -len(suffix)] if last else inner
            if not content:
                continue
            try:
                symbols = symbols_of(content, alphabet)
            except UnicodeDecodeError:
                continue  # no text is spelled so
            if prefix:
                symbols[1:] = [prefix + symbol for symbol in symbols[1:]]
            if later:
                symbols[0] = prefix + symbols[0]
            if last:
                symbols[-1] += suffix
            yield symbols


class UserDefined:
    """The texts of user-defined tokens, ready to be found: leftmost, of those the longest.

    That is SentencePiece's ``PrefixMatcher`` (``src/normalizer.cc``), asked at each symbol.
    """

    __slots__ = ("_lengths", "_start", "_texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = frozenset(texts)
        lengths: dict[str, set[int]] = {}
        for text in self._texts:
            lengths.setdefault(text[0], set()).add(len(text))
        self._lengths = {char: sorted(sizes, reverse=True) for char, sizes in lengths.items()}
        starts = "".join(map(re.escape, sorted(lengths)))
        self._start = re.compile(f"[{starts}]" if starts else "(?!)")

    def __bool__(self) -> bool:
        return bool(self._texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Where they stand (start, end), from left to right."""
        texts, place = self._texts, 0
        while match := self._start.search(text, place):
            start = match.start()
            place = start + 1
            # The longest first.
            for size in self._lengths[match[0]]:
                if text[start : start + size] in texts:
                    place = start + size
                    yield start, place
                    break


class Symbols:
    """Cuts a model's pretokens into symbols. Threads may share it.

    Raises:
        InvalidModelError: there are user-defined tokens and affixes, which no format has.
    """

    __slots__ = ("_affixes", "_alphabet", "user_defined")

    def __init__(self, model: BPEModel) -> None:
        self._alphabet, self._affixes = model.alphabet, model.affixes
        self.user_defined = user_defined(model)
        if self.user_defined and (self._affixes != NO_AFFIXES or self._alphabet == "byte"):
            raise InvalidModelError(
                "user-defined tokens are found among characters without affixes only",
                field="affixes",
            )

    def segments(self, content: bytes) -> list[list[bytes]]:
        """The symbols that merge among themselves, in order.

        A user-defined token is a segment of its own: it is frozen, nothing merges with it.
        """
        if not self.user_defined:
            return [symbols_of(content, self._alphabet, self._affixes)]
        text, end = content.decode("utf-8"), 0
        segments: list[list[bytes]] = []
        for start, stop in self.user_defined.find(text):
            if end < start:
                segments.append([char.encode("utf-8") for char in text[end:start]])
            segments.append([text[start:stop].encode("utf-8")])
            end = stop
        if end < len(text):
            segments.append([char.encode("utf-8") for char in text[end:]])
        return segments


def user_defined(model: BPEModel) -> UserDefined:
    ids, kinds = model.vocab.ids, model.vocab.kinds
    if "user_defined" not in kinds.values():
        return UserDefined(())
    return UserDefined(
        token.decode("utf-8")
        for token, number in ids.items()
        if token and kinds.get(number) == "user_defined"
    )


def textual(model: BPEModel) -> Mapping[bytes, int]:
    """The vocabulary without the tokens that no text can spell (``control``)."""
    ids, kinds = model.vocab.ids, model.vocab.kinds
    if "control" not in kinds.values():
        return ids
    return {token: number for token, number in ids.items() if kinds.get(number) != "control"}


def characters(tokens: Iterable[bytes]) -> set[bytes]:
    # Of several bytes, the first of a character's says that others follow it.
    single = (t for t in tokens if len(t) == 1 or (1 < len(t) <= 4 and t[0] >= 0xC2))
    return {token for token in single if len(text_of(token) or "") == 1}


def merges_missing(fallback: Fallback) -> bool:
    """Whether a symbol that is no token stays, and may merge, until all is merged.

    Else it is dropped or replaced before. Where it is an error, it makes no difference.
    """
    return fallback.after_merging or (fallback.missing == "error" and not fallback.byte_fallback)
