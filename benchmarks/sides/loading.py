"""Loading: from a file to an object that encodes. The import is not part of the call."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeAlias

Side: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], object]]"


def _ids(encode: Callable[[Any, str], Any]) -> Callable[[Any], object]:
    """What a loaded object makes of the texts. Imported after the clock has stopped."""

    def check(loaded: Any) -> object:
        from .answers import of_ids

        return of_ids(lambda text: encode(loaded, text))

    return check


def ours(source: str, preset: str = "") -> Side:
    """``bpe_interop.load``."""
    load = import_module("bpe_interop").load
    return lambda: load(source, preset=preset or None), _ids(lambda t, s: t.encode_ordinary(s))


def tiktoken(name: str) -> Side:
    """``tiktoken.get_encoding``."""
    get = import_module("tiktoken").get_encoding
    return lambda: get(name), _ids(lambda t, s: t.encode_ordinary(s))


def tokenizers(source: str) -> Side:
    """``tokenizers.Tokenizer.from_file``."""
    load = import_module("tokenizers").Tokenizer.from_file
    return lambda: load(source), _ids(lambda t, s: t.encode(s, add_special_tokens=False).ids)


def transformers(source: str) -> Side:
    """``transformers.PreTrainedTokenizerFast``."""
    kind = import_module("transformers").PreTrainedTokenizerFast
    check = _ids(lambda t, s: t.encode(s, add_special_tokens=False))
    return lambda: kind(tokenizer_file=source), check


def kitoken(source: str, kind: str) -> Side:
    """``kitoken.Kitoken.from_tokenizers_file``, ``_tiktoken_`` or ``_sentencepiece_``."""
    load = getattr(import_module("kitoken").Kitoken, f"from_{kind}_file")
    return lambda: load(source), _ids(lambda t, s: t.encode(s))


def gigatoken(source: str, kind: str) -> Side:
    """``gigatoken.Tokenizer``, its ``from_tiktoken`` or ``from_sentencepiece``."""
    made = import_module("gigatoken").Tokenizer
    load = made if kind == "json" else getattr(made, f"from_{kind}")
    return lambda: load(source), _ids(lambda t, s: t.encode(s).tolist())


def tokie(source: str) -> Side:
    """``tokie.Tokenizer.from_json``."""
    load = import_module("tokie").Tokenizer.from_json
    return lambda: load(source), _ids(lambda t, s: t.encode(s, add_special_tokens=False).ids)


def sentencepiece(source: str) -> Side:
    """``SentencePieceProcessor(model_file=...)``."""
    kind = import_module("sentencepiece").SentencePieceProcessor
    return lambda: kind(model_file=source), _ids(lambda t, s: t.encode(s))
