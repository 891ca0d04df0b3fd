"""Whether two merge systems give every text the same tokens: decided, with a shortest witness.

The theorems are those of ``docs/theory.md``: Theorem 5 says where to look, Theorems 3, 4 and 13
save the search where they hold. Nothing is assumed about the order of priorities:
ties, ranks out of order and tokens that nothing builds are all decided.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice, pairwise
from typing import Literal, TypeAlias

from ..kernel import CanonicalForm, listed_as_ranked, ranked_as_listed
from ..merging.canonical import Canonical, canonical, canonical_of, with_splits
from ..merging.symbols import NO_AFFIXES, symbols_of, textual
from ..model import MAX_ID, Affixes, Alphabet, BPEModel, MergeRule, PairList, RankTable
from .conflicts import Conflicts, Path
from .contexts import Contents, Contexts
from .spines import Spines
from .symbol_codes import SymbolCodes

Verdict: TypeAlias = Literal["proved", "refuted", "undecided"]

_ALIKE = 8
"""How many symbols of a role that never merge are put beside others."""

_LISTED_AS_RANKED = "the list has each token's split in rank order (Theorem 4)"
_RANKED_AS_LISTED = (
    "the ranks are those of the tokens that the list builds, in its order (Theorem 13)"
)
_NO_CONFLICT = "wherever two merges overlap, both make the same of it (Theorem 6)"

BUDGET = 2_000_000
"""How many pairs of tokens a decision looks at."""


@dataclass(frozen=True, eq=False)
class System:
    """A merge rule over an alphabet, and what it can start from and build.

    ``tokens``: all that a merge may produce, and whatever else the vocabulary has. ``base``: the
    symbols that are there before merging, None for all. The canonical form is that of ``model``,
    if these are its merges, or ``known``, or found from the rule.
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

    def neighbours(self, role: Callable[[bytes], object]) -> list[bytes]:
        """The tokens that may stand beside others.

        Symbols that no token is built from are all alike to merging: here are a few of each role
        (of one role are those that make the same contents whole; a part of a character asks for
        other bytes than a whole one).
        """
        splits = self.form.splits
        parts = {part for pair in splits.values() for part in pair if part not in splits}
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
    """The merges of a model, without what stands before and after them.

    Contents with a user-defined token are not its business, nor is what becomes of missing
    symbols and of UNUSED pieces afterwards.
    """
    fallback, ids = model.fallback, textual(model)
    kept = fallback.after_merging or (fallback.missing == "error" and not fallback.byte_fallback)
    return System(
        model.merges,
        ids,
        model.alphabet,
        None if kept else ids,
        model.affixes,
        model,
    )


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
    utf8: bool = False,
    budget: int = BUDGET,
) -> Decision:
    """Decides whether two systems give every content the same tokens.

    ``never`` says that a content does not occur, nor any that holds it; ``utf8``, that only
    valid UTF-8 does; ``ok``, which contents count. Where the systems differ, but on none that
    counts and was found, the answer is *undecided*, unless it is shown that there is none, which
    ``ok`` cannot show. The first system may merge characters and the second bytes; then only
    contents count whose characters are all tokens of the first.

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
        return _decide_spelled(a, b, ok, budget)
    conflicts = conflicts_of(a, b, budget)
    runs = Runs(a.run, b.run)
    return conclude(a, conflicts, conflicts.paths(), runs, contents_of(a, ok, never, utf8=utf8))


def _decide_spelled(
    a: System, b: System, ok: Callable[[bytes], bool] | None, budget: int
) -> Decision:
    """With affixes: each symbol with those that are on it is one character."""
    replaced = a.base is not None or b.base is not None
    missing = _missing((a, b)) if replaced else b""
    codes = SymbolCodes(a.affixes, a.alphabet, missing)
    forms = [codes.form(s.rule, s.tokens, s.alphabet, s.base) for s in (a, b)]
    if codes.ambiguous:
        return Decision("undecided", "a prefix that looks like the suffix")
    if forms[0].splits == forms[1].splits and _same_order(*forms):
        return Decision("proved", "the merges that fire are the same, in one order (Theorem 3)")
    if replaced and not missing:
        return Decision("undecided", "which symbols with affixes are missing")
    ours, theirs = (_coded(codes, form) for form in forms)
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
    chars = (chr(point) for point in chain(b"x?", range(0xE000, 0xF900), range(0x80)))
    return next((char.encode() for char in chars if char not in used), b"")


def _coded(codes: SymbolCodes, form: Canonical) -> System:
    tokens = [*codes.alphabet(), *form.splits]
    return System(PairList(()), tokens, "char", known=form)


def conflicts_of(a: System, b: System, budget: int) -> Conflicts:
    """All tokens and pairs of the first system on which the two differ."""
    if a.alphabet == b.alphabet:
        return Conflicts(a.spines, b.spines, a.size, budget)
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
        return Decision("refuted", "", content, ours, theirs, shortest and conflicts.complete)
    if conflicts.complete and shortest and not possible:
        return Decision("proved", _NO_CONFLICT)
    seen = f"{conflicts.checked} pairs of tokens were looked at"
    if tried:
        seen += f", and {tried} contents around those that differ, none of which can occur"
    return Decision("undecided", seen)


def plainly_equal(a: System, b: System) -> str | None:
    """The theorem by which two systems are the same, where comparing their forms shows it."""
    if a.alphabet != b.alphabet:
        return None
    if a.rule == b.rule and a.base is b.base is None and set(a.tokens) == set(b.tokens):
        return "the merges are the same"
    if a.affixes != NO_AFFIXES:
        # A token may be spelled in two ways, of which a split tells one.
        return None
    if isinstance(b.rule, RankTable):
        a, b = b, a
    # Each way spares a canonical form: of the list, or of the ranks.
    ways = [_listed_as_ranked, _ranked_as_listed]
    if b.has_form and not a.has_form:
        ways.reverse()
    proof = next(filter(None, (way(a, b) for way in ways)), None)
    if proof is not None:
        return proof
    if a.form.splits == b.form.splits and _same_order(a.form, b.form):
        return "the merges that fire are the same, in one order (Theorem 3)"
    return None


def _same_order(a: Canonical, b: Canonical) -> bool:
    """Whether no two of the splits are tied, and they stand in one order."""
    return (
        len(set(a.priority.values())) == len(a.priority)
        and len(set(b.priority.values())) == len(b.priority)
        and list(a.splits) == list(b.splits)
    )


def _ranked_as_listed(ranked: System, listed: System) -> str | None:
    """Whether ranks are those of the tokens that a list builds, in its order (Theorem 13)."""
    table, rule = ranked.rule, listed.rule
    if not isinstance(table, RankTable) or not isinstance(rule, PairList):
        return None
    splits, size = listed.form.splits, listed.size
    if ranked.base is None:
        native = ranked_as_listed(splits, table.ranks)
        if native is not None:
            return _RANKED_AS_LISTED if native else None
    if any(token not in splits and size(token) > 1 for token in table.ranks):
        return None
    order = [table.ranks.get(token, MAX_ID) for token in splits]
    if not all(one < other for one, other in pairwise([-1, *order, MAX_ID])):
        return None
    if not _has_symbols(ranked, splits.values()):
        return None
    return _RANKED_AS_LISTED


def _listed_as_ranked(ranked: System, listed: System) -> str | None:
    """Whether a list has each reachable token's split in rank order (Theorem 4).

    Pairs count at their last place.
    """
    table, rule = ranked.rule, listed.rule
    if not isinstance(table, RankTable) or not isinstance(rule, PairList):
        return None
    form = ranked.form
    # Where tokens have kinds, the form may leave some of what the rule builds out.
    plain = all(each is None or not each.vocab.kinds for each in (ranked.model, listed.model))
    kept = listed.model if plain and listed.model is not None else None
    if ranked.base is listed.base is None:
        native = listed_as_ranked(form.splits, table.ranks, rule.pairs)
        if native is not None:
            return _learned(kept, native) if native else None
    if len(set(form.priority.values())) != len(form.priority):
        return None
    places = {pair: place for place, pair in enumerate(rule.pairs)}
    last = -1
    for pair in form.splits.values():
        place = places.get(pair)
        if place is None or place < last:
            return None
        last = place
    if not _has_symbols(listed, form.splits.values()) or not _has_symbols(ranked, places):
        return None
    # The largest rank never merges.
    if any(table.ranks.get(left + right, MAX_ID) == MAX_ID for left, right in places):
        return None
    if kept is not None and not canonical.known(kept):
        priority = {token: places[pair] for token, pair in form.splits.items()}
        canonical.keep(kept, with_splits(kept, priority, form))
    return _LISTED_AS_RANKED


def _learned(model: BPEModel | None, form: CanonicalForm) -> str:
    """Keeps the canonical form of the list's model, if it may be kept; returns the theorem."""
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
