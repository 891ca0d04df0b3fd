"""Byte-level tokenizers and SentencePiece: no model for whole texts, but one for pretokens.

That there is none for whole texts is Theorem 12 in ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

_CHARACTERS = "\n a1.\t'\u00a0\u00e9\u2776\u4e00"
"""What is put together to look for an obstruction."""

@dataclass(frozen=True, slots=True)
class Obstruction:
    """Two texts to which no SentencePiece BPE model gives the ids of a tokenizer.

    In ``longer`` the two characters of ``shorter`` are a token each; alone they are not. And
    ``apart`` is a text of two tokens, each of which is that of its character.
    """

    longer: str
    shorter: str
    apart: str


def obstruction(encode: Callable[[str], Sequence[int]]) -> Obstruction | None:
    """Looks for two texts that prove a tokenizer to be no SentencePiece BPE model (Theorem 12).

    ``encode`` gives the ids of a text, no special tokens in it. The proof is about models whose
    normalizer goes character by character and that have no UNUSED pieces.
    """
    ids = {char: list(encode(char)) for char in _CHARACTERS}
    chars = {parts[0]: char for char, parts in ids.items() if len(parts) == 1}
    apart = next(
        (
            x + y
            for x, y in product(chars.values(), repeat=2)
            if list(encode(x + y)) == ids[x] + ids[y]
        ),
        None,
    )
    if apart is None:
        return None
    for length in (2, 3):
        for letters in product(_CHARACTERS, repeat=length):
            longer = "".join(letters)
            parts = list(encode(longer))
            for left, right in pairwise(parts):
                if left in chars and right in chars:
                    shorter = chars[left] + chars[right]
                    if shorter in longer and list(encode(shorter)) != [left, right]:
                        return Obstruction(longer, shorter, apart)
    return None


