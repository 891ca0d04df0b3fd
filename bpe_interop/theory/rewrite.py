"""Merges in another form: ranks as a list of pairs (Theorems 4 and 7), pairs as ranks (Theorem 13).

Each is done where it is proved to give every text the same tokens, and refused otherwise, with
a text that shows the difference where one was found. Theorem 12 shows by two texts that a
tokenizer has no form for SentencePiece at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import accumulate, chain, pairwise, product

from ..kernel.tables import as_dict
from ..memo import Memo
from ..merging.canonical import canonical
from ..merging.merger import Merger, Priority
from ..merging.symbols import symbols_of, textual, user_defined
from ..model import Affixes, Alphabet, BPEModel, MergeRule, PairList, RankTable
from ..quoting import show
from ..steps import ByteChars
from .contexts import plain_contexts
from .equality import Decision, System, decide, system_of
from .pretokens import text_for
from .spines import Spines
from .unused_pieces import decide_resplit

_RANKED = "the reachable tokens in the list's order are the same merges (Theorem 13)"
_SPLITS = "the splits in rank order are the same merges (Theorem 4)"


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Merges in another form, or why there are none.

    Attributes:
        rule: the new rule, None where it is refused.
        proof: the theorem by which it is the same.
        what: why it is refused.
        consequence: what would be otherwise.
        witness: a text that shows it.
        shown: False where it is only not proved.
        nearest: the refused rule that fails on the witness.
        left_out: tokens of the vocabulary that the new rule must not be able to build.
    """

    rule: MergeRule | None
    proof: str = ""
    what: str = ""
    consequence: str = ""
    witness: str | None = None
    shown: bool = True
    nearest: MergeRule | None = None
    left_out: tuple[bytes, ...] = ()


@Memo
def as_pairs(model: BPEModel) -> Rewrite:
    """The merges as a list of pairs, which tokenizers runs."""
    is_list, kinds = isinstance(model.merges, PairList), model.vocab.kinds
    as_they_are = Rewrite(model.merges, "the merges are a list of pairs")
    if is_list and "unused" not in kinds.values():
        return as_they_are
    if model.affixes != Affixes():
        return refused_affixes()
    system = system_of(model)
    form = system.form
    ids = {token: n for token, n in textual(model).items() if kinds.get(n) != "unused"}
    unused = form.splits.keys() - ids.keys()
    if unused:
        return _without_unused(model, system, ids, unused)
    if is_list:
        return as_they_are
    headless = _with_missing_parts(system, ids)
    if not headless and len(set(form.priority.values())) == len(form.priority):
        return Rewrite(PairList(tuple(form.splits.values())), _SPLITS)
    # Ranks are equal, so the leftmost pair merges. Theorem 7: a circle has no list (b), some order
    # of equals may keep what the leftmost did (a), and all other cases are decided (c).
    circle = forced_circle(system)
    if circle:
        return _circular(model, system, circle, headless)
    others = tied_lists(system, ids, headless)
    for other in others:
        decision = _compare(model, system, other)
        if decision.verdict == "proved":
            return Rewrite(other.rule, decision.why)
    decision = _compare(model, system, others[0], ok=_is_pretoken(model))
    if not headless.isdisjoint(decision.ours):
        return _missing_part(model, decision, others[0].rule, headless)
    what = "pieces have equal scores: of two that overlap, the leftmost merges"
    consequence = "a list of pairs ranks one before the other"
    return refused(model, decision, others[0].rule, what, consequence)


@Memo
def as_ranks(model: BPEModel) -> Rewrite:
    """The merges as ranks of their products, which SentencePiece (as scores) and tiktoken run.

    The tokens that a list builds are ranked in its order, then the single symbols by id. The
    target must see to it that no pair merges into the others, which are in ``left_out``.
    """
    if isinstance(model.merges, RankTable):
        return Rewrite(model.merges, "the merges are ranks")
    if model.affixes != Affixes():
        return refused_affixes()
    ids, kinds = textual(model), model.vocab.kinds
    built = as_dict(canonical(model).splits)
    singles = [
        (number, token)
        for token, number in ids.items()
        if token not in built
        and kinds.get(number, "normal") in ("normal", "unused")
        and _is_symbol(token, model.alphabet)
    ]
    in_order = chain(built, (token for _, token in sorted(singles)))
    ranks = {token: rank for rank, token in enumerate(in_order)}
    # Theorem 13: always the same, if what the list does not build has no rank.
    left_out = tuple(token for token in ids if token not in ranks)
    return Rewrite(RankTable(ranks), _RANKED, left_out=left_out)


def ranks_of(model: BPEModel) -> Mapping[bytes, int]:
    """The ranks of :func:`as_ranks`; where there are none, those in the order of building."""
    rule = as_ranks(model).rule
    if isinstance(rule, RankTable):
        return rule.ranks
    return {token: rank for rank, token in enumerate(canonical(model).splits)}


def _is_symbol(token: bytes, alphabet: Alphabet) -> bool:
    try:
        return len(symbols_of(token, alphabet)) == 1
    except UnicodeDecodeError:
        return False  # no text, so no character


def _is_pretoken(model: BPEModel) -> Callable[[bytes], bool]:
    return lambda content: text_for(model, content) is not None


def _compare(
    model: BPEModel, a: System, b: System, ok: Callable[[bytes], bool] | None = None
) -> Decision:
    """Decides over what a model's pre-tokenizer may leave to its merges."""
    # A step after ByteChars may cut inside a character.
    utf8 = ByteChars() not in (model.pretokenizer or ())
    return decide(a, b, ok=ok, never=_never(model), utf8=utf8)


def _never(model: BPEModel) -> Callable[[bytes], bool] | None:
    """Whether no pretoken that goes to merging can hold a content."""
    frozen = user_defined(model)
    return (lambda content: any(frozen.find(content.decode("utf-8")))) if frozen else None


def refused_affixes() -> Rewrite:
    """The refusal of any merges with affixes."""
    return Rewrite(
        None,
        what="tokens are spelled with a prefix or suffix that only marks their place",
        consequence="ranks of products do not tell such tokens from others",
        shown=False,
    )


def _circular(
    model: BPEModel, system: System, circle: list[bytes], headless: Set[bytes]
) -> Rewrite:
    """Refuses ties that no list can express, with a text that the list by rank and id fails."""
    # Theorem 7 (b): on each of the texts `l x r` of the circle one list would have to fail.
    spines, ids = system.spines, textual(model)
    places = sorted(
        spines.splits.keys() - headless, key=lambda token: (spines.priority[token], ids[token])
    )
    rule = PairList(tuple(map(spines.splits.__getitem__, places)))
    listed = Merger(rule)
    texts = [first + spines.splits[second][1] for first, second in pairwise([*circle, circle[0]])]
    wholes = (whole for content in texts for whole in plain_contexts(content))
    witness = next(
        (
            text
            for whole in wholes
            if tuple(listed.run(symbols_of(whole, system.alphabet))) != system.run(whole)
            and (text := text_for(model, whole)) is not None
        ),
        None,
    )
    names = ", ".join(map(show, circle[:4])) + (", ..." if len(circle) > 4 else "")
    return Rewrite(
        None,
        what=f"{names} have equal scores, and each comes before the next in one of "
        f"{', '.join(map(show, texts[:4]))}: the leftmost pair merges",
        consequence="a list of pairs ranks one before the other in every text, so none is equal",
        witness=witness,
        nearest=rule,
    )


def refused(
    model: BPEModel, decision: Decision, nearest: MergeRule, what: str, consequence: str
) -> Rewrite:
    """A refusal, with the text of a decision's content, on which ``nearest`` fails."""
    witness = None if decision.content is None else text_for(model, decision.content)
    if witness is None:
        return Rewrite(None, what=f"{what} ({decision.why})", consequence=consequence, shown=False)
    return Rewrite(None, what=what, consequence=consequence, witness=witness, nearest=nearest)


def _with_missing_parts(system: System, known: Container[bytes]) -> frozenset[bytes]:
    """The tokens that are built from a symbol which is no token itself."""
    splits = system.form.splits
    if all(map(known.__contains__, chain.from_iterable(splits.values()))):
        return frozenset()
    return frozenset(
        token
        for token in splits
        if any(symbol not in known for symbol in symbols_of(token, system.alphabet))
    )


def _missing_part(
    model: BPEModel, decision: Decision, nearest: MergeRule, headless: frozenset[bytes]
) -> Rewrite:
    token = next(token for token in decision.ours if token in headless)
    symbols = symbols_of(token, model.alphabet)
    ids, kinds = model.vocab.ids, model.vocab.kinds
    known = {s for s in symbols if s in ids and kinds.get(ids[s]) != "unused"}
    symbol = next(symbol for symbol in symbols if symbol not in known)
    return refused(
        model,
        decision,
        nearest,
        f"{show(token)} is merged from {show(symbol)}, which is no token itself",
        "a list names tokens only, so it cannot say this merge",
    )


def _without_unused(
    model: BPEModel, system: System, ids: Mapping[bytes, int], unused: Set[bytes]
) -> Rewrite:
    """Leaves UNUSED pieces out where that is the same as splitting them again (Theorem 23)."""
    rule = model.merges
    # A list ranks the tokens that it builds, in its order (Theorem 13).
    built = {token: rank for rank, token in enumerate(system.form.splits)}
    ranks = rule.ranks if isinstance(rule, RankTable) else built
    less = System(RankTable({t: ranks[t] for t in ids if t in ranks}), ids, system.alphabet)
    other = tied_lists(less, ids, _with_missing_parts(less, ids))[0]
    shortest = show(min(unused, key=lambda token: (len(token), token)))
    decision = decide_resplit(system, unused, other, ok=_is_pretoken(model), never=_never(model))
    if decision.verdict == "proved":
        return Rewrite(other.rule, decision.why)
    return refused(
        model,
        decision,
        other.rule,
        f"{shortest} is UNUSED: it is merged, and split again in the end",
        "a list cannot say this; without the piece other merges happen",
    )


def tied_lists(
    system: System, ids: Mapping[bytes, int], headless: Collection[bytes] = ()
) -> list[System]:
    """Lists that may do what a rank table with equal ranks does, all but ``headless`` in them."""
    spines, place = system.spines, ids.__getitem__
    levels = [_ordered(spines, level, place) for level in _levels(spines)]
    # Theorem 7 (a): the splits, of overlapping ones the winner first.
    plain = [spines.splits[t] for level in levels for t in level if t not in headless]
    lists = [plain]
    if spines.loose:
        # A token's rank is also that of a part of it: all its splits, by id, which is how runs of
        # spaces are published (c).
        every: list[tuple[bytes, bytes]] = []
        for level in levels:
            if spines.loose.isdisjoint(level):
                every += (spines.splits[t] for t in level if t not in headless)
            else:
                for token in sorted(level, key=place):
                    every += _every_split(token, system.alphabet, ids)
        lists.append(every)
    return [System(PairList(tuple(pairs)), system.tokens, system.alphabet, ids) for pairs in lists]


def _every_split(
    token: bytes, alphabet: Alphabet, ids: Mapping[bytes, int]
) -> list[tuple[bytes, bytes]]:
    places = [*accumulate(map(len, symbols_of(token, alphabet)))]
    pairs = [(token[:at], token[at:]) for at in places[:-1]]
    known = [pair for pair in pairs if pair[0] in ids and pair[1] in ids]
    return sorted(known, key=lambda pair: (ids[pair[0]], ids[pair[1]]))


def _levels(spines: Spines) -> Iterator[list[bytes]]:
    """The tokens of each rank."""
    levels: dict[Priority, list[bytes]] = {}
    for token, priority in spines.priority.items():
        levels.setdefault(priority, []).append(token)
    return (level for _, level in sorted(levels.items()))


def _ordered(spines: Spines, level: list[bytes], place: Callable[[bytes], int]) -> list[bytes]:
    """Parts before wholes, winners before losers; otherwise, and in a circle, by id."""
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
        # In a circle none is free: the least id breaks it, and the list that results is decided.
        token = heappop(free)[1] if free else min(stuck, key=stuck.__getitem__)
        if stuck.pop(token, None) is None:
            continue
        order.append(token)
        for later in after[token]:
            waits[later] -= 1
            if not waits[later] and later in stuck:
                heappush(free, (stuck[later], later))
    return order


def forced_circle(system: System) -> list[bytes]:
    """Two-symbol tokens of equal rank each of which must merge before the next, in a circle."""
    # Theorem 7 (b): where `l x r` ends in `lx r`, a list that does the same has `lx` before `xr`,
    # for it has no other pairs there. So no list goes round the circle.
    spines, size = system.spines, system.size
    short = dict.fromkeys(token for token in spines.splits if size(token) == 2)
    before: dict[bytes, dict[bytes, None]] = {}
    for token in short:
        for other in spines.starting.get(spines.splits[token][1], ()):
            tied = spines.priority[token] == spines.priority[other] and token != other
            if tied and other in short and spines.keeps_apart(token, spines.splits[other][1]):
                before.setdefault(other, {})[token] = None
    # A circle of two is the plainest to show.
    for token, earlier in before.items():
        for other in earlier:
            if token in before.get(other, ()):
                return [other, token]
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        # graphlib names the token at which the circle closes twice.
        return list(error.args[1][1:])
    return []


_PROBED = "\n a1.\t'\u00a0\u00e9\u2776\u4e00"
"""What texts are put together of, to look for an obstruction."""


@dataclass(frozen=True, slots=True)
class Obstruction:
    """Texts to which no SentencePiece BPE model gives the ids of a tokenizer (Theorem 12).

    Attributes:
        longer: a text in which the two characters of ``shorter`` are a token each.
        shorter: these characters; alone they are not.
        two_tokens: a text of two tokens, each of which is that of its character.
    """

    longer: str
    shorter: str
    two_tokens: str


def obstruction(encode: Callable[[str], Sequence[int]]) -> Obstruction | None:
    """Looks for texts that prove a tokenizer to be no SentencePiece BPE model (Theorem 12).

    The proof is about models whose normalizer goes character by character and that have no UNUSED
    pieces.

    Args:
        encode: gives the ids of a text without special tokens.
    """
    ids = {char: list(encode(char)) for char in _PROBED}
    chars = {parts[0]: char for char, parts in ids.items() if len(parts) == 1}
    two_tokens = next(
        (
            x + y
            for x, y in product(chars.values(), repeat=2)
            if list(encode(x + y)) == ids[x] + ids[y]
        ),
        None,
    )
    if two_tokens is None:
        return None
    for length in (2, 3):
        for letters in product(_PROBED, repeat=length):
            longer = "".join(letters)
            parts = list(encode(longer))
            for left, right in pairwise(parts):
                if left in chars and right in chars:
                    shorter = chars[left] + chars[right]
                    if shorter in longer and list(encode(shorter)) != [left, right]:
                        return Obstruction(longer, shorter, two_tokens)
    return None
