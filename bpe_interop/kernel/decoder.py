"""Ids to bytes in the kernel. The twin is ``encode/decode.py``."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from .library import KernelObject, Library, OwnedNumber, address, answer, library, made
from .tables import MOST

_AHEAD = 16
"""Bytes behind the last one that the kernel writes something into."""

_FEW = 512
_ROOM = 1 << 13
"""So many ids are first joined in a room of so many bytes, without a call that asks for the size.
Where a token is long, they do not fit."""


class ByteDecoder(KernelObject):
    """What each id stands for. Threads may share it."""

    __slots__ = ("_join", "_rooms")

    def __init__(self, library: Library, made: OwnedNumber) -> None:
        super().__init__(library, made)
        self._join = library.decoder_join
        self._rooms: list[tuple[memoryview, int]] = []

    def join(self, ids: Sequence[int]) -> bytes | memoryview | None:
        """The bytes of ids, joined; None where the kernel cannot tell: one of them has no token."""
        try:
            numbers = _own(ids)
        except (OverflowError, TypeError):
            return None
        start, count = numbers.buffer_info()
        if count <= _FEW:
            try:
                room = self._rooms.pop()  # no other thread has it now
            except IndexError:
                held = bytearray(_ROOM)
                room = memoryview(held), address(held)
            done = self._join(self.number, start, count, room[1], _ROOM)
            few = room[0][:done].tobytes() if done >= 0 else None
            self._rooms.append(room)
            if few is not None:
                return few
        size = answer(self.library.decoder_size(self.number, start, count))
        if size is None:
            return None
        out = bytearray(size + _AHEAD)
        done = self._join(self.number, start, count, address(out), len(out))
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
