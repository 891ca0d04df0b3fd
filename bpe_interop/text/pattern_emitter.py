"""Writes a tree of text/regex_syntax.py as a pattern of one of the three regex dialects."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

from ..errors import PatternError
from ..steps import Dialect, Pattern
from .charsets import (
    EVERYTHING,
    AnyOf,
    Chars,
    CharSet,
    NoneOf,
    Property,
    case_closed,
    intersect,
    negate,
    unite,
)
from .class_parser import NOT_NEWLINE, WORD, WORD_IN_CLASS
from .misreadings import joins_negated
from .pattern_parser import parse
from .regex_syntax import (
    Alternation,
    Anchor,
    Atomic,
    Leaf,
    Look,
    Node,
    Repeat,
    Sequence,
    alternation,
    can_look_behind,
    children,
    matches_empty,
    repeat,
    sequence,
)
from .unicode import LAST, SURROGATES, Ranges, case_orbits, complement, merge, property_ranges

_ANCHORS: dict[Dialect, dict[str, str]] = {
    "fancy-regex": {
        "text_start": r"\A",
        "text_end": r"\z",
        "line_start": "(?m:^)",
        "line_end": "(?m:$)",
        "final_newline": r"(?=\n?\z)",  # \Z there is before any number of newlines
    },
    "oniguruma": {
        "text_start": r"\A",
        "text_end": r"\z",
        "line_start": r"(?:\A|(?<=\n))",
        "line_end": "$",
        "final_newline": r"\Z",
    },
    "python": {
        "text_start": r"\A",
        "text_end": r"\Z",
        "line_start": "(?m:^)",
        "line_end": "(?m:$)",
        "final_newline": "$",
    },
}
_FEW = 100
"""A set of more characters is not looked at for one case of each letter."""
_CONTROLS = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_SHORT = {"White_Space": ("s", "S"), "Nd": ("d", "D")}


def emit(node: Node, dialect: Dialect) -> str:
    """The tree as a pattern that means the same in the dialect's engine.

    A property means what the engine's own tables say; Python's are of another Unicode version.

    Raises:
        PatternError: the dialect cannot say it.
    """
    as_ranges = dialect == "python" and joins_negated(node)
    return _Emitter(dialect, as_ranges=as_ranges).write(node)


class _Emitter:
    def __init__(self, dialect: Dialect, *, as_ranges: bool = False) -> None:
        self.dialect: Dialect = dialect
        # No class may be written as one negated character (text/misreadings.py).
        self.as_ranges = as_ranges

    def write(self, node: Node) -> str:
        """A node where an alternation may stand bare."""
        if isinstance(node, Alternation):
            return self._ignoring_case(node) or "|".join(self._options(node))
        if isinstance(node, Sequence):
            folded = self._ignoring_case(node)
            return folded or "".join(map(self._part, node.parts))
        return self._part(node)

    def _options(self, node: Alternation) -> list[str]:
        """Each option, neighbours that ignore case in one group."""
        sources: list[str] = []
        run: list[Node] = []
        for option in (*node.options, None):
            if option is not None and self._ignoring_case(option):
                run.append(option)
                continue
            if run:
                together = self._ignoring_case(alternation(run))
                sources.append(together or "|".join(map(self.write, run)))
                run = []
            if option is not None:
                sources.append(self.write(option))
        return sources

    def _part(self, node: Node) -> str:
        if isinstance(node, Alternation | Sequence):
            return self._ignoring_case(node) or f"(?:{self.write(node)})"
        if isinstance(node, Repeat):
            return self._repeat(node)
        if isinstance(node, Atomic):
            return f"(?>{self.write(node.part)})"
        if isinstance(node, Look):
            direction = "" if node.ahead else "<"
            if not node.ahead and not can_look_behind(node.part, self.dialect):
                raise PatternError(f"{self.dialect} cannot look behind for a text of this shape")
            return f"(?{direction}{'!' if node.negative else '='}{self.write(node.part)})"
        if isinstance(node, Anchor):
            return _ANCHORS[self.dialect][node.kind]
        return self._ignoring_case(node) or self.charset(node.charset)

    def _repeat(self, node: Repeat) -> str:
        if self.dialect == "oniguruma" and node.high != 1 and matches_empty(node.part):
            raise PatternError("oniguruma does not count what can be empty as other engines do")
        body = self._part(node.part)
        if isinstance(node.part, Repeat | Look | Anchor):
            body = f"(?:{body})"
        counts = _counts(node.low, node.high)
        if node.mode == "lazy":
            return f"{body}{counts}?"
        if node.mode == "greedy":
            return body + counts
        # There `{1,3}+` is a repeated repetition, not a possessive one.
        if counts.startswith("{") and self.dialect == "oniguruma":
            return f"(?>{body}{counts})"
        return f"{body}{counts}+"

    def _ignoring_case(self, node: Node) -> str:
        """The node in ``(?i:)`` where that says the same, else nothing.

        Never for Python's ``regex``, which mishandles it (see text/misreadings.py).
        """
        plain = None if self.dialect == "python" else _one_case(node)
        if plain is None or plain == node:
            return ""
        source = f"(?i:{_Emitter(self.dialect).write(plain)})"
        try:
            return source if parse(Pattern(source, self.dialect)) == node else ""
        except PatternError:
            return ""  # then case is spelled out

    def charset(self, charset: CharSet) -> str:
        """A set as something that matches one of its characters."""
        if charset == EVERYTHING:
            return r"[\s\S]"
        if charset == NOT_NEWLINE:
            return "."
        if isinstance(charset, Chars):
            return self._chars(charset)
        if isinstance(charset, Property):
            return _property(charset)
        negated = isinstance(charset, NoneOf)
        # Python's regex knows no classes within classes in version 0: alternatives say the same.
        if self.dialect == "python" and any(isinstance(p, NoneOf) for p in charset.parts):
            flat = unite(p for p in charset.parts if not isinstance(p, NoneOf))
            nested = [self.charset(p) for p in charset.parts if isinstance(p, NoneOf)]
            options = "|".join([self.charset(flat), *nested] if flat != Chars(()) else nested)
            return rf"(?:(?!{options})[\s\S])" if negated else f"(?:{options})"
        word = WORD[self.dialect]
        if charset == word:
            return r"\w"
        if charset == negate(word):
            return r"\W"
        return f"[{'^' if negated else ''}{self._members(charset)}]"

    def _members(self, charset: AnyOf | NoneOf) -> str:
        parts, prefix = charset.parts, ""
        word = WORD_IN_CLASS[self.dialect]
        properties = {part for part in parts if isinstance(part, Property)}
        if isinstance(word, AnyOf) and properties.issuperset(
            part for part in word.parts if isinstance(part, Property)
        ):
            listed = [part for part in word.parts if isinstance(part, Chars)]
            own = [part for part in parts if isinstance(part, Chars)]
            if not listed or (own and unite((*listed, *own)) == own[0]):
                rest = [intersect(own[0], negate(listed[0]))] if listed else own
                parts = tuple(
                    part for part in parts if not isinstance(part, Chars) and part not in word.parts
                ) + tuple(rest)
                prefix = r"\w"
        return prefix + "".join(map(self._member, parts))

    def _member(self, part: CharSet) -> str:
        if isinstance(part, Chars):
            return self._ranges(part)
        return _property(part) if isinstance(part, Property) else self.charset(part)

    def _chars(self, charset: Chars) -> str:
        ranges = charset.ranges
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return self._char(ranges[0][0], r"\.^$|?*+()[]{}")
        if not ranges:
            # regex takes a negated class of all characters for everything (text/misreadings.py).
            return r"(?:(?!)[\s\S])" if self.dialect == "python" else r"[^\s\S]"
        if ranges[-1][1] == LAST and not self.as_ranges:
            return f"[^{self._ranges(Chars(complement(ranges)))}]"
        return f"[{self._ranges(charset)}]"

    def _ranges(self, charset: Chars) -> str:
        source = ""
        for first, last in _characters(charset.ranges):
            source += self._char(first, r"\[]^-&~|:")
            if last > first:
                source += "-" * (last > first + 1) + self._char(last, r"\[]^-&~|:")
        return source

    def _char(self, code: int, special: str) -> str:
        char = chr(code)
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in special:
            return "\\" + char
        if _shows(code):
            return char
        if code <= 0x7F:
            return f"\\x{code:02x}"
        if code <= 0xFFFF:
            return f"\\u{code:04x}"
        return f"\\U{code:08x}" if self.dialect == "python" else f"\\x{{{code:x}}}"


@cache
def _unseen() -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The begins and the ends of the ranges that are not seen, or are seen on another character."""
    # By our own tables: what is written is the same on every Python, whose tables differ.
    ranges = merge(each for name in ("C", "Z", "M") for each in property_ranges(name))
    return tuple(first for first, _ in ranges), tuple(last for _, last in ranges)


def _shows(code: int) -> bool:
    begins, ends = _unseen()
    place = bisect_right(begins, code) - 1
    return code == ord(" ") or place < 0 or code > ends[place]


def _characters(ranges: Ranges) -> Ranges:
    """The ranges without surrogates, which no text holds and no engine can spell."""
    low, high = SURROGATES
    cut = [
        (high + 1 if low <= first <= high else first, low - 1 if low <= last <= high else last)
        for first, last in ranges
    ]
    return tuple((first, last) for first, last in cut if first <= last) or ranges


def _counts(low: int, high: int | None) -> str:
    short = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((low, high))
    if short:
        return short
    if low == high:
        return f"{{{low}}}"
    return f"{{{low},{'' if high is None else high}}}"


def _property(charset: Property) -> str:
    if charset.name in _SHORT:
        return "\\" + _SHORT[charset.name][charset.negated]
    return f"\\{'P' if charset.negated else 'p'}{{{charset.name}}}"


def _one_case(node: Node) -> Node | None:
    """The node with one case of every letter; None where that is not all that ``(?i:)`` adds."""
    if isinstance(node, Leaf):
        chosen = _one_case_set(node.charset)
        return None if chosen is None else Leaf(chosen)
    if isinstance(node, Sequence | Alternation):
        parts = [_one_case(child) for child in children(node)]
        known = [part for part in parts if part is not None]
        join = sequence if isinstance(node, Sequence) else alternation
        return join(known) if len(known) == len(parts) else None
    if isinstance(node, Repeat):
        part = _one_case(node.part)
        return None if part is None else repeat(part, node.low, node.high, node.mode)
    return None


def _one_case_set(charset: CharSet) -> CharSet | None:
    if not isinstance(charset, Chars) or sum(b - a for a, b in charset.ranges) > _FEW:
        return None
    if case_closed(charset) != charset:
        return None
    orbits = case_orbits()
    codes = {code for first, last in charset.ranges for code in range(first, last + 1)}
    chosen = {min(orbits.get(code, (code,)), key=_plainness) for code in codes}
    return Chars(merge((code, code) for code in chosen))


def _plainness(code: int) -> tuple[bool, int]:
    return not 0x61 <= code <= 0x7A, code
