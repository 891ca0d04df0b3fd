"""An existing file that a tokenizer is put into: read only, its larger part copied as it is."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from ..errors import CheckFailedError, SourceError, TargetError
from ..formats import Format
from ..formats.names import KeptFile
from .names import refuse_nul
from .reader import unreadable
from .target import naming_target

_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class ExistingFile:
    """An open file, what is kept of it, and its size and time of change when it was opened."""

    path: Path
    kept: KeptFile
    file: BinaryIO
    state: tuple[int, int]

    def append(self, written: Path) -> str:
        """Copies the rest of the file behind what was written, and says how much, and its sha256.

        Raises:
            TargetError: it cannot be written.
            SourceError: the existing file was changed meanwhile, or cannot be read.
            CheckFailedError: what was written is not what was read.
        """
        with naming_target(written), written.open("r+b") as target:
            begin = target.seek(0, os.SEEK_END)
            self.file.seek(self.kept.start)
            count, read = 0, hashlib.sha256()
            while data := self._read():
                target.write(data)
                read.update(data)
                count += len(data)
            target.flush()
            os.fsync(target.fileno())
            target.seek(begin)
            again = _hash(target)
        if _state(self.file) != self.state or count != max(0, self.state[0] - self.kept.start):
            raise SourceError(
                "the file was changed while it was read",
                where=str(self.path),
                fix="try again when nothing writes there",
            )
        if again != read.hexdigest():
            raise CheckFailedError(
                f"what was copied from {self.path} reads back otherwise",
                fix="nothing was kept; the disk may be damaged",
            )
        if not count:
            return f"{self.path} holds nothing behind its keys, so nothing else was copied"
        return f"{count:,} bytes of {self.path} were copied as they are (sha256 {again})"

    def _read(self) -> bytes:
        try:
            return self.file.read(_CHUNK)
        except OSError as error:
            raise unreadable(error, str(self.path)) from None


@contextlib.contextmanager
def existing_file(path: Path, row: Format) -> Iterator[ExistingFile]:
    """Opens a file that a tokenizer of a format shall be put into.

    Raises:
        TargetError: a file of the format holds nothing but a tokenizer.
        SourceError: the file cannot be read.
        FormatError: it is not of the format.
    """
    if not row.names.into:
        raise TargetError(
            f"{row.title} holds nothing but a tokenizer, so none is put into an existing file",
            where=str(path),
            fix="leave --into out (into=...)",
        )
    module, name = row.names.into.split(":")
    reader = getattr(importlib.import_module(f"..{module}", __package__), name)
    refuse_nul(path)
    try:
        if path.exists() and not path.is_file():
            raise SourceError("this is not a regular file", where=str(path), fix="name a file")
        file = path.open("rb")
    except OSError as error:
        raise unreadable(error, str(path)) from None
    with file:
        state = _state(file)
        yield ExistingFile(path, reader(file, state[0], path.name), file, state)


def _state(file: BinaryIO) -> tuple[int, int]:
    stat = os.fstat(file.fileno())
    return stat.st_size, stat.st_mtime_ns


def _hash(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while data := file.read(_CHUNK):
        digest.update(data)
    return digest.hexdigest()
