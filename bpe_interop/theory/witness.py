"""Texts that show a difference."""

from __future__ import annotations

from collections.abc import Sequence

from ..steps import NormalizerStep
from ..text.normalize import normalize


def first_changed(steps: Sequence[NormalizerStep]) -> str | None:
    """The smallest code point of the basic plane that a normalizer changes, if it changes one."""
    for point in range(0x10000):
        if not 0xD800 <= point < 0xE000 and normalize(steps, chr(point)) != chr(point):
            return chr(point)
    return None


def text_with(byte: int) -> str:
    """The smallest code point whose UTF-8 holds this byte, which must be one that occurs there."""
    if byte < 0x80:
        return chr(byte)
    if byte < 0xC0:
        return bytes([0xC2, byte]).decode()
    tails = {0xE0: b"\xa0\x80", 0xF0: b"\x90\x80\x80"}
    tail = tails.get(byte, b"\x80" * (1 if byte < 0xE0 else 2 if byte < 0xF0 else 3))
    return (bytes([byte]) + tail).decode()
