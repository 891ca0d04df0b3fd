"""User-defined pieces of a ``.model`` in formats that find tokens otherwise.

What is written gives sentencepiece's ids in its own engine (Theorem 24), and a refusal
shows a text on which it does not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import pytest

from benchmarks.trust.verdicts.sources import Source
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.model import BPEModel, SequenceTemplate
from fixtures.piece_model import BYTE_PIECES, CONTROL, NORMAL, UNKNOWN, USER_DEFINED

Ids = Callable[[str], Sequence[int]]
Rows = Sequence[Sequence[object]]

_NORMAL = ("ab", "abc", "bc", "\u2581a", "<P", "P>", "<0", "0x", "0A", ">\n", *"abc<>P0xA\u2581")
_PARTS = (*"abc<>Px0A \u2581\n,\ufb01é", "<P>", "<0x0A>", "abc", "<s>")


def source(pieces: Sequence[str], *, dummy: bool, normal: Sequence[str] = _NORMAL) -> Source:
    """A ``.model`` with byte fallback in which some pieces are user-defined."""
    rows: list[list[object]] = [["<unk>", 0.0, UNKNOWN], ["<s>", 0.0, CONTROL]]
    rows += [[text, 0.0, USER_DEFINED] for text in pieces]
    rows += [[piece.text, 0.0, piece.kind] for piece in BYTE_PIECES]
    others = [text for text in normal if text not in pieces]
    rows += [[text, -1.0 - place, NORMAL] for place, text in enumerate(others)]
    facts = {"pieces": rows, "byte_fallback": True, "suffix": False, "unknown": None}
    return Source(
        "sentencepiece", facts | {"dummy": dummy, "remove_extra": False, "escape": True}, ""
    )


def texts(pieces: Sequence[str]) -> list[str]:
    """All pairs of parts, and longer texts, with tokens and beginnings of tokens in them."""
    parts = [*_PARTS, *pieces, *(piece[:1] for piece in pieces)]
    rng = random.Random(5)
    longer = ["".join(rng.choices(parts, k=rng.randint(3, 8))) for _ in range(500)]
    return ["", *parts, *map("".join, product(parts, repeat=2)), *longer]


def written(made: Source, target: str) -> RoundTrip:
    model: BPEModel = replace(made.model(), sequence_template=SequenceTemplate())
    return RoundTrip(model, by_name(target))


def are_told(made: Source, pieces: Sequence[str], trip: RoundTrip, engine: Ids) -> bool:
    """Whether the conversion is refused; that it is right, and each text that it shows."""
    refused = [loss for loss in trip.losses if loss.grade != "metadata"]
    if not refused:
        every = texts(pieces)
        assert made.oracle().ids(every, "ordinary") == [[*engine(text)] for text in every]
    for loss in refused:
        if loss.witness is not None:
            [expected] = made.oracle().ids([loss.witness], "ordinary")
            assert expected != [*engine(loss.witness)]
    return bool(refused)


@pytest.mark.parametrize("dummy", [False, True], ids=["plain", "dummy"])
@pytest.mark.parametrize(
    ("pieces", "held"),
    [
        (["<P>"], (True, False)),
        (["ab", "xabx", "abc"], (True, False)),
        (["aa", "aaa"], (True, False)),
        (["\n", "\n\n", "\ufb01"], (True, False)),
        ([",", *"123456789"], (True, True)),
        (["ab", "bc"], (False, False)),
        (["ab", "bca"], (False, False)),
        ([" a"], (False, False)),
        (["\u2581\u2581"], (False, False)),
        (["<s"], (False, False)),
    ],
)
def test_llama_cpp_finds_the_same_or_a_text_shows_it(
    pieces: list[str], held: tuple[bool, bool], dummy: bool
) -> None:
    """It finds them before the normalizer, the longest first, and puts a space behind each."""
    made = source(pieces, dummy=dummy)
    trip = written(made, "gguf")
    engine = LlamaCppEngine(next(iter(trip.files.values())))
    assert are_told(made, pieces, trip, engine.encode) is not held[dummy]
