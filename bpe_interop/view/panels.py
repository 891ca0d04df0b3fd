"""A text as each of several tokenizers cuts it, ready to be shown side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal, TypeAlias

from ..compare.alignment import Span, align
from ..compare.sides import ORDINARY, PARSED
from ..encode.explain import Explainer
from ..engines import Special
from ..errors import DecodeError, EncodeError, PatternError, SourceError, UnstatedError
from ..model import BPEModel
from ..quoting import show
from ..reports.fragments import Fragment, token_parts
from ..text.surrogates import repair
from .chats import Chat, ChatText, apply_template

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

    ``where``: in the panel of the first, where several are compared with it, the labels of those
    that differ there.
    ``twin``: the number of the part of the text that it belongs to. Parts end where every panel
    has a cut, so tokens of other panels with the same number stand for the same part. None where
    there is nothing to compare with, or it is not known what tokens stand for.
    ``injected``: a special token that a message of a chat holds, not the chat template.
    """

    at: int
    id: int
    parts: tuple[Fragment, ...]
    digits: str
    mark: Mark
    where: tuple[str, ...] = ()
    twin: int | None = None
    injected: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """Tokens up to one that holds a line feed. Which way they run is the browser's business."""

    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """A text in one tokenizer's tokens, and how they differ from the first tokenizer's.

    The first is the first of those that have tokens. ``cut`` counts the tokens where the text is
    cut differently, ``other`` those that are cut alike and have another id, ``missed`` the places
    where the first has tokens and this one has none; in the first's panel all are 0. ``compared``
    is False where there is nothing to compare with: in the first's panel, or where the text is
    another one than the first's; then ``another_than`` is its label. ``renumbered``: most tokens
    that are cut alike have other ids, so these are counted and not marked. ``injected`` counts
    special tokens that messages of a chat hold; None where that cannot be told. ``error`` says why
    there are no tokens: the text has no encoding, or the tokenizer's source does not say what is
    needed.
    """

    label: str
    lines: tuple[Line, ...] = ()
    tokens: int = 0
    per_token: str = ""
    cut: int = 0
    other: int = 0
    missed: int = 0
    compared: bool = False
    another_than: str = ""
    renumbered: bool = False
    injected: int | None = 0
    error: str = ""


def check_size(size: int, limit: int) -> None:
    """Raises SourceError where a text has more bytes of UTF-8 than a page may show."""
    if size > limit:
        raise SourceError(
            f"the text has {size:,} bytes; a page shows at most {limit:,}",
            fix="choose a part of it; bpe-interop encode --show has no limit",
        )


def panels(sides: Sequence[Viewed], text: str, special: Special = "text") -> list[Panel]:
    """A text in each tokenizer's tokens; what differs from the first one's is marked.

    Surrogates in the text that do not pair are read as U+FFFD.
    """
    text = repair(text)
    return _panels(sides, [_answer(side, text, special) for side in sides])


def chat_panels(sides: Sequence[Viewed], chat: Chat, limit: int) -> list[Panel]:
    """A chat as each tokenizer's chat template writes it, in its tokens, special ones included.

    Panels with another text than the first one's are not compared with it. One without a chat
    template, or whose template fails, says so. ``limit`` is in bytes of UTF-8.
    """
    return _panels(sides, [_answer_chat(side, chat, limit) for side in sides])


def chat_text(side: Viewed, chat: Chat, limit: int) -> str:
    """The text that a tokenizer's chat template makes of a chat.

    Raises:
        SourceError: it has none, or the template fails, or the text is too long.
    """
    return _chat_written(side, chat, limit).text


def _chat_written(side: Viewed, chat: Chat, limit: int) -> ChatText:
    written = apply_template(chat, side.encoder.model)
    text = repair(written.text)
    check_size(len(text.encode("utf-8")), limit)
    # Two surrogates become one character, and places behind them are others.
    return written if text == written.text else ChatText(text, None if written.places else ())


@dataclass(frozen=True, slots=True)
class _Answer:
    """A text and its ids, or why there are none."""

    text: str
    special: Special
    ids: tuple[int, ...] = ()
    error: str = ""
    injected: frozenset[int] | None = frozenset()
    """Places among the ids of special tokens that a message holds; None where it is not known."""


def _answer(side: Viewed, text: str, special: Special) -> _Answer:
    try:
        ids = side.encoder.encode(text, "all" if special == "parse" else frozenset())
    except _UNANSWERED as error:
        return _Answer(text, special, error=error.what)
    return _Answer(text, special, tuple(ids))


def _answer_chat(side: Viewed, chat: Chat, limit: int) -> _Answer:
    try:
        written = _chat_written(side, chat, limit)
        answer = _answer(side, written.text, "parse")
        if written.places and not answer.error:
            return replace(answer, injected=_injected(side.encoder, written.text, written.places))
        return replace(answer, injected=None) if written.places is None else answer
    except SourceError as error:
        why = f"{error.what}: {error.fix}" if error.fix else error.what
        return _Answer("", "parse", error=why)


def _injected(encoder: Explainer, text: str, places: Sequence[int]) -> frozenset[int]:
    """Which of a text's ids are special tokens around one of the places in it."""
    found: set[int] = set()
    at = 0
    for each in encoder.explain(text, "all"):
        if each.how == "added" and any(each.start < place <= each.end for place in places):
            found.add(at)
        at += len(each.ids)
    return frozenset(found)


def _panels(sides: Sequence[Viewed], answers: Sequence[_Answer]) -> list[Panel]:
    marks: list[list[Mark]] = [[""] * len(answer.ids) for answer in answers]
    where: list[list[tuple[str, ...]]] = [[()] * len(answer.ids) for answer in answers]
    counts = [(0, 0, 0)] * len(sides)
    aligned: dict[int, tuple[Span, ...]] = {}
    renumbered: set[int] = set()
    answered = [number for number, answer in enumerate(answers) if not answer.error]
    first = answered[0] if answered else 0
    same = [n for n in answered if n != first and answers[n].text == answers[first].text]
    for number in same:
        aligned[number] = _aligned(sides, first, number, answers)
        alone: list[Mark] = [""] * len(marks[first])
        counts[number] = _mark(aligned[number], alone, marks[number])
        # Where vocabularies number tokens otherwise, marks on nearly all would say nothing.
        cut, other, _ = counts[number]
        if 2 * other > len(answers[number].ids) - cut and other > 1:
            renumbered.add(number)
            marks[number] = ["" if mark == "other" else mark for mark in marks[number]]
            alone = ["" if mark == "other" else mark for mark in alone]
        for at, mark in enumerate(alone):
            # Of several tokenizers, one that cuts differently says more than other ids.
            marks[first][at] = "cut" if marks[first][at] == "cut" else mark or marks[first][at]
            if mark and len(same) > 1:
                where[first][at] += (sides[number].label,)
    twins = _twins([len(answer.ids) for answer in answers], first, aligned)
    shown: list[Panel] = []
    for number, (side, answer) in enumerate(zip(sides, answers, strict=True)):
        size = len(answer.text.encode("utf-8"))
        per_token = f"{size / len(answer.ids):.2f}" if answer.ids else "–"
        tiles = _tiles(side.encoder, answer, marks[number], where[number], twins[number])
        lines, counted = tuple(_lines(tiles, side.encoder)), len(answer.ids)
        compared = number in aligned
        stranger = not (compared or answer.error or number == first)
        another = sides[first].label if stranger else ""
        shown.append(
            Panel(
                side.label,
                lines,
                counted,
                per_token,
                *counts[number],
                compared=compared,
                another_than=another,
                renumbered=number in renumbered,
                injected=None if answer.injected is None else len(answer.injected),
                error=answer.error,
            )
        )
    return shown


def _aligned(
    sides: Sequence[Viewed], first: int, number: int, answers: Sequence[_Answer]
) -> tuple[Span, ...]:
    asked = answers[first]
    mode = PARSED if asked.special == "parse" else ORDINARY
    encoders = sides[first].encoder, sides[number].encoder
    return align(asked.text, asked.ids, answers[number].ids, *encoders, mode)


def _twins(
    sizes: Sequence[int], first: int, aligned: Mapping[int, Sequence[Span]]
) -> list[list[int | None]]:
    """For each panel and each of its tokens, the part of the text that it belongs to."""
    twins: list[list[int | None]] = [[None] * size for size in sizes]
    known = {at: spans for at, spans in aligned.items() if all(s.start is not None for s in spans)}
    if not known:
        return twins
    cuts = set(range(sizes[first] + 1))
    for spans in known.values():
        cuts &= {0, *accumulate(len(span.ids_a) for span in spans)}
    parts = list(accumulate(int(at in cuts) for at in range(sizes[first])))
    twins[first] = list(parts)
    for number, spans in known.items():
        at = 0
        own: list[int | None] = []
        for span in spans:
            own += [parts[at] if span.ids_a else None] * len(span.ids_b)
            at += len(span.ids_a)
        twins[number] = own
    return twins


def _mark(spans: Iterable[Span], first: list[Mark], own: list[Mark]) -> tuple[int, int, int]:
    """Marks the tokens of two sides; :class:`Panel` says what is counted."""
    missed = at_first = at_own = 0
    for span in spans:
        end_first, end_own = at_first + len(span.ids_a), at_own + len(span.ids_b)
        if not span.equal:
            alike = len(span.ids_a) == len(span.ids_b) == 1 or span.tokens_a == span.tokens_b
            mark: Mark = "other" if alike and span.start is not None else "cut"
            missed += not span.ids_b
            own[at_own:end_own] = [mark] * (end_own - at_own)
            first[at_first:end_first] = [mark] * (end_first - at_first)
        at_first, at_own = end_first, end_own
    return own.count("cut"), own.count("other"), missed


def _tiles(
    encoder: Explainer,
    answer: _Answer,
    marks: Sequence[Mark],
    where: Sequence[tuple[str, ...]],
    twins: Sequence[int | None],
) -> Iterator[Tile]:
    known: dict[int, tuple[tuple[Fragment, ...], str]] = {}
    rows = zip(answer.ids, marks, where, twins, strict=True)
    injected = answer.injected or frozenset()
    for at, (number, mark, named, twin) in enumerate(rows):
        if number not in known:
            content = encoder.token_bytes(number)
            known[number] = tuple(token_parts(show(content))), content.hex(" ").upper()
        yield Tile(at, number, *known[number], mark, named, twin, at in injected)


def _lines(tiles: Iterable[Tile], encoder: Explainer) -> Iterator[Line]:
    held: list[Tile] = []
    for tile in tiles:
        held.append(tile)
        if b"\n" in encoder.token_bytes(tile.id):
            yield Line(tuple(held))
            held = []
    if held:
        yield Line(tuple(held))
