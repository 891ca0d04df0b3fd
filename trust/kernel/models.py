"""Small byte-level tokenizers: proved to be the same or not, and written in every format."""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass

from bpe_interop.diff import diff
from bpe_interop.errors import BpeInteropError
from bpe_interop.formats import by_name
from bpe_interop.kernel.tables import Numbers
from bpe_interop.model import BPEModel
from bpe_interop.presets import PRESETS, fill
from bpe_interop.proof.prove import prove
from bpe_interop.text.bytechars import to_chars
from bpe_interop.theory.equality import plainly_equal, system_of

from .comparing import Answered, Case


def models_compared(rng: random.Random) -> list[Case]:
    """Proves two small byte-level tokenizers to be the same, or not, and says how they differ."""
    files = byte_level(rng), byte_level(rng)
    if rng.random() < 0.7:
        files = files[0], changed(files[0], rng)
    as_ranks = [rng.random() < 0.3 for _ in files]

    def compared() -> Answered:
        a, b = (
            _ranked(own) if ranked else by_name("huggingface").load(listed(own))
            for own, ranked in zip(files, as_ranks, strict=True)
        )
        proof = prove(a, b, "ordinary")
        same = a.merges == b.merges, a.vocab == b.vocab
        return Answered([same, diff(a, b), proof], isinstance(a.vocab.ids, Numbers))

    return [Case(compared)]


def cores_compared(rng: random.Random) -> list[Case]:
    """Compares ranks with a list, which mostly has their merges or nearly so."""
    own = byte_level(rng) if rng.random() < 0.2 else few_bytes(rng)
    other = own if rng.random() < 0.4 else changed(own, rng)
    turned = rng.random() < 0.5

    def compared() -> Answered:
        a, b = _in_order(own), by_name("huggingface").load(listed(other))
        systems = system_of(a), system_of(b)
        found = plainly_equal(*(systems[::-1] if turned else systems))
        return Answered(found, isinstance(a.vocab.ids, Numbers))

    return [Case(compared)]


def files_written(rng: random.Random) -> list[Case]:
    """Writes a small byte-level tokenizer in every format that spells bytes."""
    own = byte_level(rng)
    for token in (b'"\\\x7f\xa0\xad', b"#version", b"<s>", b"\xc4\xa0"):
        if rng.random() < 0.4:
            own.tokens.insert(rng.randrange(len(own.tokens) + 1), token)
    if rng.random() < 0.2 and b"#version" in own.tokens:
        own.pairs.append((b"#version", b"a"))
        own.tokens.append(b"#versiona")
    files, ranked = listed(own), rng.random() < 0.3
    value = json.loads(files["tokenizer.json"])
    vocab = value["model"]["vocab"]
    for text in ("<|a|>", "\u00e9\u4e2d", "\U0001f642"):
        way = rng.random()
        number = max(vocab.values()) + rng.choice((1, 1, 1, 5))
        if way < 0.6:
            value["added_tokens"].append({**ADDED, "id": number, "content": text})
        if way < 0.2 or way > 0.8:
            vocab[text] = number
    if rng.random() < 0.4:
        order = [*vocab.items()]
        rng.shuffle(order)
        value["model"]["vocab"] = dict(order)
    files["tokenizer.json"] = json.dumps(value).encode()

    def written() -> Answered:
        model = _ranked(own) if ranked else by_name("huggingface").load(files)
        found = [dumped(model, name) for name in ("huggingface", "gpt2", "tiktoken")]
        return Answered(found, isinstance(model.vocab.ids, Numbers))

    return [Case(written)]


def dumped(model: BPEModel, name: str) -> object:
    """The files of a model in a format, or why there are none; and what would be lost."""
    target = by_name(name)
    try:
        return target.dump(model), target.losses(model)
    except BpeInteropError as error:
        return str(error)


ADDED = {
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}


@dataclass(slots=True)
class ByteLevel:
    """A small byte-level tokenizer: its tokens in the order of their ids, and its merges."""

    tokens: list[bytes]
    pairs: list[tuple[bytes, bytes]]
    lookup_first: bool
    strings: bool


def few_bytes(rng: random.Random) -> ByteLevel:
    """The same with some of the bytes only, so that it is small."""
    rest = rng.randbytes(rng.randrange(6))
    return byte_level(rng, [*dict.fromkeys((*b"ab ", *rest))])


def byte_level(rng: random.Random, singles: Sequence[int] = range(256)) -> ByteLevel:
    """All bytes, some merges over a few of them, and perhaps a token that nothing builds."""
    tokens = [bytes([byte]) for byte in singles]
    pairs: list[tuple[bytes, bytes]] = []
    built: list[bytes] = []
    for _ in range(rng.randrange(1, 8)):
        left, right = rng.choice((b"a", b"b", b" ", *built)), rng.choice((b"a", b"b", *built))
        if left + right not in built and len(left + right) < 12:
            pairs.append((left, right))
            built.append(left + right)
    tokens += built
    if rng.random() < 0.2:
        tokens.append(b"c a")
    return ByteLevel(tokens, pairs, rng.random() < 0.5, rng.random() < 0.5)


def changed(own: ByteLevel, rng: random.Random) -> ByteLevel:
    """The same, or nearly so."""
    tokens, pairs = [*own.tokens], [*own.pairs]
    way = rng.random()
    if way < 0.25 and len(pairs) > 1:
        at = rng.randrange(1, len(pairs))
        pairs[at - 1], pairs[at] = pairs[at], pairs[at - 1]
    elif way < 0.35:
        one, two = rng.sample(range(len(tokens)), 2)
        tokens[one], tokens[two] = tokens[two], tokens[one]
    elif way < 0.45:
        tokens.append(b"zz")
    elif way < 0.55:
        del pairs[rng.randrange(len(pairs))]
    return ByteLevel(tokens, pairs, rng.random() < 0.5, rng.random() < 0.5)


_SPLITTER = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}


def listed(own: ByteLevel) -> dict[str, bytes]:
    pairs = [[*map(to_chars, pair)] for pair in own.pairs]
    step = {**_SPLITTER, "use_regex": True}
    model = {
        "type": "BPE",
        "ignore_merges": own.lookup_first,
        "vocab": {to_chars(token): number for number, token in enumerate(own.tokens)},
        "merges": [" ".join(pair) for pair in pairs] if own.strings else pairs,
    }
    file = {"version": "1.0", "added_tokens": [], "pre_tokenizer": step, "decoder": step}
    return {"tokenizer.json": json.dumps({**file, "model": model}).encode()}


def _ranked(own: ByteLevel) -> BPEModel:
    return fill(_in_order(own), PRESETS["gpt2"])


def _in_order(own: ByteLevel) -> BPEModel:
    """A rank file of the tokens."""
    lines = [b64encode(token) + b" %d" % rank for rank, token in enumerate(own.tokens)]
    return by_name("tiktoken").load({"x.tiktoken": b"\n".join(lines)})
