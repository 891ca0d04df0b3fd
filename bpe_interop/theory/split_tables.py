"""Pre-tokenizers as tables that one look-up for each character runs (Theorem 11).

A table has a state for each list of threads of the pattern's automaton and a letter for each class
of code points; what no text distinguishes is one. It is proved equal before it is given out.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache

from ..errors import PatternError
from ..kernel.splitter import SplitTable
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.charsets import code_points
from ..text.regex_syntax import matches_empty
from ..text.unicode import LAST, PAGE, paged
from .automata import END, Machine, Threads, stretches, uncovered_by
from .splitters import meaning

CUT, ACCEPTS, BACK = 1, 2, 4
"""Flags of an entry. The match ends before this character, and a new one begins with it; a match
ends here if no longer one follows; none goes on here, so what counts is the last that ended."""

SHIFT = 3
"""Bits of an entry that are flags; above them is where the row of the next state begins."""

_MOST_STATES = 512
_MOST_CLASSES = 256
_MOST_SETS = 256
_MOST_WORK = 2_000_000
"""Places of a program that are looked at, and entries that are compared: about a second each.
Published patterns need less than a hundredth. Whoever writes a pattern may make it cost more."""

_Row = list[tuple[int, bool]]
"""For each letter, the next state (-1: none) and whether a match ends before the letter."""


def split_tables(steps: Sequence[PreTokenizerStep]) -> tuple[SplitTable, ...]:
    """The tables of steps of which each cuts every pretoken of the one before.

    Raises:
        PatternError: a step is not of the decidable shape, matches nothing, or needs a table
            that is too large, or too much work.
    """
    return tuple(map(_table_of, steps))


@lru_cache(maxsize=64)
def _table_of(step: PreTokenizerStep) -> SplitTable:
    pattern = step.pattern if isinstance(step, Split) else None
    if isinstance(pattern, Pattern) and pattern.dialect == "python":
        # Its engine is the installed regex, which does not match all texts as it is defined to.
        raise PatternError("not decided: the pattern is one of Python's regex")
    node, behavior, invert = meaning(step)
    if matches_empty(node):
        raise PatternError("not decided: a pattern that matches nothing at all")
    # A machine of its own: what it remembers goes with it, also if the pattern is refused.
    machine = Machine(node)
    signatures, numbers = _numbered(machine)
    rows = _rows(machine, signatures)
    block = _merged(rows)
    small, merged = _columns([rows[block.index(number)] for number in range(max(block) + 1)], block)
    first = block[0]
    stride = 1 << (len(small[0]) - 1).bit_length()
    transitions = array("I", [BACK]) * (stride * len(small))
    for state, row in enumerate(small):
        for letter, (after, accepts) in enumerate(row[:-1]):
            entry = _entry(after, accepts, small[first][letter], stride)
            transitions[state * stride + letter] = entry
        transitions[state * stride + len(row) - 1] = ACCEPTS if row[-1][1] else BACK
    classes = numbers.translate(bytes(merged[:-1]).ljust(_MOST_CLASSES, b"\0"))
    table = SplitTable(
        *paged(classes),
        transitions,
        stride,
        first * stride,
        len(small[0]) - 1,
        behavior,
        invert,
        uncovered_by(machine) is None,
    )
    _prove_classes(machine, signatures, numbers, table, merged[:-1])
    _prove_transitions(machine, table, dict(zip(signatures, merged[:-1], strict=True)))
    return table


def _numbered(machine: Machine) -> tuple[list[int], bytes]:
    """The signatures of the classes, and for each code point the number of its own."""
    if len(machine.sets) > _MOST_SETS:
        raise PatternError("its sets of characters are more than a table holds")
    known: dict[int, int] = {}
    numbers = bytearray(LAST + 1)
    for first, after, signature in stretches(machine.sets):
        number = known.setdefault(signature, len(known))
        if number >= _MOST_CLASSES - 1:
            raise PatternError("its classes of characters are more than a table holds")
        numbers[first:after] = bytes([number]) * (after - first)
    return [*known], bytes(numbers)


def _rows(machine: Machine, signatures: Sequence[int]) -> list[_Row]:
    """The automaton's states that a text can reach, in the order in which they are found."""
    states: dict[Threads, int] = {machine.start: 0}
    queue, rows = [machine.start], []
    for threads in queue:
        row: _Row = []
        for signature in (*signatures, END):
            after, accepts = machine.step(threads, signature)
            if machine.visits > _MOST_WORK:
                raise PatternError("its table is too much work")
            if after and after not in states:
                if len(states) >= _MOST_STATES:
                    raise PatternError("its states are more than a table holds")
                states[after] = len(states)
                queue.append(after)
            row.append((states[after] if after else -1, accepts))
        rows.append(row)
    return rows


def _merged(rows: Sequence[_Row]) -> list[int]:
    """For each state the number of its block: those that no text tells apart (Moore)."""
    block = _numbers([tuple(accepts for _, accepts in row) for row in rows])
    work = 0
    while True:
        work += sum(map(len, rows))
        if work > _MOST_WORK:
            raise PatternError("its table is too much work")
        kinds = [
            (block[state], tuple(block[after] if after >= 0 else -1 for after, _ in row))
            for state, row in enumerate(rows)
        ]
        finer = _numbers(kinds)
        if finer == block:
            return block
        block = finer


def _numbers(kinds: Sequence[object]) -> list[int]:
    known: dict[object, int] = {}
    return [known.setdefault(kind, len(known)) for kind in kinds]


def _columns(rows: Sequence[_Row], block: Sequence[int]) -> tuple[list[_Row], list[int]]:
    """The rows of blocks with equal letters as one, and the new number of each old letter.

    The end of the text stays the last letter.
    """
    small = [[(block[after] if after >= 0 else -1, flag) for after, flag in row] for row in rows]
    columns = [*zip(*small, strict=True)]
    merged = _numbers(columns[:-1])
    count = max(merged, default=-1) + 1
    kept = [merged.index(number) for number in range(count)] + [len(columns) - 1]
    return [[row[letter] for letter in kept] for row in small], [*merged, count]


def _entry(after: int, accepts: bool, begun: tuple[int, bool], stride: int) -> int:
    if after >= 0:
        return after * stride << SHIFT | (ACCEPTS if accepts else 0)
    if accepts and begun[0] >= 0 and not begun[1]:
        # The match ends because no thread goes on: to where the next match has come with the same
        # character.
        return begun[0] * stride << SHIFT | CUT | ACCEPTS
    return BACK | (ACCEPTS if accepts else 0)


def _prove_classes(
    machine: Machine,
    signatures: Sequence[int],
    numbers: bytes,
    table: SplitTable,
    merged: Sequence[int],
) -> None:
    """Every code point is in exactly those sets that the signature of its class says."""
    data, letters = table.classes, bytes(merged).ljust(_MOST_CLASSES, b"\0")
    written = b"".join(data[PAGE * page : PAGE * (page + 1)] for page in table.pages)
    if written != numbers.translate(letters):
        raise AssertionError("the pages of a table are not its classes")
    for place, charset in enumerate(machine.sets):
        flags = bytearray(LAST + 1)
        for first, last in code_points(charset):
            flags[first : last + 1] = b"\1" * (last + 1 - first)
        inside = bytes(signature >> place & 1 for signature in signatures)
        members = bytearray(numbers.translate(inside.ljust(_MOST_CLASSES, b"\0")))
        # Surrogates are in no text: whatever their class is.
        members[0xD800:0xE000] = flags[0xD800:0xE000]
        if members != flags:
            raise AssertionError("the classes of a table are not its pattern's")


def _prove_transitions(machine: Machine, table: SplitTable, classes: dict[int, int]) -> None:
    """The table and the automaton do the same on every text."""
    # Theorem 11: both are deterministic, so a walk over all pairs of states that any text reaches
    # together, by all classes and the end of the text, misses no difference.
    start = (machine.start, table.start)
    seen, queue = {start}, [start]
    for threads, row in queue:
        for signature, letter in (*classes.items(), (END, table.end)):
            after, accepts = machine.step(threads, signature)
            entry = table.transitions[row + letter]
            same = bool(entry & ACCEPTS) == accepts
            if signature == END:
                same = same and entry in (ACCEPTS, BACK)
                after = ()
            elif entry & CUT:
                begun, empty = machine.step(machine.start, signature)
                same = same and accepts and not after and not empty and not entry & BACK
                after = begun
            same = same and bool(after) == (not entry & BACK and signature != END)
            if not same:
                raise AssertionError("a table is not its pattern's automaton")
            if after and (after, entry >> SHIFT) not in seen:
                seen.add((after, entry >> SHIFT))
                queue.append((after, entry >> SHIFT))
