"""Whether two merge systems give every text the same tokens: decided, with a shortest witness.

Theorem 5 says where to look, Theorems 3, 4 and 13 save the search where they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Literal, TypeAlias

from ..kernel.canonical import CanonicalForm, listed_as_ranked, ranked_as_listed
from ..memo import Memo
from ..merging.canonical import Canonical, canonical, canonical_of, with_splits
from ..merging.symbols import (
    NO_AFFIXES,
    characters,
    merges_missing,
    spellings,
    symbols_of,
    textual,
)
from ..model import MAX_ID, Affixes, Alphabet, BPEModel, MergeRule, PairList, RankTable
from .conflicts import Conflicts, Path
from .contexts import Contents, Contexts
from .spines import Spines
from .symbol_codes import SymbolCodes
from .utf8 import UTF8_BYTES

_SAME_MERGES = "the merges that can be used are the same, in one order (Theorem 3)"
Verdict: TypeAlias = Literal["proved", "different", "undecided"]

_ALIKE = 8
"""How many symbols of a role that never merge are put beside others."""

_LISTED_AS_RANKED = "the list has each token's split in rank order (Theorem 4)"
_RANKED_AS_LISTED = (
    "the ranks are those of the tokens that the list builds, in its order (Theorem 13)"
)
_NO_CONFLICT = "wherever two merges overlap, both sides do the same (Theorem 6)"

BUDGET = 2_000_000
"""How many pairs of tokens a decision looks at."""


@dataclass(frozen=True, eq=False)
class System:
    """A merge rule over an alphabet, and what it can start from and build.

    Attributes:
        tokens: all that a merge may produce, and whatever else the vocabulary has.
        base: the symbols that are there before merging, None for all.
        model: one of which these are the merges: its canonical form is taken.
        known: the canonical form, where it need not be found.
    """

    rule: MergeRule
    tokens: Collection[bytes]
    alphabet: Alphabet = "byte"
    base: Container[bytes] | None = None
    affixes: Affixes = NO_AFFIXES
    model: BPEModel | None = field(default=None, repr=False)
    known: Canonical | None = field(default=None, repr=False)

    @cached_property
    def form(self) -> Canonical:
        """The canonical form (Theorem 3)."""
        if self.known is not None:
            return self.known
        if self.model is not None:
            return canonical(self.model)
        return canonical_of(self.rule, self.tokens, self.alphabet, self.base, self.affixes)

    @property
    def has_form(self) -> bool:
        """Whether the canonical form is there already."""
        return (
            "form" in vars(self)
            or self.known is not None
            or (self.model is not None and canonical.known(self.model))
        )

    @cached_property
    def spines(self) -> Spines:
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

    def neighbours(self, role: Callable[[bytes], object]) -> list[bytes]:
        """The tokens that may stand beside others; of symbols that never merge, a few of each role.

        ``role``: of one role are symbols that make the same contents whole.
        """
        # Theorem 21: symbols that no token is built from are all alike to merging.
        splits = self.form.splits
        parts = set(chain.from_iterable(splits.values()))
        known = (token for token in self.tokens if self.size(token) == 1)
        symbols = dict.fromkeys((*known, *self.symbols()))
        plain = [symbol for symbol in (b" ", b"\n", b"a", b".", b"1") if symbol in symbols]
        alike: dict[object, dict[bytes, None]] = {}
        for symbol in (*plain, *symbols):
            if symbol not in parts:
                alike.setdefault(role(symbol), {})[symbol] = None
        few = chain.from_iterable(islice(each, _ALIKE) for each in alike.values())
        used = [symbol for symbol in symbols if symbol in parts]
        return [*few, *used, *splits]

    def run(self, content: bytes) -> tuple[bytes, ...]:
        """The tokens of a content; symbols that nothing can be built from stay as they are."""
        return tuple(self.spines.run(symbols_of(content, self.alphabet)))


def system_of(model: BPEModel) -> System:
    """The merges of a model.

    User-defined tokens are not in them, nor is what becomes of missing symbols and of UNUSED
    pieces afterwards.
    """
    ids = textual(model)
    base = None if merges_missing(model.fallback) else ids
    return System(model.merges, ids, model.alphabet, base, model.affixes, model)


@Memo
def base_symbols(model: BPEModel) -> set[bytes]:
    """The tokens that are one symbol: a byte that occurs in UTF-8, or a character, with affixes."""
    tokens, affixes = textual(model), model.affixes
    if affixes == Affixes():
        if model.alphabet == "byte":
            return {token for token in map(bytes, zip(UTF8_BYTES)) if token in tokens}
        return characters(tokens)
    return {
        token
        for token in tokens
        for symbols in spellings(token, model.alphabet, affixes)
        if len(symbols) == 1
    }


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether two systems are the same on every content.

    Attributes:
        why: the theorem that proves it, or what was looked at without an answer.
        content: a shortest content, in symbols, that they encode differently.
        ours: its tokens in the first.
        theirs: its tokens in the second.
        shortest: False where shorter ones were left unseen.
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
    utf8: bool = False,
    budget: int = BUDGET,
) -> Decision:
    """Decides whether two systems give every content the same tokens (Theorem 5).

    The first may merge characters and the second bytes (Theorem 25).

    Args:
        a: one system.
        b: the other.
        ok: which contents count. It cannot show that none does: where it refuses all that were
            found, the answer is *undecided*.
        never: whether a content does not occur, nor any that holds it.
        utf8: only valid UTF-8 occurs.
        budget: how many pairs of tokens are looked at.

    Raises:
        ValueError: the first system merges bytes and the second characters, or their affixes
            differ.
    """
    if a.affixes != b.affixes:
        raise ValueError("affixes differ")
    if (a.alphabet, b.alphabet) == ("byte", "char"):
        raise ValueError("a system of bytes must be the second")
    plain = plainly_equal(a, b)
    if plain is not None:
        return Decision("proved", plain)
    if a.affixes != NO_AFFIXES:
        return _decide_with_affixes(a, b, ok, budget)
    conflicts = conflicts_of(a, b, budget)
    runs = Runs(a.run, b.run)
    return conclude(a, conflicts, conflicts.paths(), runs, contents_of(a, ok, never, utf8=utf8))


def _decide_with_affixes(
    a: System, b: System, ok: Callable[[bytes], bool] | None, budget: int
) -> Decision:
    # Theorem 22: each symbol with its affixes is one character of another alphabet.
    replaced = a.base is not None or b.base is not None
    # What merges beside a missing symbol may begin with the prefix, or end without the suffix.
    missing = _missing((a, b)) if replaced else b""
    codes = SymbolCodes(a.affixes, a.alphabet, missing)
    forms = [codes.form(s.rule, s.tokens, s.alphabet, s.base) for s in (a, b)]
    if codes.ambiguous:
        return Decision("undecided", "a prefix that looks like the suffix")
    if forms[0].splits == forms[1].splits and _same_order(*forms):
        return Decision("proved", _SAME_MERGES)
    if replaced and not missing:
        return Decision("undecided", "which symbols with affixes are missing")
    ours, theirs = (
        System(PairList(()), [*codes.alphabet(), *form.splits], "char", known=form)
        for form in forms
    )
    conflicts = conflicts_of(ours, theirs, budget)
    runs = Runs(ours.run, theirs.run)
    decision = conclude(ours, conflicts, conflicts.paths(), runs, codes.contents(ok))
    if decision.content is None:
        return decision
    return replace(
        decision,
        content=codes.pretoken(decision.content),
        ours=tuple(map(codes.token, decision.ours)),
        theirs=tuple(map(codes.token, decision.theirs)),
    )


def _missing(systems: tuple[System, System]) -> bytes:
    """A character that is in no token of either system, whatever is on it."""
    known = b"".join(chain.from_iterable(system.tokens for system in systems))
    known += systems[0].affixes.prefix + systems[0].affixes.suffix
    if systems[0].alphabet == "byte":
        return next((bytes([byte]) for byte in range(0x80) if byte not in known), b"")
    used = set(known.decode("utf-8", "replace"))
    # A readable one if there is one, then those of private use.
    chars = (chr(point) for point in chain(b"x?", range(0xE000, 0xF900), range(0x80)))
    return next((char.encode() for char in chars if char not in used), b"")


def conflicts_of(a: System, b: System, budget: int) -> Conflicts:
    """All tokens and pairs of the first system on which the two differ."""
    if a.alphabet == b.alphabet:
        return Conflicts(a.spines, b.spines, a.size, budget)
    # Theorem 25: the characters that are tokens of ours are symbols there, and built in theirs.
    return Conflicts(a.spines, b.spines, len, budget, frozenset(a.symbols()))


def contents_of(
    a: System,
    ok: Callable[[bytes], bool] | None,
    never: Callable[[bytes], bool] | None,
    *,
    utf8: bool,
) -> Contents | None:
    """The contents that count, None for all."""
    if ok is never is None and not utf8:
        return None
    known = Contents.utf8() if utf8 else Contents()
    if ok is not None:
        known = replace(known, ok=ok)
    if never is None:
        return known
    inner, outer = known.never, never
    return replace(known, never=lambda content: inner(content) or outer(content))


@dataclass(frozen=True, slots=True)
class Runs:
    """How two systems give the tokens of a content."""

    ours: Callable[[bytes], Path]
    theirs: Callable[[bytes], Path]


def conclude(
    a: System,
    conflicts: Conflicts,
    paths: Iterator[Path],
    runs: Runs,
    contents: Contents | None,
) -> Decision:
    """The verdict that follows from all tokens and pairs of ``a`` on which two systems differ."""
    content: bytes | None
    possible, shortest, tried = False, True, 0
    if contents is None:
        path = next(paths, None)
        content = None if path is None else b"".join(path)
    else:
        search = Contexts(
            a.spines,
            conflicts.size,
            a.neighbours(contents.role),
            contents,
            lambda content: runs.ours(content) != runs.theirs(content),
            BUDGET // 20,
        )
        content = search.shortest(paths)
        possible, shortest, tried = search.possible, search.complete, search.tried
    if content is not None:
        ours, theirs = runs.ours(content), runs.theirs(content)
        return Decision("different", "", content, ours, theirs, shortest and conflicts.complete)
    if conflicts.complete and shortest and not possible:
        return Decision("proved", _NO_CONFLICT)
    seen = f"{conflicts.checked} pairs of tokens were looked at"
    if tried:
        seen += f", and {tried} contents around those that differ, none of which can occur"
    return Decision("undecided", seen)


def plainly_equal(a: System, b: System) -> str | None:
    """The theorem by which two systems are the same, where comparing their forms shows it.

    None says only that it does not.
    """
    if a.alphabet != b.alphabet:
        return None
    if a.rule == b.rule and a.base is b.base is None and set(a.tokens) == set(b.tokens):
        return "the merges are the same"
    if a.affixes != NO_AFFIXES:
        return None  # a token may be spelled in two ways, of which a split tells one (Theorem 22)
    if isinstance(b.rule, RankTable):
        a, b = b, a
    # Each way spares a canonical form: Theorem 4 that of the list, Theorem 13 that of the ranks.
    ways = [_listed_as_ranked, _ranked_as_listed]
    if b.has_form and not a.has_form:
        ways.reverse()
    proof = next(filter(None, (way(a, b) for way in ways)), None)
    if proof is not None:
        return proof
    if a.form.splits == b.form.splits and _same_order(a.form, b.form):
        return _SAME_MERGES
    return None


def _same_order(a: Canonical, b: Canonical) -> bool:
    # Of tied splits the leftmost merges, so their order says nothing.
    return (
        len(set(a.priority.values())) == len(a.priority)
        and len(set(b.priority.values())) == len(b.priority)
        and list(a.splits) == list(b.splits)
    )


def _ranked_as_listed(ranked: System, listed: System) -> str | None:
    """Theorem 13: the ranks are those of the tokens that the list builds, in its order."""
    table, rule = ranked.rule, listed.rule
    if not isinstance(table, RankTable) or not isinstance(rule, PairList):
        return None
    splits, size = listed.form.splits, listed.size
    if ranked.base is None:
        found = ranked_as_listed(splits, table.ranks)
        if found is not None:
            return _RANKED_AS_LISTED if found else None
    # With a rank, a token that the list does not build could be built by some other pair.
    if any(token not in splits and size(token) > 1 for token in table.ranks):
        return None
    # MAX_ID stands for "no rank": the largest rank never merges.
    order = [table.ranks.get(token, MAX_ID) for token in splits]
    if not all(one < other for one, other in pairwise([-1, *order, MAX_ID])):
        return None
    if not _has_symbols(ranked, splits.values()):
        return None
    return _RANKED_AS_LISTED


def _listed_as_ranked(ranked: System, listed: System) -> str | None:
    """Theorem 4: the list has each reachable token's split, and these are in rank order."""
    table, rule = ranked.rule, listed.rule
    if not isinstance(table, RankTable) or not isinstance(rule, PairList):
        return None
    form = ranked.form
    # The form of the list is then that of the ranks: it is kept with the list's model. Where tokens
    # have kinds, the form may leave some of what the rule builds out.
    plain = all(each is None or not each.vocab.kinds for each in (ranked.model, listed.model))
    kept = listed.model if plain and listed.model is not None else None
    if ranked.base is listed.base is None:
        found = listed_as_ranked(form.splits, table.ranks, rule.pairs)
        if found is not None:
            return _learned(kept, found) if found else None
    if len(set(form.priority.values())) != len(form.priority):
        return None
    places = {pair: place for place, pair in enumerate(rule.pairs)}  # the last, if listed twice
    last = -1
    for pair in form.splits.values():
        place = places.get(pair)
        if place is None or place < last:
            return None
        last = place
    if not _has_symbols(listed, form.splits.values()) or not _has_symbols(ranked, places):
        return None
    # Further pairs never fire, if their products are in the table; the largest rank never merges.
    if any(table.ranks.get(left + right, MAX_ID) == MAX_ID for left, right in places):
        return None
    if kept is not None and not canonical.known(kept):
        priority = {token: places[pair] for token, pair in form.splits.items()}
        canonical.keep(kept, with_splits(kept, priority, form))
    return _LISTED_AS_RANKED


def _learned(model: BPEModel | None, form: CanonicalForm) -> str:
    """Keeps the canonical form that the kernel found of the list's model, if it may be kept."""
    if model is not None and not canonical.known(model):
        learned = Canonical(form.splits, form.priority, form.unreachable, form.disordered)
        ids = model.vocab.ids
        if not form.is_of(ids):
            # The form is of the table; the model may have tokens besides.
            learned = with_splits(model, form.priority, learned)
        canonical.keep(model, learned)
    return _LISTED_AS_RANKED


def _has_symbols(system: System, pairs: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether all single symbols that pairs are made of are there before merging."""
    base, size = system.base, system.size
    return base is None or all(part in base or size(part) > 1 for pair in pairs for part in pair)


class _Characters(dict[bytes, int]):
    """How many characters contents have, counted once."""

    def __missing__(self, content: bytes) -> int:
        self[content] = length = len(content.decode("utf-8", "replace"))
        return length
