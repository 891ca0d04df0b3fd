"""Files that the kernel reads; None for every file in which something is irregular."""

from __future__ import annotations

from typing import Literal

from .library import Handles, Held, address, answer, library, made, numbers
from .pairs import Pairs
from .tables import Numbers, Table

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
    answers, literal = Handles(loaded, 7), numbers(_LITERAL)
    call = getattr(loaded, entry)
    if answer(call(*arguments, address(answers.values), address(literal), _LITERAL)) is None:
        return None
    _, _, *cuts, count = answers.values
    table = Table(loaded, answers.take(0))
    pairs = Pairs(table, Held(loaded, answers.take(1)))
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
