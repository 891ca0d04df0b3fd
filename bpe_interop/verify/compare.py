"""Runs two tokenizers on the same texts, and keeps the plainest difference."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ..encode import Encoder
from ..engines import Engine
from .shrinking import shrink
from .sides import (
    AROUND,
    ORDINARY,
    PARSED,
    TEMPLATED,
    Failure,
    Mismatch,
    Mode,
    Own,
    decode,
    encode_all,
)

__all__ = [
    "AROUND",
    "ORDINARY",
    "PARSED",
    "TEMPLATED",
    "Failure",
    "Mismatch",
    "Mode",
    "Outcome",
    "Own",
    "Tally",
    "compare",
    "compare_texts",
    "first_stage",
    "oddness",
    "shrink",
]

_CHUNK = 64


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


@dataclass(slots=True)
class Tally:
    """What a comparison did and found.

    ``texts`` and ``bytes`` were given to both sides; on ``compared`` of the texts both sides
    answered, at least in one mode, and on ``differing`` of them they did not agree. ``alone``
    counts the times that one side failed and the other did not.
    """

    texts: int = 0
    bytes: int = 0
    compared: int = 0
    alone: int = 0
    differing: int = 0
    mismatch: Mismatch | None = None
    failures: list[Failure] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)


def compare(
    a: Engine,
    b: Engine,
    texts: Iterable[str],
    modes: Sequence[Mode],
    tick: Callable[[int], None] = lambda count: None,
    patience: int = sys.maxsize,
) -> Tally:
    """Compares ids, and the decoding of ids, over texts; keeps the plainest difference, shrunk.

    It ends early once one side alone has failed ``patience`` times: a pattern that backtracks
    without end takes seconds for each text.
    """
    tally = Tally(modes=list(modes))
    plainest: Mismatch | None = None
    for chunk in _chunks(texts):
        for outcome in compare_texts(a, b, chunk, modes):
            tally.compared += outcome.compared > 0
            tally.alone += outcome.alone
            tally.failures += outcome.failures_a + outcome.failures_b
            found = outcome.mismatch
            if found is not None:
                tally.differing += 1
                plainest = found if plainest is None else min(plainest, found, key=oddness)
        tally.texts += len(chunk)
        tally.bytes += sum(len(text.encode("utf-8", "surrogatepass")) for text in chunk)
        tick(len(chunk))
        if tally.alone >= patience:
            break
    if plainest is not None:
        plainest = shrink(a, b, plainest.text, plainest.mode)
    tally.mismatch = plainest
    return tally


def oddness(found: Mismatch) -> tuple[bool, bool, bool, bool, int]:
    """Differing ids before differing decoding, ordinary text before special tokens and templates,
    what prints everywhere first, then short texts.
    """
    text, mode = found.text, found.mode
    plain = text.isascii() and text.isprintable()
    parsed = mode.special == "parse"
    return found.decoding is not None, mode.add_special_tokens, parsed, not plain, len(text)


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while chunk := list(islice(stream, _CHUNK)):
        yield chunk


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


def first_stage(a: Encoder, b: Encoder, text: str, mode: Mode) -> str:
    """The first stage at which two models treat a text differently."""
    plain = a.encode(text) != b.encode(text)
    if not plain and mode.special == "parse":
        parsed = a.encode(text, "all") != b.encode(text, "all")
        return "sequence template" if mode.add_special_tokens and not parsed else "special tokens"
    if a.normalize(text) != b.normalize(text):
        return "normalizer"
    left, right = a.pretokenize(text), b.pretokenize(text)
    if left != right:
        return "pre-tokenizer"
    for pretoken in left:
        content = pretoken.encode("utf-8") if isinstance(pretoken, str) else pretoken
        x, y = a.encode_pretoken(content), b.encode_pretoken(content)
        if x != y:
            same = [a.token_bytes(i) for i in x] == [b.token_bytes(i) for i in y]
            return "ids" if same else "core"
    return "added tokens"
