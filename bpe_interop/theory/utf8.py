"""Which bytes, and strings of bytes, stand in UTF-8 (RFC 3629, section 4), and have tokens.

The others are contents of no text (Theorem 21).
"""

from __future__ import annotations

import re
from collections.abc import Container

from ..merging.symbols import textual
from ..model import BPEModel

UTF8_BYTES: frozenset[int] = frozenset(range(256)) - {0xC0, 0xC1} - frozenset(range(0xF5, 0x100))
"""The bytes that occur in UTF-8."""

_TAIL = b"[\x80-\xbf]"
# The end of a character, whole ones, the beginning of one. E0, ED, F0 and F4 narrow the byte after
# them: no overlong forms, no surrogates, nothing beyond U+10FFFF.
_INSIDE = re.compile(
    b"(?:%(t)s{1,3}(?![\x80-\xbf]))?"
    b"(?:[\x00-\x7f]|[\xc2-\xdf]%(t)s|\xe0[\xa0-\xbf]%(t)s|\xed[\x80-\x9f]%(t)s"
    b"|[\xe1-\xec\xee\xef]%(t)s%(t)s|\xf0[\x90-\xbf]%(t)s%(t)s|\xf4[\x80-\x8f]%(t)s%(t)s"
    b"|[\xf1-\xf3]%(t)s%(t)s%(t)s)*"
    b"(?:[\xc2-\xdf]|[\xe1-\xec\xee\xef]%(t)s?|\xe0[\xa0-\xbf]?|\xed[\x80-\x9f]?"
    b"|\xf0(?:[\x90-\xbf]%(t)s?)?|\xf4(?:[\x80-\x8f]%(t)s?)?|[\xf1-\xf3]%(t)s?%(t)s?)?"
    % {b"t": _TAIL},
    re.DOTALL,
)


def size_of(lead: int) -> int:
    """How many bytes a character has that begins with this one."""
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def is_inside_utf8(content: bytes) -> bool:
    """Whether some valid UTF-8 holds the content: it may begin and end inside a character."""
    return content.isascii() or _INSIDE.fullmatch(content) is not None


def starts_inside(content: bytes) -> bool:
    """Whether a content begins inside a character."""
    return content[:1] >= b"\x80" and content[:1] < b"\xc0"


def ends_inside(content: bytes) -> bool:
    """Whether a content that is inside UTF-8 ends inside a character, as far as it shows.

    Where all of it is inside one character, it does not show.
    """
    for back in range(1, min(3, len(content)) + 1):
        byte = content[-back]
        if byte >= 0xC0:
            return back < size_of(byte)
        if byte < 0x80:
            return False
    return False


def missing_bytes(contents: Container[bytes]) -> frozenset[int]:
    """The bytes that occur in UTF-8 and have no token."""
    return frozenset(byte for byte in UTF8_BYTES if bytes((byte,)) not in contents)


def has_utf8_bytes(model: BPEModel) -> bool:
    """Whether every byte that occurs in UTF-8 is a token, with each of the affixes it can have.

    It is so only where bytes are merged.
    """
    tokens, prefix, suffix = textual(model), model.affixes.prefix, model.affixes.suffix
    return all(
        before + bytes([byte]) + after in tokens
        for byte in UTF8_BYTES
        for before in {b"", prefix}
        for after in {b"", suffix}
    )


def falls_back_to_bytes(model: BPEModel) -> bool:
    """Whether missing characters become the tokens of their bytes, so that none is unknown."""
    kinds = list(model.vocab.kinds.values())
    return model.fallback.byte_fallback and kinds.count("byte") == 256


def text_with(byte: int) -> str:
    """The smallest code point whose UTF-8 holds this byte, which must be one that occurs there."""
    if byte < 0x80:
        return chr(byte)
    if byte < 0xC0:
        return bytes([0xC2, byte]).decode()
    # The least that is not overlong.
    tails = {0xE0: b"\xa0\x80", 0xF0: b"\x90\x80\x80"}
    tail = tails.get(byte, b"\x80" * (size_of(byte) - 1))
    return (bytes([byte]) + tail).decode()
