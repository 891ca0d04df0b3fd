"""Files that the kernel reads and writes; None where something is irregular, or not held.

The twins are the readers and writers of the formats: what is written has the same bytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from .canonical import found_form
from .library import (
    KernelObject,
    Library,
    NumberSlots,
    OwnedNumber,
    address,
    answer,
    library,
    made,
    numbers,
)
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


def vocabulary_text(
    ids: Mapping[bytes, int],
    others: Iterable[tuple[str, int]],
    *,
    literal: Iterable[bytes] = (),
    ascii_only: bool = False,
    between: bytes,
) -> bytearray | None:
    """The entries of a JSON object: each token in GPT-2's byte alphabet, and its id, by id.

    Args:
        ids: the tokens.
        others: further entries, spelled as JSON, and their ids.
        literal: tokens that are left out, for they are among these entries.
        ascii_only: escape what is not ASCII.
        between: what stands between two entries.
    """
    loaded = library()
    if loaded is None or not isinstance(ids, Numbers):
        return None
    table = ids.table
    skipped = array("I", (at for at in map(table.place, literal) if at is not None))
    more = sorted(others, key=lambda entry: entry[1])
    spelled = [text.encode() for text, _ in more]
    sizes, numbers = array("I", map(len, spelled)), array("I", (number for _, number in more))
    contents = b"".join(spelled)
    held = loaded.vocabulary_text(
        table.number,
        address(skipped),
        len(skipped),
        contents,
        len(contents),
        address(sizes),
        address(numbers),
        len(more),
        ascii_only,
        between,
        len(between),
    )
    return _copied(loaded, made(held))


def pairs_text(
    pairs: Sequence[tuple[bytes, bytes]] | Mapping[bytes, tuple[bytes, bytes]],
    between: bytes | None = None,
) -> bytearray | None:
    """Pairs in GPT-2's byte alphabet, a space between both parts.

    Args:
        pairs: a list over a table of the kernel's, or the splits of a canonical form.
        between: write strings of JSON with this between them; else one pair to a line.
    """
    loaded = library()
    if loaded is None:
        return None
    if isinstance(pairs, Pairs):
        table, held = pairs.table, pairs.merges
    elif isinstance(pairs, Mapping):
        form = found_form(pairs)
        if form is None:
            return None
        table, held = form.table, form
    else:
        return None
    listed, lines = between or b"", between is None
    text = loaded.pairs_text(table.number, held.number, lines, listed, len(listed))
    return _copied(loaded, made(text))


def ranks_text(ranks: Mapping[bytes, int]) -> bytes | None:
    """The lines of a rank file in the order given."""
    loaded = library()
    if loaded is None or not isinstance(ranks, Numbers):
        return None
    text = _copied(loaded, made(loaded.ranks_text(ranks.table.number)))
    return None if text is None else bytes(text)


def _copied(loaded: Library, text_made: OwnedNumber | None) -> bytearray | None:
    if text_made is None:
        return None
    held = KernelObject(loaded, text_made)
    text = bytearray(answer(loaded.text_size(held.number)) or 0)
    if answer(loaded.text_copy(held.number, address(text), len(text))) is None:
        raise AssertionError("a text has the size that was measured")
    return text
