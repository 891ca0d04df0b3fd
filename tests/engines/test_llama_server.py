"""A real llama-server: the program of llama.cpp that the wheel ``xllamacpp`` holds.

A server wants a whole model. This one has the vocabulary of a fixture and one layer of random
numbers; its ids are held to those of llama.cpp's library.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import Command

from bpe_interop.engines import from_address
from bpe_interop.engines.llamacpp import LlamaCppEngine
from bpe_interop.errors import EngineError
from fixtures import TOKENIZERS

SOURCE = next((TOKENIZERS / "gguf-llama3-tiny/gguf").iterdir())
TEXTS = ("Hello kestrel", "a<tool>b", "x<|im_end|>", "na\u00efve \u4e16\U0001f600", "  a\n\n b")
KEY = "open sesame"
WIDE, HIDDEN = 32, 64
SERVE = """
import sys, time
import xllamacpp
asked = xllamacpp.CommonParams()
asked.model.path = sys.argv[1]
asked.n_ctx, asked.n_parallel, asked.warmup, asked.port = 64, 1, False, 0
asked.api_keys = [sys.argv[2]]
server = xllamacpp.Server(asked)
print("at", server.listening_address, flush=True)
time.sleep(600)
"""


def write_model(vocabulary: Path, target: Path) -> None:
    """A model of one layer with random weights and the vocabulary of a GGUF file."""
    import numpy as np
    from gguf import GGUFReader, GGUFValueType, GGUFWriter  # 27 MB, and not in every worker

    writer = GGUFWriter(target, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(WIDE)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(2)
    writer.add_layer_norm_rms_eps(1e-5)
    size = 0
    for field in GGUFReader(vocabulary).fields.values():
        if field.name == "tokenizer.ggml.tokens":
            size = len(field.contents())
        if field.name.startswith("tokenizer."):
            inner = field.types[1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)
    layer = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (WIDE, WIDE))
    layer |= {"ffn_gate": (HIDDEN, WIDE), "ffn_up": (HIDDEN, WIDE), "ffn_down": (WIDE, HIDDEN)}
    shapes = {f"blk.0.{name}": shape for name, shape in layer.items()}
    shapes |= {"token_embd": (size, WIDE), "output": (size, WIDE)}
    norms = {"output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"}
    random = np.random.default_rng(0)
    for name, shape in [*shapes.items(), *((norm, (WIDE,)) for norm in sorted(norms))]:
        writer.add_tensor(f"{name}.weight", random.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a server that runs the vocabulary of ``SOURCE``."""
    model = tmp_path_factory.mktemp("served") / "model.gguf"
    write_model(SOURCE, model)
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, model, KEY],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        assert program.stdout is not None
        address = next((line.split()[1] for line in program.stdout if line[:3] == "at "), "")
        assert address, "the server did not start"
        yield f"llama.cpp@{address}"
        program.kill()


def test_it_gives_the_ids_of_the_library(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", KEY)
    engine, library = from_address(server), LlamaCppEngine(SOURCE.read_bytes())
    for special in ("text", "parse"):
        for places in (False, True):
            asked: Any = {"special": special, "add_special_tokens": places}
            assert engine.encode_batch(TEXTS, **asked) == library.encode_batch(TEXTS, **asked)
    for text in TEXTS:
        ids = library.encode(text)
        assert engine.decode(ids) == library.decode(ids)


def test_a_file_is_held_to_it(
    server: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", KEY)
    comparison = importlib.import_module("bpe_interop.compare.comparison")
    monkeypatch.setattr(comparison, "awkward", lambda model, seed=0: iter(TEXTS))
    monkeypatch.setattr(comparison, "every_token", lambda model: iter(()))
    same = command("verify", SOURCE, SOURCE, "--engine-b", server)
    assert (same.code, same.out.split()[0]) == (0, "TESTED"), same.out + same.err
    other = next((TOKENIZERS / "gguf-tiny/gguf").iterdir())
    assert command("verify", other, other, "--engine-b", server).code == 1


def test_it_wants_its_key(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLAMA_API_KEY", "wrong")
    with pytest.raises(EngineError, match="HTTP 401"):
        from_address(server).encode("a")
