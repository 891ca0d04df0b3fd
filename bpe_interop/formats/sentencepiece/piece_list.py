"""What the pieces of a file are to a model: tokens, ranks, scores; as Python or the kernel reads.

The kernel takes the pieces of a file that is written as protobuf writes it, and in which nothing
is wrong with them. Everything else is read in Python, which tells the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import FormatError, UnsupportedError
from ...kernel import take_pieces
from ...merging.scores import order_of
from ...model import Fallback, Json, Kind, Vocab
from .schema import (
    BYTE,
    CONTROL,
    MAX_PIECES,
    MAX_SIZE,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    parse,
    unread,
)
from .settings import ModelSettings
from .specs import Outline, Piece, outline_of

_KINDS: dict[int, Kind] = {USER_DEFINED: "user_defined", UNUSED: "unused", BYTE: "byte"}


@dataclass(frozen=True, slots=True)
class PieceListing:
    """The pieces of a file.

    Attributes:
        outline: those that are not NORMAL, and how many there are.
        vocab: all but those that no text gives (CONTROL, UNKNOWN), with all scores.
        ranks: of those that others may merge into, by descending score, without gaps; equal
            scores are equal ranks.
        lacking: whether one of these holds a character that is no piece itself.
        presence: what ``extras`` say of fields that are there or not.
    """

    outline: Outline
    vocab: Vocab
    ranks: Mapping[bytes, int]
    lacking: bool
    presence: Mapping[str, Json]


def take(data: bytes, file: str) -> tuple[Any, PieceListing] | None:
    """The message of a file without its pieces, and these; None where Python reads them.

    That is so where the kernel leaves it to Python, and where the rest is malformed, has fields
    that are not known, or is written otherwise than protobuf writes it.
    """
    if len(data) > MAX_SIZE:
        return None
    pieces = take_pieces(data)
    if pieces is None or pieces.count > MAX_PIECES:
        return None
    message = ModelSettings.of(pieces.rest) or _by_protobuf(pieces.rest, file)
    if message is None:
        return None
    others = {number: Piece(surface, score, kind) for number, surface, score, kind in pieces.others}
    outline = Outline(pieces.count, others)
    vocab = Vocab(pieces.ids, _kinds(outline), pieces.scores)
    presence: dict[str, Json] = {"typed": [*pieces.typed]} if pieces.typed else {}
    return message, PieceListing(outline, vocab, pieces.ranks, pieces.lacking, presence)


def _by_protobuf(data: bytes, file: str) -> Any:
    """A message without pieces that protobuf would write again; None for another one."""
    try:
        message = parse(data, file)
        written: bytes = message.SerializeToString(deterministic=True)
        if message.pieces or written != data or unread(message, data, file):
            return None
    except (FormatError, UnsupportedError):
        return None
    return message


def listing_of(pieces: Sequence[Piece], presence: Mapping[str, Json]) -> PieceListing:
    """The same of pieces that Python has read."""
    outline = outline_of(pieces)
    ids = {
        piece.surface: number
        for number, piece in enumerate(pieces)
        if piece.type not in (CONTROL, UNKNOWN)
    }
    scores = {number: piece.score for number, piece in enumerate(pieces)}
    vocab = Vocab(ids, _kinds(outline), scores)
    return PieceListing(outline, vocab, _ranks_of(pieces), lacks_characters(pieces), presence)


def presence_of(message: Any) -> dict[str, Json]:
    """The pieces that leave their score out, and those that say that they are normal."""
    unscored: list[Json] = []
    typed: list[Json] = []
    for number, piece in enumerate(message.pieces):
        if not piece.HasField("score"):
            unscored.append(number)
        if piece.type == NORMAL and piece.HasField("type"):
            typed.append(number)
    present: dict[str, Json] = {}
    if unscored:
        present["unscored"] = unscored
    if typed:
        present["typed"] = typed
    return present


def _kinds(outline: Outline) -> dict[int, Kind]:
    others = outline.others.items()
    return {number: _KINDS[piece.type] for number, piece in others if piece.type in _KINDS}


def _ranks_of(pieces: Iterable[Piece]) -> dict[bytes, int]:
    orders = {piece.surface: order_of(piece.score) for piece in pieces if merges(piece)}
    places = {order: place for place, order in enumerate(sorted({*orders.values()}, reverse=True))}
    return {surface: places[order] for surface, order in orders.items()}


def merges(piece: Piece) -> bool:
    """Whether other pieces may merge into it."""
    return piece.type in (NORMAL, UNUSED)


def lacks_characters(pieces: Sequence[Piece]) -> bool:
    """Whether a piece that merges holds a character that is no piece itself."""
    merging = [piece.surface for piece in pieces if merges(piece)]
    single = {surface.decode() for surface in merging if len(surface) <= 4}
    single |= {piece.surface.decode() for piece in pieces if piece.type == USER_DEFINED}
    return not set(b"".join(merging).decode()) <= single


def fallback_of(outline: Outline, lacking: bool) -> Fallback:
    """What becomes of characters without a piece; with one byte piece there are all of them."""
    types = {piece.type: number for number, piece in reversed([*outline.others.items()])}
    return Fallback(
        "unknown",
        types[UNKNOWN],
        fuse=True,
        byte_fallback=BYTE in types,
        after_merging=lacking,
    )
