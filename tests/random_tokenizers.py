"""Random ``tokenizer.json`` documents that hold every component a BPE model can have.

They are small on purpose: a few characters, some of which are missing from the vocabulary, so
that fallbacks, merges and components meet on short texts.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from bpe_interop.testing.json_documents import document_of
from bpe_interop.text.bytechars import BYTE_TO_CHAR

Json: TypeAlias = dict[str, Any]

_CHARMAP_TINY = Path(__file__).parent.parent / "fixtures" / "tokenizers" / "spm-charsmap-tiny"
_CHARACTERS = "ab \u2581\u00e9\u65e5\u0301.1\nA-"
_PARTS = (
    *("a", "b", "ab", "aab", " ", "  ", "\u2581", "\u00e9", "e\u0301", "\u65e5", "\u65e5\u672c"),
    *("\n", "1", "12", ".", "-", "A", "<s>", "<unk>", "<tool>", "x", "\U0001f642", "\ufb01"),
    *("<0x41>", "\u00a0"),
)
_ADDED = ("<s>", "<tool>", "a b", "ab", "\u2581a", "\u00e9", "<unk>", " ")
_BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")


def random_text(rng: Random) -> str:
    """A text of parts that mean something to some component."""
    return "".join(rng.choice(_PARTS) for _ in range(rng.randint(0, 10)))


def random_characters(rng: Random) -> Json:
    """A character-level document."""
    prefix, suffix = rng.choice(["", "", None, "##"]), rng.choice(["", None, "</w>"])
    tokens = [
        before + char + after
        for char in _CHARACTERS
        if rng.random() < 0.85
        for before in sorted({"", prefix or ""})
        for after in sorted({"", suffix or ""})
        if rng.random() < 0.9
    ] or ["a"]
    rng.shuffle(tokens)
    merges = _grow(rng, tokens, tokens, prefix or "", suffix or "")
    unknown = rng.choice([None, "<unk>", "<unk>", "<none>"])
    if unknown == "<unk>":
        tokens.insert(rng.randint(0, len(tokens)), "<unk>")
    bytes_too = rng.choice(["off", "off", "on", "listed", "none"])
    if bytes_too in ("on", "listed"):
        # Without an unknown token, some bytes may be missing.
        kept = 1 if unknown == "<unk>" else 0.97
        tokens += [f"<0x{byte:02X}>" for byte in range(256) if rng.random() < kept]
    model = _model(rng, tokens, merges, prefix, suffix)
    model |= {"unk_token": unknown, "byte_fallback": bytes_too in ("on", "none")}
    return _document(rng, model, _normalizer(rng), _pretokenizer(rng))


def random_bytes(rng: Random) -> Json:
    """A byte-level document, mapped by its pre-tokenizer or by its normalizer."""
    prefix, suffix = rng.choice(["", None, "##"]), rng.choice(["", None, "</w>"])
    kept = rng.choice([1, 0.9])
    tokens = [
        before + BYTE_TO_CHAR[byte] + after
        for byte in range(256)
        if rng.random() < kept
        for before in sorted({"", prefix or ""})
        for after in sorted({"", suffix or ""})
    ]
    parts = [token for token in tokens if not set("ab\u0120\u00c3\u00a91.").isdisjoint(token)]
    merges = _grow(rng, tokens, parts, prefix or "", suffix or "")
    if rng.random() < 0.5:
        tokens.insert(rng.randint(0, len(tokens)), "<unk>")
    model = _model(rng, tokens, merges, prefix, suffix)
    model |= {"unk_token": rng.choice([None, "<unk>", "<none>"]), "byte_fallback": False}
    normalizer, before, after = _normalizer(rng), _pretokenizer(rng), _pretokenizer(rng)
    if rng.random() < 0.3:
        steps = [*([normalizer] if normalizer else []), {"type": "ByteLevel"}]
        mapped = {"type": "Sequence", "normalizers": steps}
        document = _document(rng, model, mapped, before)
        for token in document["added_tokens"]:
            token["normalized"] = False
        return document
    steps = [before] if before and rng.random() < 0.6 else []
    steps.append(_byte_level(rng))
    steps += [after] if after and rng.random() < 0.2 else []
    return _document(rng, model, normalizer, {"type": "Sequence", "pretokenizers": steps})


def _grow(
    rng: Random, tokens: list[str], parts: list[str], prefix: str, suffix: str
) -> list[list[str]]:
    """Merges of some parts; their products become tokens and parts."""
    merges: list[list[str]] = []
    for _ in range(rng.randint(0, 25)):
        left, right = rng.choice(parts), rng.choice(parts)
        product = left + right[len(prefix) :]
        if not right.startswith(prefix) or (suffix and left.endswith(suffix)) or len(product) > 12:
            continue
        for known in (tokens, parts):
            if product not in known:
                known.append(product)
        merges.append([left, right])
    return merges


def _model(
    rng: Random, tokens: list[str], merges: list[list[str]], prefix: Any, suffix: Any
) -> Json:
    tokens.append(f"{rng.choice(tokens)}q")
    ids = list(range(len(set(tokens))))
    if rng.random() < 0.3:
        rng.shuffle(ids)
    listed: list[Any] = [*merges]
    if rng.random() < 0.5 and not any(" " in part for pair in merges for part in pair):
        listed = [" ".join(pair) for pair in merges]
    return {
        "type": "BPE",
        "dropout": None,
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": rng.random() < 0.5,
        "ignore_merges": rng.random() < 0.3,
        "vocab": dict(zip(dict.fromkeys(tokens), ids, strict=True)),
        "merges": listed,
    }


def _document(rng: Random, model: Json, normalizer: Any, pretokenizer: Any) -> Json:
    return document_of(
        model,
        added_tokens=_added(rng, model["vocab"], normalizer),
        normalizer=normalizer,
        pre_tokenizer=pretokenizer,
        decoder=_decoder(rng, model),
    )


def _added(rng: Random, vocab: dict[str, int], normalizer: Any) -> list[Json]:
    """Added tokens; where a normalizer leaves nothing of one, tokenizers does not come back."""
    found: list[Json] = []
    following = len(vocab)
    steps = json.dumps(normalizer)
    for text in rng.sample(_ADDED, rng.randint(0, 4)):
        if not text.strip() and any(name in steps for name in ("Strip", "Replace", "Bert")):
            continue
        number = vocab.get(text, following)
        following += text not in vocab
        flags = {name: rng.random() < 0.2 for name in ("single_word", "lstrip", "rstrip")}
        kind = {name: rng.random() < 0.5 for name in ("normalized", "special")}
        if kind["normalized"] and text == "ab" and "Replace" in steps:
            continue
        found.append({"id": number, "content": text, **flags, **kind})
    return found


def _normalizer(rng: Random) -> Any:
    chance = rng.random()
    if chance < 0.35:
        return None
    if chance < 0.6:
        return _one_normalizer(rng)
    steps = [_one_normalizer(rng) for _ in range(rng.randint(0, 3))]
    return {"type": "Sequence", "normalizers": steps}


def _one_normalizer(rng: Random) -> Json:
    patterns = ({"String": " "}, {"Regex": r"\s+"}, {"Regex": "a+"}, {"String": "ab"})
    strips = {"strip_left": rng.random() < 0.5, "strip_right": rng.random() < 0.5}
    bert = {name: rng.random() < 0.5 for name in ("clean_text", "handle_chinese_chars")}
    bert |= {"strip_accents": rng.choice([None, True, False]), "lowercase": rng.random() < 0.5}
    content = rng.choice(["\u2581", "", "b "])
    return rng.choice(
        [
            {"type": rng.choice(["NFC", "NFD", "NFKC", "NFKD", "Lowercase"])},
            {"type": rng.choice(["StripAccents", "Nmt"])},
            {"type": "Strip", **strips},
            {"type": "Prepend", "prepend": rng.choice(["\u2581", " ", "x"])},
            {"type": "Replace", "pattern": rng.choice(patterns), "content": content},
            {"type": "BertNormalizer", **bert},
            precompiled(),
        ]
    )


def precompiled() -> Json:
    """The ``Precompiled`` normalizer of a fixture."""
    text = (_CHARMAP_TINY / "huggingface" / "tokenizer.json").read_text("utf-8")
    steps: list[Json] = json.loads(text)["normalizer"]["normalizers"]
    return next(step for step in steps if step["type"] == "Precompiled")


def _pretokenizer(rng: Random) -> Any:
    chance = rng.random()
    if chance < 0.35:
        return None
    if chance < 0.65:
        return _one_pretokenizer(rng)
    steps = [_one_pretokenizer(rng) for _ in range(rng.randint(0, 3))]
    return {"type": "Sequence", "pretokenizers": steps}


def _one_pretokenizer(rng: Random) -> Json:
    behavior = rng.choice(_BEHAVIORS)
    pattern = rng.choice([{"Regex": "[ab]+|."}, {"String": "a"}, {"Regex": r"\p{L}+"}])
    cut = {"pattern": pattern, "behavior": behavior, "invert": rng.random() < 0.4}
    plain = ("WhitespaceSplit", "Whitespace", "UnicodeScripts", "BertPreTokenizer")
    return rng.choice(
        [
            _metaspace(rng),
            {"type": rng.choice(plain)},
            {"type": rng.choice(plain)},
            {"type": "CharDelimiterSplit", "delimiter": rng.choice("-a\u2581 ")},
            {"type": "Digits", "individual_digits": rng.random() < 0.5},
            {"type": "Punctuation", "behavior": behavior},
            {"type": "Split", **cut},
            {"type": "FixedLength", "length": rng.randint(1, 4)},
        ]
    )


def _metaspace(rng: Random) -> Json:
    found: Json = {"type": "Metaspace", "replacement": rng.choice("\u2581\u2581_ ")}
    if rng.random() < 0.3:
        found |= {"add_prefix_space": True, "str_rep": "\u2581"}
    else:
        found["prepend_scheme"] = rng.choice(["always", "first", "never"])
    if rng.random() < 0.6:
        found["split"] = rng.random() < 0.5
    return found


def _byte_level(rng: Random) -> Json:
    flags = {"add_prefix_space": rng.random() < 0.3, "use_regex": rng.random() < 0.5}
    return {"type": "ByteLevel", "trim_offsets": True, **flags}


def _decoder(rng: Random, model: Json) -> Any:
    chance = rng.random()
    if chance < 0.15:
        return None
    if chance < 0.45:
        return _one_decoder(rng, model)
    return {
        "type": "Sequence",
        "decoders": [_one_decoder(rng, model) for _ in range(rng.randint(0, 4))],
    }


def _one_decoder(rng: Random, model: Json) -> Json:
    pattern = rng.choice([{"String": "\u2581"}, {"Regex": "[ab]"}])
    sizes = {"start": rng.randint(0, 2), "stop": rng.choice([0, 0, 0, 1])}
    suffix = model["end_of_word_suffix"] or "</w>"
    prefix = model["continuing_subword_prefix"] or "##"
    content = rng.choice([" ", "", "<0x61>"])
    return rng.choice(
        [
            {"type": "Replace", "pattern": pattern, "content": content},
            {"type": rng.choice(["ByteFallback", "Fuse"])},
            {"type": "Strip", "content": rng.choice(" \u2581a"), **sizes},
            _metaspace(rng),
            {"type": "BPEDecoder", "suffix": rng.choice([suffix, "b"])},
            {"type": "WordPiece", "prefix": prefix, "cleanup": rng.random() < 0.5},
            _byte_level(rng),
        ]
    )
