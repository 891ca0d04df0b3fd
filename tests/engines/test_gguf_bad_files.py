"""Bad GGUF files as a user meets them: one clear error, little memory, no traceback."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Command

from bpe_interop.encode import Encoder
from bpe_interop.engines.llamacpp import read
from bpe_interop.formats.gguf.read import load
from fixtures import TOKENIZERS
from fixtures import gguf_models as made
from fixtures.file_formats import TO_CHAR

HEAD = next((TOKENIZERS / "gguf-tiny/gguf").iterdir()).read_bytes()
LARGE = 100 * 10**9
MEGABYTES = 50
"""What a process may take besides what it has after the import."""


def sparse(path: Path, data: bytes) -> Path:
    """A file of 100 GB that takes a few kilobytes of the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.truncate(LARGE)
    return path


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def key(name: str, kind: int, value: bytes) -> bytes:
    return string(name) + struct.pack("<I", kind) + value


def head_of(*keys: bytes) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)) + b"".join(keys)


def strings(kind: int, count: int, more: bytes = b"") -> bytes:
    return struct.pack("<IQ", kind, count) + more


MODEL = key("tokenizer.ggml.model", 8, string("gpt2"))
TOKENS = "tokenizer.ggml.tokens"
ONE = strings(8, 1, string("a"))

BAD = {
    "zeros": (b"GGUF" + bytes(60), "the version of the file is 0"),
    "cut-off": (HEAD[:700], ""),
    "length": (head_of(key("a", 8, struct.pack("<Q", 1 << 63))), "a length of 9,223,372,036,854"),
    "strings": (head_of(MODEL, key(TOKENS, 9, strings(8, 1 << 63))), "a length of"),
    "numbers": (head_of(MODEL, key(TOKENS, 9, strings(12, 1 << 60))), "a length of"),
    "keys": (b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 63), "limit GGUF_KEYS"),
    "nested": (head_of(key(TOKENS, 9, strings(9, 1, ONE))), "an array of arrays"),
    "type": (head_of(key("a", 99, b"")), "type 99"),
    "twice": (head_of(MODEL, MODEL), "appears twice"),
    "wrong-type": (head_of(MODEL, key(TOKENS, 8, string("a"))), "expected array, found string"),
    "no-tokens": (head_of(MODEL), "there is no vocabulary"),
    "no-merges": (head_of(MODEL, key(TOKENS, 9, ONE)), "there are no merges"),
    "alike": (
        head_of(MODEL, key(TOKENS, 9, strings(8, 2, string("a") * 2))),
        "is already there",
    ),
    "merge": (
        made.by_merges(["a", "b"], [made.NORMAL] * 2, ["a c"], "gpt-2"),
        'needs the token "c"',
    ),
    "name": (made.by_merges(["a"], [made.NORMAL], [], "qwen22"), "near names: qwen2"),
    "not-utf-8": (
        head_of(MODEL, key(TOKENS, 9, strings(8, 1, struct.pack("<Q", 1) + b"\xff"))),
        "is not UTF-8",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("large", [False, True], ids=["small", "100GB"])
def test_one_clear_error(name: str, large: bool, tmp_path: Path, command: Command) -> None:
    data, what = BAD[name]
    path = tmp_path / "bad.gguf"
    path.write_bytes(data)
    if large:
        sparse(path, data)
    done = command("inspect", path)
    assert (done.code, done.out) == (2, "")
    assert what in done.err
    assert "bad.gguf" in done.err
    assert "Traceback" not in done.err


_WATCHED = """
import resource, sys
import bpe_interop, bpe_interop.formats.gguf.read
from bpe_interop.errors import BpeInteropError
def most(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = most()
try:
    print(len(bpe_interop.load(sys.argv[1]).model.vocab.ids))
except BpeInteropError as error:
    print(type(error).__name__)
print((most() - before) // 1024)
"""


@pytest.mark.parametrize("name", ["", "length", "strings", "numbers", "zeros"])
def test_in_little_memory(name: str, tmp_path: Path) -> None:
    """A whole file of 100 GB, and damaged ones."""
    path = sparse(tmp_path / "large.gguf", BAD[name][0] if name else HEAD)
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, str(path)], capture_output=True, text=True, check=True
    )
    told, megabytes = done.stdout.split()
    expected = str(len(load({"a.gguf": HEAD}).vocab.ids)) if not name else "Error"
    assert told.endswith(expected)
    assert int(megabytes) < MEGABYTES


# The edges of the format.


def changed(change: Callable[[dict[str, bytes]], None], version: int = 3) -> bytes:
    """The keys of a small file, changed, in whatever order they are left in."""
    tokens = [TO_CHAR[byte] for byte in range(256)] + ["ab", "<|end|>"]
    every = {
        "general.architecture": key("general.architecture", 8, string("gpt2")),
        "tokenizer.ggml.model": key("tokenizer.ggml.model", 8, string("gpt2")),
        "tokenizer.ggml.pre": key("tokenizer.ggml.pre", 8, string("gpt-2")),
        TOKENS: key(TOKENS, 9, strings(8, len(tokens), b"".join(map(string, tokens)))),
        "tokenizer.ggml.merges": key("tokenizer.ggml.merges", 9, strings(8, 1, string("a b"))),
        "tokenizer.ggml.token_type": key(
            "tokenizer.ggml.token_type", 9, strings(5, 258, struct.pack("<258i", *[1] * 257, 3))
        ),
    }
    change(every)
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(every)) + b"".join(every.values())


def reverse(keys: dict[str, bytes]) -> None:
    rows = [*keys.items()][::-1]
    keys.clear()
    keys.update(rows)


EDGES: dict[str, tuple[Callable[[dict[str, bytes]], None], int]] = {
    "as-it-is": (lambda keys: None, 3),
    "version-2": (lambda keys: None, 2),
    "keys-in-another-order": (reverse, 3),
    "without-types": (
        lambda keys: keys.update({"tokenizer.ggml.token_type": key("y", 4, bytes(4))}),
        3,
    ),
    "unknown-keys": (lambda keys: keys.update(x=key("x", 9, strings(7, 2, b"\x01\x00"))), 3),
    "scores-of-ollama": (
        lambda keys: keys.update(
            s=key("tokenizer.ggml.scores", 9, strings(6, 258, struct.pack("<258f", *range(258))))
        ),
        3,
    ),
    "type-that-is-not-known": (
        lambda keys: keys.update(
            {
                "tokenizer.ggml.token_type": key(
                    "tokenizer.ggml.token_type",
                    9,
                    strings(5, 258, struct.pack("<258i", *[1] * 256, 77, 3)),
                )
            }
        ),
        3,
    ),
    "ids-out-of-range": (
        lambda keys: keys.update(
            e=key("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", 900)),
            p=key("tokenizer.ggml.padding_token_id", 4, struct.pack("<I", 1 << 31)),
        ),
        3,
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_read_as_llama_cpp_reads_them(name: str) -> None:
    change, version = EDGES[name]
    file = changed(change, version=version)
    texts = ["ab abab", "x<|end|>y", "\u00e9\u4e2d", ""]
    encoder = Encoder(load({"edge.gguf": file}))
    engine = read({"edge.gguf": file}, None)
    assert [encoder.encode(text) for text in texts] == engine.encode_batch(texts)
    parsed = [encoder.encode(text, "all") for text in texts]
    assert parsed == engine.encode_batch(texts, special="parse")
