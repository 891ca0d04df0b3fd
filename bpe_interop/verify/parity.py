"""Are two tokenizers the same, live objects of other libraries among them? Each runs as it is."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from ..engines import Engine, from_files
from ..engines.choice import exact_engine
from ..engines.library import guarded
from ..engines.live import files_from_encoding, files_from_sentencepiece, model_from_tokenizers
from ..engines.tiktoken import TiktokenEngine
from ..engines.tokenizers import TokenizersEngine
from ..engines.transformers import TransformersEngine
from ..errors import EngineError, SourceError
from ..formats import Files, by_name
from ..model import BPEModel
from ..tokenizer import Tokenizer
from .compare import compare
from .lock import Lock
from .lock_report import compare_with_lock, locked
from .prove import Scope, prove
from .report import Report, report_of
from .runs import PATIENCE, Ran
from .sides import Inside, Opened, Own, modes_of, open_side
from .stress import awkward

_LIBRARIES = ("tiktoken", "tokenizers", "sentencepiece", "transformers")


@dataclass(frozen=True, slots=True)
class Runner:
    """A tokenizer and what runs it."""

    opened: Opened
    engine: Engine

    @property
    def model(self) -> BPEModel | None:
        """The tokenizer's facts, None where they are not known."""
        return self.opened.model


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

    Raises:
        TypeError: an object is none of these.
        SourceError: texts are given beside a lock file, which has its own; or there are two.
        BpeInteropError: a source cannot be read.
    """
    for source, other in ((a, b), (b, a)):
        held = locked(source) if isinstance(source, (str, Path)) else None
        if held is not None:
            return _with_lock(held, str(source), other, texts, scope, first=source is a)
    notes: list[str] = []
    left, right = _open(a, notes), _open(b, notes)
    given = chain(awkward(left.model), awkward(right.model, seed=1)) if texts is None else texts
    return _compare(left, right, given, scope, proof, notes)


def _compare(
    left: Runner, right: Runner, texts: Iterable[str], scope: Scope, proof: bool, notes: list[str]
) -> Report:
    one, two = models = left.model, right.model
    engines = left.engine, right.engine
    modes = modes_of(scope, models, engines, notes)
    proved = prove(one, two, scope) if proof and one is not None and two is not None else None
    inside = Inside(scope, models)
    tally = compare(*engines, inside.of(texts), modes, patience=PATIENCE)
    if inside.left_out:
        notes.append(f"{inside.left_out:,} texts with added tokens are outside the scope")
    both = (left.opened, right.opened), engines, models
    return report_of(scope, *both, modes, proved, Ran(tally), notes)


def _with_lock(
    held: Lock,
    path: str,
    other: object,
    texts: Iterable[str] | None,
    scope: Scope,
    *,
    first: bool,
) -> Report:
    if texts is not None:
        raise SourceError(
            "a lock file has ids for its own texts only", where=path, fix="leave texts out"
        )
    runner = _open(other, [])
    return compare_with_lock(
        held, path, runner.opened, runner.engine, scope=scope, first=first, tick=lambda count: None
    )


# What is compared, opened.


def _open(side: object, notes: list[str]) -> Runner:
    if isinstance(side, (str, Path)):
        return _open_source(side, notes)
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


def _open_source(source: str | Path, notes: list[str]) -> Runner:
    if locked(source) is not None:
        raise SourceError("both sides are lock files", where=str(source), fix="name a tokenizer")
    opened = open_side(source)
    engine = _run(opened, notes)
    return Runner(opened, engine)


def _run(opened: Opened, notes: list[str]) -> Engine:
    """The engine of a side's format; ours where that does not run these files."""
    try:
        return from_files(opened.format.engine, opened.format.name, opened.files, opened.model)
    except EngineError as error:
        if opened.model is None:
            raise
        notes.append(f"{opened.label} runs in our encoder: {error.what}")
        return Own(opened.model)


def _open_tokenizer(side: Tokenizer) -> Runner:
    model = side.model
    row = by_name(model.origin.format or "huggingface")
    engine = exact_engine(side.engine, model) if side.engine else _Ours(model)
    return Runner(Opened(f"{side!r}", row, {}, None, model), engine)


def _open_tiktoken(side: Any, notes: list[str]) -> Runner:
    row, files = by_name("tiktoken"), files_from_encoding(side)
    return Runner(Opened(repr(side), row, files, None, row.load(files)), TiktokenEngine(side))


def _open_sentencepiece(side: Any, notes: list[str]) -> Runner:
    """What only the Python object was told (``add_bos``, sampling ...) is no part of it."""
    row, files = by_name("sentencepiece"), files_from_sentencepiece(side)
    opened = Opened(_named(side), row, files, None, row.load(files))
    return Runner(opened, from_files("sentencepiece", row.name, files))


def _open_tokenizers(side: Any, notes: list[str]) -> Runner:
    """A copy: running it sets truncation, padding and how special tokens are found."""
    model, label = model_from_tokenizers(side), _named(side)
    with guarded("tokenizers", "to copy the tokenizer"):
        own = copy.deepcopy(side)
        same = own.get_added_tokens_decoder() == side.get_added_tokens_decoder()
    files: Files = {"tokenizer.json": own.to_str().encode("utf-8")}
    opened = Opened(label, by_name("huggingface"), files, None, model)
    if same:
        return Runner(opened, TokenizersEngine(own))
    notes.append(f"{label} runs in our encoder: a copy of it numbers added tokens otherwise")
    return Runner(opened, _Ours(model))


def _open_transformers(side: Any, notes: list[str]) -> Runner:
    engine = TransformersEngine(side)
    model, label = engine.model(), _named(side)
    unread = "" if model is not None else f"{label} cannot be read as a model"
    if unread:
        notes.append(unread)
    return Runner(Opened(label, by_name("huggingface"), {}, None, model, unread), engine)


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
