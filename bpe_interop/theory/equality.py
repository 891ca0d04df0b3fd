"""What a rank file makes of a model: one number for id and rank, and a lookup of whole pretokens.

Numbers are decided as in Theorem 13, lookups as in Theorem 8 (``docs/theory.md``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..loss import Loss
from ..model import BPEModel, show
from .byte_ranks import as_byte_ranks, rank_table
from .merges import canonical
from .pretokens import occurrence


def rank_file_losses(model: BPEModel) -> Iterator[Loss]:
    """What is lost where one number is both id and rank, and whole pretokens are looked up."""
    table = rank_table(model)
    kinds = model.vocab.kinds
    for content, number in model.vocab.ids.items():
        if content not in table and content and kinds.get(number) != "byte":
            yield Loss(
                "vocab",
                "text",
                f"token {number}, {show(content)}, is no sequence of bytes that a text can contain",
                "the id could not be decoded",
            )
    if model.alphabet == "byte":
        yield from as_byte_ranks(model).losses()
    if not model.lookup_first:
        yield from _lookups(model, table)


def _lookups(model: BPEModel, table: Mapping[bytes, int]) -> Iterator[Loss]:
    """Tokens that a rank file finds by looking whole pretokens up, and the model never does."""
    undecided = []
    for content in canonical(model).unreachable:
        if content not in table:
            continue
        found = occurrence(model.pretokenizer or (), content)
        if found.possible:
            yield Loss(
                "lookup_first",
                "ids",
                f"{show(content)} is a token that no merge builds, and tiktoken would find it",
                "a pretoken that is such a token would be encoded as its id",
                witness=found.text,
            )
            return
        if found.possible is None:
            undecided.append(content)
    if undecided:
        yield Loss(
            "lookup_first",
            "ids",
            f"{len(undecided)} tokens that no merge builds would be looked up whole, such as "
            f"{show(undecided[0])}; whether a pretoken can be one of them is not decided",
            "a pretoken that is such a token would be encoded as its id",
            shown=False,
        )
