"""Compares two tokenizers, objects of other libraries among them; each runs as it is."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, cast

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
from ..io import TokenizerSource
from ..model import BPEModel
from ..proof.prove import SCOPES, prove
from ..proof.stage import Scope
from ..special import checked
from ..tokenizer import Tokenizer
from .compare import compare
from .lock import as_source, locked, notes_on
from .report import Report, report_of
from .runs import PATIENCE, Ran
from .sides import Inside, Own, Side, in_engine, modes_of, noted_on_files, open_side
from .stress import awkward

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
    notes: list[str] = []
    left, right = _open(a, notes, preset_a), _open(b, notes, preset_b)
    return _compare(left, right, texts, scope, proof, notes)


def _compare(
    left: Side,
    right: Side,
    texts: Iterable[str] | None,
    scope: Scope,
    proof: bool,
    notes: list[str],
) -> Report:
    one, two = models = left.model, right.model
    notes += noted_on_files(left.source, right.source)
    engines = left.engine, right.engine
    modes = modes_of(scope, models, engines, notes)
    proved = prove(one, two, scope) if proof and one is not None and two is not None else None
    inside = Inside(scope, models)
    given = texts is not None
    if texts is None:
        texts = chain(awkward(one), awkward(two, seed=1))
    tally = compare(*engines, inside.of(texts), modes, patience=PATIENCE)
    if inside.left_out:
        notes.append(f"outside the scope, as added tokens are in them: {inside.left_out:,} texts")
    report = report_of(scope, (left, right), modes, proved, Ran(tally), notes)
    return replace(report, given=given)


# What is compared, opened.


def _open(side: object, notes: list[str], preset: str | None) -> Side:
    if isinstance(side, (str, Path)):
        return _open_source(side, notes, preset)
    if isinstance(side, Tokenizer):
        return _open_tokenizer(side)
    kinds = {kind.__module__.partition(".")[0] for kind in type(side).__mro__}
    for name in _LIBRARIES:
        if name in kinds:
            return _OPENERS[name](side, notes)
    raise TypeError(
        f"{type(side).__name__} is no tokenizer of {', '.join(_LIBRARIES)}, no bpe_interop."
        "Tokenizer, and no path or name"
    )


def _open_source(source: str | Path, notes: list[str], preset: str | None) -> Side:
    held = locked(source)
    if held is not None:
        opened = as_source(held, source)
        notes += notes_on(held, source, None)
        return Side(opened, Own(cast("BPEModel", opened.model)), opened.model)
    opened = open_side(source, preset=preset)
    return Side(opened, _run(opened, notes), opened.model)


def _run(source: TokenizerSource[BPEModel | None], notes: list[str]) -> Engine:
    """The engine of a source's format; ours where that does not run these files."""
    try:
        return in_engine(source.format.engine, source)()
    except EngineError as error:
        if source.model is None:
            raise
        notes.append(f"{source.label} runs in our encoder: {error.what}")
        return Own(source.model)


def _side(label: str, format: str, files: Files, model: BPEModel | None, engine: Engine) -> Side:
    """A live object, of which ``files`` are what it would write."""
    return Side(TokenizerSource(label, by_name(format), files, model), engine, model)


def _open_tokenizer(side: Tokenizer) -> Side:
    model = side.model
    engine = exact_engine(side.engine, model) if side.engine else _Ours(model)
    return _side(f"{side!r}", model.origin.format or "huggingface", {}, model, engine)


def _open_tiktoken(side: Any, notes: list[str]) -> Side:
    row, files = by_name("tiktoken"), files_from_encoding(side)
    return _side(repr(side), row.name, files, row.load(files), TiktokenEngine(side))


def _open_sentencepiece(side: Any, notes: list[str]) -> Side:
    """What only the Python object was told (``add_bos``, sampling ...) is no part of it."""
    row, files = by_name("sentencepiece"), files_from_sentencepiece(side)
    model = row.load(files)
    engine = from_files("sentencepiece", row.name, files)
    return _side(_named(side), row.name, files, model, engine)


def _open_tokenizers(side: Any, notes: list[str]) -> Side:
    """A copy: running it sets truncation, padding and how special tokens are found."""
    model, label = model_from_tokenizers(side), _named(side)
    with guarded("tokenizers", "to copy the tokenizer"):
        own = copy.deepcopy(side)
        same = own.get_added_tokens_decoder() == side.get_added_tokens_decoder()
    files: Files = {"tokenizer.json": own.to_str().encode("utf-8")}
    engine: Engine = TokenizersEngine(own)
    if not same:
        notes.append(f"{label} runs in our encoder: a copy of it gives added tokens other ids")
        engine = _Ours(model)
    return _side(label, "huggingface", files, model, engine)


def _open_transformers(side: Any, notes: list[str]) -> Side:
    engine = TransformersEngine(side)
    model, label = engine.model(), _named(side)
    refusal = "" if model is not None else f"{label} cannot be read as a model"
    if refusal:
        notes.append(refusal)
    source = TokenizerSource(label, by_name("huggingface"), {}, model, refusal=refusal)
    return Side(source, engine, model)


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
