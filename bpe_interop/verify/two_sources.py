"""Are two tokenizers the same? Proves what can be proved, runs both, and says what was run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from ..arguments import names, one_of
from ..engines.facts import facts, is_address
from ..errors import SourceError, UnstatedError
from ..io import TokenizerSource, spelled
from ..model import BPEModel
from ..presets import ways_to_say
from ..proof.prove import ALL_STAGES, SCOPES, Proof, narrower, prove
from ..proof.stage import Scope, Stage, counts
from ..shards import Carried, carry, pool_of
from ..ticks import begin
from .corpus import ByParts, Corpora, Sides, check_corpora
from .lock import Lock, as_source, locked, notes_on
from .report import Report, report_of
from .runs import PATIENCE, Pairing, Ran, RunOptions, run
from .sides import (
    ORDINARY,
    Inside,
    Kept,
    Own,
    Side,
    modes_of,
    noted_on_files,
    open_side,
    run_in_transformers,
    served_otherwise,
    side_of,
)
from .verdict import doubts, engines_of, witnessed

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
                "taken by bpe_interop.verify.parity.parity(a, b)"
            )
    one_of(scope, SCOPES, "scope")
    texts = corpora if isinstance(corpora, Corpora) else Corpora(names(corpora))
    served = engine_a is not None or engine_b is not None
    locks = locked(a), locked(b)
    for held, source, engine, preset in zip(
        locks, (a, b), (engine_a, engine_b), (preset_a, preset_b), strict=True
    ):
        if held is not None:
            _refuse_for_lock(source, engine, preset, options)
    unlocked = [
        None if held else open_side(source, preset=preset, offline=offline, served=served)
        for held, source, preset in zip(locks, (a, b), (preset_a, preset_b), strict=True)
    ]
    for letter, opened in zip("ab", unlocked, strict=True):
        if opened is not None:
            _need(letter, opened)
    if not served and not texts.names and options.executor is None:
        same = _as_locked(locks, (a, b), unlocked, scope)
        if same is not None:
            return same
    left, right = (
        opened or as_source(cast("Lock", held), source)
        for opened, held, source in zip(unlocked, locks, (a, b), strict=True)
    )
    notes = noted_on_files(left, right)
    for held, source, other in ((locks[0], a, right), (locks[1], b, left)):
        notes += () if held is None else notes_on(held, source, other.model)
    pairing = _paired((left, right), (engine_a, engine_b), scope, notes)
    if options.executor is not None:
        carried = (_carried(left, preset_a), _carried(right, preset_b))
        pool = pool_of(options.executor, options.slots)
        by_parts = ByParts(pool, carried, (engine_a, engine_b), options.limit)
        texts = replace(texts, by_parts=by_parts)
    if texts.names:
        check_corpora(pairing.sides, texts, scope)
    one, two = pairing.a.model, pairing.b.model
    begin(options.tick, "proving")
    proof = prove(one, two, scope) if one is not None and two is not None else None
    inside = Inside(scope, [left.model, right.model])
    proved = proof is not None and proof.outcome == "proved"
    known = witnessed(proof, (pairing.a.engine, pairing.b.engine)) is not None
    ran = run(pairing, inside, texts, options, proved=proved, known=known)
    notes += _notes(ran, inside)
    report = report_of(scope, (pairing.a, pairing.b), pairing.sides.modes, proof, ran, notes)
    report = replace(report, notes=(*report.notes, *_idle_lookup(one, two, report)))
    if report.stage == "pre-tokenizer":
        causes = (*_cause(pairing.a, pairing.b), *_cause(pairing.b, pairing.a))
        report = replace(report, notes=(*report.notes, *causes))
    if one is None or two is None or proof is None or proof.outcome == "proved":
        return report
    less = narrower(one, two, proof)
    if less is None or _shown_in(less, report) or doubts(engines_of((pairing.a, pairing.b))):
        return report
    sentence = f'proved equal with --scope {less} (scope="{less}"): {SCOPES[less]}'
    return replace(report, narrower=sentence)


def _idle_lookup(a: BPEModel | None, b: BPEModel | None, report: Report) -> Iterator[str]:
    """That one side looks whole pretokens up, where no field says so because no id differs."""
    fields = {each.field for each in report.differences}
    if a is None or b is None or a.lookup_first is b.lookup_first or "lookup_first" in fields:
        return
    yield (
        f"only {'b' if b.lookup_first else 'a'} looks up whole pretokens (ignore_merges), and "
        "merging builds each token, so no id differs"
    )


def _cause(side: Side, other: Side) -> Iterator[str]:
    """What in a side's file makes its pretokens others, and how the file is repaired."""
    if side.model is None or other.model is None:
        return
    why = side.source.format.cause(side.model, other.model)
    if why:
        label = side.source.label
        yield (
            f"{label}: {why}; a file that is right: bpe-interop convert {other.source.label} NEW"
            f"{Path(label).suffix} --into {label}"
        )


def _shown_in(scope: Scope, report: Report) -> bool:
    """Whether the text of a report may differ in a narrower scope too: an engine differs on it."""
    if report.mismatch is None:
        return False
    if report.stage == "decoding":
        return report.mismatch.mode == ORDINARY
    return counts(report.stage or "", scope)


def _notes(ran: Ran, inside: Inside) -> list[str]:
    """What is to be said of what was run and what was not."""
    notes = list(ran.alone.notes())
    if inside.left_out:
        notes.append(f"outside the scope, as added tokens are in them: {inside.left_out:,} texts")
    if ran.ended:
        notes.append(
            f"the difference is proved and shown by a text, so only {ran.tally.texts:,} awkward "
            "texts were run; --thorough (thorough=True) runs all"
        )
    if ran.tally.alone >= PATIENCE:
        notes.append(f"awkward texts ended early: one side alone failed {ran.tally.alone:,} times")
    if ran.corpus is not None:
        notes += [f"corpora: {note}" for note in ran.corpus.notes]
    if ran.interrupted:
        notes.append("interrupted: not all texts were compared")
    return notes


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


def _as_locked(
    locks: tuple[Lock | None, Lock | None],
    names: tuple[str | Path, str | Path],
    unlocked: Sequence[TokenizerSource[BPEModel | None] | None],
    scope: Scope,
) -> Report | None:
    """The report where a tokenizer is the locked one, all of it: no text is run.

    None where it is not, or where equal models are not enough to prove equal ids.
    """
    for held, path, opened in (
        (locks[0], names[0], unlocked[1]),
        (locks[1], names[1], unlocked[0]),
    ):
        if held is None or opened is None or opened.model is None or not held.is_of(opened.model):
            continue
        notes = [*noted_on_files(opened), *notes_on(held, path, opened.model)]
        notes += served_otherwise("b" if held is locks[0] else "a", opened, Own(opened.model))
        ours = Own(opened.model)
        one = Side(replace(opened, files={}, label=spelled(str(path))), ours, opened.model)
        two = Side(replace(opened, files={}), ours, opened.model)
        stages = tuple(Stage(name, "proved", "the same fingerprint") for name in ALL_STAGES)
        sides = (one, two) if held is locks[0] else (two, one)
        return report_of(scope, sides, [], Proof(scope, "proved", stages), Ran(), notes)
    return None


def _paired(
    opened: tuple[TokenizerSource[BPEModel | None], TokenizerSource[BPEModel | None]],
    named: tuple[str | None, str | None],
    scope: Scope,
    notes: list[str],
) -> Pairing:
    """The two sides, built here, and to be built elsewhere too."""
    for side, engine in zip(opened, named, strict=True):
        if engine is None and side.model is None:
            notes.append(f"{side.label} runs in {side.format.engine}: {side.refusal}")
    (way_a, name_a), (way_b, name_b) = map(side_of, opened, named)
    build_a, build_b = Kept(way_a), Kept(way_b)
    engines = build_a(), build_b()
    modes = modes_of(scope, (opened[0].model, opened[1].model), engines, notes)
    if not any(name is not None and facts(name).directories for name in named):
        for letter, source, run_in in zip("ab", opened, engines, strict=True):
            notes += served_otherwise(letter, source, run_in)
    a, b = (
        Side(source, engine, _run_model(name, source, notes))
        for source, engine, name in zip(opened, engines, named, strict=True)
    )
    return Pairing(a, b, Sides(build_a, build_b, name_a, name_b, tuple(modes)))


def _carried(opened: TokenizerSource[BPEModel | None], preset: str | None) -> Carried:
    return carry(opened.label, opened.format.name, opened.files, preset, opened.beside)


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
