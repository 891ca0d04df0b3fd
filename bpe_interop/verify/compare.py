"""Runs two tokenizers on the same texts, and keeps the plainest difference."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from ..encode import Encoder
from ..engines import Engine
from .outcomes import Outcome, compare_texts, oddness
from .pairs import LocalPair, Pair
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
    "compare_in",
    "compare_texts",
    "first_stage",
    "oddness",
    "shrink",
]

_CHUNK = 256


@dataclass(slots=True)
class Tally:
    """What a comparison did and found.

    ``texts`` and ``bytes`` were given to both sides; on ``compared`` of the texts both sides
    answered, at least in one mode, and on ``differing`` of them they did not agree. ``alone``
    counts the times that one side failed and the other did not. ``interrupted`` says that Ctrl-C
    ended it before its texts did.
    """

    texts: int = 0
    bytes: int = 0
    compared: int = 0
    alone: int = 0
    differing: int = 0
    mismatch: Mismatch | None = None
    failures: list[Failure] = field(default_factory=list)
    modes: list[Mode] = field(default_factory=list)
    interrupted: bool = False

    def see(self, found: Mismatch) -> None:
        """Keeps a difference, if it is plainer than the one there is."""
        if self.mismatch is None or oddness(found) < oddness(self.mismatch):
            self.mismatch = found


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
    pair = LocalPair(a, b, modes)
    _count(tally, pair, (a.name, b.name), texts, tick, patience)
    _shrink(tally, pair)
    return tally


def compare_in(
    pair: Pair,
    names: tuple[str, str],
    texts: Iterable[str],
    modes: Sequence[Mode],
    tick: Callable[[int], None] = lambda count: None,
    patience: int = sys.maxsize,
) -> Tally:
    """As :func:`compare`, wherever the two sides run; on Ctrl-C it gives what was done so far.

    Args:
        pair: the two sides.
        names: what failures call them.
        texts: what they are asked for.
        modes: how they are asked.
        tick: called with the number of texts compared since the last call.
        patience: how often one side alone may fail.
    """
    tally = Tally(modes=list(modes))
    try:
        _count(tally, pair, names, texts, tick, patience)
    except KeyboardInterrupt:
        tally.interrupted = True
    try:
        _shrink(tally, pair)
    except KeyboardInterrupt:
        tally.interrupted = True
    return tally


def _count(
    tally: Tally,
    pair: Pair,
    names: tuple[str, str],
    texts: Iterable[str],
    tick: Callable[[int], None],
    patience: int,
) -> None:
    """Counts what becomes of the texts, chunk by chunk."""
    for chunk in _chunks(texts):
        outcomes = pair.compare(chunk)
        tally.texts += len(chunk)
        tally.bytes += sum(len(text.encode("utf-8", "surrogatepass")) for text in chunk)
        for text, outcome in zip(chunk, outcomes, strict=True):
            tally.compared += outcome.compared > 0
            tally.alone += outcome.alone
            for name, failed in zip(names, (outcome.failures_a, outcome.failures_b), strict=True):
                # A side that was killed could not say on which text.
                tally.failures += [replace(f, side=name, text=f.text or text) for f in failed]
            if outcome.mismatch is not None:
                tally.differing += 1
                tally.see(outcome.mismatch)
        tick(len(chunk))
        if tally.alone >= patience:
            return


def _shrink(tally: Tally, pair: Pair) -> None:
    found = tally.mismatch
    if found is not None:
        tally.mismatch = pair.shrink(found.text, found.mode) or found


def _chunks(texts: Iterable[str]) -> Iterator[list[str]]:
    stream = iter(texts)
    while chunk := list(islice(stream, _CHUNK)):
        yield chunk


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
