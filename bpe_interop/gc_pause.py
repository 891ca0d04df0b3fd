"""Python's cyclic garbage collector, paused while large tables are built.

It runs again and again as containers are made, and looks through all of them each time; a
vocabulary is a few hundred thousand, none of them garbage.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Pauses collection within the block, or the function that this decorates.

    Blocks may nest. Of several threads, the one that found it on turns it on again; where it
    was off already, it stays off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
