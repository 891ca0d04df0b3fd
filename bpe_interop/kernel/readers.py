"""Files that the kernel reads; None for every file in which something is irregular."""

from __future__ import annotations

from .library import answer, library
from .tables import Numbers, Table


def read_ranks(data: bytes) -> Numbers | None:
    """The tokens of a rank file and their numbers, in its order.

    The twin is ``read_ranks`` in ``formats/tiktoken/ranks.py``.
    """
    loaded = library()
    if loaded is None:
        return None
    held = answer(loaded.ranks_read(data, len(data)))
    return None if held is None else Numbers(Table(loaded, held))
