"""Texts of files that the kernel writes; None for what it does not hold.

The twins are the formats' own writers: every byte is the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence

from .canonical import found_form
from .library import KernelObject, Library, OwnedNumber, address, answer, library, made
from .tables import Numbers, Pairs


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
