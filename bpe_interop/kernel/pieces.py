"""The pieces of a SentencePiece ``.model`` that the kernel reads; None for an irregular file.

The twin is ``formats/sentencepiece/read.py``.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from .lazy import LazyDict
from .library import Handles, Held, address, answer, library, numbers
from .tables import Numbers, Table


@dataclass(frozen=True, slots=True)
class TakenPieces:
    """What the pieces of a model are, and the message without them.

    Attributes:
        count: how many there are.
        ids: those that a text may give (neither CONTROL nor UNKNOWN), with their positions.
        ranks: those that others may merge into (NORMAL and UNUSED), with ranks by descending
            score, without gaps; equal scores are equal ranks.
        scores: of all pieces, by position.
        others: of the pieces that are not NORMAL: the position, the surface, the score, the type.
        typed: the positions of those that say that they are NORMAL.
        lacking: whether one that others merge into has a character that is no piece.
        rest: the rest of the file.
    """

    count: int
    ids: Numbers
    ranks: Numbers
    scores: LazyDict[int, float]
    others: tuple[tuple[int, bytes, float, int], ...]
    typed: tuple[int, ...]
    lacking: bool
    rest: bytes


def take_pieces(file: bytes) -> TakenPieces | None:
    """Takes the pieces out of a ``.model`` that is written as protobuf writes it.

    Every surface is text without a null character, no two are the same, and scores are finite.
    Scores of 0.0 and -0.0 among pieces of several characters are left to Python.
    """
    loaded = library()
    if loaded is None:
        return None
    handles = Handles(loaded, 4, objects=3)
    if answer(loaded.pieces_read(file, len(file), address(handles.values))) is None:
        return None
    spelled, ranked = (Numbers(Table(loaded, handles.take(place))) for place in (0, 1))
    held = Held(loaded, handles.take(2))
    sizes = array("Q", bytes(32))
    answer(loaded.pieces_sizes(held.number, address(sizes)))
    count, other_count, typed_count, lacking = sizes
    scores, others, typed = (
        array("f", bytes(4 * count)),
        numbers(4 * other_count),
        numbers(typed_count),
    )
    done = loaded.pieces_copy(
        held.number,
        address(scores),
        count,
        address(others),
        other_count,
        address(typed),
        typed_count,
    )
    if answer(done) is None:
        raise AssertionError("pieces are as many as they were counted")
    rows = zip(*(others[column::4] for column in range(4)), strict=True)
    return TakenPieces(
        count,
        spelled,
        ranked,
        LazyDict(lambda: dict(enumerate(scores))),
        tuple((n, file[start:end], scores[n], kind) for n, kind, start, end in rows),
        tuple(typed),
        lacking == 1,
        file[handles.values[3] :],
    )
