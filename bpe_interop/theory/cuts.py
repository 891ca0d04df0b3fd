"""When a cut that only one pre-tokenizer makes changes no ids (Theorem 10).

Theorem 26 is the case of any two sequences of splitters, Theorem 27 that of two spellings of
cl100k's pattern.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, pairwise, product
from typing import TypeAlias

from ..errors import PatternError
from ..merging.canonical import whole_lookups
from ..merging.symbols import textual
from ..model import Affixes, BPEModel
from ..steps import Dialect, Pattern, PreTokenizerStep, Split
from ..text.patterns import preferred
from ..text.unicode import LAST, SURROGATES
from .automata import stretches
from .splitters import Reads, SplitterPair, Steps
from .utf8 import has_utf8_bytes, is_inside_utf8, size_of


def only_merges_bytes(model: BPEModel) -> bool:
    """Whether nothing but lookup and merging happens to the bytes of a pretoken."""
    # Theorem 10: nothing is attached to symbols (3), and each byte is a token, so that none is
    # dropped, replaced or fused with the next (2).
    return model.affixes == Affixes() and has_utf8_bytes(model)


def preferred_in(model: BPEModel, step: Split, place: int, dialect: Dialect) -> Pattern:
    """The pattern of one of a model's splitters in its preferred spelling.

    Spellings that only this vocabulary makes equal count too (Theorem 27).

    Args:
        model: the model.
        step: a splitter by a pattern.
        place: its place among the model's pre-tokenizer steps.
        dialect: how the pattern is to be written.

    Raises:
        PatternError: the pattern is not understood, or the dialect cannot say it.
    """
    assert isinstance(step.pattern, Pattern)
    if place + 1 < len(model.pretokenizer or ()) or not only_merges_bytes(model):
        # Not the last cut (condition 1 of Theorem 10): a later step would see other ends of a text.
        return preferred(step.pattern, dialect)
    # Such spellings match every character, so whatever is done with matches, nothing but cuts
    # between them may differ.
    return preferred(
        step.pattern,
        dialect,
        vocabulary=model.vocab.ids,
        unreachable=lambda: whole_lookups(model),
    )


_FEW = 40
"""How many texts are made of the tokens of a vocabulary."""


def none_across(models: Sequence[BPEModel], left: Steps, right: Steps) -> bool:
    """Whether no ids change, for each vocabulary, where the two cut otherwise (Theorem 10).

    True is a proof; False says only that it is not shown.
    """
    # Condition 5: for both vocabularies. Condition 1 holds, as the whole sequences are compared.
    if not all(map(only_merges_bytes, models)):
        return False
    try:
        cuts = DifferingCuts(left, right)
    except PatternError:
        return False  # not decided, so not shown
    # Condition 4 of tokens that only a lookup finds, and the tokens that a merge across would make.
    return all(
        cuts.none_beside(whole_lookups(model)) and cuts.none_across(textual(model))
        for model in models
    )


def texts_across(models: Sequence[BPEModel], left: Steps, right: Steps) -> Iterator[str]:
    """Texts that hold a token where it may stand across a cut that only one side makes."""
    try:
        cuts = DifferingCuts(left, right)
    except PatternError:
        return  # not decided: no cut is known
    for model in models:
        yield from islice(cuts.texts_across(textual(model)), _FEW)


Sides: TypeAlias = tuple[int, int]
"""The classes of the characters before and after a cut."""


_MOST_STATES = 3_000
_MOST_TOKENS = 200
"""How many doubtful tokens are looked at closely."""


class _Spelled(dict[int, str]):
    """For ``str.translate``: a code point to a character that stands for its class."""

    def __init__(self, class_of: Callable[[int], int]) -> None:
        super().__init__()
        self._class_of = class_of

    def __missing__(self, code: int) -> str:
        self[code] = chr(self._class_of(code))
        return self[code]


def _one_of(sides: Iterable[tuple[int, int]]) -> re.Pattern[str]:
    """What finds one of some pairs of classes in a text that is spelled so."""
    after: dict[int, str] = {}
    for left, right in sides:
        after[left] = after.get(left, "") + re.escape(chr(right))
    return re.compile("|".join(f"{re.escape(chr(n))}[{r}]" for n, r in after.items()) or "(?!)")


class DifferingCuts:
    """Where only one of two sequences of splitters cuts (Theorem 26).

    A cut is known by the classes of the characters on either side of it.

    Raises:
        PatternError: a step is not of the decidable shape, there are too many states, or one
            side drops what the other keeps.
    """

    def __init__(self, a: Sequence[PreTokenizerStep], b: Sequence[PreTokenizerStep]) -> None:
        pair = SplitterPair(a, b)
        self._ways = _right_ways(pair)
        self._sides = _differing(self._ways)
        numbers = {signature: place for place, (_, signature) in enumerate(pair.classes)}
        self._starts: list[int] = []
        self._classes: list[int] = []
        for first, _, signature in stretches(pair.sets):
            self._starts.append(first)
            self._classes.append(numbers[signature])
        self._ends: dict[range, set[int]] = {}
        # A vocabulary has millions of characters: each is spelled as one of its class, once.
        self._spelled = _Spelled(self._class)
        self._across = _one_of(self._sides)
        self._before = {before for before, _ in self._sides}
        self._after = {after for _, after in self._sides}

    def none_across(self, vocabulary: Iterable[bytes]) -> bool:
        """Whether no token can stand across such a cut, whole or in parts of characters.

        True is a proof. Of very many doubtful tokens, False says only that it is not shown.
        """
        # The automaton is asked only about tokens that a look at pairs of classes leaves in doubt.
        doubtful = list(islice(self._doubtful(vocabulary), _MOST_TOKENS + 1))
        return len(doubtful) <= _MOST_TOKENS and not any(map(self._stands_across, doubtful))

    def texts_across(self, vocabulary: Iterable[bytes]) -> Iterator[str]:
        """Texts that hold a token where it may stand across such a cut, and little more."""
        low, high = SURROGATES
        for token in self._doubtful(vocabulary):
            parts = [*_parts(token)]
            for place, (one, other) in enumerate(pairwise(parts)):
                for left, right in product(self._classes_in(one), self._classes_in(other)):
                    if (left, right) in self._sides:
                        codes = [part[0] for part in parts]
                        codes[place : place + 2] = self._code(one, left), self._code(other, right)
                        if not any(low <= code <= high for code in codes):
                            yield "".join(map(chr, codes))
                        break

    def none_beside(self, contents: Iterable[bytes]) -> bool:
        """Whether no content can begin or end at such a cut, as a whole pretoken."""
        for content in contents:
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError:
                continue  # no whole pretoken: such steps cut between characters
            if text and (
                self._class(ord(text[0])) in self._after
                or self._class(ord(text[-1])) in self._before
            ):
                return False
        return True

    def _doubtful(self, vocabulary: Iterable[bytes]) -> Iterator[bytes]:
        """The tokens in which two characters can have such a cut between them."""
        tokens = [*vocabulary]
        # No UTF-8 has the byte F5; it keeps apart what is cut off at the ends of tokens.
        used = {*b"\xf5".join(tokens).decode("utf-8", "surrogateescape")} - {"\udcf5"}
        classes = {self._class(ord(char)) for char in used}
        if any("\udc80" <= char <= "\udcff" for char in used) or any(
            left in classes and right in classes for left, right in self._sides
        ):
            yield from filter(self._may_stand_across, tokens)

    def _may_stand_across(self, token: bytes) -> bool:
        """A quick look: whether two characters in it can have such a cut between them."""
        try:
            text = token.decode("utf-8")
        except UnicodeDecodeError:
            pass  # what is cut off at an end may be one of many characters
        else:
            return self._across.search(text.translate(self._spelled)) is not None
        for one, other in pairwise(_parts(token)):
            lefts, rights = self._classes_in(one), self._classes_in(other)
            if any((left, right) in self._sides for left in lefts for right in rights):
                return True
        return False

    def _stands_across(self, token: bytes) -> bool:
        """Whether in some text only one side cuts inside the token, read from every state."""
        first, *rest = map(self._classes_in, _parts(token))
        # Before its first character the token may stand in any state (Theorem 26).
        current = {(after, False) for place in first for _, _, after in self._ways.get(place, ())}
        for places in rest:
            following: set[tuple[Reads, bool]] = set()
            for place in places:
                for state, differs, after in self._ways.get(place, ()):
                    for differed in (False, True):
                        if (state, differed) in current:
                            following.add((after, differed or differs))
            current = following
        return any(differed for _, differed in current)

    def _classes_in(self, codes: range) -> set[int]:
        if len(codes) == 1:
            return {self._class(codes[0])}
        low = bisect_right(self._starts, codes[0]) - 1
        high = bisect_right(self._starts, codes[-1])
        if codes.step == 1:
            return set(self._classes[low:high])
        if codes not in self._ends:
            ends = [start - 1 for start in self._starts[low + 1 : high]] + [codes[-1]]
            self._ends[codes] = {
                self._classes[place]
                for place, last in enumerate(ends, low)
                if codes[0] + (last - codes[0]) // codes.step * codes.step >= self._starts[place]
            }
        return self._ends[codes]

    def _code(self, codes: range, number: int) -> int:
        """The first of some code points that is of a class which one of them has."""
        after = [*self._starts[1:], LAST + 1]
        for place, (start, end) in enumerate(zip(self._starts, after, strict=True)):
            first = (
                codes[0] + max(0, (start - codes[0] + codes.step - 1) // codes.step) * codes.step
            )
            if self._classes[place] == number and first < min(end, codes[-1] + 1):
                return first
        return codes[0]

    def _class(self, code: int) -> int:
        return self._classes[bisect_right(self._starts, code) - 1]


def _parts(token: bytes) -> Iterator[range]:
    """The characters of a token, each as the code points that it may be.

    A token that is nowhere inside UTF-8 has none.
    """
    if not is_inside_utf8(token):
        return
    place = 0
    while place < len(token) and 0x80 <= token[place] < 0xC0:
        place += 1
    if place:
        # Any character beyond ASCII that ends with these bytes: each of them says six bits of it.
        step, low = 1 << 6 * place, 0
        for byte in token[:place]:
            low = low << 6 | byte & 0x3F
        # From the first of these code points that is beyond ASCII.
        yield range(low + max(0, -((low - 0x80) // step)) * step, LAST + 1, step)
    while place < len(token):
        size = size_of(token[place])
        part = token[place : place + size]
        place += size
        if len(part) == size:
            code = ord(part.decode("utf-8"))
            yield range(code, code + 1)
            continue
        code = part[0] & 0x7F >> size
        for byte in part[1:]:
            code = code << 6 | byte & 0x3F
        open_bits = 6 * (size - len(part))
        # No overlong forms: the least code point that takes so many bytes.
        low = max(code << open_bits, (0x80, 0x80, 0x80, 0x800, 0x10000)[size])
        yield range(low, min((code + 1 << open_bits) - 1, LAST) + 1)


_Way: TypeAlias = tuple[Reads, bool, Reads]
"""A step of both sides: from where, whether only one cuts, to where."""


def _right_ways(pair: SplitterPair) -> dict[int, list[_Way]]:
    """By the class of the character read: all steps on the way to the end of some text."""
    # Theorem 26: all states from which a text can end with every guess right, and the steps there.
    ways: dict[int, list[_Way]] = {place: [] for place in range(len(pair.classes))}
    seen = {pair.start}
    queue = [pair.start]
    for state in queue:
        for place, leaving in ways.items():
            for label, other, after in pair.read(state, place):
                if label != other and "dropped" in (label, other):
                    raise PatternError("not decided: one side drops what the other keeps")
                leaving.append((state, label != other, after))
                if after not in seen:
                    seen.add(after)
                    queue.append(after)
        if len(queue) > _MOST_STATES:
            raise PatternError(f"not decided: more than {_MOST_STATES:,} states")
    into: dict[Reads, set[Reads]] = {}
    for state, _, after in chain.from_iterable(ways.values()):
        into.setdefault(after, set()).add(state)
    right = {state for state in queue if pair.may_end(state)}
    backwards = [*right]
    for state in backwards:
        for earlier in into.get(state, ()):
            if earlier not in right:
                right.add(earlier)
                backwards.append(earlier)
    return {place: [way for way in leaving if way[2] in right] for place, leaving in ways.items()}


def _differing(ways: Mapping[int, list[_Way]]) -> set[Sides]:
    """Between which classes of characters only one side cuts."""
    before: dict[Reads, set[int]] = {}
    for place, leaving in ways.items():
        for _, _, after in leaving:
            before.setdefault(after, set()).add(place)
    return {
        (left, place)
        for place, leaving in ways.items()
        for state, differs, _ in leaving
        if differs
        for left in before.get(state, ())
    }
