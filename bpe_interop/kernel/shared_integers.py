"""Lists of ids that share their integers, where the program has loaded numpy.

To make an integer of its own for every id takes about half of the time of encoding, and 28 of the
36 bytes that an id takes in a list.
"""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

COUNT = 1 << 18
"""The integers that are shared begin with 0, and are so many: the ids of nearly all tokenizers."""

_MANY = 1 << 18
"""So many ids are listed before the integers are made: that takes about as long as so many ids."""

FEW = 256
"""Of fewer ids, a list is made sooner without."""


class SharedIntegers:
    """Makes lists of ids. Threads may share it."""

    __slots__ = ("_integers", "_listed")

    def __init__(self) -> None:
        self._listed = 0
        self._integers: npt.NDArray[np.object_] | None = None

    def as_list(self, ids: array[int]) -> list[int]:
        """The same ids as a list."""
        if len(ids) < FEW or "numpy" not in sys.modules:
            return ids.tolist()
        integers = self._integers
        if integers is None:
            self._listed += len(ids)
            if self._listed < _MANY:
                return ids.tolist()
            integers = self._integers = _integers()
        import numpy as np  # it is there; where another thread loads it, this one waits

        try:
            taken: list[int] = integers.take(np.frombuffer(ids, np.uint32)).tolist()
        except IndexError:  # an id that is larger
            return ids.tolist()
        return taken


def _integers() -> npt.NDArray[np.object_]:
    import numpy as np

    return np.arange(COUNT).astype(object)


SHARED = SharedIntegers()
"""For all encoders of the process."""
