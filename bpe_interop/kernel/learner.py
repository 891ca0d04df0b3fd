"""Counting pretokens, and learning merges, in the kernel. The twins are ``train/pretokens.py`` and
``train/learner.py``.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from .library import KernelObject, address, answer, library, made, numbers
from .splitter import TableSplitter
from .tables import MOST

_MOST_OFTEN = 2**64 - 1
"""No pair is that frequent: all counts together, times all bytes, are below it."""


class PretokenCounter(KernelObject):
    """Distinct pretokens of texts, in the order they first came."""

    def absorb(self, other: PretokenCounter) -> bool:
        """Counts what another one has counted, as if its texts came behind those of this one.

        False where the kernel cannot; then nothing of it was counted.
        """
        return answer(self.library.counter_absorb(self.number, other.number)) is not None

    def counts(self) -> dict[bytes, int] | None:
        """The pretokens, and how often each came; None where the kernel has failed."""
        sizes = array("Q", bytes(16))
        if answer(self.library.counter_sizes(self.number, address(sizes))) is None:
            return None
        count, size = sizes
        contents = bytearray(size)
        ends, often = array("Q", bytes(8 * count)), array("Q", bytes(8 * count))
        done = self.library.counter_copy(
            self.number, address(contents), size, address(ends), address(often), count
        )
        if answer(done) is None:
            return None
        data = bytes(contents)
        texts = (data[start:end] for start, end in pairwise((0, *ends)))
        return dict(zip(texts, often, strict=True))


class MergeLearner(KernelObject):
    """Learns merges from counted pretokens."""

    def more(self, limit: int, least: int) -> list[tuple[int, int, int]] | None:
        """The next merges: both tokens, and how often the pair was counted.

        Args:
            limit: how many at most.
            least: how often a pair has to occur.

        Returns:
            None where the kernel cannot go on; then Python begins anew.
        """
        pairs, frequencies = numbers(2 * limit), array("Q", bytes(8 * limit))
        within = min(max(least, 0), _MOST_OFTEN)
        count = answer(
            self.library.learner_more(
                self.number, within, address(pairs), address(frequencies), limit
            )
        )
        if count is None:
            return None
        merged = zip(pairs[::2], pairs[1::2], frequencies, strict=True)
        return [merge for merge, _ in zip(merged, range(count), strict=False)]

    def tokens(self) -> int | None:
        """How many tokens all pretokens are by now, each counted as often as it came."""
        return answer(self.library.learner_tokens(self.number))


def counter_of(splitter: TableSplitter, texts: Sequence[bytes]) -> PretokenCounter | None:
    """The pretokens of texts in UTF-8; None where the kernel cannot tell, or one is none."""
    data, ends = b"".join(texts), array("Q", accumulate(map(len, texts)))
    held = made(
        splitter.library.counter_of(splitter.number, data, len(data), address(ends), len(ends))
    )
    return None if held is None else PretokenCounter(splitter.library, held)


def learner_of(pretokens: Mapping[bytes, int]) -> MergeLearner | None:
    """What learns from pretokens and their counts; None where the kernel does not hold them."""
    loaded = library()
    if loaded is None or _bytes_of(pretokens) > MOST or max(pretokens.values(), default=0) >> 63:
        return None
    contents = b"".join(pretokens)
    ends, counts = array("Q", accumulate(map(len, pretokens))), array("Q", pretokens.values())
    held = made(
        loaded.learner_new(contents, len(contents), address(ends), address(counts), len(ends))
    )
    return None if held is None else MergeLearner(loaded, held)


def _bytes_of(contents: Iterable[bytes]) -> int:
    return sum(map(len, contents))
