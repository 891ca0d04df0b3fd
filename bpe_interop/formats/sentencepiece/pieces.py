"""The list of pieces that a model is written as: surfaces, scores and types, by position."""

from __future__ import annotations

from collections.abc import Mapping

from ...model import BPEModel, RankTable
from ...theory.merges import canonical
from .schema import BYTE, CONTROL, NORMAL, UNKNOWN, UNUSED, USER_DEFINED
from .specs import Piece

_KINDS = {"user_defined": USER_DEFINED, "unused": UNUSED, "byte": BYTE}


def ranks_for(model: BPEModel) -> Mapping[bytes, int]:
    """The ranks of the tokens that may be merged into.

    A merge list is written as the order of the tokens that it builds; ``losses`` says where
    that gives other ids.
    """
    if isinstance(model.merges, RankTable):
        return model.merges.ranks
    return {token: rank for rank, token in enumerate(canonical(model).splits)}


def pieces_of(model: BPEModel) -> list[Piece]:
    """The pieces, one for every id up to the greatest.

    A token of several characters that nothing merges into, and an id that stands for nothing,
    become UNUSED pieces of the least score: what such a piece is merged from last of all, it
    is split into again, so no text is encoded otherwise, and its id is decoded to its surface.
    """
    ranks = ranks_for(model)
    kinds = model.vocab.kinds
    found: dict[int, tuple[bytes, int]] = {}
    idle: list[int] = []
    for content, number in model.vocab.ids.items():
        kind = _KINDS.get(kinds.get(number, "normal"), NORMAL)
        if kind == NORMAL and content not in ranks and len(content.decode()) > 1:
            kind = UNUSED
            idle.append(number)
        found[number] = (content, kind)
    for token in model.added or ():
        found.setdefault(token.id, (token.text.encode(), CONTROL))
    unknown = model.fallback.unknown
    taken = {content for content, _ in found.values()}
    if unknown is None:
        unknown = next(n for n in range(len(found) + 1) if n not in found)
        found[unknown] = (_free("<unk>", taken), UNKNOWN)
    else:
        found[unknown] = (found[unknown][0], UNKNOWN)
    for number in range(max(found) + 1):
        if number not in found:
            found[number] = (_free(f"<unused_{number}>", taken), UNUSED)
            idle.append(number)
    scores = _scores(model, ranks, found)
    return [Piece(found[n][0], scores[n], found[n][1]) for n in sorted(found)]


def _free(surface: str, taken: set[bytes]) -> bytes:
    while surface.encode() in taken:
        surface = f"<{surface}>"
    return surface.encode()


def _scores(
    model: BPEModel, ranks: Mapping[bytes, int], found: Mapping[int, tuple[bytes, int]]
) -> dict[int, float]:
    """The scores of all pieces, by id."""
    own = model.vocab.scores
    merging = {n: content for n, (content, kind) in found.items() if kind in (NORMAL, UNUSED)}
    if isinstance(model.merges, RankTable) and all(n in own for n in found):
        order = {
            score: place
            for place, score in enumerate(sorted({own[n] for n in merging}, reverse=True))
        }
        if all(order[own[n]] == ranks.get(content) for n, content in merging.items()):
            return dict(own)
    last = max(ranks.values(), default=-1)
    scores = dict.fromkeys(found, 0.0)
    for number in sorted(merging):
        rank = ranks.get(merging[number])
        if rank is None:
            rank = last = last + 1
        scores[number] = -float(rank)
    return scores
