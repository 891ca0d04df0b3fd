"""The two traits of added tokens that only llama.cpp has, each flipped alone.

With the trait our encoder is held to llama.cpp, without it to tokenizers; a proof must see it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bpe_interop.diff import diff
from bpe_interop.encode import Encoder
from bpe_interop.engines import from_model
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.formats import by_name
from bpe_interop.formats.gguf.read import load
from bpe_interop.formats.gguf.write import dump
from bpe_interop.model import BPEModel
from bpe_interop.proof.prove import prove
from fixtures import gguf_models as made
from fixtures.file_formats import TO_CHAR

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def overlapping() -> bytes:
    """The longer of two special tokens begins within the shorter one."""
    tokens = [TO_CHAR[byte] for byte in range(256)] + ["<|a|>", "|>bbb<"]
    types = [made.NORMAL] * 256 + [made.CONTROL] * 2
    return made.by_merges(tokens, types, [], "gpt-2")


def phi_3() -> bytes:
    """Under this name a special token takes the ASCII white space behind it along."""
    rows = [("<unk>", made.UNKNOWN), ("<s>", made.CONTROL), ("</s>", made.CONTROL)]
    rows += [(text, made.BYTE) for text in BYTES]
    rows += [("<|endoftext|>", made.CONTROL), ("<|end|>", made.CONTROL), ("a", made.NORMAL)]
    rows += [("\u2581", made.NORMAL)]
    tokens, types = zip(*rows, strict=True)
    none: made.Keys = {
        "tokenizer.ggml.add_bos_token": (made.BOOL, False),
        "tokenizer.ggml.add_space_prefix": (made.BOOL, False),
    }
    return made.by_scores(tokens, types, [0.0] * len(tokens), none, "phi-3")


@pytest.mark.parametrize(
    ("file", "trait", "text"),
    [
        (overlapping, "longest_first", "<|a|>bbb<"),
        (phi_3, "ascii_space", "<|end|>\u3000a"),
        (phi_3, "ascii_space", "<|end|> \u00a0 a"),
    ],
)
def test_each_alone(file: Callable[[], bytes], trait: str, text: str) -> None:
    data = file()
    model = load({"x.gguf": data})
    assert any(getattr(token, trait) for token in model.added or ())
    flipped = _without(model, trait)
    ids, others = (Encoder(each).encode(text, "all") for each in (model, flipped))
    assert ids == LlamaCppEngine(data).encode(text, special="parse")
    assert others == from_model("tokenizers", flipped).encode(text, special="parse")
    assert ids != others
    assert {found.field for found in diff(model, flipped)} == {"added"}
    proof = prove(model, flipped)
    assert (proof.outcome, proof.stage) == ("different", "special tokens")
    assert prove(model, load({"x.gguf": data})).outcome == "proved"
    for plain in ("a", "<|a|>", "|>bbb<", "<|end|> a", "<|end|>"):
        one, two = (Encoder(each).encode(plain, "all") for each in (model, flipped))
        assert one == two


def test_the_loss_of_white_space_that_is_not_taken_along_has_a_text() -> None:
    data = phi_3()
    model = load({"x.gguf": data})
    [loss] = [loss for loss in by_name("huggingface").losses(model) if loss.field == "added"]
    assert loss.shown
    assert loss.witness
    there = from_model("tokenizers", _without(model, "ascii_space"))
    ids = LlamaCppEngine(data).encode(loss.witness, special="parse")
    assert ids != there.encode(loss.witness, special="parse")


def _without(model: BPEModel, trait: str) -> BPEModel:
    off: dict[str, Any] = {trait: False}
    return replace(model, added=tuple(replace(token, **off) for token in model.added or ()))


def test_white_space_taken_along_by_chance() -> None:
    """Of two that overlap by white space and are equally long, the second is not written."""
    model = load({"x.gguf": phi_3()})
    taking = next(token for token in model.added or () if token.ascii_space)
    start = max(*model.vocab.ids.values(), *(token.id for token in model.added or ())) + 1
    more = tuple(
        replace(taking, text=text, id=start + number, roles=())
        for number, text in enumerate(("<|ab|>", " <|cd>"))
    )
    both = replace(model, added=(*(model.added or ()), *more))
    written = dump(both)
    again = load(written)
    assert {token.text for token in again.added or ()} & {"<|ab|>", " <|cd>"} == {"<|ab|>"}
    reason = '" <|cd>" would not be found: "<|ab|>" overlaps it and is equally long'
    assert any(reason in loss.what for loss in by_name("gguf").losses(both))
    nul = replace(taking, text="a\0b", id=start + 2, roles=())
    lost = by_name("gguf").losses(replace(both, added=(*(both.added or ()), nul)))
    assert any("it holds a NUL, where llama.cpp ends a text" in loss.what for loss in lost)
    assert any(reason in loss.what for loss in lost)
    for text in ("<|ab|> <|cd>a", " <|cd>", "<|ab|>\u3000a", "<|ab|>  a"):
        (data,) = written.values()
        ids = Encoder(again).encode(text, "all")
        assert ids == LlamaCppEngine(data).encode(text, special="parse")
