"""Are two tokenizers the same? Run both, and say exactly what was run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from ..diff import diff
from ..engines import Engine, from_directory, from_files
from ..errors import EngineError, SourceError, UnstatedError
from ..gate import ways_to_say
from ..model import BPEModel
from .compare import AROUND, ORDINARY, PARSED, TEMPLATED, Mode, Own, compare
from .conclusion import conclude
from .corpora import find_shards, read_documents
from .documents import Shard
from .locked import compare_with_lock, locked
from .opening import Opened, open_side, run_in_transformers
from .prove import SCOPES, Scope, prove
from .report import Report
from .sides import Failure, Mismatch, decoding
from .stages import Stage
from .stress import awkward

__all__ = ["SCOPES", "Failure", "Mismatch", "Report", "Scope", "Stage", "verify"]

PATIENCE = 1_000
"""How often one side alone may fail before a comparison ends."""


def verify(
    a: str | Path,
    b: str | Path,
    *,
    scope: Scope = "all",
    engine_a: str | None = None,
    engine_b: str | None = None,
    preset_a: str | None = None,
    preset_b: str | None = None,
    corpora: Iterable[str | Path] = (),
    offline: bool = False,
    tick: Callable[[int], None] = lambda count: None,
) -> Report:
    """Decides whether two tokenizers are equal, and compares them on texts.

    Args:
        a: a source, as :func:`bpe_interop.load` takes it, or a lock file.
        b: the other source.
        scope: what counts: ``"all"``; ``"ordinary"`` (special strings are text, added tokens that
            are not special still match); ``"text"`` (no added token matches).
        engine_a: run ``a`` in this engine (``tiktoken``, ``tokenizers``, ``transformers``,
            ``sentencepiece``) instead of our encoder.
        engine_b: the same for ``b``.
        preset_a: says what ``a`` leaves unsaid.
        preset_b: the same for ``b``.
        corpora: texts to compare on as well: files, directories and globs of plain text (in
            documents of whole lines), JSONL or Parquet (``FILE:FIELD``), compressed or not.
        offline: never use the network.
        tick: called with the number of texts compared since the last call.

    Raises:
        BpeInteropError: a source cannot be read, or a named engine is missing.
    """
    for source, other, preset, engine in ((a, b, preset_b, engine_b), (b, a, preset_a, engine_a)):
        held = locked(source)
        if held is not None:
            opened = open_side(other, preset=preset, offline=offline)
            side, first = _side(opened, engine, []), source is a
            return compare_with_lock(
                held, source, opened, side, scope=scope, first=first, tick=tick
            )
    notes: list[str] = []
    served = engine_a is not None or engine_b is not None
    left = open_side(a, preset=preset_a, offline=offline, served=served)
    right = open_side(b, preset=preset_b, offline=offline, served=served)
    for letter, opened in (("a", left), ("b", right)):
        _need(letter, opened)
    shards = find_shards(corpora)
    side_a, side_b = _side(left, engine_a, notes), _side(right, engine_b, notes)
    modes = _modes(scope, left.model, right.model, (side_a, side_b), notes)
    one, two = _run_model(engine_a, left, notes), _run_model(engine_b, right, notes)
    proof = prove(one, two, scope) if one is not None and two is not None else None
    texts: Iterable[str] = chain(awkward(left.model), awkward(right.model, seed=1), _texts(shards))
    if scope == "text":
        texts = _without_added(texts, (left.model, right.model))
    tally = compare(side_a, side_b, texts, modes, tick, PATIENCE)
    if tally.alone >= PATIENCE:
        notes.append(f"ended early: one side alone failed {tally.alone:,} times")
    found = conclude(proof, tally, (left, right), (one, two), (side_a, side_b), notes)
    return Report(
        verdict=found.verdict,
        scope=scope,
        a=left.label,
        b=right.label,
        engine_a=f"{side_a.name} {side_a.version}",
        engine_b=f"{side_b.name} {side_b.version}",
        texts=tally.texts,
        bytes=tally.bytes,
        compared=tally.compared,
        differing=tally.differing,
        scopes=tuple(mode.scope for mode in modes),
        mismatch=found.mismatch,
        stage=found.stage,
        stages=() if proof is None else proof.stages,
        assumptions=found.assumptions,
        replayed=found.replayed,
        failures=tuple(tally.failures),
        differences=() if one is None or two is None else diff(one, two),
        notes=tuple(notes),
    )


def _texts(shards: Iterable[Shard]) -> Iterator[str]:
    return (document.text for shard in shards for document in read_documents(shard))


def _without_added(texts: Iterable[str], models: Iterable[BPEModel | None]) -> Iterator[str]:
    """The texts in which no added token stands: engines would find those that are not special."""
    found = {t.text for model in models if model is not None for t in model.added or ()}
    added = re.compile("|".join(map(re.escape, found)) or "(?!)")
    return (text for text in texts if not added.search(text))


def _need(side: str, loaded: Opened) -> None:
    """Nothing can be encoded without the pattern."""
    if loaded.model is not None and loaded.model.pretokenizer is None:
        raise UnstatedError(
            "the source does not state the pattern that splits texts (pretokenizer)",
            where=loaded.label,
            fix=ways_to_say(loaded.model, f"--preset-{side} (preset_{side}=...)"),
        )


def _side(loaded: Opened, engine: str | None, notes: list[str]) -> Engine:
    if engine is None and loaded.model is not None:
        return Own(loaded.model)
    if engine is None:
        engine = loaded.format.engine
        notes.append(f"{loaded.label} runs in {engine}: {loaded.unread}")
    if engine == "transformers":
        if loaded.directory is None:
            raise SourceError(
                "transformers reads a directory", where=loaded.label, fix="name the directory"
            )
        return from_directory(engine, loaded.directory)
    if engine != loaded.format.engine:
        raise EngineError(
            f"{engine} does not run {loaded.format.title}",
            where=loaded.label,
            fix=f"its engine is {loaded.format.engine}",
        )
    return from_files(engine, loaded.format.name, loaded.files, loaded.model)


def _modes(
    scope: Scope,
    a: BPEModel | None,
    b: BPEModel | None,
    sides: tuple[Engine, Engine],
    notes: list[str],
) -> list[Mode]:
    if scope != "all":
        return [ORDINARY]
    if any(model is not None and model.added is None for model in (a, b)):
        notes.append("special tokens are not compared: a source does not state them")
        return [ORDINARY]
    modes = [ORDINARY, PARSED]
    deaf = [side.name for side in sides if not side.parses_special]
    if deaf:
        notes.append(f"special tokens are not parsed: {deaf[0]} never finds them in a text")
        modes = [ORDINARY]
    if any(model is not None and model.sequence_template is None for model in (a, b)):
        notes.append("sequence templates are not compared: a source does not state one")
    elif any(side.name == "tiktoken" for side in sides):
        notes.append("sequence templates are not compared: tiktoken applies none")
    else:
        modes.append(AROUND if deaf else TEMPLATED)
    return decoding(modes, [a, b])


def _run_model(engine: str | None, loaded: Opened, notes: list[str]) -> BPEModel | None:
    """The model that a side really runs: transformers may have built another one."""
    if loaded.model is None or engine != "transformers" or loaded.directory is None:
        return loaded.model
    return run_in_transformers(loaded, notes)
