"""Random vocabularies over two letters, with affixes, unknown tokens, byte tokens and lookups."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any, TypeAlias

from bpe_interop.testing.json_documents import document_of, model_of

Json: TypeAlias = dict[str, Any]


def document(model: Mapping[str, Any], **steps: Any) -> Json:
    """A ``tokenizer.json`` around a model."""
    return document_of(model_of(**model), **steps)


def random_affixed(rng: Random) -> Json:
    """The ``model`` of a document; affixes may be letters, and symbols may be missing."""
    prefix, suffix = rng.choice(["", "##", "##", "b"]), rng.choice(["", "</w>", "b", "a"])
    spelled = [x + letter + y for letter in "ab" for x in ("", prefix) for y in ("", suffix)]
    tokens = [token for token in dict.fromkeys(spelled) if rng.random() < 0.85] or ["a"]
    merges: list[list[str]] = []
    for _ in range(rng.randint(0, 8)):
        left, right = rng.choice(tokens), rng.choice(tokens)
        built = left + right[len(prefix) :]
        if not right.startswith(prefix) or len(built) > 9 or [left, right] in merges:
            continue
        tokens += [] if built in tokens else [built]
        merges.append([left, right])
    unknown = rng.choice([None, None, "<unk>"])
    if unknown:
        tokens.insert(rng.randint(0, len(tokens)), unknown)
    fallback = rng.random() < 0.2
    if fallback:
        tokens += [f"<0x{byte:02X}>" for byte in range(256) if rng.random() < 0.97]
    numbers = list(range(len(tokens)))
    if rng.random() < 0.3:
        rng.shuffle(numbers)
    return {
        "vocab": dict(zip(tokens, numbers, strict=True)),
        "merges": merges,
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
        "unk_token": unknown,
        "fuse_unk": rng.random() < 0.5,
        "byte_fallback": fallback,
        "ignore_merges": rng.random() < 0.3,
    }


def changed(rng: Random, model: Json) -> Json:
    """The same with one thing changed: an id, a token, a merge, or a setting."""
    vocab, merges = dict(model["vocab"]), [*model["merges"]]
    tokens = [token for token in vocab if not token.startswith("<0x") or rng.random() < 0.02]
    one, other = rng.choice(tokens), rng.choice(tokens)
    what = rng.choice(["swap", "move", "remove", "unlist", "reorder", "list", "setting"])
    if what == "swap":
        vocab[one], vocab[other] = vocab[other], vocab[one]
    elif what == "move":
        vocab[one] = max(vocab.values()) + 1
    elif what == "remove" and len(vocab) > 1 and one != model["unk_token"]:
        del vocab[one]
        merges = [pair for pair in merges if one not in (*pair, _built(pair, model))]
    elif what == "unlist" and merges:
        merges.pop(rng.randrange(len(merges)))
    elif what == "reorder" and merges:
        merges.insert(rng.randrange(len(merges)), merges.pop(rng.randrange(len(merges))))
    elif what == "list":
        known = _possible(tokens, model)
        merges.insert(rng.randint(0, len(merges)), rng.choice(known or [[]]))
        merges = [pair for pair in merges if pair]
    found = model | {"vocab": vocab, "merges": merges}
    if what == "setting":
        name = rng.choice(["fuse_unk", "byte_fallback", "ignore_merges"])
        found[name] = not found[name]
    return found


def _built(pair: list[str], model: Json) -> str:
    return pair[0] + pair[1][len(model["continuing_subword_prefix"] or "") :]


def _possible(tokens: list[str], model: Json) -> list[list[str]]:
    prefix = model["continuing_subword_prefix"] or ""
    plain = [token for token in tokens if not token.startswith("<")]
    return [
        [x, y]
        for x in plain
        for y in plain
        if y.startswith(prefix) and _built([x, y], model) in tokens and y != prefix
    ]
