"""UNUSED pieces of SentencePiece: merged like others, and split again in the end (Theorem 23)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from heapq import merge

from ..model import Affixes, BPEModel, PairList, Vocab
from .conflicts import Conflicts, Path
from .core import BUDGET, Decision, Runs, System, conclude, conflicts_of, contents_of


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
    """A model with the same ids on every text, without UNUSED tokens that are as if missing.

    That is one character that no other token holds, where missing characters become bytes
    (``docs/theory.md``, Theorem 28): the null character of a ``.model`` with byte fallback.
    """
    idle = _idle(model)
    if not idle:
        return model
    ids = {token: n for token, n in model.vocab.ids.items() if token not in idle}
    left = {*ids.values()}
    kinds = {n: kind for n, kind in model.vocab.kinds.items() if n in left}
    scores = {n: score for n, score in model.vocab.scores.items() if n in left}
    vocab, merges = Vocab(ids, kinds, scores), model.merges
    if not isinstance(merges, PairList):
        merges = replace(merges, ranks={t: n for t, n in merges.ranks.items() if t not in idle})
    return replace(model, vocab=vocab, merges=merges)


def _idle(model: BPEModel) -> set[bytes]:
    ids, kinds = model.vocab.ids, model.vocab.kinds
    if "unused" not in kinds.values():
        return set()
    idle = {t for t, n in ids.items() if kinds.get(n) == "unused" and len(t.decode("utf-8")) == 1}
    alone = model.alphabet != "byte" and model.affixes == Affixes() and not model.lookup_first
    bytewise = model.fallback.byte_fallback and list(kinds.values()).count("byte") == 256
    if not idle or not alone or not bytewise:
        return set()
    held = {char.encode() for token in ids if token not in idle for char in token.decode("utf-8")}
    return idle - held


def decide_resplit(
    a: System,
    unused: Collection[bytes],
    b: System,
    *,
    ok: Callable[[bytes], bool] | None = None,
    never: Callable[[bytes], bool] | None = None,
) -> Decision:
    """Decides whether ``a``, its UNUSED tokens split again, gives the same tokens as ``b``.

    ``b`` builds none of them. By Theorem 1 the two are the same exactly if they are on each
    token and on each pair of tokens that ``a`` keeps apart (``docs/theory.md``, Theorem 23).
    """
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

    What only ``b`` builds may be among them. It shows on itself, which is shorter.
    """
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
