"""SentencePiece's normalizer: a compiled map of characters, and what it does with spaces.

The map (``precompiled_charsmap``, ``src/normalizer.cc``) is a little-endian uint32 that says how
many bytes the trie has, the trie, and the replacements, each ended by a NUL. The trie is a Darts
double array (``third_party/darts_clone``) of uint32 units: a unit's low byte is the label of the
edge that leads to it, bit 8 says that a key ends there, the upper bits say how far away its
children are. A value (bit 31) is where in the replacements its text begins.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from ..errors import InvalidModelError
from ..limits import CHARSMAP_EDGES
from ..steps import SPACE, SentencePieceText
from .unicode import merge, range_source

_SPACES = re.compile("  +")
_VALUE = 1 << 31
_BLOCK = 1024
"""Darts writes 256 units at a time, and no unit's children lie across two blocks."""

_LONGEST = 1 << 10
"""More bytes in a rule than a map has that does not go in circles (SentencePiece's own have 11)."""

_NESTED_RULES = 31
_NESTED_TEXTS = 64
"""How many rules, and kept texts, that begin one another SentencePiece tells apart."""


def rules(charsmap: bytes) -> dict[str, str]:
    """All rules of a map: text to replacement.

    Raises:
        InvalidModelError: the map is damaged.
    """
    return dict(_rules(charsmap))


def is_identity(charsmap: bytes) -> bool:
    """Whether a map leaves every text as it is.

    Raises:
        InvalidModelError: the map is damaged.
    """
    return all(key == text for key, text in _rules(charsmap).items())


@lru_cache(maxsize=4)
def _rules(charsmap: bytes) -> Mapping[str, str]:
    if not charsmap:
        return {}
    units, strings = _parts(charsmap)
    if strings[-1]:
        raise _damaged("its last replacement is not ended by a NUL")
    texts: dict[int, str] = {}
    rules: dict[str, str] = {}
    for key, value in _keys(units):
        if value not in texts:
            texts[value] = _replacement(strings, value)
        try:
            rules[key.decode("utf-8")] = texts[value]
        except UnicodeDecodeError:
            raise _damaged(f"the rule for {key!a} is not UTF-8") from None
    return rules


def _parts(charsmap: bytes) -> tuple[tuple[int, ...], bytes]:
    if len(charsmap) < 4:
        raise _damaged(f"it ends after {len(charsmap)} bytes")
    (size,) = struct.unpack_from("<I", charsmap)
    if not size or size % _BLOCK:
        raise _damaged(f"its trie has {size} bytes, which is no multiple of {_BLOCK}")
    if size > 4 * CHARSMAP_EDGES.most:
        raise _damaged(CHARSMAP_EDGES.passed("its trie"))
    if size >= len(charsmap) - 4:
        raise _damaged(f"its trie should have {size} bytes, and {len(charsmap) - 4} follow")
    return struct.unpack_from(f"<{size // 4}I", charsmap, 4), charsmap[4 + size :]


def _keys(units: tuple[int, ...]) -> Iterator[tuple[bytes, int]]:
    """Every key of a double array and its value.

    Darts shares equal tails, so there are far more keys than units.
    """
    children: dict[int, list[int]] = defaultdict(list)
    for place, unit in enumerate(units):
        if place and not unit & _VALUE:
            # A child lies where its label, by exclusive or, leads from where the children begin.
            children[place ^ (unit & 0xFF)].append(place)
    count = 0
    todo = [(0, b"", 0)]
    while todo:
        place, key, nested = todo.pop()
        unit = units[place]
        # `offset()` of Darts: where bit 9 is set, the distance counts in 256 units.
        first = place ^ ((unit >> 10) << ((unit & 0x200) >> 6))
        if first | 0xFF >= len(units):
            raise _damaged(f"unit {place} of its trie points outside it")
        if unit & 0x100 and key:
            if not units[first] & _VALUE:
                raise _damaged(f"unit {place} of its trie has no value")
            nested += 1
            yield key, units[first] ^ _VALUE
        count += 1
        if nested > _NESTED_RULES:
            raise _damaged(f"more than {_NESTED_RULES} rules begin one another")
        if count > CHARSMAP_EDGES.most:
            raise _damaged(CHARSMAP_EDGES.passed("its trie"))
        if len(key) > _LONGEST:
            raise _damaged("its trie goes in circles")
        todo += [(child, key + bytes((units[child] & 0xFF,)), nested) for child in children[first]]


def _replacement(strings: bytes, start: int) -> str:
    if start >= len(strings):
        raise _damaged(f"a rule points to byte {start} of {len(strings)} bytes of replacements")
    try:
        return strings[start : strings.index(b"\0", start)].decode("utf-8")
    except UnicodeDecodeError:
        raise _damaged(f"the replacement at byte {start} is not UTF-8") from None


def _damaged(what: str) -> InvalidModelError:
    return InvalidModelError(f"the character map is damaged: {what}", field="normalizer")


def findable(kept: Iterable[str]) -> list[str]:
    """The user-defined pieces that SentencePiece can find in a text.

    Where more than 64 begin one another, it sees the shortest 64 (``PrefixMatcher``).
    """
    texts = set(kept)
    return [
        text
        for text in texts
        if text and sum(text[:end] in texts for end in range(1, len(text))) < _NESTED_TEXTS
    ]


class _Part(NamedTuple):
    """A stretch of a text and what becomes of it; ``plain`` where no rule has been applied."""

    start: int
    end: int
    text: str
    plain: bool


class _Replacer:
    """The rules of a map, ready to be found: leftmost, the longest first."""

    def __init__(self, charsmap: bytes, kept: tuple[str, ...]) -> None:
        self._rules = _rules(charsmap)
        lengths: dict[str, set[int]] = defaultdict(set)
        seconds: set[str] = set()
        for key in self._rules:
            lengths[key[0]].add(len(key))
            seconds.update(key[1:2])
        self._lengths = {char: sorted(sizes, reverse=True) for char, sizes in lengths.items()}
        alone = _class_of(char for char, sizes in lengths.items() if 1 in sizes)
        before = _class_of(char for char, sizes in lengths.items() if max(sizes) > 1)
        longest_first = sorted(findable(kept), key=len, reverse=True)
        options = [
            "(" + ("|".join(map(re.escape, longest_first)) or "(?!)") + ")",
            alone,
            f"{before}(?={_class_of(seconds)})",
        ]
        # Where a rule may begin; whether one does, the dictionary says.
        self._search = re.compile("|".join(options)).search

    def parts(self, text: str) -> Iterator[_Part]:
        """The whole text, replaced and plain stretches in order."""
        end = place = 0
        while match := self._search(text, place):
            start = match.start()
            changed = match[1]
            stop = match.end() if changed is not None else start
            if changed is None:
                for length in self._lengths[text[start]]:
                    key = text[start : start + length]
                    changed = self._rules.get(key)
                    if changed is not None:
                        stop = start + len(key)
                        break
                else:
                    place = start + 1
                    continue
            if start > end:
                yield _Part(end, start, text[end:start], True)
            yield _Part(start, stop, changed or "", False)
            end = place = stop
        if end < len(text):
            yield _Part(end, len(text), text[end:], True)


def _class_of(chars: Iterable[str]) -> str:
    ranges = merge((ord(char), ord(char)) for char in chars)
    return f"[{range_source(ranges)}]" if ranges else "(?!)"


@lru_cache(maxsize=8)
def _replacer(charsmap: bytes, kept: tuple[str, ...]) -> _Replacer:
    return _Replacer(charsmap, kept)


def normalize_pieces(step: SentencePieceText, text: str) -> str:
    """What SentencePiece makes of a text (``Normalizer::Normalize``).

    Raises:
        InvalidModelError: the character map is damaged.
    """
    parts = _replaced(step, text)
    if _is_nothing(step, parts):
        return ""
    if step.collapse:
        parts = _collapsed(parts)
    changed = "".join(part.text for part in parts)
    space = SPACE if step.escape else " "
    if step.dummy == "prefix":
        changed = " " + changed
    if step.escape:
        changed = changed.replace(" ", SPACE)
    if step.collapse:
        # After escaping, so U+2581 of the text itself goes too (src/normalizer.cc).
        changed = changed.rstrip(space)
    return changed + space if step.dummy == "suffix" else changed


def align_pieces(step: SentencePieceText, text: str) -> tuple[str, list[tuple[int, int]]]:
    """The same, and which characters (start, end) of ``text`` each character comes from.

    Raises:
        InvalidModelError: the character map is damaged.
    """
    changed = normalize_pieces(step, text)
    if not changed:
        return "", []
    parts = [single for part in _replaced(step, text) for single in _singles(part)]
    if step.collapse:
        parts = _collapsed(parts)
    spans = [(part.start, part.end) for part in parts for _ in part.text]
    if step.dummy == "prefix":
        spans.insert(0, spans[0] if spans else (0, 1))
    if step.dummy == "suffix":
        spans = spans[: len(changed) - 1]
        spans.append(spans[-1] if spans else (len(text) - 1, len(text)))
    # Spaces at the end are left out; a prefix before nothing is one too.
    return changed, spans[: len(changed)]


def _replaced(step: SentencePieceText, text: str) -> list[_Part]:
    if not text or not (step.charsmap or step.kept):
        return [_Part(0, len(text), text, True)]
    return list(_replacer(step.charsmap, step.kept).parts(text))


def _singles(part: _Part) -> list[_Part]:
    if not part.plain:
        return [part]
    return [_Part(part.start + i, part.start + i + 1, c, True) for i, c in enumerate(part.text)]


def _is_nothing(step: SentencePieceText, parts: list[_Part]) -> bool:
    """Whether nothing is left, and no space is added to it.

    That is so where each prefix of the text, one after the other, becomes a single space.
    """
    if not step.collapse:
        return not any(part.end for part in parts)
    return not any(part.text.strip(" ") if part.plain else part.text != " " for part in parts)


def _collapsed(parts: list[_Part]) -> list[_Part]:
    """Leaves out spaces after a space, and at the beginning.

    Within what a rule has put in, only those at its start.
    """
    left: list[_Part] = []
    after_space = True
    for part in parts:
        text = part.text.lstrip(" ") if after_space else part.text
        if part.plain:
            text = _SPACES.sub(" ", text)
        if text:
            left.append(part._replace(text=text))
            after_space = text[-1] == " "
    return left
