"""Compares two tokenizers, objects of other libraries among them; each runs as it is."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from ..arguments import TEXTS, one_of, several
from ..engines import Engine, from_files
from ..engines.choice import exact_engine
from ..engines.library import guarded
from ..engines.live import files_from_encoding, files_from_sentencepiece, model_from_tokenizers
from ..engines.tiktoken import TiktokenEngine
from ..engines.tokenizers import TokenizersEngine
from ..engines.transformers import TransformersEngine
from ..errors import ArgumentError, EngineError
from ..formats import Files, by_name
from ..io.reader import TokenizerSource
from ..model import BPEModel
from ..proof.prove import SCOPES
from ..proof.stage import Scope
from ..special import checked
from ..tokenizer import Tokenizer
from .lock import locked
from .opening import in_engine, open_lock, open_source
from .report import Report
from .runs import compare
from .sides import Own, Side

_LIBRARIES = ("tiktoken", "tokenizers", "sentencepiece", "transformers")


class _Ours(Own):
    """Our encoder for a :class:`.Tokenizer`, of which there are no files for another engine."""

    name = "bpe_interop.Tokenizer"


def parity(
    a: object,
    b: object,
    texts: Iterable[str] | None = None,
    *,
    scope: Scope = "all",
    proof: bool = True,
    preset_a: str | None = None,
    preset_b: str | None = None,
) -> Report:
    """Holds two tokenizers against each other, each run by its own library.

    A file runs in the engine of its format, a live object as it is, and a
    :class:`.Tokenizer` in whatever encodes for it.

    Args:
        a: a source as :func:`bpe_interop.load` takes it, a lock file, a ``Tokenizer``, or an
            object of tiktoken, tokenizers, sentencepiece or transformers.
        b: the other one.
        texts: what to compare on; None for the awkward texts of both.
        scope: what counts, as in :func:`bpe_interop.verify`.
        proof: whether to decide, too, whether they are equal on every text.
        preset_a: says what ``a``, a path or a name, leaves unsaid, as :func:`bpe_interop.load`
            takes it.
        preset_b: the same for ``b``.

    Raises:
        ArgumentError: a preset is given for an object or a lock file (also ValueError).
        TypeError: an object is none of these; ``texts`` are one text, or hold no text.
        BpeInteropError: a source cannot be read.
    """
    one_of(scope, SCOPES, "scope")
    if texts is not None:
        texts = map(checked, several(texts, "texts", TEXTS))
    for letter, source, preset in (("a", a, preset_a), ("b", b, preset_b)):
        if preset is not None and not isinstance(source, (str, Path)):
            raise ArgumentError(
                f"preset_{letter} is for a path or a name, not for a {type(source).__name__}",
                fix="leave it out, or load the tokenizer with bpe_interop.load(..., preset=...)",
            )
    report = compare(_open(a, preset_a), _open(b, preset_b), scope, texts, proof=proof)
    if report.interrupted:  # a test that was interrupted has not passed
        raise KeyboardInterrupt
    return report


# What is compared, opened.


def _open(side: object, preset: str | None) -> Side:
    if isinstance(side, (str, Path)):
        return _open_source(side, preset)
    if isinstance(side, Tokenizer):
        return _open_tokenizer(side)
    kinds = {kind.__module__.partition(".")[0] for kind in type(side).__mro__}
    for name in _LIBRARIES:
        if name in kinds:
            return _OPENERS[name](side)
    raise TypeError(
        f"{type(side).__name__} is no tokenizer of {', '.join(_LIBRARIES)}, no bpe_interop."
        "Tokenizer, and no path or name"
    )


def _open_source(source: str | Path, preset: str | None) -> Side:
    lock = locked(source)
    if lock is not None:
        return open_lock(lock, source)
    opened = open_source(source, preset=preset)
    model = opened.model
    try:
        engine = in_engine(opened.format.engine, opened)()
    except EngineError as error:
        if model is None:
            raise
        note = f"{opened.label} runs in our encoder: {error.what}"
        return Side(opened, model, partial(Own, model), notes=(note,))
    return Side(opened, model, lambda: engine)


def _side(
    label: str, format: str, files: Files, model: BPEModel | None, engine: Engine, *notes: str
) -> Side:
    """A live object, of which ``files`` are what it would write."""
    source = TokenizerSource(label, by_name(format), files, model)
    return Side(source, model, lambda: engine, notes=notes)


def _open_tokenizer(side: Tokenizer) -> Side:
    model = side.model
    engine = exact_engine(side.engine, model) if side.engine else _Ours(model)
    return _side(f"{side!r}", model.origin.format or "huggingface", {}, model, engine)


def _open_tiktoken(side: Any) -> Side:
    row, files = by_name("tiktoken"), files_from_encoding(side)
    return _side(repr(side), row.name, files, row.load(files), TiktokenEngine(side))


def _open_sentencepiece(side: Any) -> Side:
    """What only the Python object was told (``add_bos``, sampling ...) is no part of it."""
    row, files = by_name("sentencepiece"), files_from_sentencepiece(side)
    model = row.load(files)
    engine = from_files("sentencepiece", row.name, files)
    return _side(_named(side), row.name, files, model, engine)


def _open_tokenizers(side: Any) -> Side:
    """A copy: running it sets truncation, padding and how special tokens are found."""
    model, label = model_from_tokenizers(side), _named(side)
    with guarded("tokenizers", "to copy the tokenizer"):
        own = copy.deepcopy(side)
        same = own.get_added_tokens_decoder() == side.get_added_tokens_decoder()
    files: Files = {"tokenizer.json": own.to_str().encode("utf-8")}
    if same:
        return _side(label, "huggingface", files, model, TokenizersEngine(own))
    note = f"{label} runs in our encoder: a copy of it gives added tokens other ids"
    return _side(label, "huggingface", files, model, _Ours(model), note)


def _open_transformers(side: Any) -> Side:
    engine = TransformersEngine(side)
    model, label = engine.model(), _named(side)
    refusal = "" if model is not None else f"{label} cannot be read as a model"
    source = TokenizerSource(label, by_name("huggingface"), {}, model, refusal=refusal)
    return Side(source, model, lambda: engine, notes=(refusal,) if refusal else ())


def _named(side: object) -> str:
    """``repr`` of such an object may be its whole vocabulary."""
    kind = type(side)
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


_OPENERS = {
    "tiktoken": _open_tiktoken,
    "tokenizers": _open_tokenizers,
    "sentencepiece": _open_sentencepiece,
    "transformers": _open_transformers,
}
