"""A text as each of several tokenizers cuts it, ready to be shown side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..encode.explain import Explainer
from ..engines import Special
from ..errors import DecodeError, EncodeError, PatternError, SourceError, UnstatedError
from ..model import BPEModel, show
from ..text.normalize import repair
from ..verify.alignment import Span, align
from ..verify.sides import ORDINARY, PARSED
from .rows import COLOURS
from .visible import Part, right_to_left, token_parts

Mark: TypeAlias = Literal["", "cut", "other"]
"""How a token differs from what stands at its place in another tokenizer."""

_UNANSWERED = (EncodeError, DecodeError, PatternError, UnstatedError)


@dataclass(frozen=True)
class Viewed:
    """A tokenizer to look at texts with: what it is called, and what encodes for it."""

    label: str
    encoder: Explainer

    @classmethod
    def of(cls, label: str, model: BPEModel) -> Viewed:
        """The tokenizer of a model."""
        return cls(label, Explainer(model))


@dataclass(frozen=True, slots=True)
class Tile:
    """A token of a panel; ``at`` is its place among the ids, from 0.

    ``where``: in the first of more than two panels, the labels of those that differ there.
    """

    at: int
    id: int
    parts: tuple[Part, ...]
    digits: str
    colour: int
    mark: Mark
    where: tuple[str, ...] = ()

    @property
    def spoken(self) -> str:
        """The token for those who hear it."""
        return " ".join(part.name or part.text for part in self.parts)


@dataclass(frozen=True, slots=True)
class Line:
    """Tokens up to one that holds a line feed, and whether they are read from the right."""

    tiles: tuple[Tile, ...]
    right_to_left: bool


@dataclass(frozen=True, slots=True)
class Panel:
    """A text in one tokenizer's tokens, and how they differ from the first tokenizer's.

    ``cut`` counts the places of the text that are cut differently, ``other`` those that are cut
    alike and have other ids; in the first panel both are 0. ``error`` says why there are no
    tokens: the text has no encoding, or the tokenizer's source does not say what is needed.
    """

    label: str
    lines: tuple[Line, ...] = ()
    tokens: int = 0
    per_token: str = ""
    cut: int = 0
    other: int = 0
    error: str = ""


def check_size(size: int, limit: int) -> None:
    """Refuses a text that a page could not show.

    Args:
        size: the bytes of the text in UTF-8.
        limit: how many may be shown.

    Raises:
        SourceError: they are more.
    """
    if size > limit:
        raise SourceError(
            f"the text has {size:,} bytes; a page shows at most {limit:,}",
            fix="choose a part of it; bpe-interop encode --show has no limit",
        )


def panels(sides: Sequence[Viewed], text: str, special: Special = "text") -> list[Panel]:
    """A text in each tokenizer's tokens; what differs from the first one's is marked.

    Args:
        sides: the tokenizers.
        text: the text; surrogates that do not pair are read as U+FFFD.
        special: whether special tokens in the text are ordinary text or are parsed.
    """
    text = repair(text)
    answers = [_answer(side, text, special) for side in sides]
    marks: list[list[Mark]] = [[""] * len(ids) for ids, _ in answers]
    counts = [(0, 0)] * len(sides)
    where: list[tuple[str, ...]] = [()] * len(answers[0][0]) if answers else []
    for number, (_, error) in enumerate(answers):
        if number and not error and not answers[0][1]:
            spans = _aligned(text, sides, number, answers, special)
            alone: list[Mark] = [""] * len(marks[0])
            counts[number] = _mark(spans, alone, marks[number])
            for at, mark in enumerate(alone):
                # Of several tokenizers, one that cuts differently says more than other ids.
                marks[0][at] = "cut" if marks[0][at] == "cut" else mark or marks[0][at]
                where[at] += (sides[number].label,) if mark else ()
    size = len(text.encode("utf-8"))
    found: list[Panel] = []
    named = [where if len(sides) > 2 else [()] * len(marks[0])]
    named += [[()] * len(marked) for marked in marks[1:]]
    for side, (ids, error), marked, (cut, other), at_each in zip(
        sides, answers, marks, counts, named, strict=True
    ):
        per_token = f"{size / len(ids):.2f}" if ids else "–"
        lines = tuple(_lines(side.encoder, ids, marked, at_each))
        found.append(Panel(side.label, lines, len(ids), per_token, cut, other, error))
    return found


def _answer(side: Viewed, text: str, special: Special) -> tuple[list[int], str]:
    """The ids of a text, or why there are none."""
    try:
        return side.encoder.encode(text, "all" if special == "parse" else frozenset()), ""
    except _UNANSWERED as error:
        return [], error.what


def _aligned(
    text: str,
    sides: Sequence[Viewed],
    number: int,
    answers: Sequence[tuple[list[int], str]],
    special: Special,
) -> Iterable[Span]:
    first, other = sides[0].encoder, sides[number].encoder
    mode = PARSED if special == "parse" else ORDINARY
    return align(text, answers[0][0], answers[number][0], first, other, mode)


def _mark(spans: Iterable[Span], first: list[Mark], own: list[Mark]) -> tuple[int, int]:
    """Marks the tokens of two sides; how many places are cut differently, and have other ids."""
    cut = other = at_first = at_own = 0
    for span in spans:
        end_first, end_own = at_first + len(span.ids_a), at_own + len(span.ids_b)
        if not span.equal:
            alike = len(span.ids_a) == len(span.ids_b) == 1 or span.tokens_a == span.tokens_b
            mark: Mark = "other" if alike and span.start is not None else "cut"
            cut, other = cut + (mark == "cut"), other + (mark == "other")
            own[at_own:end_own] = [mark] * (end_own - at_own)
            first[at_first:end_first] = [mark] * (end_first - at_first)
        at_first, at_own = end_first, end_own
    return cut, other


def _lines(
    encoder: Explainer,
    ids: Sequence[int],
    marks: Sequence[Mark],
    where: Sequence[tuple[str, ...]],
) -> Iterator[Line]:
    held: list[Tile] = []
    said = b""
    for at, (number, mark, named) in enumerate(zip(ids, marks, where, strict=True)):
        content = encoder.token_bytes(number)
        parts = tuple(token_parts(show(content)))
        held.append(Tile(at, number, parts, content.hex(" ").upper(), at % COLOURS, mark, named))
        said += content
        if b"\n" in content:
            yield _line(held, said)
            held, said = [], b""
    if held:
        yield _line(held, said)


def _line(tiles: list[Tile], content: bytes) -> Line:
    return Line(tuple(tiles), right_to_left(content.decode("utf-8", "replace")))
