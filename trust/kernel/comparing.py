"""One thing done by the kernel and by Python, and whether the two answers are the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bpe_interop.errors import BpeInteropError
from bpe_interop.kernel import set_aside
from bpe_interop.kernel.tables import LazyDict, Numbers
from bpe_interop.merging.canonical import Canonical
from bpe_interop.model import FIELDS, BPEModel, PairList, RankTable, Vocab


@dataclass(frozen=True, slots=True)
class Case:
    """A thing that is done twice.

    Attributes:
        work: does it, by the kernel unless that is set aside.
        texts: how many texts are encoded or cut, each with its answer.
        damaged: whether it reads a file that was changed.
    """

    work: Callable[[], object]
    texts: int = 0
    damaged: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """What was found, and whether the kernel found it."""

    value: object
    native: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a work answered: the value or the error, with the order of everything in it.

    ``answered``: it was no error. ``native``: the kernel gave it.
    """

    value: object
    answered: bool
    native: bool


def outcome(work: Callable[[], object]) -> Outcome:
    """Does a work."""
    try:
        answer = work()
    except BpeInteropError as error:
        return Outcome((type(error), str(error)), answered=False, native=False)
    return Outcome(seen(answer), answered=True, native=is_native(answer))


def both(work: Callable[[], object]) -> tuple[Outcome, Outcome]:
    """Does a work with the kernel and without it."""
    ours = outcome(work)
    with set_aside():
        return ours, outcome(work)


def seen(answer: object) -> object:
    """A value in which orders count, and no mapping or sequence is of a kind of its own."""
    if isinstance(answer, BPEModel):
        return [seen(getattr(answer, name)) for name in (*FIELDS, "origin")]
    if isinstance(answer, Vocab):
        return [[*answer.ids.items()], [*answer.kinds.items()], [*answer.scores.items()]]
    if isinstance(answer, RankTable):
        return [*answer.ranks.items()]
    if isinstance(answer, PairList):
        return [*answer.pairs]
    if isinstance(answer, Canonical):
        return [
            [*answer.splits.items()],
            [*answer.priority.items()],
            answer.unreachable,
            answer.disordered,
        ]
    return answer.value if isinstance(answer, Answered) else answer


def is_native(answer: object) -> bool:
    """Whether the kernel gave an answer."""
    if isinstance(answer, BPEModel):
        return isinstance(answer.vocab.ids, Numbers)
    if isinstance(answer, Answered):
        return answer.native
    return isinstance(answer, Canonical) and isinstance(answer.splits, LazyDict)
