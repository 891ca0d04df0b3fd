"""What is other in a tokenizer than in its lock file: tokens, merges, added tokens."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile

from ..model import BPEModel, show
from ..theory.merges import canonical
from .lock import BLOCK, Lock, merge_blocks
from .stress import texts_with

_SHOWN = 3


def changes(held: Lock, model: BPEModel) -> Iterator[str]:
    """Sentences; none where none of these changed, whatever else did."""
    yield from _tokens(held, model)
    yield from _merges(held, model)
    yield from _added(held, model)


def _tokens(held: Lock, model: BPEModel) -> Iterator[str]:
    contents = {number: content for content, number in model.vocab.ids.items()}
    said: list[str] = []
    # Of two rows of a token the first has the text that is plainer.
    for row in {row.id: row for row in reversed(held.tokens)}.values():
        content = contents.pop(row.id, None)
        if content is None:
            said.append(f"id {row.id} is no token any more; its text was {show(row.text)}")
        elif row.text not in texts_with(content, model):
            said.append(f"id {row.id} is {show(content)}; its text was {show(row.text)}")
    new = (
        f"id {number} is {show(content)}, and was no token"
        for number, content in contents.items()
        if next(texts_with(content, model), None) is not None
    )
    said.reverse()
    yield from _first(said + list(new), "ids have other tokens")


def _merges(held: Lock, model: BPEModel) -> Iterator[str]:
    """Blocks after the first that differs are shifted, and say nothing."""
    now = merge_blocks(model)
    if now == held.merges:
        return
    pairs = zip(held.merges, now, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    place = BLOCK * same
    begins = next(islice(canonical(model).splits.values(), place, None), None)
    at = "" if begins is None else f", from that of {show(begins[0])} and {show(begins[1])} on"
    yield f"the first {place:,} merges are the locked ones; among the {BLOCK} next{at} one is not"


def _added(held: Lock, model: BPEModel) -> Iterator[str]:
    known = {text for _, text, _ in held.golden}
    new = [
        f"added token {show(token.text)} (id {token.id}) is not in the lock file"
        for token in model.added or ()
        if token.text not in known
    ]
    yield from _first(new, "added tokens are new")


def _first(said: list[str], what: str) -> Iterator[str]:
    yield from said[:_SHOWN]
    if len(said) > _SHOWN:
        yield f"{len(said):,} {what} in all"
