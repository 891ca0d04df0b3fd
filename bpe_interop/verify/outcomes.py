"""What becomes of texts that are given to two sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..engines import Engine
from .sides import Failure, Mismatch, Mode, decode, encode_all


@dataclass(slots=True)
class Outcome:
    """What became of one text.

    ``compared`` counts the modes in which both sides answered, ``alone`` those in which one side
    alone failed. ``tokens_a`` and ``tokens_b`` count ids in the first mode. ``failures`` has what
    each side failed at, ``mismatch`` the plainest difference, and ``common`` about how many
    characters of the text stand before it.
    """

    compared: int = 0
    alone: int = 0
    tokens_a: int = 0
    tokens_b: int = 0
    mismatch: Mismatch | None = None
    common: int = 0
    failures_a: list[Failure] = field(default_factory=list)
    failures_b: list[Failure] = field(default_factory=list)

    def fail(self, a: object, b: object) -> None:
        """Keeps those of two answers that are failures."""
        if isinstance(a, Failure):
            self.failures_a.append(a)
        if isinstance(b, Failure):
            self.failures_b.append(b)

    def keep(self, found: Mismatch) -> None:
        """Keeps a difference, if it is plainer than the one there is."""
        if self.mismatch is None or oddness(found) < oddness(self.mismatch):
            self.mismatch = found


def oddness(found: Mismatch) -> tuple[bool, bool, bool, bool, int]:
    """Differing ids before differing decoding, ordinary text before special tokens and templates,
    what prints everywhere first, then short texts.
    """
    text, mode = found.text, found.mode
    plain = text.isascii() and text.isprintable()
    parsed = mode.special == "parse"
    return found.decoding is not None, mode.add_special_tokens, parsed, not plain, len(text)


def compare_texts(a: Engine, b: Engine, texts: list[str], modes: Sequence[Mode]) -> list[Outcome]:
    """Compares the ids of a batch of texts in every mode, and what the ids decode to."""
    outcomes = [Outcome() for _ in texts]
    agreed: list[list[int] | None] = [None] * len(texts)
    for mode in modes:
        left, right = encode_all(a, texts, mode), encode_all(b, texts, mode)
        for place, (x, y) in enumerate(zip(left, right, strict=True)):
            outcome = outcomes[place]
            if mode is modes[0]:
                outcome.tokens_a = 0 if isinstance(x, Failure) else len(x)
                outcome.tokens_b = 0 if isinstance(y, Failure) else len(y)
            if isinstance(x, Failure) or isinstance(y, Failure):
                outcome.fail(x, y)
                outcome.alone += type(x) is not type(y)
                continue
            outcome.compared += 1
            if x != y:
                outcome.keep(Mismatch(mode, texts[place], tuple(x), tuple(y)))
            elif x != agreed[place] and mode.decodes:
                # What ids decode to does not depend on the mode.
                one, two = decode(a, x, texts[place]), decode(b, y, texts[place])
                if isinstance(one, Failure) or isinstance(two, Failure):
                    outcome.fail(one, two)
                elif one != two:
                    outcome.keep(Mismatch(mode, texts[place], tuple(x), tuple(y), (one, two)))
                else:
                    agreed[place] = x
    return outcomes
