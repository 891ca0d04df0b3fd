"""Names, files, locks and live objects become sides of a comparison."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..diff import diff
from ..engines import (
    Engine,
    check_known,
    from_address,
    from_directory,
    from_files,
    reads,
    versions,
)
from ..engines.choice import exact_engine
from ..engines.library import guarded
from ..engines.live import files_from_encoding, files_from_sentencepiece, model_from_tokenizers
from ..engines.rows import engine_row, is_address
from ..engines.tiktoken import TiktokenEngine
from ..engines.tokenizers import TokenizersEngine
from ..engines.transformers import (
    TransformersEngine,
    read_directory,
    served_facts,
    serving,
    tell_served,
)
from ..entry_points import own_version
from ..errors import EngineError, SourceError, UnsupportedError
from ..formats import Files, by_name
from ..formats.huggingface.companions.auto_class import WORDS, explain
from ..io.names import spelled
from ..io.reader import TokenizerSource, find
from ..model import BPEModel, digest_of
from ..sources import load_source
from ..tokenizer import Tokenizer
from .corpus_report import SideName
from .lock import Lock, as_source, locked, notes_on
from .sides import Build, OwnEngine, Side


def open_source(
    source: str | Path, *, preset: str | None = None, offline: bool = False, served: bool = False
) -> TokenizerSource[BPEModel | None]:
    """Finds and reads a source.

    With ``served``, the question is whether a library serves what the files say, so files on
    disk that our encoder does not read are left to the engine of their format.

    Raises:
        BpeInteropError: as :func:`bpe_interop.sources.load_source`.
    """
    try:
        return load_source(source, preset=preset, offline=offline)
    except UnsupportedError as error:
        # An engine may read what our encoder does not; then it is compared by texts alone.
        path = Path(source)
        if not served or not path.exists():
            raise
        return replace(find(path), label=spelled(str(source)), refusal=error.what)


def side_of(
    source: TokenizerSource[BPEModel | None], engine: str | None = None, preset: str | None = None
) -> Side:
    """A source as a side.

    Args:
        source: the source.
        engine: run it in this engine, or ask a server (``llama.cpp@http://HOST:PORT``); by default
            our encoder runs it, or where our model of it is not known, the engine of its format.
        preset: what says what its files leave unsaid.

    Raises:
        SourceError: transformers is asked for, and the source is no directory.
        EngineError: there is no such engine, or it does not run the source's format.
    """
    label, model, row = source.label, source.model, source.format
    if engine is None and model is not None:
        name = partial(_side_name, source, OwnEngine.name, own_version())
        return Side(source, model, partial(OwnEngine, model), name, preset)
    notes = [] if engine else [f"{label} runs in {row.engine}: {source.refusal}"]
    engine = engine or row.engine
    if is_address(engine):
        notes.append(f"{label}: {engine} runs what it was started with; it is only tested")
        served = partial(from_address, engine)
        unknown = partial(SideName, label, engine, "")
        return Side(source, None, served, unknown, preset, tuple(notes))
    name = partial(_side_name, source, engine, versions().get(engine) or "")
    if engine_row(engine).directories:
        if source.directory is None:
            raise SourceError(f"{engine} reads a directory", where=label, fix="name the directory")
        build: Build = partial(from_directory, engine, source.directory)
        model = _run_in_transformers(source, notes)
        return Side(source, model, build, name, preset, tuple(notes))
    if not reads(engine, row.name):
        check_known(engine)
        raise EngineError(
            f"{engine} does not run {row.title}",
            where=label,
            fix=f"name its own engine, {row.engine}, or convert it to a format that "
            f"{engine} runs and verify that",
        )
    return Side(source, model, in_engine(engine, source), name, preset, tuple(notes))


def in_engine(engine: str, source: TokenizerSource[BPEModel | None]) -> Build:
    """How a source becomes a side in an engine that reads its format; it can be pickled."""
    model = source.model
    if model is not None and model.added is None:
        # Not stated, so the engine gets none, and `modes_of` asks for none.
        model = replace(model, added=())
    return partial(from_files, engine, source.format.name, dict(source.files), model)


def _side_name(source: TokenizerSource[BPEModel | None], engine: str, version: str) -> SideName:
    """With a sha256 of the files, and of what a preset may say beside them."""
    model, facts = source.model, b""
    if model is not None:
        stated = (model.normalizer, model.pretokenizer, model.added, model.sequence_template)
        facts = repr((stated, model.decoder)).encode("utf-8", "surrogatepass")
    return SideName(source.label, engine, version, digest_of(source.files, facts))


def open_lock(
    lock: Lock, path: str | Path, other: Side | None = None, *, shared: bool = False
) -> Side:
    """A lock as a side.

    Args:
        lock: what the file says.
        path: the file.
        other: what it is compared with.
        shared: give it the other side's encoder where that runs the locked tokenizer, all of it:
            then it is not unpacked, and no text needs to be run.
    """
    model = None if other is None else other.model
    place = "" if other is None else other.source.label
    notes = tuple(notes_on(lock, path, model, place))
    if shared and other and model and isinstance(other.engine, OwnEngine) and lock.is_of(model):
        source: TokenizerSource[BPEModel | None]
        source = TokenizerSource(spelled(str(path)), other.source.format, {}, model)
        return Side(source, model, lambda: other.engine, notes=notes)
    return replace(side_of(as_source(lock, path)), notes=notes)


def noted_on_files(*sides: TokenizerSource[BPEModel | None]) -> list[str]:
    """What was noted when the files were read: where those of a directory disagree, and more.

    That is also which markers of a chat template are no tokens.
    """
    labels: dict[str, dict[str, None]] = {}
    for side in sides:
        model = side.model
        read = () if model is None else (*model.origin.notes, *_on_markers(model))
        for note in (*side.passed_over, *read):
            labels.setdefault(note, {})[side.label] = None
    return [_of_sides([*held], note) for note, held in labels.items()]


def _of_sides(labels: list[str], note: str) -> str:
    """A note with the sides that it is about, of which none is named twice."""
    names = {Path(label).name for label in labels}
    name = names.pop() if len(names) == 1 else ""
    named = name and note.startswith((f"{name}: ", f"{name} "))
    return " and ".join(labels) + (note[len(name) :] if named else f": {note}")


def _on_markers(model: BPEModel) -> tuple[str, ...]:
    if model.chat_template is None:
        return ()
    from ..chat_notes import marker_notes  # it imports Jinja, and most have no chat template

    return marker_notes(model)


def _run_in_transformers(
    source: TokenizerSource[BPEModel | None], notes: list[str]
) -> BPEModel | None:
    """The model that ``AutoTokenizer`` really runs for a directory.

    A note says in what it differs from its files, and why. None where what transformers
    built cannot be read as a model.

    Raises:
        EngineMissingError: transformers is not installed.
        EngineError: it fails on the directory.
    """
    # transformers 5 rebuilds the tokenizers of known classes from vocabulary and merges, and
    # discards the file's normalizer and pre-tokenizer.
    own, directory = source.model, source.directory
    if own is None or directory is None:
        return own
    engine = read_directory(directory)
    choice = serving(source.files, own)
    served = engine.model()
    if served is None:
        notes.append(
            f"{source.label}: what transformers built ({engine.class_name}) cannot be read as a "
            "model"
        )
        return None
    # Extras are no part of what runs, and AutoTokenizer has none.
    served = replace(served, extras=own.extras)
    if choice is not None:
        fields = [d.field for d in diff(own, served) if d.field in WORDS]
        sentence = explain(choice.choice, fields, engine.class_name, engine.version)
        told = own.origin.notes  # noted_on_files tells these, with the side
        if {*fields} <= {*choice.fields} and choice.notes and {*choice.notes} <= {*told}:
            return served  # it is what the files let expect
        notes += [
            *([sentence] if sentence else []),
            *(n for n in choice.on_tokens if n not in told),
        ]
    return served


def served_otherwise(
    letter: str, source: TokenizerSource[BPEModel | None], engine: Engine
) -> list[str]:
    """A note where a directory is run as its files say, and ``AutoTokenizer`` may not do so."""
    if source.model is None or source.directory is None or engine_row(engine.name).directories:
        return []
    served = served_facts(source.files, source.model, source.directory)
    if served is None or (served["class"] is not None and not served["other"]):
        return []
    ask = f"--engine-{letter} transformers (engine_{letter}=...) compares what it serves"
    return [f"{letter} is compared as its files say; {tell_served(served, ask)}"]


# What is given in Python, each in its own engine.

_LIBRARIES = ("tiktoken", "tokenizers", "sentencepiece", "transformers")


class _TokenizerEngine(OwnEngine):
    """Our encoder for a :class:`.Tokenizer`, of which there are no files for another engine."""

    name = "bpe_interop.Tokenizer"


def open_any(side: object, preset: str | None = None) -> Side:
    """A path, a name, or an object of a library as a side, in its own engine.

    Raises:
        TypeError: it is none of these.
        BpeInteropError: a source cannot be read.
    """
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
        return Side(opened, model, partial(OwnEngine, model), notes=(note,))
    return Side(opened, model, lambda: engine)


def _side(
    label: str, format: str, files: Files, model: BPEModel | None, engine: Engine, *notes: str
) -> Side:
    """A live object, of which ``files`` are what it would write."""
    source = TokenizerSource(label, by_name(format), files, model)
    return Side(source, model, lambda: engine, notes=notes)


def _open_tokenizer(side: Tokenizer) -> Side:
    model = side.model
    engine = exact_engine(side.engine, model) if side.engine else _TokenizerEngine(model)
    return _side(f"{side!r}", model.origin.format or "huggingface", {}, model, engine)


def _open_tiktoken(side: Any) -> Side:
    row, files = by_name("tiktoken"), files_from_encoding(side)
    return _side(repr(side), row.name, files, row.load(files), TiktokenEngine(side))


def _open_sentencepiece(side: Any) -> Side:
    # What only the Python object was told (`add_bos`, sampling ...) is no part of it.
    row, files = by_name("sentencepiece"), files_from_sentencepiece(side)
    model = row.load(files)
    engine = from_files("sentencepiece", row.name, files)
    return _side(_named(side), row.name, files, model, engine)


def _open_tokenizers(side: Any) -> Side:
    model, label = model_from_tokenizers(side), _named(side)
    # Running one sets truncation, padding and how special tokens are found: so a copy is run.
    with guarded("tokenizers", "to copy the tokenizer"):
        own = copy.deepcopy(side)
        same = own.get_added_tokens_decoder() == side.get_added_tokens_decoder()
    files: Files = {"tokenizer.json": own.to_str().encode("utf-8")}
    if same:
        return _side(label, "huggingface", files, model, TokenizersEngine(own))
    note = f"{label} runs in our encoder: a copy of it gives added tokens other ids"
    return _side(label, "huggingface", files, model, _TokenizerEngine(model), note)


def _open_transformers(side: Any) -> Side:
    engine = TransformersEngine(side)
    model, label = engine.model(), _named(side)
    refusal = "" if model is not None else f"{label} cannot be read as a model"
    source = TokenizerSource(label, by_name("huggingface"), {}, model, refusal=refusal)
    return Side(source, model, lambda: engine, notes=(refusal,) if refusal else ())


def _named(side: object) -> str:
    kind = type(side)
    # `repr` of such an object may be its whole vocabulary.
    return f"{kind.__module__.partition('.')[0]}.{kind.__qualname__}"


_OPENERS = {
    "tiktoken": _open_tiktoken,
    "tokenizers": _open_tokenizers,
    "sentencepiece": _open_sentencepiece,
    "transformers": _open_transformers,
}
