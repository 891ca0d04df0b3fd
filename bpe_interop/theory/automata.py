"""Decides questions about pre-tokenizer patterns for every text: equality, coverage, pretokens.

By Theorem 11 a pattern without lookbehind is one function: the length of the first match at the
start of what is left. A state of its automaton is an ordered list of *threads*: the higher one
stands, the earlier a backtracking matcher would have tried its way.

Decided are trees without lookbehind and anchors at starts, whose lookaheads ask for one
character or the end, and whose atomic parts are repetitions of one character. Others raise
PatternError. Answers are about engines with the tables of ``text.unicode``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn, TypeAlias, TypeVar

from ..errors import PatternError
from ..text.charsets import NOTHING, CharSet, chars, code_points, unite
from ..text.regex_syntax import (
    Alternation,
    Anchor,
    Atomic,
    Leaf,
    Look,
    Node,
    Repeat,
    Sequence,
)
from ..text.unicode import LAST, SURROGATES

_MOST_STEPS = 20_000
_MOST_STATES = 200_000

Threads: TypeAlias = tuple[int, ...]
"""Positions in a program, first tried first."""

END = -1
"""The signature of the end of the text; those of characters are bit sets of leaf numbers."""


def first_difference(a: Node, b: Node) -> str | None:
    """A shortest text whose first match at its start differs; None proves there is none.

    No match at all and an empty match count as different.

    Raises:
        PatternError: one of the patterns is not of the decidable shape.
    """
    one, other = machine_of(a), machine_of(b)
    classes = classes_of(one.sets + other.sets)
    shift = len(one.sets)
    mask = (1 << shift) - 1

    def differs(state: tuple[Threads, Threads, bool]) -> bool:
        return not _agree(state[2], one.step(state[0], END)[1], other.step(state[1], END)[1])

    def successors(
        state: tuple[Threads, Threads, bool],
    ) -> Iterator[tuple[str, tuple[Threads, Threads, bool]]]:
        for char, signature in classes:
            left, left_accepts = one.step(state[0], signature & mask)
            right, right_accepts = other.step(state[1], signature >> shift)
            yield char, (left, right, _agree(state[2], left_accepts, right_accepts))

    # Theorem 11: the states are finitely many, and the letters are the classes of characters that
    # no leaf distinguishes.
    return search((one.start, other.start, True), successors, differs)


def uncovered(a: Node) -> str | None:
    """A shortest text that begins with no non-empty match; None: the pattern covers every text.

    Raises:
        PatternError: the pattern is not of the decidable shape.
    """
    return uncovered_by(machine_of(a))


def uncovered_by(machine: Machine) -> str | None:
    """The same of a pattern's machine."""
    classes = machine.classes()

    def open_end(state: tuple[Threads, bool]) -> bool:
        threads, begun = state
        return begun and not machine.step(threads, END)[1]

    def successors(state: tuple[Threads, bool]) -> Iterator[tuple[str, tuple[Threads, bool]]]:
        threads, begun = state
        for char, signature in classes:
            after, accepts = machine.step(threads, signature)
            if not (begun and accepts):
                yield char, (after, True)

    return search((machine.start, False), successors, open_end)


def continuation(a: Node, pretoken: str) -> str | None:
    """A shortest text after which ``pretoken`` is exactly the first match; None: it never is.

    The text may be empty. The first match is that of ``pretoken`` followed by it.

    Raises:
        PatternError: the pattern is not of the decidable shape.
    """
    machine = machine_of(a)
    classes = machine.classes()
    threads = machine.start
    for char in pretoken:
        threads, _ = machine.step(threads, machine.signature(char))
        if not threads:
            return None

    # Right after the pretoken there must be a match, and later none that stands above it.
    def complete(state: tuple[Threads, bool]) -> bool:
        threads, begun = state
        return machine.step(threads, END)[1] != begun

    def successors(state: tuple[Threads, bool]) -> Iterator[tuple[str, tuple[Threads, bool]]]:
        threads, begun = state
        for char, signature in classes:
            after, accepts = machine.step(threads, signature)
            if accepts != begun:
                yield char, (after, True)

    return search((threads, False), successors, complete)


def _agree(before: bool, left_accepts: bool, right_accepts: bool) -> bool:
    """Whether the last matches so far are alike, given who accepts at this position."""
    if left_accepts or right_accepts:
        return left_accepts and right_accepts
    return before


_State = TypeVar("_State", bound=Hashable)


def search(
    start: _State,
    successors: Callable[[_State], Iterator[tuple[str, _State]]],
    wanted: Callable[[_State], bool],
    most: int = _MOST_STATES,
) -> str | None:
    """Breadth first: the characters that lead to the nearest state that is ``wanted``.

    Raises:
        PatternError: there are more than so many states.
    """
    origin: dict[_State, tuple[_State, str] | None] = {start: None}
    queue = [start]
    for state in queue:
        if wanted(state):
            text = ""
            step = origin[state]
            while step is not None:
                text = step[1] + text
                step = origin[step[0]]
            return text
        if len(origin) > most:
            _undecided(f"more than {most:,} states")
        for char, after in successors(state):
            if after not in origin:
                origin[after] = (state, char)
                queue.append(after)
    return None


def _undecided(why: str) -> NoReturn:
    raise PatternError(f"not decided: {why}")


# A program is a list of steps. A leaf reads a character of set number `a`; a look goes on if
# the next character is in set `a` (or, with `b`, if the text ends), negative ones if not;
# a split goes to `a` first and to `b` next.


@dataclass(frozen=True, slots=True)
class _Step:
    """One instruction of a program; what its numbers are follows from the kind."""

    kind: str
    a: int = 0
    b: int = 0


class Machine:
    """A pattern's program, and its thread lists after each character.

    Attributes:
        sets: of the characters of the leaves, each once.
        visits: how many places of the program were looked at so far.
    """

    start: Threads = (0,)

    def __init__(self, node: Node) -> None:
        self.sets: list[CharSet] = []
        self.visits = 0
        self._program: list[_Step] = []
        self._steps: dict[tuple[Threads, int], tuple[Threads, bool]] = {}
        self._signatures: dict[str, int] = {}
        self._known_classes: list[tuple[str, int]] = []
        self._add(node)
        self._emit("match")

    def step(self, threads: Threads, signature: int) -> tuple[Threads, bool]:
        """The threads after a character, and whether there is a match before it."""
        known = self._steps.get((threads, signature))
        if known is None:
            reading, accepts = self._closure(threads, signature)
            # END is -1: read as bits, it would be in every set.
            bits = 0 if signature == END else signature
            after = tuple(at + 1 for at in reading if bits >> self._program[at].a & 1)
            known = self._steps[threads, signature] = after, accepts
        return known

    def signature(self, char: str) -> int:
        """Which of the sets a character is in."""
        known = self._signatures.get(char)
        if known is None:
            code = ord(char)
            known = self._signatures[char] = sum(
                1 << number
                for number, charset in enumerate(self.sets)
                if any(first <= code <= last for first, last in code_points(charset))
            )
        return known

    def classes(self) -> list[tuple[str, int]]:
        """The classes of this pattern alone; see :func:`classes_of`."""
        if not self._known_classes:
            self._known_classes = classes_of(self.sets)
        return self._known_classes

    def _closure(self, threads: Threads, signature: int) -> tuple[list[int], bool]:
        """The leaves that the threads come to without reading, and whether one accepts."""
        reading: list[int] = []
        seen: set[int] = set()
        pending = list(reversed(threads))
        while pending:
            at = pending.pop()
            # A lower thread does here what the first one did, and stands below it.
            if at in seen:
                continue
            seen.add(at)
            self.visits += 1
            step = self._program[at]
            if step.kind == "leaf":
                reading.append(at)
            elif step.kind == "match":
                # The first way through wins: it silences all threads below.
                return reading, True
            elif step.kind == "split":
                # A stack: what is to be tried first goes on last.
                pending += (step.b, step.a)
            else:
                # An assertion about the next character, decided as that is read.
                inside = bool(step.b) if signature == END else bool(signature >> step.a & 1)
                if inside == (step.kind == "look"):
                    pending.append(at + 1)
        return reading, False

    def _emit(self, kind: str, a: int = 0, b: int = 0) -> int:
        if len(self._program) >= _MOST_STEPS:
            _undecided("its counts are too large")
        self._program.append(_Step(kind, a, b))
        return len(self._program) - 1

    def _set(self, charset: CharSet) -> int:
        if charset not in self.sets:
            self.sets.append(charset)
        return self.sets.index(charset)

    def _add(self, node: Node) -> None:
        if isinstance(node, Leaf):
            self._emit("leaf", self._set(node.charset))
        elif isinstance(node, Sequence):
            for part in node.parts:
                self._add(part)
        elif isinstance(node, Alternation):
            self._add_options(node)
        elif isinstance(node, Repeat):
            self._add_repeat(node)
        elif isinstance(node, Atomic):
            _undecided("an atomic group of more than one character's repetition")
        else:
            self._add_assertion(node)

    def _add_options(self, node: Alternation) -> None:
        ends = []
        for option in node.options[:-1]:
            choice = self._emit("split")
            self._add(option)
            # A split to one place twice is a jump.
            ends.append(self._emit("split"))
            self._direct(choice, choice + 1, len(self._program))
        self._add(node.options[-1])
        for end in ends:
            self._direct(end, len(self._program), len(self._program))

    def _direct(self, at: int, first: int, second: int) -> None:
        self._program[at] = _Step("split", first, second)

    def _add_repeat(self, node: Repeat) -> None:
        single = isinstance(node.part, Leaf)
        if node.mode == "possessive" and not single:
            _undecided("a possessive repetition of more than one character")
        for _ in range(node.low):
            self._add(node.part)
        choices = []
        if node.high is None:
            choices.append(self._emit("split"))
            self._add(node.part)
            back = self._emit("split")
            self._direct(back, choices[0], choices[0])
        for _ in range((node.high or node.low) - node.low):
            choices.append(self._emit("split"))
            self._add(node.part)
        full = self._emit("split")
        for choice in choices:
            inside, outside = choice + 1, full + 1
            lazy = node.mode == "lazy"
            self._direct(choice, outside if lazy else inside, inside if lazy else outside)
        if node.mode == "possessive" and isinstance(node.part, Leaf):
            # X++ is X+(?!X) for a single character.
            self._emit("look not", self._set(node.part.charset))
        self._direct(full, len(self._program), len(self._program))

    def _add_assertion(self, node: Look | Anchor) -> None:
        look = node if isinstance(node, Look) else Look(node, ahead=True, negative=False)
        if not look.ahead:
            _undecided("lookbehind")
        charset, at_end = next_character(look.part)
        self._emit("look not" if look.negative else "look", self._set(charset), int(at_end))


def next_character(node: Node) -> tuple[CharSet, bool]:
    """What an assertion asks of the next character, and whether the end will do as well."""
    if isinstance(node, Leaf):
        return node.charset, False
    if isinstance(node, Anchor) and node.kind in ("text_end", "line_end"):
        return (chars("\n") if node.kind == "line_end" else NOTHING), True
    if isinstance(node, Alternation):
        asked = [next_character(option) for option in node.options]
        return unite(charset for charset, _ in asked), any(at_end for _, at_end in asked)
    if isinstance(node, Anchor):
        _undecided(f"an anchor ({node.kind.replace('_', ' ')})")
    _undecided("lookahead of more than one character")


@lru_cache(maxsize=64)
def machine_of(node: Node) -> Machine:
    return Machine(node)


def classes_of(sets: list[CharSet]) -> list[tuple[str, int]]:
    """One character of each class, readable ones first, and which of the sets it is in."""
    plainest_of: dict[int, int] = {}
    for first, after, signature in stretches(sets):
        # A witness is to be readable, so a class is shown by a printable character if it has one.
        code = 0x21 if first < 0x21 < after else first
        if signature not in plainest_of or _plainness(code) < _plainness(plainest_of[signature]):
            plainest_of[signature] = code
    ordered = sorted(plainest_of.items(), key=lambda item: _plainness(item[1]))
    return [(chr(code), signature) for signature, code in ordered]


def stretches(sets: list[CharSet]) -> Iterator[tuple[int, int, int]]:
    """All code points but surrogates, in order, as stretches (first, after) of one class."""
    # At each code point where sets begin or end, the bits of these sets. No text holds surrogates.
    changes: dict[int, int] = {0: 0, SURROGATES[0]: 0, SURROGATES[1] + 1: 0}
    for number, charset in enumerate(sets):
        for first, last in code_points(charset):
            changes[first] = changes.get(first, 0) ^ 1 << number
            changes[last + 1] = changes.get(last + 1, 0) ^ 1 << number
    cuts = sorted(changes)
    signature = 0
    for first, after in zip(cuts, [*cuts[1:], LAST + 1], strict=True):
        signature ^= changes[first]
        if first <= LAST and first != SURROGATES[0]:
            yield first, after, signature


def _plainness(code: int) -> tuple[bool, int]:
    return not 0x21 <= code <= 0x7E, code
