"""The gate: what is refused, what may be dropped, and that a witness is true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from bpe_interop.encode import Encoder
from bpe_interop.engines import Engine, Special, from_files
from bpe_interop.errors import EngineError, LossyConversionError, UnstatedError
from bpe_interop.formats import by_name
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.gate import admit, describe, refuse
from bpe_interop.loss import Loss
from bpe_interop.model import AddedToken, BPEModel, RankTable, SequenceTemplate, Vocab
from bpe_interop.presets import ways_to_say
from bpe_interop.sources import load_source
from bpe_interop.steps import JoinBytes, Pattern, Split
from fixtures import TOKENIZERS
from fixtures.piece_model import CONTROL_PIECES, Piece, small_model
from trust.laws import decisions

SOURCES = sorted(p for p in TOKENIZERS.glob("*/huggingface"))


def losses_of(model: BPEModel, target: str) -> tuple[Loss, ...]:
    try:
        refuse(model, by_name(target))
    except LossyConversionError as error:
        return error.losses
    return ()


def answers(engine: Engine, text: str) -> list[object]:
    """All that an engine makes of a text: ids both ways, with the template, and their text."""
    said: list[object] = []
    for special in get_args(Special):
        for template in (False, True):
            try:
                ids = engine.encode(text, special=special, add_special_tokens=template)
                said += [ids, engine.decode(ids)]
            except EngineError:
                said.append("failed")
    return said


CASES = [
    (source, target)
    for source in SOURCES
    for target in ("gpt2", "tiktoken")
    if not decisions()[f"{source.parent.name}/huggingface-{target}"].startswith("refused: -;")
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("source", "target"), CASES, ids=lambda value: getattr(value, "parent", Path(str(value))).name
)
def test_a_witness_is_true(source: Path, target: str) -> None:
    """The source's engine and the target's, on what is written with ``--drop``, differ on it."""
    loaded = load_source(source)
    model, row = loaded.model, by_name(target)
    own = from_files("tokenizers", "huggingface", loaded.files, model)
    losses = losses_of(model, target)
    assert losses
    for loss in losses:
        assert loss.grade in ("ids", "text")
        assert describe(loss).startswith(f"{loss.field}: ")
        if loss.witness is None or not loss.shown or loss.field == "pretokenizer":
            continue  # without a pattern nothing runs: the next test asks for it by hand
        written = row.dump(model)
        again = row.load(written)
        held = replace(
            again,
            pretokenizer=again.pretokenizer or model.pretokenizer,
            added=again.added or (),
            normalizer=again.normalizer or (),
        )
        try:
            other = from_files(row.engine, target, written, held)
        except UnstatedError:
            continue
        assert answers(own, loss.witness) != answers(other, loss.witness), describe(loss)


def test_witnesses_exist_where_ids_change() -> None:
    for name, target, field in (
        ("nfc-tiny", "tiktoken", "normalizer"),
        ("nfc-tiny", "tiktoken", "added"),
        ("shuffled-tiny", "tiktoken", "merges"),
        ("prefix-tiny", "tiktoken", "pretokenizer"),
    ):
        model = load_source(TOKENIZERS / name / "huggingface").model
        found = [loss for loss in losses_of(model, target) if loss.field == field]
        assert found
        assert any(loss.witness for loss in found), (name, field)
        assert all(Encoder(model).encode(loss.witness, "all") for loss in found if loss.witness)


def test_drop_allows_what_it_names_and_nothing_else() -> None:
    model = load_source(TOKENIZERS / "nfc-tiny" / "huggingface").model
    fields = {loss.field for loss in losses_of(model, "tiktoken")}
    assert fields == {"normalizer", "added", "decoder"}
    for field in fields:
        with pytest.raises(LossyConversionError) as found:
            refuse(model, by_name("tiktoken"), fields - {field})
        assert {loss.field for loss in found.value.losses} == {field}
        assert f"--drop {field}" in str(found.value)
    passed = refuse(model, by_name("tiktoken"), fields)
    assert fields <= {loss.field for loss in passed}
    with pytest.raises(ValueError, match="not a field"):
        refuse(model, by_name("tiktoken"), ["nothing"])


def test_metadata_is_never_refused() -> None:
    model = load_source(TOKENIZERS / "gpt2-tiny" / "huggingface").model
    passed = refuse(model, by_name("tiktoken"))
    assert passed
    assert {loss.grade for loss in passed} == {"metadata"}


def test_what_is_unsaid_is_asked_for() -> None:
    model = load_source(TOKENIZERS / "gpt2-tiny" / "gpt2").model
    for target in ("tiktoken", "hf"):
        with pytest.raises(UnstatedError, match=r"--preset .*\n?.*cl100k_base"):
            refuse(model, by_name(target))
    assert refuse(model, by_name("gpt2")) == ()
    assert "sidecar" not in ways_to_say(model)


def test_a_sha256_that_several_presets_share_lists_them() -> None:
    model = load_source(TOKENIZERS / "gpt2-tiny" / "gpt2").model
    shared = {"o200k_base.tiktoken": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"
    )}  # fmt: skip
    known = replace(model, origin=replace(model.origin, files=shared))
    assert "o200k_base, o200k_harmony" in ways_to_say(known)
    assert "o200k_harmony has 1,091 added tokens" in ways_to_say(known)


# Ids that a tokenizer.json can only say in its vocabulary: what is advised is written.


def test_a_token_whose_id_stands_in_the_vocabulary_may_be_looked_up() -> None:
    letters = {bytes([byte]): byte for byte in range(256)}
    model = BPEModel(
        Vocab(letters),
        RankTable(letters),
        lookup_first=True,
        pretokenizer=(Split(Pattern("(?s:.)+", "fancy-regex"), "removed", True),),
        normalizer=(),
        added=(AddedToken("<e>", 258, special=True),),
        decoder=(JoinBytes(False),),
        sequence_template=SequenceTemplate(),
    )
    row = by_name("huggingface")
    with pytest.raises(LossyConversionError, match="finds it as a whole pretoken"):
        admit(RoundTrip(model, row))
    trip = RoundTrip(model, row)
    losses = admit(trip, ["vocab"])
    assert {loss.field for loss in losses} == {"vocab", "lookup_first"}
    engine = from_files("tokenizers", "huggingface", trip.files, None)
    assert engine.encode("<e>") == [258] == Encoder(trip.again).encode("<e>")
    assert Encoder(model).encode("<e>") != [258]


def test_an_unknown_piece_of_one_character_may_be_a_symbol() -> None:
    pieces = [Piece("?", 0.0, 2), *CONTROL_PIECES, Piece("a", 0.0, 1), Piece("\u2581", -3.0, 1)]
    data = small_model(pieces, fallback=False, prefix=True, remove_extra=False, escape=True)
    model = replace(
        by_name("sentencepiece").load({"t.model": data}), sequence_template=SequenceTemplate()
    )
    trip = RoundTrip(model, by_name("huggingface"))
    with pytest.raises(LossyConversionError, match="where it is a symbol"):
        admit(trip)
    assert "vocab" in {loss.field for loss in admit(trip, ["vocab"])}
    engine = from_files("tokenizers", "huggingface", trip.files, None)
    assert engine.encode("a??") == Encoder(trip.again).encode("a??")
