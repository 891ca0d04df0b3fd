"""Byte-level tokenizers and SentencePiece: no model for whole texts, but one for pretokens.

That there is none for whole texts is Theorem 12 in ``docs/theory.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from ..merging.canonical import whole_lookups
from ..model import BPEModel, RankTable
from ..text.bytechars import to_chars
from .pretokens import occurrence
from .rewrite import Rewrite, as_ranks

_CHARACTERS = "\n a1.\t'\u00a0\u00e9\u2776\u4e00"
"""What is put together to look for an obstruction."""

MAX_SCORE = 2**24
"""Up to here, whole numbers are exact as SentencePiece's scores (float32)."""


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


def pretoken_level(model: BPEModel) -> Rewrite:
    """A byte-level model's merges for SentencePiece, one pretoken at a time.

    The rule ranks the tokens in GPT-2's byte alphabet, whose characters are then the symbols; a
    token's score is minus its rank. Given a pretoken in that alphabet and no normalizer, the ids
    are the model's, whole-pretoken lookup apart: ``left_out`` has the tokens that no merge may
    build, and where a pretoken can be one of them that the model looks up, it is refused.
    """
    ranked = as_ranks(model)
    if not isinstance(ranked.rule, RankTable):
        return ranked
    # Ranks are numbered anew: those of a file may have holes.
    order = {rank: place for place, rank in enumerate(sorted(set(ranked.rule.ranks.values())))}
    if len(order) > MAX_SCORE:
        return Rewrite(
            None,
            what=f"there are {len(order)} ranks",
            consequence=f"scores are whole numbers up to {MAX_SCORE} only",
            shown=False,
        )
    for token in sorted(whole_lookups(model), key=lambda each: (len(each), each)):
        occurs = occurrence(model.pretokenizer or (), token)
        if occurs.possible is not False:
            return Rewrite(
                None,
                what="tokens are found by looking whole pretokens up that no merge builds",
                consequence="SentencePiece looks nothing up, and would leave them in parts",
                witness=occurs.text,
                shown=occurs.text is not None,
            )
    spelled = {to_chars(t).encode(): order[rank] for t, rank in ranked.rule.ranks.items()}
    left_out = tuple(to_chars(token).encode() for token in ranked.left_out)
    return Rewrite(RankTable(spelled), ranked.proof, left_out=left_out)
