"""Canonical forms that the kernel finds. The twin is ``merging/canonical.py``."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import chain, repeat
from typing import Literal, NamedTuple
from weakref import ref

from .library import KernelObject, Library, OwnedNumber, address, answer, library, made, numbers
from .tables import MOST, LazyDict, Numbers, Pairs, Table, as_dict, packed

SYMBOL = 1 << 31
"""Parts of merges from here on are no tokens, but symbols by themselves."""
_NO_RANK = 2**32 - 1


class Splits(LazyDict[bytes, tuple[bytes, bytes]]):
    """The parts of each built token, from a form in the library."""

    __slots__ = ("found",)

    def __init__(self, held: _Found) -> None:
        super().__init__(held.splits)
        self.found = held

    def __len__(self) -> int:
        return self.found.count


def found_form(splits: Mapping[bytes, tuple[bytes, bytes]]) -> _Found | None:
    """The form that splits are of; None where the kernel has not found it."""
    # Where priorities are equal, what the theorems say of forms does not hold.
    return splits.found if isinstance(splits, Splits) and not splits.found.tied else None


class CanonicalForm(NamedTuple):
    """The canonical form of a merge rule over a vocabulary, as ``Canonical`` says it.

    ``table`` has its tokens, and may have others.
    """

    splits: LazyDict[bytes, tuple[bytes, bytes]]
    priority: LazyDict[bytes, int]
    unreachable: tuple[bytes, ...]
    disordered: tuple[bytes, ...]
    table: Table

    def is_of(self, ids: Mapping[bytes, int]) -> bool:
        """Whether the form is of these tokens, and of no others besides."""
        return isinstance(ids, Numbers) and ids.table is self.table


def form_of_ranks(
    ranks: Mapping[bytes, int],
    tokens: Collection[bytes],
    alphabet: Literal["byte", "char"],
    *,
    known: bool,
) -> CanonicalForm | None:
    """The form of ranks; None where the kernel cannot tell.

    Args:
        ranks: of tokens that may be built; 2**32 - 1 is no rank.
        tokens: the vocabulary.
        alphabet: what symbols are.
        known: whether only those symbols are there before merging that are tokens.
    """
    loaded = library()
    if loaded is None:
        return None
    if isinstance(ranks, Numbers) and tokens is ranks:
        table: Table | None = ranks.table
    else:
        order = list(tokens)
        whole = as_dict(tokens) if isinstance(tokens, Mapping) else tokens
        if not all(map(whole.__contains__, ranks)):
            return None
        own = [*map(as_dict(ranks).get, order, repeat(_NO_RANK))]
        table = packed(loaded, order, own)
    if table is None:
        return None
    form = _form(loaded, table, None, alphabet, known)
    if form is None and alphabet == "char":
        return _form_of_ties(loaded, table, known=known)
    return form


def _form_of_ties(loaded: Library, table: Table, *, known: bool) -> CanonicalForm | None:
    """The form of ranks of which some are equal. What is proved of forms is not asked of it."""
    held = made(loaded.form_of_ties(table.number, known))
    if held is None:
        return None
    return _as_form(_Found(loaded, held, table, "char", tied=True))


def form_of_list(
    pairs: Sequence[tuple[bytes, bytes]],
    tokens: Collection[bytes],
    alphabet: Literal["byte", "char"],
    *,
    known: bool,
) -> CanonicalForm | None:
    """The form of a list of pairs, of which parts and products are tokens; otherwise as above."""
    loaded = library()
    if loaded is None:
        return None
    if isinstance(pairs, Pairs) and isinstance(tokens, Numbers) and pairs.table is tokens.table:
        return _form(loaded, pairs.table, pairs.merges, alphabet, known) if pairs else None
    order = list(tokens)
    table = packed(loaded, order, range(len(order)))
    if table is None or not pairs:
        return None
    merges = merges_over(loaded, table, pairs)
    return None if merges is None else _form(loaded, table, merges, alphabet, known)


def merges_over(
    loaded: Library, table: Table, pairs: Sequence[tuple[bytes, bytes]]
) -> KernelObject | None:
    """A list of pairs in the library; None if a part or a product is not in the table."""
    parts = [*chain.from_iterable(pairs)]
    contents = b"".join(parts)
    if len(contents) > MOST:
        return None
    sizes = array("I", map(len, parts))
    held = made(
        loaded.merges_new(table.number, contents, len(contents), address(sizes), len(sizes))
    )
    return None if held is None else KernelObject(loaded, held)


def _form(
    loaded: Library, table: Table, merges: KernelObject | None, alphabet: str, known: bool
) -> CanonicalForm | None:
    held = made(
        loaded.canonical_form(
            table.number, merges.number if merges else 0, alphabet == "char", known
        )
    )
    if held is None:
        return None
    return _as_form(_Found(loaded, held, table, alphabet))


def listed_as_ranked(
    splits: Mapping[bytes, tuple[bytes, bytes]],
    ranks: Mapping[bytes, int],
    pairs: Sequence[tuple[bytes, bytes]],
) -> CanonicalForm | Literal[False] | None:
    """The canonical form of a list that has the split of each token in the order of ranks.

    The twin is in ``theory/equality.py`` (Theorem 4). False: the list has not. None: the kernel
    cannot tell.

    Args:
        splits: of the canonical form of the ranks.
        ranks: the numbers of the same table.
        pairs: the list.
    """
    held_form, loaded = found_form(splits), library()
    if held_form is None or not (isinstance(ranks, Numbers) and isinstance(pairs, Pairs)):
        return None
    if loaded is None or held_form.table is not ranks.table:
        return None
    before = held_form.listed  # read once: another thread may ask about another list
    if before is not None and before[0]() is pairs.merges:
        known = before[1]
    else:
        held = made(
            loaded.form_listed(
                held_form.table.number,
                held_form.number,
                pairs.table.number,
                pairs.merges.number,
                held_form.alphabet == "char",
            )
        )
        if held is None:
            return None
        has = held.value > 0
        known = has and _as_form(_Found(loaded, held, pairs.table, held_form.alphabet))
        held_form.listed = ref(pairs.merges), known
    return known


def ranked_as_listed(
    splits: Mapping[bytes, tuple[bytes, bytes]], ranks: Mapping[bytes, int]
) -> bool | None:
    """Whether ranks are those of the tokens that a list over bytes builds, in its order.

    The twin is in ``theory/equality.py`` (Theorem 13). None: the kernel cannot tell.

    Args:
        splits: of the canonical form of the list.
        ranks: of tokens, among them single bytes.
    """
    held, loaded = found_form(splits), library()
    if held is None or not isinstance(ranks, Numbers):
        return None
    if loaded is None or held.alphabet != "byte":
        return None
    same = answer(loaded.ranks_listed(ranks.table.number, held.table.number, held.number))
    return None if same is None else same == 1


def _as_form(held: _Found) -> CanonicalForm:
    table = held.table
    disordered, unreachable = held.rest
    places = held.columns[0] if disordered else ()
    return CanonicalForm(
        Splits(held),
        LazyDict(held.priority),
        table.some(unreachable),
        table.some([places[at] for at in disordered]),
        table,
    )


class _Found(KernelObject):
    def __init__(
        self, loaded: Library, made: OwnedNumber, table: Table, alphabet: str, *, tied: bool = False
    ) -> None:
        super().__init__(loaded, made)
        self.table = table
        self.tied = tied
        """Whether priorities may be equal."""
        self.alphabet = alphabet
        self.listed: tuple[ref[KernelObject], CanonicalForm | Literal[False]] | None = None
        """The list that was asked about last, and the form that it has, if it is this one."""
        sizes = array("Q", bytes(24))
        answer(loaded.form_sizes(self.number, address(sizes)))
        self._sizes = sizes

    @property
    def count(self) -> int:
        return self._sizes[0]

    @cached_property
    def columns(self) -> tuple[array[int], array[int], array[int], array[int]]:
        """Of each built token: its place, those of its parts, its priority."""
        count = self._sizes[0]
        columns = (numbers(count), numbers(count), numbers(count), numbers(count))
        done = answer(self.library.form_copy(self.number, *map(address, columns), count))
        if done is None:
            raise AssertionError("a form gives what it was measured to hold")
        return columns

    @cached_property
    def rest(self) -> tuple[array[int], array[int]]:
        """The disordered ones of the built tokens, and the unreachable tokens."""
        _, disordered, unreachable = self._sizes
        places = (numbers(disordered), numbers(unreachable))
        done = answer(
            self.library.form_copy_rest(
                self.number, address(places[0]), disordered, address(places[1]), unreachable
            )
        )
        if done is None:
            raise AssertionError("a form gives what it was measured to hold")
        return places

    def splits(self) -> dict[bytes, tuple[bytes, bytes]]:
        """The parts of each built token, in the order of priorities."""
        tokens = self.table.tokens
        places, left, right, _ = self.columns
        part = _Parts(tokens, self.alphabet).__getitem__
        pairs = zip(map(part, left), map(part, right), strict=True)
        return dict(zip(map(tokens.__getitem__, places), pairs, strict=True))

    def priority(self) -> dict[bytes, int]:
        """The priority of each built token, in their order."""
        tokens = self.table.tokens
        places, _, _, own = self.columns
        return dict(zip(map(tokens.__getitem__, places), own, strict=True))


class _Parts(dict[int, bytes]):
    """Contents by place; what is no token is a symbol by itself."""

    def __init__(self, tokens: list[bytes], alphabet: str) -> None:
        super().__init__(enumerate(tokens))
        self._alphabet = alphabet

    def __missing__(self, part: int) -> bytes:
        return symbol(part, self._alphabet)


def symbol(part: int, alphabet: str) -> bytes:
    """The content of a part that is no token: a byte, or a character."""
    code = part - SYMBOL
    return bytes((code,)) if alphabet == "byte" else chr(code).encode("utf-8")
