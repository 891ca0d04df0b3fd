"""Merges in another form: ranks as a list of pairs, pairs as ranks, characters as bytes.

Each is done where it is proved to give every text the same tokens, and refused otherwise, with
a text that shows the difference where one was found (``docs/theory.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import accumulate

from ..loss import Loss
from ..model import Affixes, Alphabet, BPEModel, MergeRule, PairList, RankTable, show
from .core import Decision, System, decide, system_of
from .merges import Priority, textual
from .spines import Spines
from .symbols import symbols_of, user_defined
from .unused import decide_resplit
from .utf8 import is_inside_utf8
from .witness import text_for


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Merges in another form, or why there are none.

    ``rule``: the new rule, None where it is refused. ``proof``: the theorem by which it is the
    same. ``what`` and ``consequence`` say why it is refused, in the words of a :class:`Loss`;
    ``witness`` is a text that shows it. ``shown`` is False where it is only not proved.
    ``left_out``: tokens of the vocabulary that the new rule must not be able to build.
    """

    rule: MergeRule | None
    proof: str = ""
    what: str = ""
    consequence: str = ""
    witness: str | None = None
    shown: bool = True
    left_out: tuple[bytes, ...] = ()

    def losses(self) -> Iterator[Loss]:
        """The refusal as a loss of the merges; nothing where there is a rule."""
        if self.rule is None:
            yield Loss(
                "merges",
                "ids",
                self.what,
                self.consequence,
                witness=self.witness,
                shown=self.shown,
            )


def as_pairs(model: BPEModel) -> Rewrite:
    """The merges as a list of pairs, which tokenizers runs.

    A rank table becomes the list of its tokens' splits in rank order. Equal ranks are put into
    an order that keeps what the leftmost of equals did, if there is one (Theorem 7).
    """
    if isinstance(model.merges, PairList):
        return Rewrite(model.merges, "the merges are a list of pairs")
    system = system_of(model)
    form = system.form
    tokens = textual(model)
    refused = _missing_parts(model, form.splits)
    if refused is not None:
        return refused
    kinds = model.vocab.kinds
    unused = frozenset(token for token in form.splits if kinds.get(tokens[token]) == "unused")
    if unused:
        return _without_unused(model, system, unused)
    if len(set(form.priority.values())) == len(form.priority):
        return Rewrite(PairList(tuple(form.splits.values())), "Theorem 4")
    for rule in _lists(system, model):
        found = _same(model, system, System(rule, system.tokens, system.alphabet))
        if found.verdict == "proved":
            return Rewrite(rule, found.why)
    first = System(next(_lists(system, model)), system.tokens, system.alphabet)
    return _tied(model, system, decide(system, first, ok=_is_pretoken(model), never=_never(model)))


def as_ranks(model: BPEModel) -> Rewrite:
    """The merges as ranks of their products, which SentencePiece (as scores) and tiktoken run.

    The tokens that the list builds are ranked in its order, then the single symbols by id; the
    others are in ``left_out``, and the target must see to it that no pair merges into them. It
    is the same where no pair that the list does not name ever stands beside each other and has
    such a token as its product, or where that is proved not to matter.
    """
    if isinstance(model.merges, RankTable):
        return Rewrite(model.merges, "the merges are ranks")
    if model.affixes != Affixes():
        return Rewrite(
            None,
            what="tokens are spelled with a prefix or suffix that only marks their place",
            consequence="ranks of products do not tell such tokens from others",
            shown=False,
        )
    system = system_of(model)
    ids, kinds = textual(model), model.vocab.kinds
    built = system.form.splits
    singles = [
        token
        for token, number in sorted(ids.items(), key=lambda item: item[1])
        if token not in built
        and kinds.get(number, "normal") in ("normal", "unused")
        and _is_symbol(token, model.alphabet)
    ]
    ranks = {token: rank for rank, token in enumerate([*built, *singles])}
    other = System(RankTable(ranks), ranks, system.alphabet)
    found = _same(model, system, other)
    if found.verdict == "proved":
        left_out = tuple(token for token in ids if token not in ranks)
        return Rewrite(other.rule, found.why, left_out=left_out)
    found = decide(system, other, ok=_is_pretoken(model), never=_never(model))
    what = "the list of merges is not that of a ranking of tokens"
    pair = _unlisted(system, other, found)
    if pair is not None:
        left, right = pair
        what = (
            f"{show(left)} and {show(right)} are no merge, though together they are the token "
            f"{show(left + right)}"
        )
    return _refusal(model, found, what, "where tokens are ranked, every pair that makes one merges")


def _unlisted(system: System, other: System, found: Decision) -> tuple[bytes, bytes] | None:
    """A pair that ranks would merge in the witness, and the list would not."""
    if found.content is None:
        return None
    symbols = symbols_of(found.content, system.alphabet)
    for pair in other.spines.merges(symbols):
        if system.spines.built.get(pair) != b"".join(pair):
            return pair
    return None


def _is_symbol(token: bytes, alphabet: Alphabet) -> bool:
    try:
        return len(symbols_of(token, alphabet)) == 1
    except UnicodeDecodeError:
        return False


def _is_pretoken(model: BPEModel) -> Callable[[bytes], bool]:
    return lambda content: text_for(model, content) is not None


def _never(model: BPEModel) -> Callable[[bytes], bool]:
    """Whether no pretoken that goes to merging can hold a content."""
    frozen = user_defined(model)
    if model.alphabet == "byte":
        return lambda content: not is_inside_utf8(content)
    return lambda content: any(frozen.find(content.decode("utf-8")))


def _same(model: BPEModel, a: System, b: System) -> Decision:
    return decide(a, b, never=_never(model))


def _lists(system: System, model: BPEModel) -> Iterator[PairList]:
    """Lists that may do what a rank table with equal ranks does.

    First the splits, in an order as in Theorem 7; then, where a token's rank is also that of a
    part of it, all its splits, by id: that is how runs of spaces are published.
    """
    spines, ids = system.spines, textual(model)
    yield PairList(tuple(map(spines.splits.__getitem__, _untied(spines, ids.__getitem__))))
    if not spines.loose:
        return
    pairs: list[tuple[bytes, bytes]] = []
    for level in _levels(spines):
        if spines.loose.isdisjoint(level):
            pairs += map(spines.splits.__getitem__, _ordered(spines, level, ids.__getitem__))
            continue
        for token in sorted(level, key=ids.__getitem__):
            pairs += _every_split(token, system.alphabet, ids)
    yield PairList(tuple(pairs))


def _every_split(
    token: bytes, alphabet: Alphabet, ids: Mapping[bytes, int]
) -> list[tuple[bytes, bytes]]:
    places = [*accumulate(map(len, symbols_of(token, alphabet)))]
    pairs = [(token[:at], token[at:]) for at in places[:-1]]
    known = [pair for pair in pairs if pair[0] in ids and pair[1] in ids]
    return sorted(known, key=lambda pair: (ids[pair[0]], ids[pair[1]]))


def _tied(model: BPEModel, system: System, found: Decision) -> Rewrite:
    circle = _forced_circle(system)
    if circle:
        names = ", ".join(map(show, circle[:4])) + (", ..." if len(circle) > 4 else "")
        what = f"{names} have equal scores and overlap in a circle, so no list has their order"
    else:
        what = "pieces have equal scores: of two that overlap, the one that stands first merges"
    return _refusal(model, found, what, "a list of pairs ranks one of them before the other")


def _refusal(model: BPEModel, found: Decision, what: str, consequence: str) -> Rewrite:
    if found.content is None:
        return Rewrite(None, "", f"{what} ({found.why})", consequence, None, shown=False)
    witness = text_for(model, found.content)
    return Rewrite(None, "", what, consequence, witness, shown=witness is not None)


def _missing_parts(model: BPEModel, built: Iterable[bytes]) -> Rewrite | None:
    """Refuses tokens that are built from a symbol which is no token itself."""
    ids = model.vocab.ids
    found = [
        (len(token), token, symbol)
        for token in built
        for symbol in symbols_of(token, model.alphabet)
        if symbol not in ids
    ]
    if not found:
        return None
    texts = ((text_for(model, token), token, symbol) for _, token, symbol in sorted(found))
    shown = next((item for item in texts if item[0] is not None), None)
    witness, token, symbol = shown or (None, *sorted(found)[0][1:])
    return Rewrite(
        None,
        "",
        f"{show(token)} is merged from {show(symbol)}, which is no token itself",
        "a list names tokens only, so it cannot say this merge",
        witness,
        shown=witness is not None,
    )


def _without_unused(model: BPEModel, system: System, unused: frozenset[bytes]) -> Rewrite:
    """Leaves UNUSED pieces out where that is the same as merging and splitting them again."""
    rule = model.merges
    ranks = rule.ranks if isinstance(rule, RankTable) else {}
    kept = {token: rank for token, rank in ranks.items() if token not in unused}
    tokens = [token for token in system.tokens if token not in unused]
    less = System(RankTable(kept), tokens, system.alphabet)
    other = System(next(_lists(less, model)), tokens, system.alphabet)
    found = decide_resplit(system, unused, other, ok=_is_pretoken(model), never=_never(model))
    if found.verdict == "proved":
        return Rewrite(other.rule, found.why)
    return _refusal(
        model,
        found,
        f"{show(min(unused, key=len))} is UNUSED: it is merged, and split again in the end",
        "a list cannot say this; without the piece other merges happen",
    )


def _untied(spines: Spines, place: Callable[[bytes], int]) -> list[bytes]:
    """The tokens by rank; equal ranks so that of two overlapping merges the same comes first.

    Where that goes round in a circle, by id.
    """
    return [token for level in _levels(spines) for token in _ordered(spines, level, place)]


def _levels(spines: Spines) -> Iterator[list[bytes]]:
    """The tokens of each rank."""
    levels: dict[Priority, list[bytes]] = {}
    for token, priority in spines.priority.items():
        levels.setdefault(priority, []).append(token)
    return (level for _, level in sorted(levels.items()))


def _ordered(spines: Spines, level: list[bytes], place: Callable[[bytes], int]) -> list[bytes]:
    """Parts before wholes, winners before losers, otherwise by id."""
    if len(level) == 1:
        return level
    members = set(level)
    after: dict[bytes, list[bytes]] = {token: [] for token in level}
    waits = dict.fromkeys(level, 0)

    def add(first: bytes, second: bytes) -> None:
        if first != second:
            after[first].append(second)
            waits[second] += 1

    for token in level:
        left, right = spines.splits[token]
        for part in {left, right} & members:
            add(part, token)
        for other in spines.starting.get(right, ()):
            if other in members:
                add(*((token, other) if spines.left_first(token, other) else (other, token)))
    free = [(place(token), token) for token in level if not waits[token]]
    heapify(free)
    stuck = {token: place(token) for token in level}
    order: list[bytes] = []
    while stuck:
        token = heappop(free)[1] if free else min(stuck, key=stuck.__getitem__)
        if stuck.pop(token, None) is None:
            continue
        order.append(token)
        for later in after[token]:
            waits[later] -= 1
            if not waits[later] and later in stuck:
                heappush(free, (stuck[later], later))
    return order


def _forced_circle(system: System) -> list[bytes]:
    """Two-symbol tokens of equal rank each of which must merge before the next, in a circle.

    ``l x r`` ends in ``lx r`` in the system: a list that does the same has ``lx`` before ``xr``,
    for it has no other pairs there. So no list goes round the circle (Theorem 7).
    """
    spines, size = system.spines, system.size
    short = {token for token in spines.splits if size(token) == 2}
    before: dict[bytes, set[bytes]] = {}
    for token in short:
        for other in spines.starting.get(spines.splits[token][1], ()):
            tied = spines.priority[token] == spines.priority[other] and token != other
            if tied and other in short and spines.apart(token, spines.splits[other][1]):
                before.setdefault(other, set()).add(token)
    for token, earlier in before.items():
        for other in earlier:
            if token in before.get(other, ()):
                return [other, token]
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        return list(error.args[1][1:])
    return []
