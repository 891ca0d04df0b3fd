"""Where no token of bytes stands across the boundary between two characters.

There nothing can merge (Lemma 1 in ``docs/theory.md``), so the two sides of a long pretoken are
encoded separately, and short sides are met again. Text without spaces is cut nearly everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from operator import add

from ..model import MergeRule, RankTable

_CACHED = 1 << 18
"""How many pairs of characters are remembered."""


class CharacterCuts:
    """Cuts pretokens where no merge of bytes can cross. Threads may share it."""

    __slots__ = ("_crossed",)

    def __init__(self, rule: MergeRule) -> None:
        whole: set[bytes] = set()
        broken: set[tuple[bytes, bytes]] = set()
        tokens: Iterable[bytes] = (
            rule.ranks if isinstance(rule, RankTable) else map(b"".join, rule.pairs)
        )
        for token in tokens:
            if token.isascii():
                continue
            for left, right in pairwise(_characters(token)):
                if _is_whole(left) and _is_whole(right):
                    whole.add(left + right)
                else:
                    broken.add((left, right))
        self._crossed = _Crossed(whole, broken)

    def __call__(self, text: str) -> list[str]:
        """The parts of a pretoken, in order."""
        crossed = [*map(self._crossed.__getitem__, map(add, text, text[1:]))]
        if not any(crossed):
            return [*text]
        cuts = [at for at, found in enumerate(crossed, 1) if not found]
        return [text[start:end] for start, end in pairwise((0, *cuts, len(text)))]


def _characters(token: bytes) -> list[bytes]:
    """A token cut into characters; what stands at its ends may be parts of them."""
    # A character begins at each byte that continues none.
    starts = [at for at, byte in enumerate(token) if byte & 0xC0 != 0x80]
    edges = [*([0] if starts[:1] != [0] else []), *starts, len(token)]
    return [token[start:end] for start, end in pairwise(edges)]


def _is_whole(part: bytes) -> bool:
    """Whether bytes of which only the first may begin a character are a whole one."""
    lead = part[0]
    size = 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    return (lead < 0x80 or lead >= 0xC0) and len(part) == size


class _Crossed(dict[str, bool]):
    """Whether a token may stand across the boundary of two characters, worked out once.

    ``whole``: two characters side by side in a token; ``broken``: the same where the token
    begins or ends inside one of the two.
    """

    __slots__ = ("_broken", "_ends", "_starts", "_whole")

    def __init__(self, whole: set[bytes], broken: set[tuple[bytes, bytes]]) -> None:
        super().__init__()
        self._whole, self._broken = whole, broken
        self._ends = _Ends({left for left, _ in broken})
        self._starts = _Starts({right for _, right in broken})

    def __missing__(self, pair: str) -> bool:
        # Between ASCII characters there is nothing to gain: whole words are in ASCII.
        found = pair.isascii() or pair.encode("utf-8") in self._whole
        if not found:
            starts = self._starts[pair[1]]
            found = bool(starts) and any(
                (end, start) in self._broken for end in self._ends[pair[0]] for start in starts
            )
        if len(self) >= _CACHED:
            self.clear()
        self[pair] = found
        return found


class _Ends(dict[str, list[bytes]]):
    """The ends of characters with which tokens begin, the whole character among them."""

    def __init__(self, known: set[bytes]) -> None:
        super().__init__()
        self._known = known

    def __missing__(self, char: str) -> list[bytes]:
        content = char.encode("utf-8")
        ends = (content[at:] for at in range(len(content)))
        self[char] = found = [end for end in ends if end in self._known]
        return found


class _Starts(_Ends):
    """The starts of characters with which tokens end."""

    def __missing__(self, char: str) -> list[bytes]:
        content = char.encode("utf-8")
        starts = (content[:at] for at in range(1, len(content) + 1))
        self[char] = found = [start for start in starts if start in self._known]
        return found
