"""Finding added tokens in a text, as Hugging Face tokenizers and tiktoken do.

Tokens that are not normalized are looked for in the text as it is, then each remaining segment
is normalized, then the others are looked for in it, in their own normalized form. The leftmost
token wins, of those the longest (``tokenizer/added_vocabulary.rs`` ``find_matches``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..errors import EncodeError
from ..model import AddedToken, Allowed
from ..quoting import show
from ..steps import NormalizerStep
from .normalize import normalize
from .unicode import WHITE_SPACE, char_class

_WHITE = re.compile(f"[{WHITE_SPACE}]*")
_ASCII_WHITE = re.compile(r"[\t\n\x0b\x0c\r ]*")
_SPACES = frozenset(WHITE_SPACE)
_ASCII_SPACES = frozenset("\t\n\x0b\x0c\r ")


class Segment(NamedTuple):
    """A stretch of text (start, end): an added token's with its id, or ordinary with None."""

    start: int
    end: int
    id: int | None


FLAGS = (
    *("sought", "special", "doubtful", "lstrip", "rstrip"),
    *("single_word", "ascii_space", "longest_first"),
)
"""What is said of an added token, the lowest bit first (``native/src/added.rs``).

``sought``: it is not special, or it is allowed. ``doubtful``: another token has the same text by
now, so where it is found the kernel leaves the text to Python. The rest is ``AddedToken``'s.
"""


SINGLE_WORD = 1 << FLAGS.index("single_word")


class SoughtToken(NamedTuple):
    """An added token as it is looked for: its flags are :data:`FLAGS`."""

    text: str
    id: int
    flags: int


class AddedMatcher:
    """A model's added tokens, ready to be found."""

    __slots__ = ("_normalized", "_raw")

    def __init__(self, added: Iterable[AddedToken], normalize: Callable[[str], str]) -> None:
        added = tuple(added)
        self._raw = _Phase([(t.text, t) for t in added if not t.normalized])
        self._normalized = _Phase([(normalize(t.text), t) for t in added if t.normalized])

    def is_idle(self, allowed: Allowed) -> bool:
        """Whether no token can be found: nothing is there, or only special ones not allowed."""
        return self._raw.is_idle(allowed) and self._normalized.is_idle(allowed)

    def listed(self, allowed: Allowed) -> tuple[list[SoughtToken], list[SoughtToken]]:
        """The tokens of both passes for the kernel, none where a pass can find no token."""
        raw, normalized = (
            [] if phase.is_idle(allowed) else phase.listed(allowed)
            for phase in (self._raw, self._normalized)
        )
        return raw, normalized

    def find_raw(self, text: str, allowed: Allowed) -> list[Segment]:
        """The first pass, over a text that is not normalized yet.

        Segments come in order and are never empty. Two tokens that take the same White_Space
        along may overlap, as they do in tokenizers.

        Raises:
            EncodeError: on this text tokenizers fails, or what it does is left to chance.
        """
        return self._raw.find(text, allowed)

    def find_normalized(self, text: str, allowed: Allowed) -> list[Segment]:
        """The second pass, over one normalized segment; otherwise as :meth:`find_raw`."""
        return self._normalized.find(text, allowed)

    def cut(self, text: str, allowed: Allowed, normalize: Callable[[str], str]) -> list[str | int]:
        """The text as added tokens' ids and, between them, normalized segments."""
        parts: list[str | int] = []
        for start, end, number in self._raw.find(text, allowed):
            if number is not None:
                parts.append(number)
                continue
            part = normalize(text[start:end])
            for first, last, inner in self._normalized.find(part, allowed):
                parts.append(part[first:last] if inner is None else inner)
        return parts


class _Phase:
    """The tokens of one pass, by the text that stands for them."""

    def __init__(self, named: Sequence[tuple[str, AddedToken]]) -> None:
        self._tokens: dict[str, AddedToken] = {}
        self._doubtful: dict[str, list[AddedToken]] = {}
        for text, token in named:
            if self._tokens.setdefault(text, token).id != token.id:
                self._doubtful.setdefault(text, [self._tokens[text]]).append(token)
        if "" in self._tokens:
            # An empty text would be found everywhere.
            raise EncodeError(vanishing(self._tokens[""].text))
        self._longest = max(map(len, self._tokens), default=0)
        self._any = _alternation(self._tokens)
        special = [text for text in self._tokens if self._is_special(text)]
        self._special = _alternation(special)
        self._only_special = len(special) == len(self._tokens)
        self._longest_first = [
            token
            for token in sorted(self._tokens.values(), key=lambda t: -len(t.text.encode()))
            if token.longest_first
        ]

    def is_idle(self, allowed: Allowed) -> bool:
        """Whether no token can be found in any text."""
        return not self._tokens or (self._only_special and not allowed)

    def listed(self, allowed: Allowed) -> list[SoughtToken]:
        """What is looked for, in the order in which tokens were given."""
        sought = []
        for text, token in self._tokens.items():
            own = [getattr(token, flag) for flag in FLAGS[3:]]
            if not self._longest_first:
                of_text = self._is_sought(text, allowed), self._is_special(text)
                flags = [*of_text, text in self._doubtful, *own]
            elif token.longest_first:
                text, is_sought = token.text, not token.special or _is_allowed(token, allowed)
                flags = [is_sought, token.special, False, *own]
            else:
                continue
            bits = sum(flag << place for place, flag in enumerate(flags))
            sought.append(SoughtToken(text, token.id, bits))
        return sought

    def find(self, text: str, allowed: Allowed) -> list[Segment]:
        """The segments of a text in order: the tokens that are found, and what lies between."""
        if not text:
            return []
        if self.is_idle(allowed):
            return [Segment(0, len(text), None)]
        if self._longest_first:
            return self._find_longest_first(text, allowed)
        segments: list[Segment] = []
        end = position = white_end = 0
        search = self._any.search
        while match := search(text, position):
            token, start, stop = self._tokens[match[0]], *match.span()
            # tokenizers goes on after a match even where it then leaves it as text, so what begins
            # inside is hidden (Theorem 19).
            position = stop
            if not self._is_sought(match[0], allowed):
                inner = self._inside(text, start, stop, allowed)
                if inner is None:
                    continue
                token, start, stop = self._tokens[inner[0]], *inner.span()
                position = stop
            self._refuse_doubt(text[start:stop])
            if token.single_word and not _stands_alone(text, start, stop):
                continue
            if token.lstrip:
                spaces = _ASCII_SPACES if token.ascii_space else _SPACES
                while start > end and text[start - 1] in spaces:
                    start -= 1
                # The token before may have taken this White_Space along (rstrip).
                start = max(start, end)
            if token.rstrip and token.ascii_space:
                stop = _white_after(text, stop, _ASCII_WHITE)
            elif token.rstrip:
                # Within a stretch of White_Space already seen, its end is known.
                stop = white_end = white_end if stop < white_end else _white_after(text, stop)
            if start > stop:
                raise EncodeError(
                    f"the added token {show(token.text)} begins in White_Space that the added "
                    "token before it has taken along; tokenizers fails on such a text",
                    where=f"character {stop}",
                )
            if end < start:
                segments.append(Segment(end, start, None))
            if start < stop:
                segments.append(Segment(start, stop, token.id))
            end = stop
        if end != len(text):
            segments.append(Segment(end, len(text), None))
        return segments

    def _find_longest_first(self, text: str, allowed: Allowed) -> list[Segment]:
        """As llama.cpp does (``tokenizer_st_partition``): one token after the other."""
        segments = [Segment(0, len(text), None)]
        for token in self._longest_first:
            if token.special and not _is_allowed(token, allowed):
                continue
            cut: list[Segment] = []
            for segment in segments:
                cut += [segment] if segment.id is not None else _cut_out(token, text, segment)
            segments = cut
        return segments

    def _inside(self, text: str, start: int, stop: int, allowed: Allowed) -> re.Match[str] | None:
        """An allowed special token that begins inside a special one that is not allowed.

        tiktoken goes on one character after the start of such a token (src/lib.rs, ``encode``).
        """
        if not allowed:
            return None
        limit = stop - 1 + self._longest
        place = start
        while match := self._special.search(text, place + 1, limit):
            place = match.start()
            if place >= stop:
                return None
            if self._is_sought(match[0], allowed):
                return match
        return None

    def _is_sought(self, text: str, allowed: Allowed) -> bool:
        """Whether a token that stands for this text is looked for: not special, or allowed."""
        return any(
            not token.special or _is_allowed(token, allowed)
            for token in self._doubtful.get(text, (self._tokens[text],))
        )

    def _is_special(self, text: str) -> bool:
        """Whether all tokens are special that a text stands for."""
        return all(each.special for each in self._doubtful.get(text, (self._tokens[text],)))

    def _refuse_doubt(self, text: str) -> None:
        if text in self._doubtful:
            first, other = self._doubtful[text][:2]
            raise EncodeError(
                f"the added tokens {show(first.text)} and {show(other.text)} are the same once "
                "normalized; tokenizers takes one of them by chance"
            )


def _alternation(texts: Iterable[str]) -> re.Pattern[str]:
    # An alternation takes the first option that matches, and the longest is wanted.
    longest_first = sorted(texts, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)) or r"(?!)")


def _is_allowed(token: AddedToken, allowed: Allowed) -> bool:
    return allowed == "all" or token.text in allowed


def _white_after(text: str, place: int, white: re.Pattern[str] = _WHITE) -> int:
    match = white.match(text, place)
    return match.end() if match else place


def _cut_out(token: AddedToken, text: str, segment: Segment) -> Iterator[Segment]:
    """A stretch of text as the places of one token, from left to right, and what is between."""
    spaces = _ASCII_SPACES if token.ascii_space else _SPACES
    begin, end = segment.start, segment.end
    while (place := text.find(token.text, begin, end)) >= 0:
        start, stop = place, place + len(token.text)
        while token.lstrip and start > begin and text[start - 1] in spaces:
            start -= 1
        while token.rstrip and stop < end and text[stop] in spaces:
            stop += 1
        if start > begin:
            yield Segment(begin, start, None)
        yield Segment(start, stop, token.id)
        begin = stop
    if begin < end:
        yield Segment(begin, end, None)


def _stands_alone(text: str, start: int, stop: int) -> bool:
    is_word = char_class("word").contains
    if start and is_word(text[start - 1]):
        return False
    return stop == len(text) or not is_word(text[stop])


def vanishing(text: str) -> str:
    """What to say of an added token of which normalizing leaves nothing."""
    return (
        f"normalizing leaves nothing of the added token {show(text)}; tokenizers then finds it at "
        "every place of a text, and between the bytes of a character it fails"
    )


def decoded_text(token: AddedToken, steps: Sequence[NormalizerStep]) -> str:
    """What an added token decodes to: its text, normalized if that is how it is matched.

    tokenizers 0.23, ``added_vocabulary.rs``, ``simple_id_to_token``; older versions leave the
    text as it is.
    """
    return normalize(steps, token.text) if token.normalized and steps else token.text
