"""Random small ``tokenizer.json`` documents, of every component that a BPE model can have."""

from __future__ import annotations

import json
from functools import cache
from random import Random
from typing import Any

from bpe_interop.steps import Pattern
from bpe_interop.testing.tiny import document_of
from bpe_interop.text.patterns import translate
from bpe_interop.text.spellings import (
    CL100K,
    CL100K_POSSESSIVE,
    CL100K_TRAILING,
    GPT2,
    O200K,
    QWEN2,
    R50K,
)
from fixtures import TOKENIZERS

from .sources import ALL_BYTES, Json, Source, spelled

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
TRAILING = translate(Pattern(CL100K_TRAILING, "fancy-regex"), "oniguruma").source
"""tiktoken's newest spelling of cl100k, as Oniguruma reads it."""

CL100KS = (CL100K, CL100K_POSSESSIVE, TRAILING)
SPELLINGS = (GPT2, R50K, *CL100KS, CL100K_TRAILING, QWEN2, O200K)
PATTERNS = (
    *SPELLINGS,
    r"\s+",
    r"\s+(?!\S)|\S+",
    "[ab]+|.",
    r"\p{L}+",
    "a|b",
    "a+",
    "ab?",
    r" ?\p{L}+| ?[^\s\p{L}]+|\s+",
    "b*",
    r"[\s\S]",
    r"[\s\S]+",
    r"\n+",
)
STRINGS = ("a", "ab", " ", "\n\t", "\u2581", "b")
LETTERS = (
    "ab",
    "ab ",
    "abc",
    "a\u2581",
    "a\u00e9",
    "a \n",
    "ab\n\t",
    "a1 ",
    "xyzw",
    "aA.",
    "a'b ",
    ".\u055a\u0561",
)


def random_document(rng: Random) -> Source:
    """A document: of anything, or of what meets in one place."""
    makers = (_of_anything, _of_anything, _of_spellings, _of_added_tokens, of_affixes, _of_hiding)
    return rng.choice(makers)(rng)


def _of_anything(rng: Random) -> Source:
    letters = rng.choice(LETTERS)
    mapped = rng.random() < 0.45
    affixes = rng.random() < 0.3
    marks = ("##", "b", "a", "</w>")
    prefix = rng.choice(marks) if affixes and rng.random() < 0.6 else rng.choice([None, None, ""])
    suffix = rng.choice(marks) if affixes and not prefix else None
    suffix = rng.choice(marks) if prefix and rng.random() < 0.2 else suffix
    model = _model(rng, letters, mapped, prefix, suffix)
    document = _document(rng, model, mapped, _normalizers(rng), _pretokenizers(rng))
    if rng.random() < 0.55:
        for _ in range(rng.randint(1, 3)):
            add_token(rng, document, letters)
    if rng.random() < 0.25:
        document["post_processor"] = random_template(rng, document)
    return Source("huggingface", document, letters)


def _of_spellings(rng: Random) -> Source:
    """Published patterns over bytes, with steps before and after them that may see a cut."""
    letters = rng.choice(["a\n\t", "a \n", "\n\t ", "a1 ", "a'b "])
    affixes = rng.random() < 0.3
    suffix = rng.choice(["</w>", "a"]) if affixes else None
    model = _model(rng, letters, True, None, suffix)
    steps = [spelling(rng)]
    if rng.random() < 0.5:
        string = {"type": "Split", "pattern": {"String": rng.choice(["\n\t", "\t", " ", "a"])}}
        cut = string | {"behavior": rng.choice(BEHAVIORS), "invert": rng.random() < 0.3}
        others = [cut, cut, random_metaspace(rng), random_splitter(rng)]
        steps.insert(rng.randint(0, 1), rng.choice(others))
    normalizer = random_normalizer(rng) if rng.random() < 0.1 else None
    splitter = {"type": "Sequence", "pretokenizers": steps}
    document = _document(rng, model, True, normalizer, splitter)
    likely = ("other spelling of a pattern",)
    return Source("huggingface", document, letters, likely)


def _of_added_tokens(rng: Random) -> Source:
    """Few letters, and added tokens that overlap, strip, hide and fall together."""
    letters = rng.choice(["ab", "ab ", "xyzw", "a \n", "aA", "a\u00e9"])
    mapped = rng.random() < 0.4
    model = _model(rng, letters, mapped, None, None)
    normalizer = random_normalizer(rng) if rng.random() < 0.4 else None
    splitter = random_splitter(rng) if rng.random() < 0.2 else None
    document = _document(rng, model, mapped, normalizer, splitter)
    for _ in range(rng.randint(1, 4)):
        add_token(rng, document, letters)
    if rng.random() < 0.1:
        document["post_processor"] = random_template(rng, document)
    likely = (
        "flag of an added token",
        "added token more",
        "added token less",
        "added tokens in another order",
        "text of an added token",
    )
    return Source("huggingface", document, letters, likely)


def _of_hiding(rng: Random) -> Source:
    """Added tokens that overlap one after the other; where special ones are text, they hide some.

    Each stands in the vocabulary as well, so that no id changes where one is left out.
    """
    letters = "".join(rng.sample("xyzwv", 5))
    size = rng.choice([2, 2, 3])
    run = [letters[at : at + size] for at in range(6 - size)]
    run = run[rng.randint(0, 1) : len(run) - rng.randint(0, 1)]
    model = _model(rng, letters, False, None, None)
    normalizer = random_normalizer(rng) if rng.random() < 0.2 else None
    document = _document(rng, model, False, normalizer, None)
    plain = {rng.choice(run), run[rng.choice([0, -1])]}
    normalized = rng.random() < 0.3
    for text in run:
        number = model["vocab"].setdefault(text, max(model["vocab"].values()) + 1)
        flags = dict.fromkeys(FLAGS, False) | {"normalized": normalized}
        token = {"id": number, "content": text, **flags, "special": text not in plain}
        document["added_tokens"].append(token)
    return Source("huggingface", document, letters, ("added token less", "flag of an added token"))


def of_affixes(rng: Random) -> Source:
    """A prefix, a suffix, or both, that letters may be; nothing else in the way."""
    letters = rng.choice(["ab", "ab", "abc", "a "])
    marks = ("##", "b", "a", "</w>", "aa")
    prefix, suffix = rng.choice([(1, 0), (0, 1), (0, 1), (1, 1)])
    mapped = rng.random() < 0.3
    model = _model(
        rng,
        letters,
        mapped,
        rng.choice(marks) if prefix else None,
        rng.choice(marks) if suffix else None,
    )
    splitter = random_splitter(rng) if rng.random() < 0.3 else None
    document = _document(rng, model, mapped, None, splitter)
    likely = (
        "ids swapped",
        "id moved",
        "merge moved",
        "merge dropped",
        "other merge of a token",
        "new merge",
        "idle token",
    )
    return Source("huggingface", document, letters, likely)


def _document(rng: Random, model: Json, mapped: bool, normalizer: Any, splitter: Any) -> Json:
    if mapped and rng.random() < 0.25:
        steps = [*([normalizer] if normalizer else []), {"type": "ByteLevel"}]
        normalizer = {"type": "Sequence", "normalizers": steps}
    elif mapped:
        before = [] if splitter is None else splitter.get("pretokenizers", [splitter])
        steps = [*before, byte_level(rng)]
        splitter = steps[0]
        if len(steps) > 1:
            splitter = {"type": "Sequence", "pretokenizers": steps}
    return document_of(
        model,
        normalizer=normalizer,
        pre_tokenizer=splitter,
        decoder=random_decoder(rng, model, mapped),
    )


def _model(rng: Random, letters: str, mapped: bool, prefix: str | None, suffix: str | None) -> Json:
    def spell(text: str) -> str:
        return spelled(text.encode()) if mapped else text

    symbols = list(dict.fromkeys(spell(letters))) if mapped else list(letters)
    if mapped and rng.random() < 0.3:
        symbols += [byte for byte in ALL_BYTES if byte not in symbols]
    elif rng.random() < 0.25:
        symbols.remove(rng.choice(symbols))
    forms = [
        before + symbol + after
        for symbol in symbols
        for before in dict.fromkeys(["", prefix or ""])
        for after in dict.fromkeys(["", suffix or ""])
        if len(symbols) < 9 or symbol in spell(letters) or not (before or after)
    ]
    if len(forms) > 3 and rng.random() < 0.25 and len(forms) < 40:
        forms.remove(rng.choice(forms))
    tokens = list(dict.fromkeys(forms)) or ["a"]
    grown = [token for token in tokens if any(char in spell(letters) for char in token)] or tokens
    merges: list[list[str]] = []
    for _ in range(rng.randint(0, 9)):
        pair = random_merge(rng, grown, prefix or "")
        if pair is None:
            continue
        product = pair[0] + pair[1][len(prefix or "") :]
        if len(product) > 12 or (suffix and pair[0].endswith(suffix) and rng.random() < 0.8):
            continue
        for known in (tokens, grown):
            if product not in known:
                known.append(product)
        merges.append(pair)
    if rng.random() < 0.25:
        rng.shuffle(merges)
    if rng.random() < 0.4:
        new = "".join(rng.choices(spell(letters), k=rng.randint(2, 3)))
        tokens += [new] if new not in tokens else []
    unknown = rng.choice([None, None, "<unk>", "<unk>", "<none>", "a"])
    if unknown == "<unk>":
        tokens.insert(rng.choice([0, len(tokens)]), "<unk>")
    byte_fallback = not mapped and rng.random() < 0.25
    if byte_fallback or rng.random() < 0.05:
        kept = rng.choice([256, 256, 0x80, 0xC4])
        tokens += [f"<0x{byte:02X}>" for byte in range(kept)]
    ids = list(range(len(tokens)))
    if rng.random() < 0.3:
        rng.shuffle(ids)
    if rng.random() < 0.2:
        ids = [number + (number > len(ids) // 2) for number in ids]
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown,
        "continuing_subword_prefix": prefix,
        "end_of_word_suffix": suffix,
        "fuse_unk": rng.random() < 0.4,
        "byte_fallback": byte_fallback,
        "ignore_merges": rng.random() < 0.3,
        "vocab": dict(zip(tokens, ids, strict=True)),
        "merges": merges,
    }


def random_merge(rng: Random, tokens: list[str], prefix: str) -> list[str] | None:
    """Two tokens of which the second may follow."""
    after = [token for token in tokens if token.startswith(prefix) and len(token) > len(prefix)]
    return [rng.choice(tokens), rng.choice(after)] if after else None


# Normalizers.


def _normalizers(rng: Random) -> Any:
    chance = rng.random()
    if chance < 0.55:
        return None
    if chance < 0.8:
        return random_normalizer(rng)
    steps = [random_normalizer(rng) for _ in range(rng.randint(1, 2))]
    return {"type": "Sequence", "normalizers": steps}


def random_normalizer(rng: Random) -> Json:
    """One normalizer."""
    bert: Json = {name: rng.random() < 0.5 for name in ("clean_text", "handle_chinese_chars")}
    bert |= {"strip_accents": rng.choice([None, True, False]), "lowercase": rng.random() < 0.5}
    pattern = rng.choice(
        [{"String": " "}, {"String": "ab"}, {"String": "a"}, {"Regex": r"\s+"}, {"Regex": "a+"}]
    )
    return rng.choice(
        [
            {"type": rng.choice(["NFC", "NFD", "NFKC", "NFKD"])},
            {"type": rng.choice(["Lowercase", "StripAccents", "Nmt"])},
            {"type": "Strip", "strip_left": rng.random() < 0.6, "strip_right": rng.random() < 0.6},
            {"type": "Strip", "strip_left": rng.random() < 0.6, "strip_right": rng.random() < 0.6},
            {"type": "Prepend", "prepend": rng.choice(["\u2581", " ", "x", "a"])},
            {
                "type": "Replace",
                "pattern": pattern,
                "content": rng.choice(["\u2581", "", "b", "ab"]),
            },
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
            {"type": "BertNormalizer", **bert},
            precompiled(),
        ]
    )


@cache
def _charsmap() -> str:
    tiny = TOKENIZERS / "spm-charsmap-tiny"
    path = tiny / "huggingface" / "tokenizer.json"
    steps = json.loads(path.read_text("utf-8"))["normalizer"]["normalizers"]
    return json.dumps(next(step for step in steps if step["type"] == "Precompiled"))


def precompiled() -> Json:
    """The ``Precompiled`` normalizer of a fixture."""
    found: Json = json.loads(_charsmap())
    return found


# Pre-tokenizers.


def _pretokenizers(rng: Random) -> Any:
    chance = rng.random()
    if chance < 0.3:
        return None
    if chance < 0.65:
        return random_splitter(rng)
    steps = [random_splitter(rng) for _ in range(rng.randint(1, 3))]
    return {"type": "Sequence", "pretokenizers": steps}


def random_splitter(rng: Random) -> Json:
    """One pre-tokenizer that is not ``ByteLevel``."""
    behavior = rng.choice(BEHAVIORS)
    string = {"String": rng.choice(STRINGS)}
    cut = {"behavior": behavior, "invert": rng.random() < 0.4}
    plain = ("WhitespaceSplit", "Whitespace", "UnicodeScripts", "BertPreTokenizer")
    return rng.choice(
        [
            random_metaspace(rng),
            {"type": rng.choice(plain)},
            {"type": "CharDelimiterSplit", "delimiter": rng.choice("-a\u2581 ")},
            {"type": "Digits", "individual_digits": rng.random() < 0.5},
            {"type": "Punctuation", "behavior": behavior},
            {"type": "Split", "pattern": {"Regex": rng.choice(PATTERNS)}, **cut},
            {"type": "Split", "pattern": string, **cut},
            spelling(rng),
            spelling(rng),
            {"type": "FixedLength", "length": rng.randint(1, 4)},
        ]
    )


def spelling(rng: Random) -> Json:
    """A published pattern of which the matches are the pretokens."""
    behavior, invert = rng.choice([("Isolated", False), ("Isolated", False), ("Removed", True)])
    pattern = {"Regex": rng.choice(SPELLINGS if rng.random() < 0.3 else CL100KS)}
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def random_metaspace(rng: Random) -> Json:
    """A ``Metaspace``, pre-tokenizer or decoder."""
    return {
        "type": "Metaspace",
        "replacement": rng.choice("\u2581\u2581\u2581_ "),
        "prepend_scheme": rng.choice(["always", "first", "never"]),
        "split": rng.random() < 0.5,
    }


def byte_level(rng: Random) -> Json:
    """A ``ByteLevel``, pre-tokenizer or decoder."""
    flags = {"add_prefix_space": rng.random() < 0.3, "use_regex": rng.random() < 0.4}
    return {"type": "ByteLevel", "trim_offsets": True, **flags}


# Decoders.


def random_decoder(rng: Random, model: Json, mapped: bool) -> Any:
    """The usual decoder of such a model, or another, or a chain of them."""
    chance = rng.random()
    if chance < 0.25:
        return None
    if mapped and chance < 0.75:
        return byte_level(rng)
    if chance < 0.5:
        steps: list[Json] = [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
        ]
        if rng.random() < 0.4:
            steps.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
        return {"type": "Sequence", "decoders": steps}
    if chance < 0.8:
        return random_decoding(rng, model)
    steps = [random_decoding(rng, model) for _ in range(rng.randint(1, 3))]
    return {"type": "Sequence", "decoders": steps}


def random_decoding(rng: Random, model: Json) -> Json:
    """One decoder."""
    pattern = rng.choice([{"String": "\u2581"}, {"Regex": "[ab]"}, {"String": "<unk>"}])
    sizes = {"start": rng.randint(0, 2), "stop": rng.choice([0, 0, 0, 1])}
    suffix = model["end_of_word_suffix"] or rng.choice(["</w>", "b"])
    prefix = model["continuing_subword_prefix"] or "##"
    return rng.choice(
        [
            {"type": "Replace", "pattern": pattern, "content": rng.choice([" ", "", " \u2047 "])},
            {"type": rng.choice(["ByteFallback", "Fuse"])},
            {"type": "Strip", "content": rng.choice(" \u2581a"), **sizes},
            random_metaspace(rng),
            {"type": "BPEDecoder", "suffix": suffix},
            {"type": "WordPiece", "prefix": prefix, "cleanup": rng.random() < 0.5},
            byte_level(rng),
        ]
    )


# Added tokens and templates.


def add_token(rng: Random, document: Json, letters: str) -> None:
    """One added token more, mostly where others or ordinary tokens overlap it."""
    vocab = document["model"]["vocab"]
    known = [token["content"] for token in document["added_tokens"]]
    chance = rng.random()
    if chance < 0.55:
        content = "".join(rng.choices(letters, k=rng.randint(1, 3)))
    elif chance < 0.65:
        content = rng.choice(
            [" ", "\n", "\t", " a", "a ", "\u00e9", "e\u0301", "A", "\n ", "\u0301"]
        )
    elif chance < 0.8 and known:
        other = rng.choice(known)
        cut = rng.randrange(len(other)) if other else 0
        letter = rng.choice(letters)
        content = rng.choice([other[cut:] + letter, letter + other[: cut + 1], other + letter])
    elif chance < 0.9:
        content = rng.choice(["<s>", "</s>", "<unk>", "a b"])
    else:
        content = rng.choice(list(vocab))
    flags = {name: rng.random() < 0.2 for name in ("single_word", "lstrip", "rstrip")}
    flags |= {"normalized": rng.random() < 0.5, "special": rng.random() < 0.5}
    taken = [*vocab.values(), *(token["id"] for token in document["added_tokens"])]
    number = vocab.get(content, max(taken) + 1)
    if content in known and rng.random() < 0.9:
        return
    if content in known:
        number = next(t["id"] for t in document["added_tokens"] if t["content"] == content)
    document["added_tokens"].append({"id": number, "content": content, **flags})


def random_template(rng: Random, document: Json) -> Json:
    """A post-processor that places a token or two."""
    known = {t["content"]: t["id"] for t in document["added_tokens"]} | {"<s>": 0}
    name = rng.choice(list(known))
    if rng.random() < 0.2:
        kind = rng.choice(["RobertaProcessing", "BertProcessing"])
        more = {"trim_offsets": True, "add_prefix_space": False} if kind[0] == "R" else {}
        return {"type": kind, "sep": [name, known[name]], "cls": [name, known[name]], **more}
    token = {"SpecialToken": {"id": name, "type_id": 0}}
    first, second = ({"Sequence": {"id": letter, "type_id": 0}} for letter in "AB")
    single = rng.choice([[token, first], [first, token], [token, first, token], [first]])
    pair = rng.choice([[*single, second], [first, second], [*single, second, token]])
    ids = [known[name]] if rng.random() < 0.8 else [known[name], 0]
    return {
        "type": "TemplateProcessing",
        "single": single,
        "pair": pair,
        "special_tokens": {name: {"id": name, "ids": ids, "tokens": [name] * len(ids)}},
    }
