"""The memory of a process and of all that it started, at one time."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PROC = Path("/proc")
_EVERY = 0.005
"""Seconds between two looks."""


class Watched:
    """What was seen. ``most`` is in bytes; None where nothing says."""

    def __init__(self) -> None:
        self.most: int | None = None

    def look(self, pid: int) -> None:
        """Adds up the resident memory of a process and its descendants, as Linux tells it.

        A page that several of them share is counted for each, so the sum is never too small.
        """
        found = [held for held in map(_memory, _family(pid)) if held is not None]
        if found:
            self.most = max(self.most or 0, sum(found))


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:  # a child belongs to the thread that started it
        threads = [*(_PROC / str(pid) / "task").iterdir()]
    except OSError:
        return
    for thread in threads:
        try:
            children = (thread / "children").read_text("ascii").split()
        except OSError:
            continue
        for child in children:
            yield from _family(int(child))


def _memory(pid: int) -> int | None:
    try:
        _, resident, *_ = (_PROC / str(pid) / "statm").read_text("ascii").split()
    except OSError:
        return None
    return int(resident) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def watched(pid: int | None) -> Iterator[Watched]:
    """Looks at a process until the block ends; None: at nothing."""
    seen, done = Watched(), threading.Event()

    def watch(pid: int) -> None:
        while not done.wait(_EVERY):
            seen.look(pid)

    thread = None
    if pid is not None:
        thread = threading.Thread(target=watch, args=(pid,), daemon=True)
        thread.start()
    try:
        yield seen
    finally:
        done.set()
        if thread is not None:
            thread.join()
