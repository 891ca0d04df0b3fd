"""Corpora that can be read only once, such as pipes: copied to files for the time of a run."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from ..io import naming_target, stage_beside
from .documents import Shard
from .selection import identity
from .streams import naming

_CHUNK = 1 << 20


@contextlib.contextmanager
def spooled(shards: tuple[Shard, ...], target: Path, *, again: bool) -> Iterator[tuple[Shard, ...]]:
    """The same files, where standard input and pipes are copies beside a target.

    There is room where the target will be, and all workers see it. A copy keeps the name of its
    source in messages, and is removed when the block ends, in whichever way.

    Args:
        shards: the files.
        target: where the run writes.
        again: whether a later run shall go on with these files. Copies are not there then.

    Raises:
        SourceError: a source cannot be read; or it can be read only once, and ``again``.
        TargetError: there is no room for a copy.
    """
    once = [shard for shard in shards if _is_read_once(shard)]
    if not once:
        yield shards
        return
    if again:
        identity(once[0])
    copies: dict[object, Path] = {}
    with stage_beside(target) as folder:
        for shard in once:
            if shard.path not in copies:
                copies[shard.path] = (
                    folder / f"{len(copies)}{shard.path.suffix if shard.path else ''}"
                )
                _copy(shard, copies[shard.path], target)
        yield tuple(
            replace(shard, path=copies[shard.path], spooled=True) if shard in once else shard
            for shard in shards
        )


def _is_read_once(shard: Shard) -> bool:
    with naming(shard.label):
        return shard.size is None


def _copy(shard: Shard, to: Path, target: Path) -> None:
    with contextlib.ExitStack() as last:
        source: BinaryIO = sys.stdin.buffer
        if shard.path is not None:
            with naming(shard.label):
                source = last.enter_context(shard.path.open("rb"))
        with naming_target(target):
            copy = last.enter_context(to.open("wb"))
        while True:
            with naming(shard.label):
                data = source.read(_CHUNK)
            with naming_target(target):
                copy.write(data)
                if not data:
                    copy.close()
                    return
