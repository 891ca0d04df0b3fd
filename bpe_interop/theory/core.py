"""Whether two merge systems give every text the same tokens: decided, with a shortest witness.

The theorems are those of ``docs/theory.md``. Nothing is assumed about the order of priorities:
ties, ranks out of order and tokens that nothing builds are all decided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from ..model import Alphabet, BPEModel, MergeRule, PairList, RankTable
from .conflicts import Conflicts, Path
from .contexts import Contexts
from .merges import Canonical, canonical, canonical_of
from .spines import Spines
from .symbols import symbols_of

Verdict: TypeAlias = Literal["proved", "refuted", "undecided"]

BUDGET = 2_000_000
"""How many pairs of tokens a decision looks at."""


@dataclass(frozen=True, eq=False)
class System:
    """A merge rule over an alphabet, and what it can start from and build.

    ``tokens``: all that a merge may produce, and whatever else the vocabulary has. ``base``: the
    symbols that are there before merging, None for all. ``known``: its canonical form, where
    that has been found already.
    """

    rule: MergeRule
    tokens: Collection[bytes]
    alphabet: Alphabet = "byte"
    base: Container[bytes] | None = None
    known: Canonical | None = field(default=None, repr=False)

    @cached_property
    def form(self) -> Canonical:
        """The canonical form (Theorem 3)."""
        if self.known is not None:
            return self.known
        return canonical_of(self.rule, self.tokens, self.alphabet, self.base)

    @cached_property
    def spines(self) -> Spines:
        """The canonical form, indexed."""
        return Spines(self.form)

    def symbols(self) -> Iterator[bytes]:
        """The symbols that a vocabulary knows: all bytes, or the characters that are tokens."""
        if self.alphabet == "byte":
            return (bytes([byte]) for byte in range(256))
        return (token for token in self.tokens if self.size(token) == 1)

    @cached_property
    def size(self) -> Callable[[bytes], int]:
        """The length of a content in symbols."""
        return len if self.alphabet == "byte" else _Characters().__getitem__

    def run(self, content: bytes) -> tuple[bytes, ...]:
        """The tokens of a content; symbols that nothing can be built from stay as they are."""
        return tuple(self.spines.run(symbols_of(content, self.alphabet)))


def system_of(model: BPEModel) -> System:
    """The merges of a model, without what stands before and after them.

    Contents with a user-defined token are not its business, nor is what becomes of missing
    symbols and of UNUSED pieces afterwards.
    """
    return System(model.merges, model.vocab.ids, model.alphabet, known=canonical(model))


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether two systems are the same on every content.

    ``why``: the theorem that proves it, or what was looked at without an answer. ``content``: a
    shortest content, in symbols, that they encode differently, and ``ours``, ``theirs``: its
    tokens in both. ``shortest`` is False where shorter ones were left unseen.
    """

    verdict: Verdict
    why: str
    content: bytes | None = None
    ours: tuple[bytes, ...] = ()
    theirs: tuple[bytes, ...] = ()
    shortest: bool = True


def decide(
    a: System,
    b: System,
    *,
    ok: Callable[[bytes], bool] | None = None,
    never: Callable[[bytes], bool] | None = None,
    budget: int = BUDGET,
) -> Decision:
    """Decides whether two systems over one alphabet give every content the same tokens.

    ``never`` says that a content does not occur, nor any that holds it. With ``ok``, only
    contents that it accepts count. Where the systems differ, but on no such content that was
    found, the answer is *undecided*.

    Raises:
        ValueError: the alphabets differ.
    """
    if a.alphabet != b.alphabet:
        raise ValueError(f"alphabets differ: {a.alphabet} and {b.alphabet}")
    plain = _plainly_equal(a, b)
    if plain is not None:
        return Decision("proved", plain)
    found = Conflicts(a.spines, b.spines, a.size, lambda token: a.size(token) == 1, budget)
    return conclude(a, found, possible(found.paths(), never), lambda c: (a.run(c), b.run(c)), ok)


def possible(paths: Iterator[Path], never: Callable[[bytes], bool] | None) -> Iterator[Path]:
    """The paths that occur."""
    return paths if never is None else (p for p in paths if not never(b"".join(p)))


def conclude(
    a: System,
    conflicts: Conflicts,
    paths: Iterator[Path],
    runs: Callable[[bytes], tuple[Path, Path]],
    ok: Callable[[bytes], bool] | None,
) -> Decision:
    """The verdict that follows from all tokens and pairs of ``a`` on which two systems differ.

    ``runs`` gives both systems' tokens for a content.
    """
    complete, shortest, tried = True, True, 0
    if ok is None:
        path = next(paths, None)
        content = None if path is None else b"".join(path)
    else:
        near = [*a.symbols(), *a.form.splits]
        search = Contexts(a.spines, a.size, near, ok, lambda c: len(set(runs(c))) > 1, BUDGET // 20)
        content = search.shortest(paths)
        complete, shortest, tried = not search.rejected, search.complete, search.tried
    if content is not None:
        ours, theirs = runs(content)
        return Decision("refuted", "", content, ours, theirs, shortest)
    if complete and conflicts.complete:
        return Decision("proved", "Theorem 6")
    seen = f"{conflicts.checked} pairs of tokens were looked at"
    if tried:
        seen += f", and {tried} contents around those that differ, none of which is possible"
    return Decision("undecided", seen)


def _plainly_equal(a: System, b: System) -> str | None:
    if isinstance(a.rule, PairList) and isinstance(b.rule, RankTable):
        a, b = b, a
    if (
        isinstance(a.rule, RankTable)
        and isinstance(b.rule, PairList)
        and b.known is None
        and listed_as_ranked(a.form, a.rule.ranks, b.rule)
    ):
        return "Theorem 4"
    if a.form.splits == b.form.splits and _same_order(a.form, b.form):
        return "Theorem 3"
    return None


def _same_order(a: Canonical, b: Canonical) -> bool:
    """Whether the splits, no two of which are tied, stand in one order."""
    return (
        len(set(a.priority.values())) == len(a.priority)
        and len(set(b.priority.values())) == len(b.priority)
        and list(a.splits) == list(b.splits)
    )


def listed_as_ranked(ranked: Canonical, ranks: Mapping[bytes, int], rule: PairList) -> bool:
    """Whether a pair list lists each reachable token's split in rank order (Theorem 4).

    Pairs count at their last place.
    """
    if len(set(ranked.priority.values())) != len(ranked.priority):
        return False
    places = {pair: place for place, pair in enumerate(rule.pairs)}
    last = -1
    for pair in ranked.splits.values():
        place = places.get(pair)
        if place is None or place < last:
            return False
        last = place
    return all(left + right in ranks for left, right in places)


class _Characters(dict[bytes, int]):
    """How many characters contents have, counted once."""

    def __missing__(self, content: bytes) -> int:
        self[content] = length = len(content.decode("utf-8", "replace"))
        return length
