"""Texts and engines for sides: read before anything is timed."""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.corpora import DOCUMENT, chats, documents

Encode = Callable[[str], Any]


def read(path: str, share: str = "1", size: str = str(DOCUMENT)) -> list[str]:
    """The documents of a text, or a share of them, each of about ``size`` characters."""
    found = documents(Path(path).read_bytes().decode("utf-8"), int(size))
    return found[: max(1, int(len(found) * float(share)))]


def pieces(text: str) -> list[str]:
    """A text in pieces of 10 to 100 characters."""
    drawn, at, found = random.Random(1), 0, []
    while at < len(text):
        size = drawn.randint(10, 100)
        found.append(text[at : at + size])
        at += size
    return found


_MARKERS = {
    "qwen3": ("<|im_start|>", "\n", "<|im_end|>\n"),
    "llama-3.2": ("<|start_header_id|>", "<|end_header_id|>\n\n", "<|eot_id|>"),
    "gpt-oss": ("<|start|>", "<|message|>", "<|end|>"),
}
_TURN = re.compile(r"<\|im_start\|>(\w+)\n(.*?)<\|im_end\|>\n", re.DOTALL)


def read_chats(path: str, name: str) -> list[str]:
    """Chats as a model's template writes them."""
    start, middle, end = _MARKERS[name]
    text = Path(path).read_bytes().decode("utf-8")
    turn = rf"{start}\1{middle}\2{end}".replace("\n", r"\n")
    return [_TURN.sub(turn, chat) for chat in chats(text)]


def chat_encoders(names: str, source: str) -> dict[str, Encode]:
    """A function from a chat to ids, special tokens found, for each side that is named."""
    ours = import_module("bpe_interop").load(source)
    makers: Mapping[str, Callable[[], Encode]] = {
        "bpe_interop": lambda: partial(ours.encode, allowed_special="all"),
        "bpe_interop (arrays)": lambda: partial(ours.encode_to_numpy, allowed_special="all"),
        "tokenizers": lambda: _chats_of("tokenizers", source),
        "fastokens": lambda: _chats_of("fastokens", source),
        "snaptokens": lambda: _chats_of("snaptokens", source),
        "splintr": lambda: import_module("splintr").from_json(source).encode_raw,
        "tuetoken": lambda: partial(
            import_module("tuetoken").AutoTokenizer.from_file(source).encode,
            add_special_tokens=False,
        ),
        "gigatoken": lambda: (
            import_module("gigatoken").Tokenizer.from_json(Path(source).read_bytes()).encode
        ),
    }
    return {name: makers[name]() for name in names.split(",")}


def _chats_of(library: str, source: str) -> Encode:
    made = import_module(library).Tokenizer.from_file(source)
    return lambda text: made.encode(text, add_special_tokens=False).ids


def tokenizer(source: str, preset: str) -> Any:
    """Ours."""
    return import_module("bpe_interop").load(source, preset=preset or None)


def encoders(names: str, source: str, preset: str) -> dict[str, Encode]:
    """A function from text to ids for each side that is named."""
    makers: Mapping[str, Callable[[str, str], Encode]] = {
        "bpe_interop": _ours,
        "tiktoken": _tiktoken,
        "tokenizers": _tokenizers,
        "kitoken": _kitoken,
        "gigatoken": _gigatoken,
        "quicktok": _quicktok,
        "splintr": _splintr,
        "toktok": _toktok,
        "tuetoken": _tuetoken,
        "fastokens": _fastokens,
    }
    return {name: makers[name](source, preset) for name in names.split(",")}


def array_encoders(names: str, source: str, preset: str) -> dict[str, Encode]:
    """The same with arrays of numpy as answers; no preset: the source is a ``tokenizer.json``."""
    makers: Mapping[str, Callable[[], Encode]] = {
        "bpe_interop": lambda: in_arrays(source, preset),
        "bpe_interop (lists)": lambda: _ours(source, preset),
        "tiktoken": lambda: partial(
            import_module("tiktoken").get_encoding(preset).encode_to_numpy, disallowed_special=()
        ),
        "gigatoken": lambda: _gigatoken(source, preset),
    }
    return {name: makers[name]() for name in names.split(",")}


def in_arrays(source: str, preset: str) -> Encode:
    """Ours, with arrays as answers."""
    return partial(tokenizer(source, preset).encode_to_numpy, disallowed_special=())


def engine_of(source: str, preset: str) -> tuple[str, Encode]:
    """The engine that the format belongs to, and a function of it."""
    if preset:
        return "tiktoken", _tiktoken(source, preset)
    return "tokenizers", _ids_of(import_module("tokenizers").Tokenizer.from_file(source))


def counters(names: str, source: str, preset: str) -> dict[str, Encode]:
    """A function from text to the number of its ids, which makes no ids, for each side."""
    makers: Mapping[str, Callable[[], Encode]] = {
        "bpe_interop": lambda: partial(tokenizer(source, preset).count, disallowed_special=()),
        "toktok": lambda: _toktok_counter(preset),
        "quicktok": lambda: import_module("quicktok").get_encoding(preset).count,
        "tuetoken": lambda: _tuetoken_core(source, preset).count_tokens,
    }
    return {name: makers[name]() for name in names.split(",")}


def _toktok_counter(preset: str) -> Encode:
    count = import_module("toktok").batch_count
    return lambda text: count([text], preset, 1)[0]


def cutters(names: str, source: str, preset: str, most: int) -> dict[str, Encode]:
    """A function from text to its beginning that has so many ids, for each side."""
    makers: Mapping[str, Callable[[], Encode]] = {
        "bpe_interop": lambda: _cutter(source, preset, most),
        "toktok": lambda: _toktok_cutter(preset, most),
    }
    return {name: makers[name]() for name in names.split(",")}


def _cutter(source: str, preset: str, most: int) -> Encode:
    truncate = tokenizer(source, preset).truncate
    return lambda text: truncate(text, most, disallowed_special=())


def _toktok_cutter(preset: str, most: int) -> Encode:
    truncate = import_module("toktok").truncate
    return lambda text: truncate(text, most, preset)[0]


def _ours(source: str, preset: str) -> Encode:
    encode: Encode = tokenizer(source, preset).encode_ordinary
    return encode


def _tiktoken(source: str, preset: str) -> Encode:
    encode: Encode = import_module("tiktoken").get_encoding(preset).encode_ordinary
    return encode


def _tokenizers(source: str, preset: str) -> Encode:
    """tokenizers on what our model is in its format."""
    return _ids_of(tokenizer(source, preset).to_tokenizers())


def _ids_of(made: Any) -> Encode:
    made.encode_special_tokens = True  # their text is ordinary text, as for the others
    return lambda text: made.encode(text, add_special_tokens=False).ids


def _kitoken(source: str, preset: str) -> Encode:
    encode: Encode = import_module("kitoken").Kitoken.from_tiktoken_file(source).encode
    return encode


def _gigatoken(source: str, preset: str) -> Encode:
    """Its ids are an array, which it does not have to make a list of."""
    kind = import_module("gigatoken").Tokenizer
    if not preset:
        made = kind.from_json(Path(source).read_bytes())
    else:
        made = kind.from_tiktoken(source, pretokenizer=preset.removesuffix("_base"))
    encode: Encode = made.encode
    return encode


def _quicktok(source: str, preset: str) -> Encode:
    encode: Encode = import_module("quicktok").get_encoding(preset).encode_ordinary
    return encode


def _json(source: str, preset: str) -> str:
    """What our model is as a ``tokenizer.json``."""
    content: str = tokenizer(source, preset).to_tokenizers().to_str()
    return content


def _splintr(source: str, preset: str) -> Encode:
    made = import_module("splintr").from_json_bytes(_json(source, preset).encode("utf-8"))
    encode: Encode = made.encode_ordinary
    return encode


def _toktok(source: str, preset: str) -> Encode:
    """By a function that is private, its public ones only count."""
    encode: Encode = import_module("toktok")._encoding(preset).encode_ordinary
    return encode


def _tuetoken(source: str, preset: str) -> Encode:
    encode: Encode = _tuetoken_core(source, preset).encode_ordinary
    return encode


def _tuetoken_core(source: str, preset: str) -> Any:
    """Its own ``from_tiktoken`` downloads the ranks."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tokenizer.json"
        file.write_text(_json(source, preset), "utf-8")
        return import_module("tuetoken").Tokenizer(str(file))


def _fastokens(source: str, preset: str) -> Encode:
    known = import_module("bpe_interop.presets").by_name(preset)
    special = dict(known.special_tokens)
    made = import_module("fastokens").Tokenizer.from_tiktoken(source, known.pattern, special)
    return lambda text: made.encode(text, split_special_tokens=True).ids


def piece_encoders(names: str, model: str) -> dict[str, Encode]:
    """The same for a SentencePiece ``.model``; tokenizers runs what our model is in its format."""
    made: dict[str, Encode] = {}
    for name in names.split(","):
        if name == "bpe_interop":
            made[name] = import_module("bpe_interop").load(model).encode_ordinary
        elif name == "tokenizers":
            made[name] = _ids_of(import_module("bpe_interop").load(model).to_tokenizers())
        elif name == "sentencepiece":
            made[name] = import_module(name).SentencePieceProcessor(model_file=model).encode
        elif name == "kitoken":
            made[name] = import_module(name).Kitoken.from_sentencepiece_file(model).encode
        else:
            made[name] = import_module(name).Tokenizer.from_sentencepiece(model).encode
    return made


def differing(
    encode: Mapping[str, Encode],
    against: str,
    texts: list[str],
    what: str = "ids",
    *,
    truth: Encode | None = None,
) -> dict[str, str]:
    """Who gives other ids than ``against``, and on how many of the texts.

    ``truth`` is a function of ``against`` where that is no side.
    """
    right = truth or encode.get(against)
    if right is None:
        return {}
    alike: Callable[[Any], Any] = list if what == "ids" else lambda answer: answer
    expected = [alike(right(text)) for text in texts]
    found: dict[str, str] = {}
    for name, one in encode.items():
        wrong = sum(alike(one(text)) != ids for text, ids in zip(texts, expected, strict=True))
        if wrong:
            found[name] = f"{what} differ from {against}'s on {wrong:,} of {len(texts):,} texts"
    return found
