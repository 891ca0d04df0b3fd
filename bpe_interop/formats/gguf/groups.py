"""Which of llama.cpp's names are one splitter: told apart by a text, or proved to cut alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ...errors import PatternError
from ...steps import PreTokenizerStep
from ...theory.splitters import first_cut_apart
from .probes import cuts
from .splitters import SPLITTERS


@dataclass(frozen=True, slots=True)
class Group:
    """Names whose splitters cut every text alike.

    Attributes:
        names: in the order of the table.
        spellings: their patterns, each a sequence; the first is that of the first name.
        by: what shows that they are one: ``"the same patterns"`` or ``"Theorem 14"``.
        open: first names of groups from which no text tells this one apart, and which are not
            proved equal either.
    """

    names: tuple[str, ...]
    spellings: tuple[tuple[str, ...], ...]
    by: str
    open: tuple[str, ...] = ()


@cache
def groups() -> tuple[Group, ...]:
    """All names that are described, each in one group."""
    rows: dict[tuple[PreTokenizerStep, ...], list[str]] = {}
    for name, row in SPLITTERS.items():
        rows.setdefault(row.steps, []).append(name)
    sharing: list[list[tuple[PreTokenizerStep, ...]]] = []
    undecided: dict[str, list[str]] = {}
    for steps, names in rows.items():
        for group in sharing:
            first = group[0]
            if cuts(first) != cuts(steps):
                continue
            try:
                alike = first_cut_apart(first, steps) is None
            except PatternError:
                undecided.setdefault(names[0], []).append(rows[first][0])
                undecided.setdefault(rows[first][0], []).append(names[0])
                continue
            if alike:
                group.append(steps)
                break
        else:
            sharing.append([steps])
    made = []
    for group in sharing:
        together = {name for steps in group for name in rows[steps]}
        named = tuple(name for name in SPLITTERS if name in together)
        spellings = tuple(SPLITTERS[rows[steps][0]].patterns for steps in group)
        by = "Theorem 14" if len(group) > 1 else "the same patterns"
        made.append(Group(named, spellings, by, tuple(undecided.get(named[0], ()))))
    return tuple(made)


def group_of(name: str) -> Group:
    """The group of a name that is described."""
    return next(group for group in groups() if name in group.names)
