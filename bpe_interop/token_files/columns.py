"""Numbers to a file as they come, and back from it, without holding the whole."""

from __future__ import annotations

import hashlib
import os
import sys
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from ..errors import SourceError
from .settings import Dtype

CODES: dict[Dtype, str] = {"uint16": "H", "uint32": "I", "int32": "i"}
"""The codes of Python's ``array``."""
INT64 = "q"

_HEADER = 128
_DESCRIBED = {"H": "<u2", "I": "<u4", "i": "<i4", "q": "<i8"}
_CHUNK = 1 << 20


class Column:
    """A file of numbers in little-endian order, with a header of ``.npy`` where asked for.

    The header is written last, when the count is known (NumPy's format version 1.0).
    """

    def __init__(self, path: Path, code: str, npy: bool = False) -> None:
        self.path, self.count = path, 0
        self._code, self._npy = code, npy
        self._file: BinaryIO = path.open("wb")
        if npy:
            self._file.write(bytes(_HEADER))

    def add(self, numbers: array[int]) -> None:
        """Writes numbers of the column's kind."""
        if sys.byteorder == "big":
            numbers = numbers[:]
            numbers.byteswap()
        self._file.write(numbers)
        self.count += len(numbers)

    def __enter__(self) -> Column:
        """The column."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Ends the file."""
        with self._file as file:
            if self._npy and kind is None:
                file.seek(0)
                file.write(_npy_header(_DESCRIBED[self._code], self.count))


def narrowed(numbers: array[int], code: str) -> array[int]:
    """Numbers of 32 bits in those of a column: the same, or 16 bits.

    Raises:
        OverflowError: one does not fit.
    """
    if code != "H":
        return numbers
    with memoryview(numbers) as whole, whole.cast("B") as data, data.cast("H") as halves:
        low = 0 if sys.byteorder == "little" else 1
        if halves[1 - low :: 2].tobytes().strip(b"\0"):
            raise OverflowError("an id is above 65535")
        narrow = array("H")
        narrow.frombytes(halves[low::2].tobytes())
    return narrow


def _npy_header(described: str, count: int) -> bytes:
    header = f"{{'descr': '{described}', 'fortran_order': False, 'shape': ({count},), }}"
    room = _HEADER - 10
    return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + f"{header:<{room - 1}}\n".encode()


def read_numbers(file: BinaryIO, code: str, start: int, count: int) -> array[int]:
    """Numbers from a byte of a file on.

    Raises:
        SourceError: the file has not so many.
    """
    file.seek(start)
    numbers = array(code)
    data = file.read(count * numbers.itemsize)
    if len(data) != count * numbers.itemsize:
        raise SourceError("cut off", where=file.name, fix="write the folder anew")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def npy_start(file: BinaryIO) -> int:
    """The byte at which the numbers of a ``.npy`` file of ours begin."""
    return _HEADER


def chunks(path: Path) -> Iterator[bytes]:
    """What a file holds, piece by piece."""
    with path.open("rb") as file:
        while data := file.read(_CHUNK):
            yield data


def sha256_of_file(path: Path) -> str:
    """The sha256 of a file."""
    digest = hashlib.sha256()
    for data in chunks(path):
        digest.update(data)
    return digest.hexdigest()


def sync(path: Path) -> None:
    """Asks for a file to be on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
