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
    """What each id stands for. Threads may share it.

    Of ids of which one has no token, the kernel cannot tell: that is None.
    """

    __slots__ = ("_join", "_rooms")

    def __init__(self, library: Library, made: OwnedNumber) -> None:
        super().__init__(library, made)
        self._join = library.decoder_join
        self._rooms: list[_ByteRoom] = []

    def join(self, ids: Sequence[int]) -> bytes | None:
        """The bytes of ids, joined."""
        try:
            # One that nobody else has, so that no thread changes it in the meantime.
            own = ids[:] if isinstance(ids, array) and ids.typecode == "I" else _array_of(ids)
        except (OverflowError, TypeError):
            return None
        start, count = own.buffer_info()
        if count <= _FEW:
            try:
                room = self._rooms.pop()  # no other thread has it now
            except IndexError:
                room = _ByteRoom(self.number, bytearray(_ROOM))
            room.asked[1], room.asked[2] = start, count
            done = self._join(room.start)
            joined = bytes(room.written[:done]) if done >= 0 else None
            self._rooms.append(room)
            if joined is not None:
                return joined
        size = answer(self.library.decoder_size(self.number, start, count))
        if size is None:
            return None
        room = _ByteRoom(self.number, bytearray(size + _AHEAD))
        room.asked[1], room.asked[2] = start, count
        done = self._join(room.start)
        return None if answer(done) is None else bytes(room.written[:size])


class _ByteRoom:
    """Where the kernel writes bytes.

    Attributes:
        written: the bytes.
        asked: what the kernel reads: the decoder, where the ids are and how many, where the bytes
            are and how many at most.
        start: the address of ``asked``.
    """

    __slots__ = ("asked", "start", "written")

    def __init__(self, decoder: int, held: bytearray) -> None:
        self.written = memoryview(held)
        self.asked = array("Q", (decoder, 0, 0, address(held), len(held)))
        self.start = address(self.asked)


def _array_of(ids: Sequence[int]) -> array[int]:
    """Ids as numbers of 32 bits.

    Raises:
        OverflowError, TypeError: they are none.
    """
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
