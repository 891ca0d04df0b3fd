"""Which of two overlapping merges comes first, and which tokens stay apart (Theorem 6).

The *right spine* of a token is the token itself, the right part of its split, the right part of
that, and so on; its *left spine* likewise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from math import inf

from ..kernel.tables import as_dict
from ..merging.canonical import Canonical
from ..merging.merger import Priority


class Spines:
    """The merges of a canonical form, indexed. Threads may share it."""

    def __init__(self, form: Canonical) -> None:
        self.splits: Mapping[bytes, tuple[bytes, bytes]] = as_dict(form.splits)
        self.priority: Mapping[bytes, Priority] = as_dict(form.priority)
        # Lemma 2: no other pair than these ever builds a token.
        self.built = {pair: token for token, pair in self.splits.items()}
        self.ending: dict[bytes, list[bytes]] = {}
        """Tokens by the right part of their split."""
        self.starting: dict[bytes, list[bytes]] = {}
        """Tokens by the left part of their split."""
        for token, (left, right) in self.splits.items():
            self.ending.setdefault(right, []).append(token)
            self.starting.setdefault(left, []).append(token)
        peak, self.loose = _peaks(self.splits, self.priority)
        self.before, self.after = _turns(self.splits, self.priority, peak, self.loose)

    def left_first(self, left: bytes, right: bytes) -> bool:
        """Whether ``l x r`` does ``left = (l, x)``, not ``right = (x, r)``."""
        # Theorem 6, cases 1 to 3: one number a token for either place is enough.
        return self.before[left] <= self.after[right]

    def keeps_apart(self, left: bytes, right: bytes) -> bool:
        """Whether two tokens, side by side, both stay as they are."""
        # Theorem 6: they do not exactly if some token is built of a part on the right spine of
        # the one and a part on the left spine of the other, before the merges above these parts.
        built, splits = self.built, self.splits
        # The left spine of the right token, each part with the token above it, whose merge must
        # come later.
        spine: list[tuple[bytes, bytes | None]] = [(right, None)]
        while (split := splits.get(spine[-1][0])) is not None:
            spine.append((split[0], spine[-1][0]))
        part, above = left, None
        while True:
            for other, over in spine:
                token = built.get((part, other))
                if (
                    token is not None
                    and (above is None or not self.left_first(above, token))
                    and (over is None or self.left_first(token, over))
                ):
                    return False
            split = splits.get(part)
            if split is None:
                return True
            part, above = split[1], part

    def right_spine(self, token: bytes) -> Iterator[bytes]:
        """The tokens of a right spine that have a split, from the token itself down."""
        while (split := self.splits.get(token)) is not None:
            yield token
            token = split[1]

    def left_spine(self, token: bytes) -> Iterator[bytes]:
        """The tokens of a left spine that have a split, from the token itself down."""
        while (split := self.splits.get(token)) is not None:
            yield token
            token = split[0]

    def above_right(self, token: bytes) -> Iterator[bytes]:
        """Every token whose right spine holds this one; itself first."""
        return _descend(token, self.ending)

    def above_left(self, token: bytes) -> Iterator[bytes]:
        """Every token whose left spine holds this one; itself first."""
        return _descend(token, self.starting)

    def crossing_right(self, token: bytes) -> Iterator[bytes]:
        """What can merge across the end of a token, from below its top."""
        for above in self.right_spine(token):
            for crossing in self.starting.get(self.splits[above][1], ()):
                if not self.left_first(above, crossing):
                    yield crossing

    def crossing_left(self, token: bytes) -> Iterator[bytes]:
        """What can merge across the start of a token, from below its top."""
        for above in self.left_spine(token):
            for crossing in self.ending.get(self.splits[above][0], ()):
                if self.left_first(crossing, above):
                    yield crossing

    def reached_left(self, token: bytes) -> Iterator[bytes]:
        """Left neighbours that, as far as they go, let ``token`` merge across their end."""
        part = self.splits[token][0]
        yield part
        for above in self.ending.get(part, ()):
            if not self.left_first(above, token):
                yield from self.above_right(above)

    def reached_right(self, token: bytes) -> Iterator[bytes]:
        """Right neighbours that, as far as they go, let ``token`` merge across their start."""
        part = self.splits[token][1]
        yield part
        for above in self.starting.get(part, ()):
            if self.left_first(token, above):
                yield from self.above_left(above)

    def run(self, symbols: list[bytes]) -> list[bytes]:
        """What the symbols merge into; they are changed."""
        for _ in self.merges(symbols):
            pass
        return symbols

    def merges(self, symbols: list[bytes]) -> Iterator[tuple[bytes, bytes]]:
        """Runs on the symbols, which it changes, and gives each pair as it merges.

        For short strings: each step looks through all of them.
        """
        get, priority = self.built.get, self.priority
        tokens = [*map(get, pairwise(symbols))]
        while True:
            least, at = inf, -1
            for place, token in enumerate(tokens):
                if token is not None and priority[token] < least:
                    least, at = priority[token], place
            if at < 0:
                return
            left, right = symbols[at : at + 2]
            yield left, right
            symbols[at : at + 2] = [left + right]
            del tokens[at]
            if at < len(tokens):
                tokens[at] = get((symbols[at], symbols[at + 1]))
            if at:
                tokens[at - 1] = get((symbols[at - 1], symbols[at]))


def _peaks(
    splits: Mapping[bytes, tuple[bytes, bytes]], priority: Mapping[bytes, Priority]
) -> tuple[dict[bytes, Priority], frozenset[bytes]]:
    """The greatest priority in each run; and the tokens that are not later than their parts."""
    peak: dict[bytes, Priority] = {}
    loose = []
    for token in sorted(splits, key=len):
        left, right = splits[token]
        inner = max(peak.get(left, -inf), peak.get(right, -inf))
        own = priority[token]
        if inner < own:
            peak[token] = own
        else:
            peak[token] = inner
            loose.append(token)
    return peak, frozenset(loose)


def _turns(
    splits: Mapping[bytes, tuple[bytes, bytes]],
    priority: Mapping[bytes, Priority],
    peak: dict[bytes, Priority],
    loose: frozenset[bytes],
) -> tuple[dict[bytes, Priority], dict[bytes, Priority]]:
    """Each token's turn as the left one of two merges that overlap, and as the right one.

    The left one comes first if its turn is not later.
    """
    if not loose:
        # Every merge is later than those of its parts, so its peak is its own priority.
        return peak, peak
    before, after = {}, {}
    for token, (left, right) in splits.items():
        most, own = peak[token], priority[token]
        # Theorem 6: the lower peak is first (case 1). Of equal ones the left token is (case 2),
        # unless the shared part has this peak too, the rest on the right has not, and the right
        # token's own priority is lower (case 3).
        before[token] = most, own
        after[token] = most, own if peak.get(left) == most != peak.get(right) else inf
    turns = sorted({*before.values(), *after.values()})
    place: dict[tuple[Priority, Priority], Priority] = {turn: at for at, turn in enumerate(turns)}
    return (
        {token: place[turn] for token, turn in before.items()},
        {token: place[turn] for token, turn in after.items()},
    )


def _descend(token: bytes, above: Mapping[bytes, list[bytes]]) -> Iterator[bytes]:
    waiting = [token]
    while waiting:
        token = waiting.pop()
        yield token
        waiting.extend(above.get(token, ()))
