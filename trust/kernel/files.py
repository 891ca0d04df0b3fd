"""Files of every format that the kernel reads: small ones, spelled in several ways, and damaged.

Of each file that is made, some are read as they are and more with a change or a few
(:func:`..readers.damaged`). Now and then it is one of the repository's small tokenizers.
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from bpe_interop.formats import Files, by_name
from bpe_interop.text.bytechars import to_chars

from ..readers import damaged, seeds
from .comparing import Case
from .models import ADDED, ByteLevel, byte_level, few_bytes, listed
from .pieces import random_file
from .spelling import spelled

_READ = 20
"""How often a file is read, with other damage each time."""
_SOUND = 0.12
_PUBLISHED = 0.02
"""The share that is read as it is, and that of the repository's tokenizers."""
_SPACE = "\u2581"


def rank_file(rng: random.Random) -> bytes:
    """A rank file, or what is nearly one."""
    lines = []
    for number in range(rng.randrange(12)):
        token = rng.randbytes(rng.choice((1, 1, 2, 3, 4, 5, 30)))
        lines.append(b64encode(token) + b" %d" % rng.choice((number, number, number, 2**32 - 2)))
    data = rng.choice((b"\n", b"\n", b"\r\n")).join(lines) + rng.choice((b"", b"\n", b"\n\n"))
    for _ in range(rng.choice((0, 0, 1, 2))):
        at = rng.randrange(len(data) + 1)
        data = data[:at] + rng.choice((b"", b" ", b"=", b"0", b"A", b"\r", b"\n")) + data[at + 1 :]
    return data


def rank_files_read(rng: random.Random) -> list[Case]:
    """Rank files, mostly small ones from scratch."""
    data = rank_file(rng)
    if rng.random() < 0.7:
        sizes = rng.choices((1, 1, 2, 3, 30), k=rng.randrange(1, 30))
        tokens = dict.fromkeys(map(rng.randbytes, sizes))
        first = rng.choice((0, 0, 0, 7))
        lines = [b64encode(token) + b" %d" % rank for rank, token in enumerate(tokens, first)]
        data = rng.choice((b"\n", b"\n", b"\r\n")).join((*lines, b""))
    return _read("tiktoken", {"x.tiktoken": data}, rng)


def documents_read(rng: random.Random) -> list[Case]:
    """A ``tokenizer.json``, of bytes or of characters."""
    value = characters(rng) if rng.random() < 0.4 else json.loads(_bytes_listed(rng))
    return _read("huggingface", {"tokenizer.json": _as_json(value, rng)}, rng)


def pairs_of_files_read(rng: random.Random) -> list[Case]:
    """GPT-2's two files."""
    return _read("gpt2", dumped_pair(_few_or_all(rng), rng), rng)


def pieces_read(rng: random.Random) -> list[Case]:
    """A ``.model``."""
    return _read("sentencepiece", {"tokenizer.model": random_file(rng)}, rng)


def dumped_pair(own: ByteLevel, rng: random.Random) -> dict[str, bytes]:
    """GPT-2's two files, spelled in one of several ways."""
    vocab = {to_chars(token): number for number, token in enumerate(own.tokens)}
    if rng.random() < 0.4:
        vocab["<|endoftext|>"] = len(vocab)
    end = rng.choice(("\n", "\n", "\r\n"))
    lines = [" ".join(map(to_chars, pair)) for pair in own.pairs]
    lines.insert(rng.randrange(2), rng.choice(("#version: 0.2", "#version", "")))
    text = end.join(lines) + rng.choice((end, end, ""))
    return {"encoder.json": _as_json(vocab, rng), "vocab.bpe": text.encode()}


def characters(rng: random.Random) -> dict[str, Any]:
    """A ``tokenizer.json`` that merges characters: with the tokens of bytes, or without."""
    texts = [*"ab\u2581\u00e9\u65e5"]
    pairs: list[tuple[str, str]] = []
    for _ in range(rng.randrange(8)):
        pair = rng.choice(texts), rng.choice(texts)
        if "".join(pair) not in texts and len("".join(pair)) < 9:
            pairs.append(pair)
            texts.append("".join(pair))
    fallback = rng.random() < 0.3
    texts = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256) if fallback), *texts]
    written = {"type": "Metaspace", "replacement": _SPACE, "prepend_scheme": "always"}
    model = {
        "type": "BPE",
        "unk_token": rng.choice(("<unk>", "<unk>", None)),
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": fallback,
        "ignore_merges": rng.random() < 0.2,
        "vocab": {text: number for number, text in enumerate(texts)},
        "merges": [" ".join(pair) for pair in pairs] if rng.random() < 0.5 else [*map(list, pairs)],
    }
    return {
        "version": "1.0",
        "added_tokens": [{**ADDED, "id": 0, "content": "<unk>"}],
        "normalizer": rng.choice((None, {"type": "Prepend", "prepend": _SPACE})),
        "pre_tokenizer": rng.choice((None, written)),
        "decoder": rng.choice((None, written)),
        "model": model,
    }


def _as_json(value: Any, rng: random.Random) -> bytes:
    """JSON as Python writes it, or as nobody does."""
    if rng.random() < 0.5:
        ascii_only, indent = rng.random() < 0.5, rng.choice((None, None, 1, "\t"))
        return json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
    text = spelled(value, rng, rng.choice((0.0, 0.001, 0.001, 0.003, 0.01, 0.1)))
    return text.encode("utf-8", "surrogatepass")


def _few_or_all(rng: random.Random) -> ByteLevel:
    return byte_level(rng) if rng.random() < 0.1 else few_bytes(rng)


def _bytes_listed(rng: random.Random) -> bytes:
    return listed(_few_or_all(rng))["tokenizer.json"]


def _read(form: str, files: Files, rng: random.Random) -> list[Case]:
    if rng.random() < _PUBLISHED:
        files = rng.choice(_seeds()[form])
    cases = []
    for _ in range(_READ):
        own = files if rng.random() < _SOUND else damaged(files, rng)
        cases.append(Case(partial(by_name(form).load, own), damaged=own != files))
    return cases


@cache
def _seeds() -> Mapping[str, Sequence[Files]]:
    return seeds()
