"""The canonical form of a merge system: all that its merges do, in one way only (Theorem 3)."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, replace
from math import inf

from ..gc_pause import paused
from ..kernel.canonical import form_of_list, form_of_ranks
from ..kernel.tables import as_dict
from ..memo import Memo
from ..model import Affixes, Alphabet, BPEModel, MergeRule, RankTable
from .merger import Merger, Priority
from .symbols import (
    NO_AFFIXES,
    merges_missing,
    spellings,
    symbols_of,
    textual,
    user_defined,
)


@dataclass(frozen=True, slots=True)
class Canonical:
    """What a merge system does (Theorem 3).

    With affixes, a token's symbols depend on where in a pretoken it stands
    (:func:`.symbols.spellings`).

    Attributes:
        splits: every token that merging builds, in priority order, and the one pair it is ever
            built by.
        priority: the priority of that merge.
        unreachable: the tokens that no run ever ends in, wherever they stand, in the vocabulary's
            order (the empty token is one).
        disordered: tokens whose merge does not come after the merges of both its parts.
        twofold: tokens that one place builds otherwise than another; ``splits`` has one of the
            two pairs, so it says all only where there are none.
    """

    splits: Mapping[bytes, tuple[bytes, bytes]]
    priority: Mapping[bytes, Priority]
    unreachable: tuple[bytes, ...]
    disordered: tuple[bytes, ...]
    twofold: tuple[bytes, ...] = ()

    @property
    def monotone(self) -> bool:
        """Whether every token's merge has a greater priority than those of its parts."""
        return not self.disordered


@paused()
def canonical_of(
    rule: MergeRule,
    tokens: Collection[bytes],
    alphabet: Alphabet = "byte",
    base: Container[bytes] | None = None,
    affixes: Affixes = NO_AFFIXES,
) -> Canonical:
    """The canonical form of a merge rule over a vocabulary.

    ``base`` are the symbols that are there before merging, None for all.
    """
    if affixes == NO_AFFIXES:
        # From short tokens to long ones (Theorem 16).
        whole = _by_kernel(rule, tokens, alphabet, base)
        if whole is not None:
            return whole
    merger = Merger(rule, affixes)
    splits_of: dict[bytes, tuple[bytes, bytes]] = {}
    priority: dict[bytes, Priority] = {}
    unreachable: list[bytes] = []
    twofold: list[bytes] = []
    for token in tokens:
        ways: list[list[bytes]] = []
        for symbols in spellings(token, alphabet, affixes):
            if base is not None and any(symbol not in base for symbol in symbols):
                continue  # a symbol that is dropped or replaced builds nothing
            # Lemma 2: the one pair that can ever build the token is what its own run merges last.
            parts = merger.run(symbols, 2)
            if len(parts) == 2 and (rank := merger.priority(*parts)) is not None:
                if rank <= priority.get(token, inf):
                    splits_of[token], priority[token] = (parts[0], parts[1]), rank
                ways.append(parts)
            elif len(parts) == 1:
                ways.append(parts)
        if not ways:
            unreachable.append(token)
        elif any(parts != ways[0] for parts in ways):
            twofold.append(token)
    ordered = sorted(splits_of, key=priority.__getitem__)
    splits = {token: splits_of[token] for token in ordered}
    priority = {token: priority[token] for token in ordered}
    disordered = _disordered(splits, priority)
    return Canonical(splits, priority, tuple(unreachable), disordered, tuple(twofold))


def _disordered(
    splits: Mapping[bytes, tuple[bytes, bytes]], priority: Mapping[bytes, Priority]
) -> tuple[bytes, ...]:
    get = priority.get
    return tuple(
        token
        for (token, (left, right)), own in zip(splits.items(), priority.values(), strict=True)
        if get(left, -inf) >= own or get(right, -inf) >= own
    )


def _by_kernel(
    rule: MergeRule,
    tokens: Collection[bytes],
    alphabet: Alphabet,
    base: Container[bytes] | None,
) -> Canonical | None:
    known_only = base is not None
    if base is None or base is tokens or _same_symbols(base, tokens, alphabet):
        found = (
            form_of_ranks(rule.ranks, tokens, alphabet, known=known_only)
            if isinstance(rule, RankTable)
            else form_of_list(rule.pairs, tokens, alphabet, known=known_only)
        )
        if found is not None:
            return Canonical(found.splits, found.priority, found.unreachable, found.disordered)
    return None


def _same_symbols(base: Container[bytes], tokens: Collection[bytes], alphabet: Alphabet) -> bool:
    """Whether of the symbols that tokens are made of, those in ``base`` are the tokens among them.

    Then it says nothing more than that only tokens are there before merging.
    """
    joined = b"".join(tokens)
    if alphabet == "byte":
        # All tokens at once: a vocabulary has few symbols.
        symbols = {bytes((byte,)) for byte in set(joined)}
    else:
        try:
            symbols = {char.encode("utf-8") for char in set(joined.decode("utf-8"))}
        except UnicodeDecodeError:
            return False  # not all tokens are text: the runs tell
    return all((symbol in base) == (symbol in tokens) for symbol in symbols)


@Memo
def canonical(model: BPEModel) -> Canonical:
    """The canonical form of a model's merges. Computed once for each model.

    Tokens that no text can spell (``control``) are unreachable, and so are those that hold a
    user-defined token, which is always found first. Tokens of kind ``byte`` are what missing
    characters become: they are neither built nor unreachable. Tokens of kind ``unused`` count
    as merging builds them, though in the end they are split again.
    """
    ids, tokens = model.vocab.ids, textual(model)
    built, symbols = _sorted_out(model) if model.vocab.kinds else (tokens, ())
    base = None if merges_missing(model.fallback) else tokens
    form = canonical_of(model.merges, built, model.alphabet, base, model.affixes)
    if len(built) == len(ids) and not symbols:
        return form
    # What merging may not build is unreachable, but not what stands there without it.
    out = (ids.keys() - built).union(form.unreachable).difference(symbols)
    return replace(form, unreachable=tuple(filter(out.__contains__, ids)))


def keep_without_idle(model: BPEModel, form: Canonical) -> None:
    """Keeps as a model's canonical form that of its merges over some tokens more.

    Args:
        model: of characters without affixes; its tokens of other kinds than normal are of kind
            ``byte``, and no run builds them.
        form: of the same merges over the model's tokens, in their order, and others among them
            that no run builds.
    """
    # Lemma 2: what the own run of a token does not build, no run builds, so no merge needs it.
    # Tokens of bytes stand there without merging.
    ids, kinds = as_dict(model.vocab.ids), model.vocab.kinds
    there = (token for token in form.unreachable if token in ids)
    unreachable = tuple(token for token in there if ids[token] not in kinds)
    canonical.keep(model, replace(form, unreachable=unreachable))


def with_splits(model: BPEModel, priority: Mapping[bytes, Priority], form: Canonical) -> Canonical:
    """The canonical form of a model without kinds whose splits are proved to be those of another.

    Args:
        model: the model.
        priority: the priorities of its merges, by what they build, least first.
        form: the other canonical form.
    """
    splits = form.splits
    others = (token for token in model.vocab.ids if token not in splits)
    unreachable = tuple(t for t in others if len(symbols_of(t, model.alphabet)) != 1)
    return Canonical(splits, priority, unreachable, _disordered(splits, priority))


def _sorted_out(model: BPEModel) -> tuple[Collection[bytes], Collection[bytes]]:
    """The tokens that merging may build, and those that are there without it."""
    kinds, frozen, tokens = model.vocab.kinds, user_defined(model), textual(model)
    if not frozen:
        of_bytes = {number for number, kind in kinds.items() if kind == "byte"}
        return tokens, {token for token, number in tokens.items() if number in of_bytes}
    built: dict[bytes, int] = {}
    symbols: set[bytes] = set()
    for token, number in tokens.items():
        if kinds.get(number) in ("byte", "user_defined"):
            symbols.add(token)
        if kinds.get(number) != "user_defined" and not any(
            frozen.find(token.decode("utf-8", "replace"))
        ):
            built[token] = number
    return built, symbols


def whole_lookups(model: BPEModel) -> frozenset[bytes]:
    """The tokens that are found only because whole pretokens are looked up first (Theorem 8)."""
    return not_merged(model) if model.lookup_first else frozenset()


def not_merged(model: BPEModel) -> frozenset[bytes]:
    """The tokens that pretokens which spell them do not merge into.

    With a suffix, or for the tokens of bytes, they never do.
    """
    tokens, kinds = textual(model), model.vocab.kinds
    if model.affixes == NO_AFFIXES:
        out = canonical(model).unreachable
        looked_up = [token for token in out if token and token in tokens]
        if "byte" in kinds.values():
            looked_up += [token for token, n in tokens.items() if token and kinds.get(n) == "byte"]
        return frozenset(looked_up)
    merger = Merger(model.merges, model.affixes)
    return frozenset(
        token
        for token in tokens
        if token and merger.run(symbols_of(token, model.alphabet, model.affixes)) != [token]
    )
