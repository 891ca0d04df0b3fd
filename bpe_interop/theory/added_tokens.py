"""When added tokens cut texts alike: the two passes (Theorem 18), and what hides what (Theorem 19).

This is about tokenizers' ``added_vocabulary.rs``: a pass goes over the matches of its tokens,
leftmost and of those the longest; a special token that is to be text, and a ``single_word`` token
that does not stand alone, are passed over with the text that they match.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from ..model import AddedToken
from ..quoting import show
from ..steps import Replace
from ..text.borders import borders
from ..text.unicode import WHITE_SPACE, char_class


class SoughtText(NamedTuple):
    """What is looked for in a pass: a text, and whether in the normalized text."""

    text: str
    normalized: bool


def normalized_matters(added: Iterable[AddedToken]) -> bool:
    """Whether the two passes may differ from one, although nothing is normalized (Theorem 18)."""
    listed = [*added]
    early = [token for token in listed if not token.normalized]
    late = [token for token in listed if token.normalized]
    return any(_meet(x, y) for x in early for y in late)


def same_in_one_pass(normalizer: Sequence[object], added: Collection[AddedToken]) -> bool:
    """Whether the same is found in whatever pass each added token is looked for (Theorem 18)."""
    if normalized_matters(added):
        return False
    # Under a normalizer: where texts are replaced by texts, none of which shares a character with a
    # token of the second pass, it stands in a text where it stands in what is written of it. What
    # becomes nothing may have kept its parts apart. It must not ask what is beside it: a space may
    # be U+2581 by then.
    late = [token for token in added if token.normalized]
    plain = not any(token.lstrip or token.rstrip or token.single_word for token in late)
    return not normalizer or (
        plain
        and all(
            isinstance(step, Replace)
            and isinstance(step.pattern, str)
            and step.pattern
            and step.content
            and not any({*step.pattern, *step.content} & {*token.text} for token in late)
            for step in normalizer
        )
    )


def _meet(early: AddedToken, late: AddedToken) -> bool:
    """Whether what the first pass does with one token can change what is done with the other."""
    x, y, is_word = early.text, late.text, char_class("word").contains
    return (
        overlap(x, y)  # condition 1 of Theorem 18, and so on
        or (late.single_word and (is_word(x[0]) or is_word(x[-1])))
        or (early.rstrip and y[0] in WHITE_SPACE)
        or (early.lstrip and y[-1] in WHITE_SPACE)
        or (late.rstrip and x[0] in WHITE_SPACE)
    )


def overlap(x: str, y: str) -> bool:
    """Whether a text can hold both, and share a character between them."""
    return x in y or y in x or any(borders(x, y)) or any(borders(y, x))


def overlapping_texts(x: str, y: str) -> Iterator[str]:
    """The texts that begin with one and end with the other, the two of them overlapping."""
    for first, second in ((x, y), (y, x)):
        if second in first:
            yield first
        for size in borders(first, second):
            yield first + second[size:]


def hiding_tokens(
    special: Collection[SoughtText], plain: Collection[SoughtText]
) -> set[SoughtText]:
    """The special tokens that can hide another when they are to be text."""
    # Theorem 19: a chain of near tokens joins them to one that is not special.
    forms: set[SoughtText] = set()
    todo = [*plain]
    while todo:
        known = todo.pop()
        near = {
            form
            for form in special
            if form not in forms
            and form.normalized is known.normalized
            and overlap(form.text, known.text)
        }
        forms |= near
        todo += near
    return forms


def chained_texts(start: SoughtText, others: Sequence[SoughtText], most: int) -> Iterator[str]:
    """Up to ``most`` texts of ever more tokens, each overlapping the one before it."""
    texts = dict.fromkeys([start.text])
    todo = [start.text]
    near = [form.text for form in others if form.normalized is start.normalized]
    while todo:
        text = todo.pop(0)
        yield text
        longer = chain.from_iterable(overlapping_texts(text, other) for other in near)
        # Two long tokens have very many such texts, each of them as long.
        for new in islice((each for each in longer if each not in texts), most - len(texts)):
            texts[new] = None
            todo.append(new)


LEAVE_OUT = "rename one of them, or leave one out"
"""What to do about it."""


def unlike_tiktoken(added: Collection[AddedToken]) -> str:
    """Why tiktoken does not find added tokens as tokenizers does; empty where it does."""
    prefixed = prefixed_text(token.text for token in added)
    if prefixed is not None:
        return (
            f"the special token {show(prefixed[0])} begins another one, {show(prefixed[1])}: "
            "which of the two tiktoken finds goes by the order of a hash table"
        )
    # tiktoken looks for those that are asked for by one pattern, so a special token that is to be
    # text hides none that it overlaps. In tokenizers it does (Theorem 19).
    special = [token.text for token in added if token.special]
    plain = [token.text for token in added if not token.special]
    pairs = ((one, other) for one in special for other in plain if overlap(one, other))
    for one, other in islice(pairs, 1):
        return (
            f"the special token {show(one)} and the added token {show(other)} overlap: where "
            f"special tokens are text, tiktoken finds {show(other)} there, and tokenizers does not"
        )
    return ""


def prefixed_text(texts: Iterable[str]) -> tuple[str, str] | None:
    """A text that begins another one, and that other one."""
    known = set(texts)
    for text in sorted(known):
        for end in range(1, len(text)):
            if text[:end] in known:
                return text[:end], text
    return None
