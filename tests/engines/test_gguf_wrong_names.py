"""Files under a name that is not their own: DIFFERENT, with a text that both engines show."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Command
from conftest import Data
from tokenizers import Tokenizer

from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.formats.gguf.read import load
from bpe_interop.proof.prove import prove
from bpe_interop.sources import load_source
from fixtures import TOKENIZERS
from fixtures.gguf_models import under_name


def test_a_wrong_name_is_shown_by_a_text_in_both_engines() -> None:
    """o200k's pattern under ``gpt-4o``, which knows no marks, as the converter writes it."""
    source = TOKENIZERS / "o200k-tiny/huggingface/tokenizer.json"
    model = load_source(source).model
    file = under_name(model, "gpt-4o")
    proof = prove(load({"wrong.gguf": file}), model, "ordinary")
    assert (proof.outcome, proof.stage) == ("different", "pre-tokenizer")
    assert proof.witness is not None
    theirs = Tokenizer.from_file(str(source)).encode(proof.witness, add_special_tokens=False).ids
    assert LlamaCppEngine(file).encode(proof.witness) != theirs


@pytest.mark.parametrize(
    ("path", "name", "text"),
    [
        ("gpt-oss/tokenizer.json", "gpt-4o", "\u0928\u092e\u0938\u094d\u0924\u0947"),
        # Behind U+017F, which the model's (?i) takes for an s, a token that only lookup finds.
        ("llama-3.2/tokenizer.json", "llama-bpe", "'\u017fNgo\u00e0i"),
    ],
)
def test_published_tokenizers_under_the_name_that_is_given_to_them(
    path: str, name: str, text: str, data: Data
) -> None:
    theirs = Tokenizer.from_file(str(data / path)).encode(text, add_special_tokens=False).ids
    engine = LlamaCppEngine(under_name(load_source(data / path).model, name))
    assert engine.encode(text) != theirs
    assert engine.encode("Hello world") == engine.encode("Hello") + engine.encode(" world")


@pytest.mark.long
def test_the_verdict_says_the_cause_and_the_cure_that_it_names_works(
    command: Command, tmp_path: Path
) -> None:
    source = TOKENIZERS / "gpt2-tiny" / "huggingface"
    wrong, right = tmp_path / "wrong.gguf", tmp_path / "right.gguf"
    wrong.write_bytes(under_name(load_source(source).model, "qwen2"))
    done = command("verify", source, wrong)
    assert done.code == 1
    [said] = [line for line in done.out.splitlines() if "tokenizer.ggml.pre is qwen2" in line]
    assert "under gpt-2" in said
    assert said.endswith(f"bpe-interop convert {source} NEW.gguf --into {wrong}")
    assert command("convert", source, right, "--into", wrong).code == 0
    assert command("verify", source, right, "--require", "proved").code == 0
