"""Python's cyclic garbage collector, paused while large tables are built.

It runs again and again as containers are made, and looks through all of them each time; a
vocabulary is a few hundred thousand, none of them garbage.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_holders = 0
_was_on = False


@contextmanager
def paused() -> Iterator[None]:
    """Pauses collection within the block, or the function that this decorates.

    Blocks may nest, and several threads may be in one: the first to enter pauses, the last to
    leave resumes. Where collection was off already, it stays off.
    """
    global _holders, _was_on
    with _lock:
        if not _holders:
            _was_on = gc.isenabled()
            gc.disable()
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if not _holders and _was_on:
                gc.enable()
