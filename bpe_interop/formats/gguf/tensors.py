"""What stands behind the keys of a GGUF file: descriptions of tensors, and where their data begins.

For each tensor its name (a string), the number of its dimensions (uint32), each of these (uint64),
the number of its type (uint32) and its offset (uint64) from where the data begins: at the next
multiple of ``general.alignment`` (by default 32) behind the last description. The data itself is
never read here.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO, Final, NoReturn

from ...errors import FormatError, UnsupportedError
from ...model import show
from .head import Head

ALIGNMENT: Final = "general.alignment"
DEFAULT_ALIGNMENT: Final = 32

_MAX_TENSORS: Final = 1 << 20
_MAX_NAME: Final = 1 << 12
_MAX_DIMENSIONS: Final = 8
_MAX_ALIGNMENT: Final = 1 << 24


@dataclass(frozen=True, slots=True)
class Tensors:
    """The descriptions as they stand in the file.

    Attributes:
        described: their bytes.
        shapes: by name, the dimensions; the first one varies fastest.
        alignment: the data begins at a multiple of so many bytes.
        start: where in the file it begins.
    """

    described: bytes
    shapes: Mapping[str, tuple[int, ...]]
    alignment: int
    start: int


def read_tensors(file: BinaryIO, head: Head, size: int, name: str) -> Tensors:
    """Reads the descriptions, and nothing of a tensor.

    Args:
        file: the file, opened for reading bytes.
        head: its keys.
        size: how many bytes the file has.
        name: its name, for messages.

    Raises:
        FormatError: they are malformed, cut off, or speak of data that is not there.
        UnsupportedError: a version with another layout.
    """
    if head.version < 2:
        raise UnsupportedError(
            "the descriptions of tensors in version 1 are laid out otherwise, and llama.cpp does "
            "not read that version any more",
            where=name,
            fix="make the file anew with a newer llama.cpp",
        )
    if head.tensors > _MAX_TENSORS:
        raise FormatError(f"{head.tensors:,} tensors; no model has so many", where=name)
    reader = _Descriptions(file, head, name)
    shapes: dict[str, tuple[int, ...]] = {}
    last = 0
    for _ in range(head.tensors):
        called, shape, offset = reader.tensor()
        if called in shapes:
            raise FormatError(f"the tensor {show(called)} appears twice", where=name)
        shapes[called] = shape
        last = max(last, offset + 1 if all(shape) else offset)
    alignment = _alignment(head, name)
    end = head.size + len(reader.read)
    start = end + -end % alignment
    if head.tensors and start + last > size:
        raise FormatError(
            f"the file ends after {size:,} bytes, and a tensor begins at {start + last - 1:,}",
            where=name,
            fix="the file may be cut off, or damaged; get it again",
        )
    return Tensors(bytes(reader.read), shapes, alignment, start)


def _alignment(head: Head, name: str) -> int:
    key = head.keys.get(ALIGNMENT)
    if key is None:
        return DEFAULT_ALIGNMENT
    value = key.value
    if key.type != "uint32" or not isinstance(value, int) or not 0 < value <= _MAX_ALIGNMENT:
        raise FormatError(
            f"the alignment must be a uint32 of at least 1, found {key.type} {value!r}"[:200],
            where=f"{name}: {ALIGNMENT}",
        )
    if value & (value - 1):
        raise FormatError(
            f"the alignment must be a power of two, and is {value:,}",
            where=f"{name}: {ALIGNMENT}",
        )
    return value


class _Descriptions:
    """Reads one description after the other, and keeps their bytes."""

    def __init__(self, file: BinaryIO, head: Head, name: str) -> None:
        file.seek(head.size)
        self._file = file
        self._name = name
        self._sign = "<" if head.order == "little" else ">"
        self.read = bytearray()

    def tensor(self) -> tuple[str, tuple[int, ...], int]:
        """The name, the dimensions, and the offset."""
        length = self._number("Q")
        if length > _MAX_NAME:
            self._fail(f"the name of a tensor has {length:,} bytes")
        raw = self._take(length)
        try:
            called = raw.decode("utf-8")
        except UnicodeDecodeError:
            self._fail(f"the name of a tensor, {show(raw[:60])}, is not UTF-8")
        count = self._number("I")
        if count > _MAX_DIMENSIONS:
            self._fail(f"the tensor {show(called)} has {count:,} dimensions")
        shape = tuple(self._number("Q") for _ in range(count))
        self._number("I")
        return called, shape, self._number("Q")

    def _number(self, code: str) -> int:
        form = struct.Struct(self._sign + code)
        return int(form.unpack(self._take(form.size))[0])

    def _take(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            self._fail("the file ends within the descriptions of its tensors")
        self.read += data
        return data

    def _fail(self, what: str) -> NoReturn:
        raise FormatError(
            what, where=self._name, fix="the file may be cut off, or damaged; get it again"
        )
