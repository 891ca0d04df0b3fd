"""A dozen tiny tokenizers, each with one thing that a format may be unable to hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from ..formats import Files
from ..text.bytechars import BYTE_TO_CHAR, BYTE_TOKENS, to_chars
from ..text.spellings import GPT2

Json: TypeAlias = dict[str, Any]

_WORDS = ("th", "the", " t", " the", "in", "ing", "12", "\u00e9", "  ")
_SPECIALS = ("<unk>", "<s>", "</s>", "<pad>")
_BYTES: Json = {
    "type": "ByteLevel",
    "add_prefix_space": False,
    "trim_offsets": True,
    "use_regex": False,
}


def model_of(**said: Any) -> Json:
    """The ``model`` of a document: BPE over characters, and what is said of it."""
    unsaid: Json = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
    }
    return unsaid | said


def document_of(model: Mapping[str, Any], **said: Any) -> Json:
    """A document around a model, and what is said of its other parts."""
    unsaid: Json = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
    }
    return unsaid | said | {"model": dict(model)}


def _regex(pattern: str, behavior: str = "Isolated") -> Json:
    return {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": behavior,
        "invert": False,
    }


def _joined(words: Sequence[str], symbols: Mapping[str, int]) -> list[list[str]]:
    """A merge for each word: of its longest beginning that is a token, and the rest."""
    known, merges = {*symbols}, []
    for word in words:
        cuts = ((word[:n], word[n:]) for n in range(len(word) - 1, 0, -1))
        left, right = next((one, two) for one, two in cuts if {one, two} <= known)
        known.add(word)
        merges.append([left, right])
    return merges


def _bytes(pattern: str = GPT2, first: int = 0, **parts: Any) -> Json:
    """All bytes and a few words; ``first`` is the id of the first byte."""
    symbols = {char: first + n for n, char in enumerate(BYTE_TO_CHAR.values())}
    words = [to_chars(word.encode()) for word in _WORDS]
    vocab = symbols | {word: first + 256 + n for n, word in enumerate(words)}
    steps = {"type": "Sequence", "pretokenizers": [_regex(pattern), _BYTES]}
    model = {"vocab": vocab, "merges": _joined(words, symbols), **parts.pop("model", {})}
    return document_of(model_of(**model), **{"pre_tokenizer": steps, "decoder": _BYTES, **parts})


def _pieces(**parts: Any) -> Json:
    """Characters, bytes for the others, and a space that is spelled."""
    specials = ["<unk>", "<s>", "</s>"]
    fallback = [*BYTE_TOKENS.values()]
    letters = ["\u2581", *"abdeghintx12"]
    words = ["th", "the", "\u2581the", "in", "ing", "12"]
    vocab = {token: n for n, token in enumerate([*specials, *fallback, *letters, *words])}
    model = {
        "vocab": vocab,
        "merges": _joined(words, dict.fromkeys(letters, 0)),
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": True,
    }
    spaces = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    normalizer = [{"type": "Prepend", "prepend": "\u2581"}, spaces]
    back = {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    return document_of(
        model_of(**model),
        **{
            "added_tokens": [_added(text, n) for n, text in enumerate(specials)],
            "normalizer": {"type": "Sequence", "normalizers": normalizer},
            "decoder": {
                "type": "Sequence",
                "decoders": [back, {"type": "ByteFallback"}, {"type": "Fuse"}, strip],
            },
            **parts,
        },
    )


def _words(suffix: str | None, prefix: str | None) -> Json:
    """Characters that are merged with something glued to them."""
    letters = [*"abeght12"]
    vocab = ["<unk>", *letters, *(f"{prefix or ''}{c}{suffix or ''}" for c in letters)]
    merges = [["t", f"{prefix or ''}h{suffix or ''}"]]
    made = f"th{suffix or ''}"
    return document_of(
        model_of(
            vocab={token: n for n, token in enumerate([*vocab, made])},
            merges=merges,
            unk_token="<unk>",
            continuing_subword_prefix=prefix,
            end_of_word_suffix=suffix,
        ),
        pre_tokenizer={"type": "WhitespaceSplit"},
        decoder={"type": "BPEDecoder", "suffix": suffix} if suffix else None,
    )


def _added(text: str, number: int, **flags: bool) -> Json:
    plain = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    return {"id": number, "content": text, **plain, "special": True, **flags}


def _begins_with(text: str, number: int) -> Json:
    token = {"SpecialToken": {"id": text, "type_id": 0}}
    one, two = ({"Sequence": {"id": name, "type_id": n}} for n, name in enumerate("AB"))
    return {
        "type": "TemplateProcessing",
        "single": [token, one],
        "pair": [token, one, two],
        "special_tokens": {text: {"id": text, "ids": [number], "tokens": [text]}},
    }


@cache
def tiny_tokenizers() -> Mapping[str, Files]:
    """A dozen tiny tokenizers by name: each is a ``tokenizer.json``, which tokenizers loads."""
    end = 256 + len(_WORDS)
    documents = {
        "bytes": _bytes(),
        "lookup": _bytes(model={"ignore_merges": True}),
        "specials": _bytes(added_tokens=[_added("<|x|>", end), _added("<|y|>", end + 1)]),
        "specials-first": _bytes(
            first=len(_SPECIALS), added_tokens=[_added(text, n) for n, text in enumerate(_SPECIALS)]
        ),
        "flags": _bytes(
            added_tokens=[
                _added("<a>", end, lstrip=True, special=False),
                _added("<b>", end + 1, rstrip=True),
                _added("the", end + 2, single_word=True, special=False),
            ]
        ),
        "template": _bytes(
            added_tokens=[_added("<s>", end)], post_processor=_begins_with("<s>", end)
        ),
        "normalizer": _bytes(normalizer={"type": "NFC"}),
        "digits": _bytes(r" ?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
        "pieces": _pieces(),
        "pieces-split": _pieces(
            normalizer=None,
            pre_tokenizer={
                "type": "Metaspace",
                "replacement": "\u2581",
                "prepend_scheme": "first",
                "split": True,
            },
        ),
        "suffix": _words("</w>", None),
        "prefix": _words(None, "##"),
    }
    return {
        name: {"tokenizer.json": json.dumps(document).encode()}
        for name, document in documents.items()
    }
