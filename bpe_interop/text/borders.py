"""How much the end of one text and the begin of another have in common."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def borders(first: Sequence[object], second: Sequence[object]) -> Iterator[int]:
    """The lengths, longest first, of what ends ``first`` and begins ``second``, whole in neither.

    Steps are linear in the shorter of the two (Knuth, Morris and Pratt, "Fast pattern matching in
    strings", 1977): special tokens of a file may be long.
    """
    most = min(len(first), len(second)) - 1
    if most < 1:
        return
    begin, end = second[:most], first[len(first) - most :]
    if begin[0] not in end or end[-1] not in begin:
        return
    shorter = [0]
    for item in begin[1:]:
        shorter.append(_longer(begin, shorter, shorter[-1], item))
    length = 0
    for item in end:
        length = _longer(begin, shorter, length, item)
    while length:
        yield length
        length = shorter[length - 1]


def _longer(begin: Sequence[object], shorter: Sequence[int], length: int, item: object) -> int:
    """How much of ``begin`` ends with an item, which comes after so much of it."""
    while length == len(begin) or begin[length] != item:
        if not length:
            return 0
        length = shorter[length - 1]
    return length + 1
