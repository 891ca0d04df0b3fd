"""Long pretokens in parts that merge independently, so that they can be remembered.

No merge crosses a boundary between two characters that stand side by side in no token, so what
lies on its two sides is encoded separately (Lemma 1 in ``docs/theory.md``). Where a model of
characters has no pre-tokenizer, a whole text is one pretoken (:class:`Parts`); over bytes, text
without spaces is cut nearly everywhere, and short parts are met again (:class:`CharacterCuts`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from operator import add

from ..merging.symbols import textual, user_defined
from ..model import BPEModel, MergeRule, RankTable

_SHORT = 16
"""Parts up to so many characters are not cut further: most of them are words, met again."""

_MARKS = "\u2581 "
"""Characters that words begin with in models without a pre-tokenizer."""


_CACHED = 1 << 18
"""How many pairs of characters are remembered."""


class Parts:
    """Cuts pretokens where nothing can merge.

    Where missing characters become one unknown token, or vanish so that their neighbours may
    merge, there is no cut beside them.
    """

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        fallback = model.fallback
        self._drops = fallback.missing == "drop"
        self._fuses = fallback.missing == "unknown" and fallback.fuse

    def __call__(self, pretoken: str) -> list[str]:
        """The parts of a pretoken, in order."""
        if len(pretoken) <= _SHORT:
            return [pretoken]
        parts: list[str] = []
        for word in self._words(pretoken):
            if len(word) <= _SHORT:
                parts.append(word)
            else:
                parts += self._finely(word)
        return parts

    @cached_property
    def _contents(self) -> list[str]:
        """What two adjacent characters may become part of."""
        rule = self._model.merges
        tokens: Iterable[bytes] = (
            rule.ranks if isinstance(rule, RankTable) else {x + y for x, y in rule.pairs}
        )
        return [*(token.decode("utf-8") for token in tokens), *user_defined(self._model)]

    @cached_property
    def _words(self) -> Callable[[str], list[str]]:
        """Cuts before each mark, except where it may merge with the character before it."""
        marks = [mark for mark in _MARKS if mark in self._known]
        if self._drops or not marks:
            return lambda text: [text]
        joined = "\0".join(self._contents)
        rules = []
        for mark in marks:
            beside = {*re.findall(f"(?s)(.)(?={mark})", joined), "\0"}
            inner = "".join(map(re.escape, sorted(beside)))
            rules.append(f"(?<=[^{inner}]){mark}")
        find = re.compile("|".join(rules)).finditer

        def cut(text: str) -> list[str]:
            ends = [0, *(match.start() for match in find(text)), len(text)]
            return [text[start:end] for start, end in pairwise(ends)]

        return cut

    def _finely(self, text: str) -> list[str]:
        """Cuts between all characters that cannot merge."""
        pairs, known = self._pairs, self._known
        beside = enumerate(pairwise(text), 1)
        if self._drops:
            cuts = [n for n, (a, b) in beside if a + b not in pairs and a in known and b in known]
        elif self._fuses:
            cuts = [n for n, (a, b) in beside if a + b not in pairs and (a in known or b in known)]
        else:
            cuts = [n for n, (a, b) in beside if a + b not in pairs]
        return [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]

    @cached_property
    def _pairs(self) -> frozenset[str]:
        """All that stands side by side in a token."""
        joined = "\0".join(self._contents)
        return frozenset(map(str.__add__, joined, joined[1:]))

    @cached_property
    def _known(self) -> frozenset[str]:
        """The characters that are tokens in the end."""
        kinds = self._model.vocab.kinds
        texts = (
            token.decode("utf-8")
            for token, number in textual(self._model).items()
            if len(token) <= 4 and kinds.get(number) != "unused"
        )
        return frozenset(text for text in texts if len(text) == 1)


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
        cuts = [at for at, joined in enumerate(crossed, 1) if not joined]
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
        crossed = pair.isascii() or pair.encode("utf-8") in self._whole
        if not crossed:
            starts = self._starts[pair[1]]
            crossed = bool(starts) and any(
                (end, start) in self._broken for end in self._ends[pair[0]] for start in starts
            )
        if len(self) >= _CACHED:
            self.clear()
        self[pair] = crossed
        return crossed


class _Ends(dict[str, list[bytes]]):
    """The ends of characters with which tokens begin, the whole character among them."""

    def __init__(self, known: set[bytes]) -> None:
        super().__init__()
        self._known = known

    def __missing__(self, char: str) -> list[bytes]:
        content = char.encode("utf-8")
        ends = (content[at:] for at in range(len(content)))
        self[char] = known_ends = [end for end in ends if end in self._known]
        return known_ends


class _Starts(_Ends):
    """The starts of characters with which tokens end."""

    def __missing__(self, char: str) -> list[bytes]:
        content = char.encode("utf-8")
        starts = (content[:at] for at in range(1, len(content) + 1))
        self[char] = known_starts = [start for start in starts if start in self._known]
        return known_starts
