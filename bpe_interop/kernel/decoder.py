"""Ids to bytes in the kernel. The twin is ``encode/decode.py``."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from .library import KernelObject, address, answer, library, made
from .tables import MOST

_AHEAD = 16
"""Bytes behind the last one that the kernel writes something into."""


class ByteDecoder(KernelObject):
    """What each id stands for. Threads may share it."""

    def join(self, ids: Sequence[int]) -> memoryview | None:
        """The bytes of ids, joined; None where the kernel cannot tell: one of them has no token."""
        try:
            numbers = _own(ids)
        except (OverflowError, TypeError):
            return None
        start, count = address(numbers), len(numbers)
        size = answer(self.library.decoder_size(self.number, start, count))
        if size is None:
            return None
        out = bytearray(size + _AHEAD)
        done = self.library.decoder_join(self.number, start, count, address(out), len(out))
        return None if answer(done) is None else memoryview(out)[:size]


def _own(ids: Sequence[int]) -> array[int]:
    """Ids in an array that nobody else has, so that no thread changes it in the meantime.

    Raises:
        OverflowError, TypeError: they are no numbers of 32 bits.
    """
    if isinstance(ids, array) and ids.typecode == "I":
        return ids[:]
    # An array takes bytes for the memory of its numbers; as a sequence, each byte is one.
    return array("I", [*ids] if isinstance(ids, (bytes, bytearray)) else ids)


def decoder_of(contents: Mapping[int, bytes]) -> ByteDecoder | None:
    """What ids stand for, in the kernel; None where it cannot hold that."""
    loaded = library()
    if loaded is None:
        return None
    joined = b"".join(contents.values())
    if len(joined) > MOST:
        return None
    ids, sizes = array("I", contents), array("I", map(len, contents.values()))
    held = made(
        loaded.decoder_new(joined, len(joined), address(ids), address(sizes), len(contents))
    )
    return None if held is None else ByteDecoder(loaded, held)
