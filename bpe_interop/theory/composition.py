"""A sequence of splitters as one pattern whose matches are the pretokens (Theorem 29).

The pattern is composed step by step, and then *proved* to cut every text as the sequence does.
So what is here may give up, and cannot give a wrong pattern.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from ..errors import PatternError
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.charsets import (
    EVERYTHING,
    NOTHING,
    Chars,
    CharSet,
    code_points,
    intersect,
    negate,
    unite,
)
from ..text.pattern_emitter import emit
from ..text.regex_syntax import (
    Alternation,
    Anchor,
    Atomic,
    Leaf,
    Look,
    Node,
    Repeat,
    Sequence,
    alternation,
    atomic,
    repeat,
    sequence,
)
from ..text.unicode import SURROGATES, merge
from .automata import END, Machine, Threads, machine_of, next_character, stretches
from .splitters import first_cut_difference, meaning


@dataclass(frozen=True, slots=True)
class _CharacterRun:
    """A longest run of characters: sets of them, each with what must not come next."""

    units: tuple[tuple[CharSet, CharSet], ...]

    @property
    def members(self) -> CharSet:
        """The characters of the run, where no condition on the next one is set.

        Raises:
            PatternError: one is set, so that the end of the run takes two characters to see.
        """
        if any(after != NOTHING for _, after in self.units):
            raise PatternError("not one pattern: an assertion at the end of what a step leaves")
        return unite(members for members, _ in self.units)


_ANY = _CharacterRun(((EVERYTHING, NOTHING),))

_Piece: TypeAlias = Node | _CharacterRun


@lru_cache(maxsize=32)
def composed(steps: tuple[PreTokenizerStep, ...]) -> Pattern:
    """A fancy-regex pattern whose matches are the pretokens of a sequence of splitters, proved.

    Raises:
        PatternError: a step is not of the decidable shape, or no such pattern was proved.
    """
    # Until a step cuts it, a text is one longest run of characters. In a run, a step's pattern sees
    # the run's characters only, and what lies between its matches is again a longest run.
    pieces: list[_Piece] = [_ANY]
    for step in steps:
        node, behavior, invert = meaning(step)
        pieces = [
            part
            for piece in pieces
            for part in (
                _cut(piece, node, behavior, invert)
                if isinstance(piece, _CharacterRun)
                else _cut_again(piece, node, behavior, invert)
            )
        ]
    pattern = Pattern(emit(alternation(map(_as_node, pieces)), "fancy-regex"), "fancy-regex")
    # Theorem 14 decides, so the composition itself needs no proof.
    if first_cut_difference(steps, (Split(pattern, "removed", invert=True),)) is not None:
        raise PatternError("no one pattern is known that cuts so")
    return pattern


def _cut(run: _CharacterRun, node: Node, behavior: str, invert: bool) -> list[_Piece]:
    """What a step makes of a run, in the order in which it is to be tried."""
    within = _within(node, run)
    gaps = _between(within, run)
    if within is None:
        return [] if behavior == "removed" and invert else [run]
    matches = [_as_run(option) for option in _options(within)]
    rest = [gaps] if gaps.units else []
    if behavior == "removed":
        return [*matches] if invert else [*rest]
    if behavior == "isolated":
        return [*matches, *rest]
    if behavior == "contiguous":
        return [_as_run(repeat(within, 1, None)), *rest]
    if not gaps.units:
        return [*matches]
    between = repeat(_unit(gaps), 0, None)
    # A match joins what is before it, or after it; inverted, what is between joins the match.
    before = (behavior == "merged_with_previous") != invert
    return [sequence([between, within] if before else [within, between]), *rest]


def _cut_again(piece: Node, node: Node, behavior: str, invert: bool) -> list[_Piece]:
    """What a step makes of an earlier step's match: of a character before a longest run."""
    parts = piece.parts if isinstance(piece, Sequence) else ()
    run = _as_run(parts[-1]) if parts else piece
    if not isinstance(run, _CharacterRun):
        return [piece]  # the proof says whether the step leaves it as it is, too
    before = sequence(parts[:-1])
    if isinstance(before, Repeat) and (before.low, before.high) == (0, 1):
        before = before.part
    if _within(node, run) is None:
        return [piece]
    pieces = _cut(run, node, behavior, invert)
    gaps = _between(_within(node, run), run).units
    rest = unite(members for members, _ in gaps)
    begins = _both(run.members, negate(rest))
    # The character stays with what lies between the matches in the run; before a match it is alone.
    again: list[_Piece] = []
    if gaps:
        again.append(sequence([before, repeat(_unit(_CharacterRun(gaps)), 1, None)]))
    if begins != NOTHING:
        again.append(sequence([before, Look(Leaf(begins), ahead=True, negative=False)]))
    return [*again, *pieces]


def _options(node: Node) -> tuple[Node, ...]:
    return node.options if isinstance(node, Alternation) else (node,)


def _as_run(node: Node) -> _Piece:
    """A repetition of one set that takes all of them is a longest run, which a step may cut."""
    if not isinstance(node, Repeat) or not isinstance(node.part, Leaf):
        return node
    endless = node.high is None and node.low == 1 and node.mode != "lazy"
    return _CharacterRun(((node.part.charset, NOTHING),)) if endless else node


def _as_node(piece: _Piece) -> Node:
    return repeat(_unit(piece), 1, None) if isinstance(piece, _CharacterRun) else piece


def _unit(run: _CharacterRun) -> Node:
    return alternation(_one(members, after) for members, after in run.units)


def _one(members: CharSet, after: CharSet) -> Node:
    if after == NOTHING:
        return Leaf(members)
    return sequence([Leaf(members), Look(Leaf(after), ahead=True, negative=True)])


def _within(node: Node, run: _CharacterRun) -> Node | None:
    """The pattern over a run as if it were a text; None where it cannot match in one."""
    if run == _ANY:
        return node
    if isinstance(node, Leaf):
        units = [(_both(node.charset, members), after) for members, after in run.units]
        some = [_one(members, after) for members, after in units if members != NOTHING]
        return alternation(some) if some else None
    if isinstance(node, Look | Anchor):
        return _assertion(node, run.members)
    if isinstance(node, Alternation):
        options = [_within(option, run) for option in node.options]
        some = [option for option in options if option is not None]
        return alternation(some) if some else None
    if isinstance(node, Sequence):
        parts = [_within(part, run) for part in node.parts]
        known = [part for part in parts if part is not None]
        return sequence(known) if len(known) == len(parts) else None
    part = _within(node.part, run)
    if isinstance(node, Atomic):
        return None if part is None else atomic(part)
    if part is None:
        return None if node.low else Sequence(())
    return repeat(part, node.low, node.high, node.mode)


def _assertion(node: Look | Anchor, members: CharSet) -> Node | None:
    """What an assertion about the next character, or the end, asks in a run of some characters."""
    look = node if isinstance(node, Look) else Look(node, ahead=True, negative=False)
    if not look.ahead:
        raise PatternError("not decided: lookbehind")
    charset, at_end = next_character(look.part)
    charset = _both(negate(charset) if at_end else charset, members)
    negative = look.negative != at_end
    if charset == NOTHING:
        return Sequence(()) if negative else None
    return Look(Leaf(charset), ahead=True, negative=negative)


def _both(one: CharSet, other: CharSet) -> CharSet:
    """The intersection of two sets; one of them where it is that, or the empty set."""
    joined = intersect(one, other)
    for simple in (NOTHING, one, other):
        if code_points(joined) == code_points(simple):
            return simple
    return joined


def _between(within: Node | None, run: _CharacterRun) -> _CharacterRun:
    """The longest runs in which no match begins, as far as the next character alone tells.

    Raises:
        PatternError: two characters do not tell whether a match begins.
    """
    if within is None:
        return run
    machine = machine_of(within)
    sets = [*machine.sets, *(charset for unit in run.units for charset in unit)]
    known = (1 << len(machine.sets)) - 1
    classes: dict[int, list[tuple[int, int]]] = {}
    for first, stop, signature in stretches(sets):
        classes.setdefault(signature, []).append((first, stop - 1))
    # No text holds a surrogate: they may stand in any set, and stand in the largest.
    most = max(classes, key=lambda each: sum(last - first for first, last in classes[each]))
    classes[most].append(SURROGATES)
    by_next: dict[tuple[CharSet, frozenset[int]], set[int]] = {}
    for signature in classes:
        threads, _ = machine.step(machine.start, signature & known)
        begins = {
            following
            for following in (*classes, END)
            if _matches(machine, threads, following if following == END else following & known)
        }
        for place, (_, after) in enumerate(run.units):
            # After the machine's sets come two for each unit: its members, and what must not
            # follow.
            bit = len(machine.sets) + 2 * place
            if not signature >> bit & 1:
                continue
            never = {following for following in classes if following >> (bit + 1) & 1}
            # A match begins whatever may follow: a class, or the end.
            if len(begins | never) == len(classes) + 1:
                continue
            if END in begins:
                raise PatternError("not one pattern: a match that begins where the text ends")
            by_next.setdefault((after, frozenset(begins - never)), set()).add(signature)
    units = []
    for (after, ends), signatures in by_next.items():
        following = unite((after, _union(ends, classes, sets)))
        units.append((_union(signatures, classes, sets), following))
    return _CharacterRun(tuple(units))


def _matches(machine: Machine, threads: Threads, following: int) -> bool:
    """Whether a match goes on from here, whatever comes after the following character.

    Raises:
        PatternError: that depends on what comes after it.
    """
    after, accepts = machine.step(threads, following)
    if accepts:
        return True
    states, pending = {after}, [after]
    accepting = []
    for state in pending:
        for signature in (END, *(mask for _, mask in machine.classes())):
            beyond, accepts = machine.step(state, signature)
            accepting.append(accepts)
            if not accepts and signature != END and beyond not in states:
                states.add(beyond)
                pending.append(beyond)
    if following == END or not any(accepting):
        return False
    # A state at which the text may end with no match so far: not every text has one.
    if any(not machine.step(state, END)[1] for state in states) or () in states:
        raise PatternError("not one pattern: a match that takes three characters to see")
    return True


def _union(
    signatures: Iterable[int], classes: dict[int, list[tuple[int, int]]], sets: list[CharSet]
) -> CharSet:
    """The characters of some classes, in terms of the sets that make them where that is short."""
    wanted = merge(each for signature in signatures for each in classes[signature])
    return min(_spellings(Chars(wanted), sets), key=_listed)


def _spellings(wanted: CharSet, sets: list[CharSet]) -> Iterator[CharSet]:
    yield wanted
    for target, turned in ((wanted, False), (negate(wanted), True)):
        inside = [
            one
            for each in sets
            for one in (each, negate(each))
            if not isinstance(one, Chars) and _both(one, target) == one
        ]
        rest = Chars(code_points(intersect(target, negate(unite(inside)))))
        spelled = unite((*inside, rest))
        yield negate(spelled) if turned else spelled


def _listed(charset: CharSet) -> int:
    """How many ranges a set lists one by one."""
    if isinstance(charset, Chars):
        return min(len(charset.ranges), len(code_points(negate(charset))))
    parts = getattr(charset, "parts", ())
    return sum(map(_listed, parts)) + len(parts)
