"""UNUSED pieces of SentencePiece, which are merged like others and split again in the end.

Theorem 23 is about all of them, Theorem 28 about single characters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from heapq import merge

from ..model import Affixes, BPEModel, PairList, Vocab
from .conflicts import Conflicts, Path
from .equality import BUDGET, Decision, Runs, System, conclude, conflicts_of, contents_of
from .utf8 import falls_back_to_bytes


class Resplit:
    """The tokens of a system, those that are UNUSED split into what is not."""

    def __init__(self, system: System, unused: Collection[bytes]) -> None:
        self._system, self._unused = system, frozenset(unused)

    def run(self, content: bytes) -> Path:
        """The tokens of a content."""
        return self.parts(self._system.run(content))

    def parts(self, tokens: Iterable[bytes]) -> Path:
        """What the tokens are split into."""
        parts: list[bytes] = []
        waiting = [*tokens][::-1]
        while waiting:
            token = waiting.pop()
            split = self._system.form.splits.get(token) if token in self._unused else None
            if split is None:
                parts.append(token)
            else:
                waiting += reversed(split)
        return tuple(parts)


def without_unused_characters(model: BPEModel) -> BPEModel:
    """A model with the same ids on every text, without UNUSED characters that are as if missing.

    The null character of published ``.model`` files with byte fallback is one (Theorem 28).
    """
    out = _as_if_missing(model)
    if not out:
        return model
    ids = {token: n for token, n in model.vocab.ids.items() if token not in out}
    left = {*ids.values()}
    kinds = {n: kind for n, kind in model.vocab.kinds.items() if n in left}
    scores = {n: score for n, score in model.vocab.scores.items() if n in left}
    vocab, merges = Vocab(ids, kinds, scores), model.merges
    # A list names no such character: the product would be a token that holds it (Theorem 28).
    if not isinstance(merges, PairList):
        merges = replace(merges, ranks={t: n for t, n in merges.ranks.items() if t not in out})
    return replace(model, vocab=vocab, merges=merges)


def _as_if_missing(model: BPEModel) -> set[bytes]:
    """The UNUSED characters that no other token holds, where missing ones become bytes."""
    ids, kinds = model.vocab.ids, model.vocab.kinds
    if "unused" not in kinds.values():
        return set()
    out = {t for t, n in ids.items() if kinds.get(n) == "unused" and len(t.decode("utf-8")) == 1}
    alone = model.alphabet != "byte" and model.affixes == Affixes() and not model.lookup_first
    if not out or not alone or not falls_back_to_bytes(model):
        return set()
    # In a token that holds it, the character would merge; alone it becomes its bytes either way.
    return out - {char.encode() for token in ids if token not in out for char in token.decode()}


def decide_resplit(
    a: System,
    unused: Collection[bytes],
    b: System,
    *,
    ok: Callable[[bytes], bool] | None = None,
    never: Callable[[bytes], bool] | None = None,
) -> Decision:
    """Decides whether ``a``, its UNUSED tokens split again, gives the same tokens as ``b``.

    ``b`` builds none of them. For ``ok`` and ``never`` see :func:`.core.decide`.
    """
    # Theorem 23, by Theorem 1: the two are the same exactly if they are on each token and each pair
    # of tokens that `a` keeps apart, UNUSED ones included.
    ours = Resplit(a, unused)
    conflicts = conflicts_of(a, b, BUDGET)

    def length(path: Path) -> int:
        return sum(map(a.size, path))

    def shows(path: Path) -> bool:
        return len(path) > 1 or b.run(path[0]) != ours.parts(path)

    usual = (path for path in conflicts.paths() if shows(path))
    extra = sorted(_beside_unused(a, unused, b, ours, conflicts), key=lambda p: (length(p), p))
    paths = merge(usual, extra, key=length)
    contents = contents_of(a, ok, never, utf8=False)
    return conclude(a, conflicts, paths, Runs(ours.run, b.run), contents)


def _beside_unused(
    a: System, unused: Collection[bytes], b: System, ours: Resplit, conflicts: Conflicts
) -> Iterator[Path]:
    """Pairs with an UNUSED token that ``a`` keeps apart, and across which ``b`` merges.

    Where an UNUSED token stands, ``b`` has its parts, so it merges across the last or the first.
    """
    # A neighbour may be one that only `b` builds: it differs by itself, and that is shorter.
    begins: dict[bytes, list[bytes]] = {}
    ends: dict[bytes, list[bytes]] = {}
    for token in unused:
        if token in a.form.splits:
            parts = ours.parts([token])
            begins.setdefault(parts[0], []).append(token)
            ends.setdefault(parts[-1], []).append(token)
    theirs = b.spines
    pairs: set[Path] = set()
    for last, tokens in ends.items():
        for merged in (*theirs.starting.get(last, ()), *theirs.crossing_right(last)):
            for first in theirs.reached_right(merged):
                rights = (first, *begins.get(first, ()))
                pairs.update((left, right) for left in tokens for right in rights)
    for first, tokens in begins.items():
        for merged in (*theirs.ending.get(first, ()), *theirs.crossing_left(first)):
            for last in theirs.reached_left(merged):
                pairs.update((last, right) for right in tokens)
    for left, right in pairs:
        conflicts.checked += 1
        if conflicts.checked > conflicts.budget:
            conflicts.complete = False
            return
        if a.spines.keeps_apart(left, right):
            yield left, right
