"""How bytes are spelled: GPT-2's byte alphabet, and SentencePiece's byte tokens.

The alphabet has one printable character for each byte (``encoder.py``, gpt-2).

Bytes that are printable in Latin-1 stand for themselves, the others, in order, are written
U+0100, U+0101 and so on. Every byte-level vocabulary file is spelled in this alphabet.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection
from itertools import accumulate, pairwise

_PRINTABLE = frozenset([*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)])
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]

BYTE_TO_CHAR: dict[int, str] = {
    byte: chr(byte if byte in _PRINTABLE else 0x100 + _OTHERS.index(byte)) for byte in range(256)
}
"""Byte to character, a bijection."""

CHAR_TO_BYTE: dict[str, int] = {char: byte for byte, char in BYTE_TO_CHAR.items()}
"""Character to byte."""

BYTE_TOKENS: dict[int, str] = {byte: f"<0x{byte:02X}>" for byte in range(256)}
"""The tokens that stand for one byte each (``ByteToPiece``, ``src/model_interface.cc``)."""

_ALPHABET = frozenset(CHAR_TO_BYTE)
_LETTERS = "".join(BYTE_TO_CHAR.values())
# Python has a fast table only for encodings that have U+0000 for the byte 0, so the letter for
# that byte is exchanged for U+0000 first.
_TABLE = codecs.charmap_build("\0" + _LETTERS[1:])


def to_chars(content: bytes) -> str:
    """Spells bytes in the alphabet, one character for each."""
    return codecs.charmap_decode(content, "strict", _LETTERS)[0]


def all_to_chars(contents: Collection[bytes]) -> list[str]:
    """The spelling of each of many contents: faster than one by one."""
    spelled, ends = to_chars(b"".join(contents)), [0, *accumulate(map(len, contents))]
    return [spelled[start:end] for start, end in pairwise(ends)]


def to_bytes(spelling: str) -> bytes:
    """The bytes that a spelling stands for.

    Raises:
        ValueError: a character is not in the alphabet.
    """
    if "\0" not in spelling:
        try:
            return codecs.charmap_encode(spelling.replace(_LETTERS[0], "\0"), "strict", _TABLE)[0]
        except UnicodeEncodeError:
            pass  # the character that is none of them is named below
    stranger = next(char for char in spelling if char not in _ALPHABET)
    raise ValueError(f"U+{ord(stranger):04X} in {spelling!a} is not in GPT-2's byte alphabet")


def all_to_bytes(spellings: Collection[str]) -> list[bytes]:
    """The bytes that each of many spellings stands for: faster than one by one.

    Raises:
        ValueError: a character is not in the alphabet.
    """
    content, ends = to_bytes("".join(spellings)), [0, *accumulate(map(len, spellings))]
    return [content[start:end] for start, end in pairwise(ends)]


def is_mapped(spelling: str) -> bool:
    return _ALPHABET.issuperset(spelling)
