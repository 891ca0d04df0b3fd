"""Files that the kernel reads; None for every file in which something is irregular."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Literal

from .library import KernelObject, NumberSlots, address, answer, library, made, numbers
from .tables import LazyDict, Numbers, Pairs, Table

_LITERAL = 4096
"""The most tokens that are not spelled in the byte alphabet."""


def take_vocabulary(
    document: bytes, alphabet: Literal["byte", "char"]
) -> tuple[Numbers, Pairs, tuple[bytes, ...], bytes] | None:
    """The vocabulary and the merges of a ``tokenizer.json``, and the document without them.

    The third are the tokens that are not spelled in the byte alphabet, where ``alphabet`` is bytes:
    their contents are their spellings in UTF-8. Of text, that is so of all tokens, and none is
    listed. The document has an empty object and an empty array in place of what was taken.

    The twins are ``strict_json.py`` and ``formats/huggingface/vocab.py``.
    """
    answers = _ask("json_read", document, len(document), alphabet == "char")
    if answers is None:
        return None
    table, pairs, literal, cuts = answers
    start, end, merges_start, merges_end = cuts
    rest = b"{}".join((document[:start], document[end:merges_start]))
    rest = b"[]".join((rest, document[merges_end:]))
    return Numbers(table), pairs, literal, rest


def read_pair(vocabulary: bytes, merges: bytes) -> tuple[Numbers, Pairs, tuple[bytes, ...]] | None:
    """The tokens and the merges of GPT-2's pair of files.

    The last of the three are the tokens that are not spelled in the byte alphabet, as UTF-8. The
    twin is ``formats/gpt2/read.py``.
    """
    answers = _ask("pair_read", vocabulary, len(vocabulary), merges, len(merges))
    if answers is None:
        return None
    table, pairs, literal, _ = answers
    return Numbers(table), pairs, literal


def _ask(
    entry: str, *arguments: object
) -> tuple[Table, Pairs, tuple[bytes, ...], tuple[int, ...]] | None:
    """What an entry reads: tokens, merges, the tokens that are literal, and where it cuts."""
    loaded = library()
    if loaded is None:
        return None
    answers, literal = NumberSlots(loaded, 7), numbers(_LITERAL)
    call = getattr(loaded, entry)
    if answer(call(*arguments, address(answers.values), address(literal), _LITERAL)) is None:
        return None
    _, _, *cuts, count = answers.values
    table = Table(loaded, answers.take(0))
    pairs = Pairs(table, KernelObject(loaded, answers.take(1)))
    return table, pairs, table.some(literal[:count]), tuple(cuts)


def read_ranks(data: bytes) -> Numbers | None:
    """The tokens of a rank file and their numbers, in its order.

    The twin is ``read_ranks`` in ``formats/tiktoken/ranks.py``.
    """
    loaded = library()
    if loaded is None:
        return None
    held = made(loaded.ranks_read(data, len(data)))
    return None if held is None else Numbers(Table(loaded, held))


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
    Scores of 0.0 and -0.0 among pieces of several characters are left to Python. The twin is
    ``formats/sentencepiece/read.py``.
    """
    loaded = library()
    if loaded is None:
        return None
    handles = NumberSlots(loaded, 4, objects=3)
    if answer(loaded.pieces_read(file, len(file), address(handles.values))) is None:
        return None
    spelled, ranked = (Numbers(Table(loaded, handles.take(place))) for place in (0, 1))
    held = KernelObject(loaded, handles.take(2))
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
