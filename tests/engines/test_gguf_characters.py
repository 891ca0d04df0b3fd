"""Names under which llama.cpp merges characters: what it does, what is written, what is refused."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Command
from conftest import Data
from tokenizers import Tokenizer

from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import EngineError, LossyConversionError, UnsupportedError
from bpe_interop.formats import all_formats, by_name
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.splitters import OVER_CHARACTERS
from bpe_interop.formats.gguf.write import dump, kept_of
from bpe_interop.formats.round_trip import RoundTrip
from bpe_interop.gate import admit
from bpe_interop.model import BPEModel, SequenceTemplate
from fixtures import gguf_models as made
from fixtures.piece_model import BYTE_PIECES, CONTROL_PIECES, Piece, small_model

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
NEWLINES = ["\n", "\n\n", "\n\n\n"]
MERGED = [
    "\u2581a",
    "ab",
    "\u2581ab",
    "\u2581\u2581",
    "\u00e9t",
    "ba",
    "\u2581\u2581\u2581",
    "\U0001f600\u00e9",
]
MERGES = [
    "\u2581 a",
    "a b",
    "\u2581 ab",
    "\u2581 \u2581",
    "\u00e9 t",
    "b a",
    "\u2581\u2581 \u2581",
    "\U0001f600 \u00e9",
]


def over_characters(
    pre: str, *, merged: bool = True, model: str = "gpt2", bos: bool | None = None
) -> bytes:
    """Characters, a few merges, two special tokens; ``merged``: merging builds runs of newlines."""
    tokens = ["<bos>", "<x>", *BYTES, *"\u2581abt\u00e9\U0001f600", *MERGED, *NEWLINES, "b\u2581b"]
    types = [made.CONTROL, made.USER_DEFINED] + [made.BYTE] * 256
    types += [made.NORMAL] * (len(tokens) - len(types))
    lines = ["\n \n", "\n\n \n"] if merged else []
    more: dict[str, tuple[int, Any]] = {"tokenizer.ggml.bos_token_id": (made.UINT32, 0)}
    if bos is not None:
        more["tokenizer.ggml.add_bos_token"] = (made.BOOL, bos)
    more["tokenizer.ggml.model"] = (made.STRING, model)
    return made.by_merges(tokens, types, [*MERGES, *lines], pre, more)


def texts() -> list[str]:
    rng = random.Random(5)
    letters = " \n\nab\u00e9t\U0001f600\u2581\u4e2d\r\t\x00\u0301<"
    listed = ["".join(rng.choice(letters) for _ in range(rng.randint(0, 14))) for _ in range(600)]
    return [*listed, "b b", "<bos>a<x> b", "<0x41>", "\n\n\n\n\n", "b\u2581b"]


def read(file: bytes) -> BPEModel:
    return load({"x.gguf": file})


@pytest.mark.parametrize("name", OVER_CHARACTERS)
def test_it_encodes_and_decodes_as_llama_cpp_does(name: str) -> None:
    file = over_characters(name, merged=name != "sarvam-moe")
    encoder, engine = Encoder(read(file)), LlamaCppEngine(file)
    rows = engine.encode_batch(texts())
    assert [encoder.encode(text) for text in texts()] == rows
    rows = engine.encode_batch(texts(), special="parse")
    assert [encoder.encode(text, "all") for text in texts()] == rows
    for ids in rows[:60]:
        assert encoder.decode(ids) == engine.decode(ids)
    assert encoder.decode([2 + 0xC3, 2 + 0xA9, 2 + 0xFF]) == engine.decode([197, 171, 257])


def test_runs_of_newlines_that_no_merge_builds() -> None:
    """llama.cpp looks them up under all names but one, and looks up nothing else."""
    files = {name: over_characters(name, merged=False) for name in OVER_CHARACTERS}
    ids = {name: LlamaCppEngine(file).encode("\n\n") for name, file in files.items()}
    assert [*map(len, ids.values())] == [1, 1, 2]
    assert LlamaCppEngine(files["gemma4"]).encode("<0x41>") != [2 + 0x41]
    for name in ("gemma4", "granite-embed-multi-311m"):
        with pytest.raises(UnsupportedError, match="no merge builds"):
            read(files[name])
    assert Encoder(read(files["sarvam-moe"])).encode("\n\n") == ids["sarvam-moe"]


@pytest.mark.parametrize("bos", [None, True, False])
@pytest.mark.parametrize("name", OVER_CHARACTERS)
def test_bos_is_added_as_llama_cpp_does(name: str, bos: bool | None) -> None:
    file = over_characters(name, bos=bos)
    ids = LlamaCppEngine(file).encode("a", add_special_tokens=True)
    encoder = Encoder(read(file))
    assert encoder.template(encoder.encode("a")) == ids


@pytest.mark.parametrize("name", OVER_CHARACTERS)
def test_without_a_bos_token_it_is_written_under_a_name_that_needs_none(name: str) -> None:
    """llama.cpp ends itself where such a name has no BOS."""
    model = read(over_characters(name, merged=name != "sarvam-moe"))
    added = tuple(replace(token, roles=()) for token in model.added or ())
    without = replace(model, added=added, sequence_template=None)
    (file,) = dump(without).values()
    assert Encoder(read(file)).encode("a b\n\nt") == LlamaCppEngine(file).encode("a b\n\nt")
    assert kept_of(read(file)).get("pre") == "sarvam-moe"


@pytest.mark.long
def test_the_kind_of_its_own_stands_for_the_name() -> None:
    file = over_characters("gpt-2", model="gemma4")
    assert kept_of(read(file)).get("pre") == "gemma4"
    rows = LlamaCppEngine(file).encode_batch(texts())
    assert [Encoder(read(file)).encode(text) for text in texts()] == rows


@pytest.mark.parametrize("name", OVER_CHARACTERS)
def test_written_again_it_is_the_same(name: str) -> None:
    model = read(over_characters(name))
    [file] = dump(model).values()
    again = read(file)
    assert (again.vocab, again.merges, again.added) == (model.vocab, model.merges, model.added)
    assert kept_of(again).get("pre") == name
    assert LlamaCppEngine(file).encode_batch(texts()) == LlamaCppEngine(
        over_characters(name)
    ).encode_batch(texts())


def test_to_tokenizer_json_and_back_keeps_the_ids() -> None:
    source = over_characters("sarvam-moe", bos=False)
    [huggingface] = [each for each in all_formats() if each.name == "huggingface"]
    there = huggingface.dump(read(source))
    encoder = Tokenizer.from_str(there["tokenizer.json"].decode())
    [back] = dump(huggingface.load(there)).values()
    ids = LlamaCppEngine(source).encode_batch(texts(), special="parse")
    assert LlamaCppEngine(back).encode_batch(texts(), special="parse") == ids
    assert [encoder.encode(text, add_special_tokens=False).ids for text in texts()] == ids


def test_inspect_and_formats_say_it(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "x.gguf"
    path.write_bytes(over_characters("gemma4"))
    facts = json.loads(command("inspect", path, "--json").raw)["particulars"]["pre"]
    assert (facts["name"], facts["equal"]) == ("gemma4", ["granite-embed-multi-311m"])
    assert facts["lines"] is True
    assert "characters are merged, not bytes" in command("inspect", path, "--full").out
    assert "merges characters, not bytes" in command("formats", "--pre").out


def test_words_are_refused_and_llama_cpp_shows_why() -> None:
    """Two spaces end it, and what is decoded is no text."""
    spelled = [*BYTES, " ", "a", "\u4e2d"]
    types = [made.BYTE] * 256 + [made.NORMAL] * 3
    file = made.by_merges(spelled, types, ["a a"], "whitespace")
    engine = LlamaCppEngine(file)
    assert engine.encode("a a") == [257, 256, 257]
    with pytest.raises(EngineError, match="crashed"):
        engine.encode("a  a")
    assert "UNK_BYTE" in engine.decode([258])
    own = {"tokenizer.ggml.model": (made.STRING, "whitespace")}
    for more in ({}, own):
        with pytest.raises(UnsupportedError, match="no way back"):
            read(made.by_merges(spelled, types, ["a a"], "whitespace", more))
    words = LlamaCppEngine(made.by_merges(spelled, types, ["a a"], "whitespace", own))
    assert "UNK_BYTE" in words.decode(words.encode("a  \u4e2d"))


def test_all_of_the_declaration(data: Data) -> None:
    """A seeded part; ``python -m trust gguf characters`` runs all, and every code point."""
    text = (data / "corpora/udhr/udhr_all.txt").read_text("utf-8")
    lines = random.Random(3).sample(text.splitlines(), 300)
    file = over_characters("gemma4")
    encoder = Encoder(read(file))
    assert [encoder.encode(line) for line in lines] == LlamaCppEngine(file).encode_batch(lines)


@pytest.mark.parametrize(("token", "text"), [("ab", "ab"), ("a\u00e9", "a\u00e9")])
def test_an_unused_token_that_merging_builds_is_a_loss(token: str, text: str) -> None:
    """sentencepiece splits it again; llama.cpp, which was asked, gives its id."""
    pieces = [
        *(Piece("<unk>", 0.0, 2), *CONTROL_PIECES),
        *(
            Piece("a", -1.0, 1),
            Piece("b", -2.0, 1),
            Piece("\u2581", -3.0, 1),
            Piece(token, -4.0, 5),
        ),
        *BYTE_PIECES,
    ]
    data = small_model(pieces, fallback=True, prefix=True, remove_extra=False, escape=True)
    model = replace(
        by_name("sentencepiece").load({"t.model": data}), sequence_template=SequenceTemplate()
    )
    trip = RoundTrip(model, by_name("gguf"))
    with pytest.raises(LossyConversionError, match="is UNUSED: sentencepiece splits it again"):
        admit(trip)
    assert "merges" in {loss.field for loss in admit(trip, ["merges"])}
    [written] = trip.files.values()
    ids = LlamaCppEngine(written).encode(text)
    assert ids == Encoder(trip.again).encode(text)
    assert ids != Encoder(model).encode(text)
