"""Corpora that can be read only once, such as pipes: copied to files for the time of a run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from ..io.target import naming_target
from ..io.writer import staging_beside
from .documents import CorpusFile
from .selection import identity
from .streams import naming

_CHUNK = 1 << 20


@contextlib.contextmanager
def spooled(
    files: tuple[CorpusFile, ...], target: Path, *, again: bool
) -> Iterator[tuple[CorpusFile, ...]]:
    """The same files, where standard input and pipes are copies beside a target.

    A copy keeps the name of its source in messages, and is removed when the block ends.
    ``again``: a later run shall go on with these files.

    Raises:
        SourceError: a source cannot be read; or it can be read only once, and ``again``.
        TargetError: there is no room for a copy.
    """
    once = [file for file in files if _is_read_once(file)]
    if not once:
        yield files
        return
    if again:
        identity(once[0])
    copies: dict[object, Path] = {}
    # There is room where the target will be, and all workers see it.
    with staging_beside(target) as folder:
        for file in once:
            if file.path not in copies:
                copies[file.path] = folder / f"{len(copies)}{file.path.suffix if file.path else ''}"
                _copy(file, copies[file.path], target)
        yield tuple(
            replace(file, path=copies[file.path], spooled=True) if file in once else file
            for file in files
        )


def _is_read_once(file: CorpusFile) -> bool:
    with naming(file.label):
        return file.size is None


def _copy(file: CorpusFile, to: Path, target: Path) -> None:
    with contextlib.ExitStack() as last:
        source: BinaryIO = sys.stdin.buffer
        if file.path is not None:
            with naming(file.label):
                source = last.enter_context(file.path.open("rb"))
        with naming_target(target):
            copy = last.enter_context(to.open("wb"))
        while True:
            with naming(file.label):
                data = source.read(_CHUNK)
            with naming_target(target):
                copy.write(data)
                if not data:
                    copy.close()
                    return
