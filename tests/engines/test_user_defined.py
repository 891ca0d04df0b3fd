"""User-defined pieces of a ``.model`` in formats that find tokens otherwise.

What is written gives sentencepiece's ids in its own engine (Theorems 24 and 31), and a refusal
shows a text on which it does not.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import pytest
from tokenizers import Tokenizer

from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.model import BPEModel, SequenceTemplate
from fixtures.piece_model import BYTE_PIECES, CONTROL, NORMAL, UNKNOWN, USER_DEFINED
from trust.verdicts.sources import Source

Ids = Callable[[str], Sequence[int]]
_NORMAL = ("ab", "abc", "bc", "\u2581a", "<P", "P>", "<0", "0x", "0A", ">x", *"abc<>P0xA\u2581")
_PARTS = (*"abc<>Px0A \u2581\n,\ufb01é", "<P>", "<0x0A>", "abc", "<s>")


def source(pieces: Sequence[str], *, dummy: bool, control: Sequence[str] = ()) -> Source:
    """A ``.model`` with byte fallback in which some pieces are user-defined."""
    rows: list[list[object]] = [["<unk>", 0.0, UNKNOWN]]
    rows += [[text, 0.0, CONTROL] for text in ("<s>", *control)]
    rows += [[text, 0.0, USER_DEFINED] for text in pieces]
    rows += [[piece.text, 0.0, piece.kind] for piece in BYTE_PIECES]
    others = [text for text in _NORMAL if text not in (*pieces, *control)]
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


def are_told(
    made: Source,
    pieces: Sequence[str],
    trip: RoundTrip,
    engine: Ids,
    decode: Callable[[Sequence[int]], str] | None = None,
) -> bool:
    """Whether the conversion is refused; that it is right, and each text that it shows.

    The ids of the text of a lost decoder become another text, by ``decode``.
    """
    refused = [loss for loss in trip.losses if loss.grade != "metadata"]
    if not refused:
        every = texts(pieces)
        assert made.oracle().ids(every, "ordinary") == [[*engine(text)] for text in every]
    for loss in refused:
        if loss.witness is None:
            continue
        [expected] = made.oracle().ids([loss.witness], "ordinary")
        ids = [*engine(loss.witness)]
        if loss.field != "decoder":
            assert expected != ids
        else:
            assert decode is not None
            assert made.oracle().decoded([expected]) != [decode(ids)]
    return bool(refused)


@pytest.mark.long
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
    assert are_told(made, pieces, trip, engine.encode, engine.decode) is not held[dummy]


def in_tokenizers(trip: RoundTrip) -> Ids:
    """tokenizers on what was written; special strings are text there."""
    engine = Tokenizer.from_str(trip.files["tokenizer.json"].decode())
    engine.encode_special_tokens = True

    def ids(text: str) -> list[int]:
        found: list[int] = engine.encode(text, add_special_tokens=False).ids
        return found

    return ids


@pytest.mark.parametrize(
    "pieces",
    [
        ["<P>"],
        ["ab", "xabx", "abc"],
        ["ab", "bca"],
        ["abc", "ca", "<P>"],
        ["\n", "\n\n", ".", "(*)|["],
        [" a", "\u2581a", "\u2581\u2581", "a\u2581b"],
        ["<s", "0x"],
        ["\ufb01x", "\u00bd\u2460"],
    ],
)
def test_tokenizers_cuts_out_what_a_dummy_prefix_keeps_from_added_tokens(pieces: list[str]) -> None:
    """The spelling of a byte alone behind one is cut, so that it is not looked up."""
    made = source(pieces, dummy=True)
    trip = written(made, "huggingface")
    engine = in_tokenizers(trip)
    assert not are_told(made, pieces, trip, engine)
    for text in (f"{pieces[0]}<0x0A>{pieces[-1]}", f"{pieces[-1]}<0x0A>", f"{pieces[0]}<s>"):
        assert made.oracle().ids([text], "ordinary") == [[*engine(text)]]


def test_splits_of_user_defined_tokens_are_read_as_these() -> None:
    trip = written(source(["<P>", "ab"], dummy=True), "huggingface")
    kinds = {trip.again.vocab.kinds[trip.again.vocab.ids[text]] for text in (b"<P>", b"ab")}
    assert (kinds, trip.again.lookup_first, trip.again.pretokenizer) == (
        {"user_defined"},
        False,
        (),
    )
    again = RoundTrip(trip.again, by_name("huggingface"))
    assert (again.files, [*again.losses]) == (trip.files, [])
    back = RoundTrip(trip.again, by_name("sentencepiece"))
    assert back.again.vocab.ids == trip.model.vocab.ids
    assert {back.again.vocab.kinds[back.again.vocab.ids[t]] for t in (b"<P>", b"ab")} == kinds
    assert {loss.field for loss in back.losses if loss.grade != "metadata"} == set()


def test_other_splits_stay_splits() -> None:
    """Without the second step, the spelling of a byte behind a piece is looked up."""
    trip = written(source(["<P>"], dummy=True), "huggingface")
    document = json.loads(trip.files["tokenizer.json"])
    steps = document["pre_tokenizer"]["pretokenizers"]
    document["pre_tokenizer"] = steps[0]
    model = by_name("huggingface").load({"tokenizer.json": json.dumps(document).encode()})
    assert model.lookup_first
    assert model.pretokenizer
    engine = Tokenizer.from_str(json.dumps(document))
    ids = engine.encode("<P><0x0A>", add_special_tokens=False).ids
    assert ids == Encoder(model).encode("<P><0x0A>") != in_tokenizers(trip)("<P><0x0A>")


def test_tokens_that_are_looked_up_wherever_they_are_cut_are_refused() -> None:
    """``abc`` can be cut behind ``a`` and behind ``ab``, and has a control piece on a side."""
    made = source(["<P>"], dummy=True, control=["ab", "bc", "abc"])
    trip = written(made, "huggingface")
    assert are_told(made, ["<P>"], trip, in_tokenizers(trip))
    assert {loss.witness for loss in trip.losses if loss.field == "vocab"} == {"<P>"}
