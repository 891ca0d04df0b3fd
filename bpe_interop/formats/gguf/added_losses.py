"""Why special tokens come back otherwise from a GGUF file."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ...loss import Loss
from ...model import AddedToken, show
from .overlaps import equally_long, overlaps

_FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "ascii_space")


def added_lost(
    added: Collection[AddedToken], there: Collection[AddedToken], crowded: Collection[int]
) -> Iterator[Loss]:
    """The loss of a token, of a flag, or of the order in which tokens are looked for.

    The first reason that applies is given.

    Args:
        added: the tokens of the model.
        there: those that llama.cpp finds.
        crowded: the ids that cannot have the text of their token.
    """
    ours = {token.text: token for token in added}
    theirs = {token.text: token for token in there}
    gone = next((token for text, token in ours.items() if text not in theirs), None)
    if gone is not None:
        if gone.id not in crowded:
            return
        chance = equally_long([*ours]) is not None
        yield _loss(
            f"{show(gone.text)} would not be found: "
            + (
                "another that overlaps it is equally long, and llama.cpp takes one by chance"
                if chance
                else "a token has one text there, and no two tokens have the same"
            ),
            gone.text,
        )
        return
    for text, token in ours.items():
        other = theirs[text]
        if token.id != other.id:
            yield _loss(f"{show(text)} would be {other.id}, not {token.id}", text)
            return
        if token.special != other.special:
            yield _loss(
                f"llama.cpp takes {show(text)} for a "
                f"{'control token' if other.special else 'user-defined token'} by its spelling",
                text,
            )
            return
        flag = next((n for n in _FLAGS if getattr(token, n) != getattr(other, n)), None)
        if flag is not None:
            yield _loss(f"{show(text)} is {flag}, which no key says", _text_with(token, flag))
            return
    more = next((text for text in theirs if text not in ours), None)
    if more is not None:
        yield _loss(f"llama.cpp takes {show(more)} for a special token by its spelling", more)
        return
    pair = next(overlaps([*ours]), None)
    if pair is not None:
        yield _loss(
            f"llama.cpp looks for the longest first: {show(pair[0])} and {show(pair[1])} overlap",
            None,
        )


def _text_with(token: AddedToken, flag: str) -> str | None:
    """A text on which a flag does something."""
    if flag == "lstrip":
        return f" {token.text}"
    if flag == "rstrip":
        return f"{token.text} "
    return f"a{token.text}" if flag == "single_word" else None


def _loss(what: str, witness: str | None) -> Loss:
    return Loss(
        "added",
        "text",
        what,
        "texts that hold it would be read otherwise",
        witness=witness,
        shown=witness is not None,
    )
