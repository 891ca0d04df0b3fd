"""Decides whether two sequences of splitters cut every text alike (Theorems 11 and 14).

What a step cuts depends on where the steps before it have cut, so the first match of a pattern is
not enough, as it is for two patterns alone (Theorem 11). The two sequences read a text side by
side, one character at a time. At each place a splitter *guesses*: the match ends here, a match
begins here, none does. *Watched* threads are those by which a guess turns out wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from ..errors import PatternError
from ..steps import (
    Behavior,
    ByteChars,
    Digits,
    Metaspace,
    Pattern,
    PrefixSpace,
    PreTokenizerStep,
    Punctuation,
    Split,
    UnicodeScripts,
    Words,
)
from ..text.charsets import (
    NOTHING,
    Chars,
    CharSet,
    Property,
    chars,
    code_points,
    intersect,
    negate,
    unite,
)
from ..text.class_parser import WORD
from ..text.patterns import as_run
from ..text.regex_syntax import (
    Leaf,
    Node,
    alternation,
    leaves,
    matches_empty,
    repeat,
    sequence,
)
from ..text.unicode import NEW_IN_16, ClassName, char_class
from .automata import (
    END,
    Machine,
    Threads,
    classes_of,
    first_difference,
    machine_of,
    search,
    uncovered,
)

MOST_STATES = 30_000
"""How many states are looked at before the question is given up."""


Label: TypeAlias = Literal["first", "inner", "dropped"]
"""What becomes of a character: it begins a pretoken, goes on with one, or is dropped."""


_Mode: TypeAlias = Literal["fresh", "match", "gap"]


class _State(NamedTuple):
    """Where one splitter is: in what, the threads of its match, and the threads watched."""

    mode: _Mode
    threads: Threads
    watched: Threads


_FRESH = _State("fresh", (), ())


class _Choice(NamedTuple):
    """One guess: whether it cuts before a character, and whether it drops it."""

    cuts: bool
    drops: bool
    after: _State


States: TypeAlias = tuple[_State, ...]

Steps: TypeAlias = tuple[PreTokenizerStep, ...]


CutsTheorem: TypeAlias = Literal["Theorem 11", "Theorem 14"]


@dataclass(frozen=True, slots=True)
class ComparedCuts:
    """Whether two sequences cut every text alike: so they do without a ``text`` and a ``why``.

    Attributes:
        text: one that they cut otherwise.
        why: why it is not known whether there is one.
        by: the theorem that decided it.
    """

    text: str | None = None
    why: str = ""
    by: CutsTheorem | None = None


def compared_cuts(left: Steps, right: Steps, without: CharSet = NOTHING) -> ComparedCuts:
    """Compares two sequences of splitters; ``without`` as in :func:`first_cut_difference`."""
    one, two = only_pattern(left), only_pattern(right)
    try:
        if one is not None and two is not None:
            text = first_difference(as_run(one), as_run(two))
            # An empty match is no pretoken with an id: the empty text shows nothing. Nor does one
            # that is taken not to be there; Theorem 14 knows whether there is another.
            if text is None or (text and not _holds(without, text)):
                return ComparedCuts(text, by="Theorem 11")
    except PatternError:
        pass  # not of the shape of Theorem 11; Theorem 14 may decide
    try:
        return ComparedCuts(first_cut_difference(left, right, without), by="Theorem 14")
    except PatternError as error:
        why = error.what
    # Steps that both begin or end with need not be decided (Theorem 14): if the steps between cut
    # every text alike, so do the whole sequences.
    while left and right and left[0] == right[0]:
        left, right = left[1:], right[1:]
    while left and right and left[-1] == right[-1]:
        left, right = left[:-1], right[:-1]
    try:
        if first_cut_difference(left, right, without) is None:
            return ComparedCuts(by="Theorem 14")
    except PatternError:
        pass  # the reason for the whole sequences says more
    return ComparedCuts(why=why)


def _holds(charset: CharSet, text: str) -> bool:
    return any(first <= ord(char) <= last for first, last in code_points(charset) for char in text)


def only_pattern(steps: Steps) -> Pattern | None:
    """The pattern, where the matches of one pattern are the pretokens."""
    if len(steps) != 1 or not isinstance(step := steps[0], Split):
        return None
    matches = step.behavior == "removed" and step.invert
    return step.pattern if matches and isinstance(step.pattern, Pattern) else None


def first_cut_difference(
    a: Sequence[PreTokenizerStep], b: Sequence[PreTokenizerStep], without: CharSet = NOTHING
) -> str | None:
    """A shortest text that two sequences of steps cut otherwise; None proves there is none.

    Args:
        a: steps of splitters.
        b: others.
        without: characters that no text is taken to hold, which is an assumption.

    Raises:
        PatternError: a step is not of the decidable shape, or there are too many states.
    """
    pair = SplitterPair(a, b, without)
    # Theorem 14: for every text one sequence of guesses survives, and the states are finitely many.
    return search((pair.start, False), pair.successors, pair.shows_difference, MOST_STATES)


def representatives(steps: Sequence[PreTokenizerStep]) -> list[str]:
    """A character of each class that the steps' patterns tell apart, and what steps write."""
    sets: list[CharSet] = [chars(" ")]
    for step in steps:
        if isinstance(step, Metaspace):
            sets += map(chars, step.replacement)
        elif not isinstance(step, (PrefixSpace, ByteChars, UnicodeScripts)):
            try:
                sets += leaves(meaning(step)[0])
            except PatternError:
                continue  # its classes are not known; those of the other steps are tried
    return [char for char, _ in classes_of([*dict.fromkeys(sets)])]


class SplitterPair:
    """Two sequences of splitters that read one text.

    ``classes``: one character of each class that they tell apart, and in which of ``sets`` it is.

    Raises:
        PatternError: a step is not of the decidable shape.
    """

    def __init__(
        self,
        a: Sequence[PreTokenizerStep],
        b: Sequence[PreTokenizerStep],
        without: CharSet = NOTHING,
    ) -> None:
        left, right = [*map(_splitter, a)], [*map(_splitter, b)]
        sets: list[CharSet] = []
        shifts: list[int] = []
        for splitter in (*left, *right):
            shifts.append(len(sets))
            sets += splitter.machine.sets
        # The characters that no text is taken to hold are a set behind all others, whose classes
        # go.
        absent = 1 << len(sets)
        self.sets = sets
        self.classes = [each for each in classes_of([*sets, without]) if not each[1] & absent]
        signatures = [
            [
                signature >> shift & (1 << len(splitter.machine.sets)) - 1
                for splitter, shift in zip((*left, *right), shifts, strict=True)
            ]
            for _, signature in self.classes
        ]
        self.a = Reader(left, [s[: len(left)] for s in signatures])
        self.b = Reader(right, [s[len(left) :] for s in signatures])

    @property
    def start(self) -> Reads:
        """Before the first character."""
        return self.a.start, self.b.start

    def read(self, state: Reads, place: int) -> Iterator[tuple[Label, Label, Reads]]:
        """All ways to read a character of a class: what becomes of it on either side."""
        for label, one in self.a.read(state[0], place):
            for other_label, other in self.b.read(state[1], place):
                yield label, other_label, (one, other)

    def may_end(self, state: Reads) -> bool:
        """Whether all guesses are right if the text ends here."""
        return self.a.may_end(state[0]) and self.b.may_end(state[1])

    def successors(self, state: tuple[Reads, bool]) -> Iterator[tuple[str, tuple[Reads, bool]]]:
        """All ways to read a character, and whether the two have differed by then."""
        before, differed = state
        for place, (char, _) in enumerate(self.classes):
            for label, other_label, after in self.read(before, place):
                yield char, (after, differed or label != other_label)

    def shows_difference(self, state: tuple[Reads, bool]) -> bool:
        """Whether the text may end here, and the two have differed."""
        return state[1] and self.may_end(state[0])


class Read(NamedTuple):
    """How far a sequence of splitters has come, and whether it dropped the last character."""

    states: States
    dropped: bool


Reads: TypeAlias = tuple[Read, Read]


class Reader:
    """A sequence of splitters, and how it reads characters of each class."""

    def __init__(self, splitters: Sequence[_Splitter], signatures: list[list[int]]) -> None:
        self._splitters, self._signatures = splitters, signatures
        self._known: dict[tuple[Read, int], list[tuple[Label, Read]]] = {}
        self.start = Read((_FRESH,) * len(splitters), True)

    def read(self, state: Read, place: int) -> list[tuple[Label, Read]]:
        """The ways to read a character of the class at a place."""
        known = self._known.get((state, place))
        if known is None:
            reads: dict[tuple[Label, Read], None] = {}
            for cuts, drops, after in self._ways(state.states, self._signatures[place], False):
                # What follows a dropped character begins a pretoken.
                label: Label = "first" if cuts or state.dropped else "inner"
                reads["dropped" if drops else label, Read(after, drops)] = None
            known = self._known[state, place] = list(reads)
        return known

    def may_end(self, state: Read) -> bool:
        """Whether all guesses are right if the text ends here."""
        ends = (s.may_end(at) for s, at in zip(self._splitters, state.states, strict=True))
        return all(ends)

    def _ways(
        self, states: States, signatures: list[int], cut: bool
    ) -> Iterator[tuple[bool, bool, States]]:
        """Each step in turn, where those before have cut or not."""
        if not states:
            yield cut, False, ()
            return
        splitter = self._splitters[len(self._splitters) - len(states)]
        place = len(self._splitters) - len(states)
        for choice in splitter.choices(states[0], signatures[place], ended=cut):
            if choice.drops:
                # The later steps do not see the character: their text has ended before it.
                rest = self._closed(states[1:])
                if rest is not None:
                    yield True, True, (choice.after, *rest)
                continue
            for cuts, drops, after in self._ways(states[1:], signatures, cut or choice.cuts):
                yield cuts, drops, (choice.after, *after)

    def _closed(self, states: States) -> States | None:
        """Later steps whose text has ended; None where a guess of theirs is wrong then."""
        later = self._splitters[len(self._splitters) - len(states) :]
        if all(s.may_end(at) for s, at in zip(later, states, strict=True)):
            return (_FRESH,) * len(states)
        return None


@dataclass(frozen=True, eq=False)
class _Splitter:
    """One step: a pattern, and what is done with matches and what lies between them."""

    machine: Machine
    behavior: Behavior
    invert: bool
    covers: bool

    def choices(self, state: _State, signature: int, *, ended: bool) -> list[_Choice]:
        """The guesses that a character leaves open."""
        if ended:
            # Where a step before has cut, the text of this one ends, for its assertions too.
            if not self.may_end(state):
                return []
            state = _FRESH
        watched, wrong = self.machine.step(state.watched, signature)
        if wrong:
            return []  # a thread accepts that stands above what was guessed
        begun, empty = self.machine.step(self.machine.start, signature)
        if empty:
            raise PatternError("not decided: a pattern that matches nothing at all")
        choices: list[_Choice] = []
        ends = state.mode != "match"
        if state.mode == "match":
            after, ends = self.machine.step(state.threads, signature)
            if after:
                choices.append(self._choice("match", "match", after, watched, stays=True))
            if ends:
                # A match ends only where a thread accepts; those above it would give a better one.
                watched = _together(watched, after)
        if ends and begun:
            choices.append(self._choice(state.mode, "match", begun, watched))
        if ends and not self.covers:
            # No match begins here: none of the threads that would begin one may accept.
            choices.append(self._choice(state.mode, "gap", (), _together(watched, begun)))
        return choices

    def may_end(self, state: _State) -> bool:
        """Whether all guesses are right if the text ends here."""
        if state.mode == "match" and not self.machine.step(state.threads, END)[1]:
            return False
        return not self.machine.step(state.watched, END)[1]

    def _choice(
        self, before: _Mode, mode: _Mode, threads: Threads, watched: Threads, stays: bool = False
    ) -> _Choice:
        flagged = (mode == "match") != self.invert
        follows = (before == "match") != self.invert
        drops = self.behavior == "removed" and flagged
        cuts = before != "fresh" and not stays and (before, mode) != ("gap", "gap")
        if self.behavior == "merged_with_previous":
            cuts = cuts and not (flagged and not follows)
        elif self.behavior == "merged_with_next":
            cuts = cuts and not (follows and not flagged)
        elif self.behavior == "contiguous":
            cuts = cuts and flagged != follows
        return _Choice(cuts, drops, _State(mode, threads, watched))


def _together(one: Threads, other: Threads) -> Threads:
    """Threads to watch: their order says nothing any more."""
    return tuple(sorted({*one, *other})) if other else one


def _splitter(step: PreTokenizerStep) -> _Splitter:
    node, behavior, invert = meaning(step)
    if matches_empty(node):
        raise PatternError("not decided: a pattern that matches nothing at all")
    return _Splitter(machine_of(node), behavior, invert, uncovered(node) is None)


def meaning(step: PreTokenizerStep) -> tuple[Node, Behavior, bool]:
    """A step that cuts as a pattern: the pattern, what is done with matches, whether inverted.

    Raises:
        PatternError: it is no such step, or the pattern is not of the decidable shape.
    """
    if isinstance(step, Digits):
        return Leaf(_class("numeric")), "isolated" if step.individual else "contiguous", False
    if isinstance(step, Punctuation):
        return Leaf(_class("punctuation")), step.behavior, False
    if isinstance(step, Words):
        word, space = _class("word"), _class("regex_space")
        other = negate(unite((word, space)))
        words = alternation([repeat(Leaf(word), 1, None), repeat(Leaf(other), 1, None)])
        return words, "removed", True
    if not isinstance(step, Split):
        raise PatternError(f"not decided: {type(step).__name__} does not split by a pattern")
    pattern = step.pattern
    if isinstance(pattern, str):
        return sequence([Leaf(chars(char)) for char in pattern]), step.behavior, step.invert
    return as_run(pattern), step.behavior, step.invert


_NAMED: Mapping[ClassName, CharSet] = {
    "numeric": Property("N"),
    "punctuation": Property("P"),
    "regex_space": Property("White_Space"),
    "word": WORD["fancy-regex"],
}
"""What patterns call most of the characters of a class."""


def newer_characters() -> Chars:
    """What some engine has a class for and llama.cpp, of Unicode 15.1, has none."""
    # Where llama.cpp's splitters are compared, no text is taken to hold them (Theorem 14), and a
    # verdict says so. tokenizers' own classes are newer than those of the regex engines.
    own = (char_class("numeric").ranges, char_class("punctuation").ranges)
    newest = intersect(unite(map(Chars, own)), Property("Cn"))
    return Chars(code_points(unite((Chars(NEW_IN_16), newest))))


def _class(name: ClassName) -> CharSet:
    """A class of tokenizers' own: as patterns name it, with the characters that differ."""
    own, named = Chars(char_class(name).ranges), _NAMED.get(name, NOTHING)
    more = Chars(code_points(intersect(own, negate(named))))
    less = Chars(code_points(intersect(named, negate(own))))
    both = unite((named, more))
    return both if less == NOTHING else intersect(both, negate(less))
