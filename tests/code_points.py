"""Which code points are swept: all that can differ, and a sample of those that are alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

SCALARS = "".join(map(chr, (*range(0xD800), *range(0xE000, 0x110000))))
"""Every code point but surrogates: one text takes 4 MB, a list of characters 90."""

WHOLE_SWEEP = os.environ.get("BPE_INTEROP_WHOLE_SWEEP") == "1"


def _swept() -> Iterator[int]:
    """Planes 0 and 1, the compatibility ideographs and the head of plane 14 whole. Elsewhere are
    ideographs without a decomposition, unassigned code points and private use, and every 16th
    stands for its neighbours unless the whole sweep is asked for."""
    step = 1 if WHOLE_SWEEP else 16
    yield from range(0xD800)
    yield from range(0xE000, 0x20000)
    yield from range(0x20000, 0x2F800, step)
    yield from range(0x2F800, 0x2FA20)
    yield from range(0x2FA20, 0xE0000, step)
    yield from range(0xE0000, 0xE1000)
    yield from range(0xE1000, sys.maxunicode + 1, step)


POINTS = "".join(map(chr, _swept()))
