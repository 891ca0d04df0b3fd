"""The bytes of a corpus file: opened, decompressed on the way, never held whole."""

from __future__ import annotations

import gzip
import io
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from ..errors import SourceError
from ..io.reader import unreadable
from ..optional import optional
from .remote import RemoteFile

COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
"""Suffixes of compressed files."""
DAMAGED = "get the file again"

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
# RFC 8878, 3.1.2: a skippable frame, which some writers put first.
_SKIPPABLE = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")
_WINDOW = 1 << 31
"""The largest window that ``zstd --ultra --long=31`` writes, in bytes."""
_BITE = 256


@contextmanager
def naming(label: str) -> Iterator[None]:
    """A block in which what goes wrong in reading becomes an error that names the file.

    Raises:
        SourceError: the file cannot be opened or read, is cut off or damaged.
    """
    try:
        yield
    except OSError as error:
        raise unreadable(error, label) from error
    except (EOFError, zlib.error) as error:
        raise SourceError(f"cut off or damaged: {error}", where=label, fix=DAMAGED) from error


@contextmanager
def opened(
    path: Path | RemoteFile | None, label: str
) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
    """The decompressed bytes of a file, and a function that says how much of it was read.

    Without a path: standard input. Compressed files are told by their content.

    Raises:
        SourceError: the file is not compressed, though its suffix says so.
        EngineMissingError: it is compressed with zstd, and zstandard is not installed.
        OSError, EOFError, zlib.error: it cannot be opened; while reading, it is damaged.
    """
    if path is None:
        yield _decompressed(sys.stdin.buffer, "", label), lambda: 0
        return
    with path.open("rb") as file:
        bytes_read = file.tell if file.seekable() else lambda: 0
        yield _decompressed(file, path.suffix.lower(), label), bytes_read


def is_compressed(path: Path | RemoteFile | None) -> bool:
    """Whether a file is compressed, by its content, or lies in an archive.

    Raises:
        OSError: it cannot be read.
    """
    if path is None:
        return False
    if isinstance(path, RemoteFile) and path.packed:
        return True
    with path.open("rb") as file:
        head = file.read(4)
    by_content = head.startswith(_GZIP) or head == _ZSTD or _SKIPPABLE.match(head)
    return bool(by_content) or path.suffix.lower() in COMPRESSED


def _decompressed(file: BinaryIO, suffix: str, label: str) -> BinaryIO:
    head = file.peek(4)[:4] if isinstance(file, io.BufferedReader) else b""
    if head.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if head == _ZSTD or _SKIPPABLE.match(head):
        return io.BufferedReader(ZstdStream(file), 1 << 16)
    if suffix in COMPRESSED:
        raise SourceError(
            f"named {suffix}, but its content is not {COMPRESSED[suffix]}",
            where=label,
            fix="name it by what it holds, or get it again",
        )
    return file


class ZstdStream(io.RawIOBase):
    """What a zstd file holds, frame after frame."""

    # zstandard's own stream_reader ends in silence where a frame is cut off.

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._library = optional("zstandard", "zstd")
        self._frame: Any = None
        self._compressed = memoryview(b"")
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills a buffer; 0 at the end.

        Raises:
            OSError: a frame is malformed.
            EOFError: the last frame is cut off.
        """
        while not self._ready:
            if not self._compressed:
                self._compressed = memoryview(self._file.read(1 << 16))
            if not self._compressed:
                if self._frame is not None:
                    raise EOFError("it ends inside a zstd frame")
                return 0
            self._decompress()
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _decompress(self) -> None:
        # In small bites: a few bytes of zstd may stand for 128 KiB (RFC 8878, 3.1.1.2).
        bite, left = self._compressed[:_BITE], 0
        if self._frame is None:
            engine = self._library.ZstdDecompressor(max_window_size=_WINDOW)
            self._frame = engine.decompressobj()
        try:
            self._ready = memoryview(self._frame.decompress(bite))
        except self._library.ZstdError as error:
            raise OSError(f"damaged: {error}") from error
        if self._frame.eof:
            left = len(self._frame.unused_data)
            self._frame = None
        self._compressed = self._compressed[len(bite) - left :]


def skip(stream: BinaryIO, offset: int, label: str) -> None:
    """Goes from the start of a stream to a byte; SourceError where the stream ends before."""
    if stream.seekable():
        left = offset - stream.seek(offset)
    else:
        left = offset
        while left and (data := stream.read(min(left, 1 << 20))):
            left -= len(data)
    if left:
        raise SourceError(
            "shorter than when it was read before",
            where=label,
            fix="start again with another state file",
        )
