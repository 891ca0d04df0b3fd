"""Whether another way of writing merges gives the same ids: what simple conditions establish.

The theorems named here are proved in ``docs/theory.md``. Where the conditions do not hold, a
text that would encode differently is looked for within a budget; where none is found, the
answer is "not shown", never "equal".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from ..loss import Loss
from ..model import (
    BPEModel,
    PairList,
    RankTable,
    show,
)
from .merges import Canonical, Merger, canonical, canonical_of
from .pretokens import UTF8_BYTES, occurrence

BUDGET = 20_000
"""How many candidate texts a search for a witness tries."""


def rank_table(model: BPEModel) -> dict[bytes, int]:
    """The tokens that a rank file would rank, each by its id.

    Left out are tokens that no text can contain in this spelling (control), and the empty one.
    """
    kinds = model.vocab.kinds
    return {
        content: number
        for content, number in model.vocab.ids.items()
        if content and kinds.get(number) != "control"
    }


def rank_file_losses(model: BPEModel) -> Iterator[Loss]:
    """What is lost where one number is both id and rank, and whole pretokens are looked up."""
    table = rank_table(model)
    for content, number in model.vocab.ids.items():
        if content not in table and content:
            yield Loss(
                "vocab",
                "text",
                f"token {number}, {show(content)}, is no sequence of bytes that a text can contain",
                "the id could not be decoded",
            )
    yield from _core(model, table)
    if not model.lookup_first:
        yield from _lookups(model, table)


def _core(model: BPEModel, table: Mapping[bytes, int]) -> Iterator[Loss]:
    rule = model.merges
    if isinstance(rule, RankTable) and _same_order(rule.ranks, table):
        return
    ranked = canonical_of(RankTable(table), table)
    if isinstance(rule, PairList) and listed_as_ranked(ranked, rule):
        return
    own = canonical(model)
    if list(own.splits.items()) == list(ranked.splits.items()):
        return
    witness = core_witness(model, own, ranked, table)
    inverted = _first_inversion(own, table)
    what = "the ids are not in the order of the merges"
    if inverted:
        left, right = inverted
        ids = f"{table[left]} and {table[right]}"
        what += f" ({show(left)} merges before {show(right)}, with ids {ids})"
    yield Loss(
        "merges",
        "ids",
        what,
        "a rank file writes one number for id and rank, so other pairs would merge first",
        witness=witness,
        shown=witness is not None,
    )


def _same_order(ranks: Mapping[bytes, int], table: Mapping[bytes, int]) -> bool:
    if ranks is table or ranks == table:
        return True
    if ranks.keys() != table.keys():
        return False
    return sorted(ranks, key=ranks.__getitem__) == sorted(table, key=table.__getitem__)


def listed_as_ranked(ranked: Canonical, rule: PairList) -> bool:
    """Whether a pair list lists each reachable token's split in rank order (Theorem 4).

    Pairs count at their last place. Every pair's product must be a ranked token, which holds for
    a table of the whole vocabulary.
    """
    places = {pair: place for place, pair in enumerate(rule.pairs)}
    last = -1
    for pair in ranked.splits.values():
        place = places.get(pair)
        if place is None or place < last:
            return False
        last = place
    return True


def _first_inversion(own: Canonical, table: Mapping[bytes, int]) -> tuple[bytes, bytes] | None:
    previous: bytes | None = None
    for token in own.splits:
        if previous is not None and token in table and table[token] < table[previous]:
            return previous, token
        if token in table:
            previous = token
    return None


def core_witness(
    model: BPEModel, own: Canonical, ranked: Canonical, table: Mapping[bytes, int]
) -> str | None:
    """A text that the model and the rank table encode differently, or None if none was found."""
    ours, theirs = Merger(model.merges), Merger(RankTable(table))
    candidates = sorted(islice(_candidates(own, ranked, table), BUDGET * 4), key=len)
    for content in candidates[:BUDGET]:
        symbols = [content[i : i + 1] for i in range(len(content))]
        if content in table:
            continue
        if any(symbol not in table for symbol in symbols):
            continue
        if ours.run(list(symbols)) == theirs.run(list(symbols)):
            continue
        found = occurrence(model.pretokenizer or (), content)
        if found.possible and found.text is not None:
            return found.text
    return None


def _candidates(own: Canonical, ranked: Canonical, table: Mapping[bytes, int]) -> Iterator[bytes]:
    """Texts on which two merge systems may differ: conflicts of order, then changed tokens."""
    order = {token: place for place, token in enumerate(own.splits)}
    by_right: dict[bytes, list[bytes]] = {}
    by_left: dict[bytes, list[bytes]] = {}
    for token, (left, right) in own.splits.items():
        by_right.setdefault(right, []).append(token)
        by_left.setdefault(left, []).append(token)
    for shared, before in by_right.items():
        for z in before:
            for t in by_left.get(shared, ()):
                if (order[z] < order[t]) != (table.get(z, 0) < table.get(t, 0)):
                    yield z + t[len(shared) :]
    changed = [t for t in own.splits if own.splits[t] != ranked.splits.get(t)]
    changed += [t for t in ranked.splits if t not in own.splits]
    singles = [bytes([byte]) for byte in range(0x20, 0x7F)]
    for token in changed:
        yield token
        for single in singles:
            yield token + single
            yield single + token


def _lookups(model: BPEModel, table: Mapping[bytes, int]) -> Iterator[Loss]:
    """Tokens that a rank file finds by looking whole pretokens up, and the model never does."""
    undecided = []
    for content in canonical(model).unreachable:
        if content not in table:
            continue
        found = occurrence(model.pretokenizer or (), content)
        if found.possible:
            yield Loss(
                "lookup_first",
                "ids",
                f"{show(content)} is a token that no merge builds, and tiktoken would find it",
                "a pretoken that is such a token would be encoded as its id",
                witness=found.text,
            )
            return
        if found.possible is None:
            undecided.append(content)
    if undecided:
        yield Loss(
            "lookup_first",
            "ids",
            f"{len(undecided)} tokens that no merge builds would be looked up whole, such as "
            f"{show(undecided[0])}; whether a pretoken can be one of them is not decided",
            "a pretoken that is such a token would be encoded as its id",
            shown=False,
        )


def missing_bytes(contents: Iterable[bytes]) -> frozenset[int]:
    """The bytes that occur in UTF-8 and have no token."""
    return UTF8_BYTES - {content[0] for content in contents if len(content) == 1}
