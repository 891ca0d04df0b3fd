"""Are two tokenizers the same? Opens two sources, and has the verdict on them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

from ..arguments import names, one_of
from ..engines.facts import facts, is_address
from ..errors import SourceError, UnstatedError
from ..io import TokenizerSource, spelled
from ..model import BPEModel
from ..presets import ways_to_say
from ..proof.prove import SCOPES
from ..proof.stage import Scope
from .corpus import Corpora
from .lock import Lock, as_source, locked, notes_on
from .report import Report
from .runs import RunOptions, compare
from .sides import Kept, Own, Side, open_side, run_in_transformers, side_of

_AS_USUAL = RunOptions()


def verify(
    a: str | Path,
    b: str | Path,
    *,
    scope: Scope = "all",
    engine_a: str | None = None,
    engine_b: str | None = None,
    preset_a: str | None = None,
    preset_b: str | None = None,
    offline: bool = False,
    corpora: Corpora | str | Path | Iterable[str | Path] = (),
    options: RunOptions = _AS_USUAL,
) -> Report:
    """Decides whether two tokenizers are equal, and compares them on texts.

    Interrupted with Ctrl-C while it compares, it reports what it did so far.

    Args:
        a: a source, as :func:`bpe_interop.load` takes it, or a lock file.
        b: the other source.
        scope: what counts: ``"all"``; ``"ordinary"`` (special strings are text, added tokens that
            are not special still match); ``"text"`` (no added token matches).
        engine_a: run ``a`` in this engine (``tiktoken``, ``tokenizers``, ``transformers``,
            ``sentencepiece`` ...) instead of our encoder, or ask a server that runs:
            ``llama.cpp@http://HOST:PORT``.
        engine_b: the same for ``b``.
        preset_a: says what ``a`` leaves unsaid.
        preset_b: the same for ``b``.
        offline: never use the network.
        corpora: texts to compare on as well: the name of a file or folder, or several, or names
            with how they are read.
        options: how the texts are run.

    Raises:
        ArgumentError: there is no such scope.
        BpeInteropError: a source or a corpus cannot be read, or a named engine is missing.
    """
    for source in (a, b):
        if not isinstance(source, (str, Path)):
            raise TypeError(
                f"verify takes paths and names, not {type(source).__name__}: a live tokenizer is "
                "taken by bpe_interop.compare.parity.parity(a, b)"
            )
    one_of(scope, SCOPES, "scope")
    texts = corpora if isinstance(corpora, Corpora) else Corpora(names(corpora))
    served = engine_a is not None or engine_b is not None
    locks = locked(a), locked(b)
    asked = ((a, engine_a, preset_a), (b, engine_b, preset_b))
    sides: list[Side | None] = []
    for letter, lock, (source, engine, preset) in zip("ab", locks, asked, strict=True):
        if lock is not None:
            _refuse_for_lock(source, engine, preset, options)
            sides.append(None)
            continue
        opened = open_side(source, preset=preset, offline=offline, served=served)
        _need(letter, opened)
        sides.append(_side(opened, engine, preset))
    # Where texts are asked for, or an engine, a lock runs for itself.
    quick = not served and not texts.names and options.executor is None
    one, two = (
        side or open_lock(cast("Lock", lock), source, other, shared=quick)
        for side, lock, source, other in zip(sides, locks, (a, b), reversed(sides), strict=True)
    )
    return compare(one, two, scope, corpora=texts, options=options)


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
    notes = tuple(notes_on(lock, path, model))
    if shared and other and model and isinstance(other.engine, Own) and lock.is_of(model):
        source: TokenizerSource[BPEModel | None]
        source = TokenizerSource(spelled(str(path)), other.source.format, {}, model)
        return Side(source, other.engine, model, notes=notes)
    return replace(_side(as_source(lock, path), None, None), notes=notes)


def _side(opened: TokenizerSource[BPEModel | None], engine: str | None, preset: str | None) -> Side:
    """A source that was opened, in the engine that was asked for."""
    notes = []
    if engine is None and opened.model is None:
        notes.append(f"{opened.label} runs in {opened.format.engine}: {opened.refusal}")
    way, name = side_of(opened, engine)
    build = Kept(way)
    running = build()
    model = _run_model(engine, opened, notes)
    return Side(opened, running, model, build, name, preset, tuple(notes))


def _refuse_for_lock(
    lock: str | Path, engine: str | None, preset: str | None, options: RunOptions
) -> None:
    """A lock file is the model alone: there are no files for an engine or for workers."""
    given = [
        what
        for what, value in (
            ("an engine", engine),
            ("a preset", preset),
            ("a scheduler", options.executor),
        )
        if value is not None
    ]
    if given:
        raise SourceError(
            f"a lock file is run by our encoder, as it was locked, so it takes no {given[0][2:]}"
            if given[0].startswith("a ")
            else "a lock file is run by our encoder: there are no files for another engine",
            where=str(lock),
            fix="leave it out, or name the tokenizer that was locked",
        )


def _need(side: str, loaded: TokenizerSource[BPEModel | None]) -> None:
    """Nothing can be encoded without the pattern."""
    if loaded.model is not None and loaded.model.pretokenizer is None:
        raise UnstatedError(
            "the source does not state the pattern that splits texts (pretokenizer)",
            where=loaded.label,
            fix=ways_to_say(loaded.model, f"--preset-{side} (preset_{side}=...)"),
        )


def _run_model(
    engine: str | None, source: TokenizerSource[BPEModel | None], notes: list[str]
) -> BPEModel | None:
    """The model that a side really runs: transformers may have built another one.

    What a server runs is not known.
    """
    if engine is not None and is_address(engine):
        notes.append(f"{source.label}: {engine} runs what it was started with; it is only tested")
        return None
    if source.model is None or source.directory is None:
        return source.model
    if engine is None or not facts(engine).directories:
        return source.model
    return run_in_transformers(source, notes)
