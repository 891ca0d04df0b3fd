"""Is what was written the same tokenizer? Asked of the files, in their formats' own engines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..engines import Engine, from_directory, from_files
from ..errors import CheckFailedError, EngineError, EngineMissingError, UnstatedError
from ..formats import Files, Format
from ..formats.round_trip import RoundTrip
from ..loss import Loss
from ..model import BPEModel, show
from .compare import AROUND, ORDINARY, PARSED, TEMPLATED, Mode, Own, Tally, compare
from .sides import decoding
from .stress import around_added, awkward, fixed


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison of files with our reading of the source: by which engine, over how much.

    ``of`` says whose files were run: the source's own, or those written for the target.
    ``texts`` and ``bytes`` were run; ``failures`` of them have no encoding on either side,
    ``failed`` says why the first has none. ``skipped`` says why nothing was run, and what to do.
    """

    engine: str
    version: str
    scopes: tuple[str, ...] = ()
    texts: int = 0
    bytes: int = 0
    failures: int = 0
    failed: str = ""
    skipped: str = ""
    of: Literal["source", "target"] = "target"


def check_written(
    trip: RoundTrip,
    again: BPEModel,
    losses: tuple[Loss, ...],
    stage: Path,
    tick: Callable[[int], None] = lambda count: None,
    own: Own | None = None,
) -> tuple[Check, ...]:
    """Compares written files with their source, in the target's own engine.

    Where a library serves a directory of the format as a whole, and is installed, that is run too.
    Where ids or text were dropped on purpose, the files are held to what they say themselves.

    Args:
        trip: the source in the target's format, and back.
        again: what reading the files gives, with what presets know of them.
        losses: what the gate let pass.
        stage: the directory that holds the files.
        tick: called with the number of texts compared since the last call.
        own: our encoder of the source, where there is one already.

    Raises:
        CheckFailedError: the files give other ids or texts.
        EngineMissingError: the target's own engine is not installed.
        EngineError: it fails on the files, or on a text that the source encodes.
    """
    row, model = trip.format, trip.model
    if model.pretokenizer is None:
        why = "no pattern is known, so nothing can be run; name a preset"
        return (Check(row.engine, "", skipped=why),)
    held = model
    if any(loss.grade != "metadata" for loss in losses):
        held = replace(
            again,
            pretokenizer=model.pretokenizer if again.pretokenizer is None else again.pretokenizer,
            normalizer=again.normalizer or (),
            added=again.added or (),
        )
    if own is None or held is not model:
        own = Own(held)
    checks = [_own_engine(row, trip.files, own, tick)]
    if row.served:
        checks.append(_served(row.served, own, stage, tick))
    return tuple(checks)


def _own_engine(row: Format, files: Files, own: Own, tick: Callable[[int], None]) -> Check:
    held = own.encoder.model
    try:
        engine = from_files(row.engine, row.name, files, held)
    except EngineMissingError as error:
        raise EngineMissingError(
            f"not checked: {error.fix}",
            fix="nothing was written; to convert without the check: --no-verify (verify=False)",
        ) from error
    except UnstatedError as error:  # the pattern was dropped on purpose
        return Check(row.engine, "", skipped=error.what)
    return _run(engine, own, list(dict.fromkeys(awkward(held))), tick)


def check_source(
    row: Format,
    files: Files,
    own: Own,
    says_template: bool = True,
    tick: Callable[[int], None] = lambda count: None,
) -> Check:
    """Compares the source in its own engine with our reading of it, which ``own`` runs.

    A template that the files do not say is none that their engine could apply.

    Raises:
        CheckFailedError: the engine gives other ids or texts than we do.
        EngineError: it fails on the files, or on a text that we encode.
    """
    model = own.encoder.model
    if model.pretokenizer is None:
        return Check(row.engine, "", skipped="no pattern is known", of="source")
    try:
        engine = from_files(row.engine, row.name, files, model)
    except EngineMissingError as error:
        return Check(row.engine, "", skipped=error.fix, of="source")
    texts = list(dict.fromkeys(awkward(model)))
    return replace(
        _run(engine, own, texts, tick, "the source", says_template=says_template), of="source"
    )


def _served(name: str, own: Own, stage: Path, tick: Callable[[int], None]) -> Check:
    try:
        engine = from_directory(name, stage)
    except EngineMissingError as error:
        return Check(name, "", skipped=error.fix)
    # A few hundred texts are enough to see whether it built the same pipeline.
    return _run(engine, own, [*fixed(), *around_added(own.encoder.model, 20)], tick)


def _run(
    engine: Engine,
    own: Own,
    texts: list[str],
    tick: Callable[[int], None],
    what: str = "what was written",
    *,
    says_template: bool = True,
) -> Check:
    modes = _modes(engine, own.encoder.model)
    if not says_template:
        modes = [mode for mode in modes if not mode.add_special_tokens]
    tally = compare(own, engine, texts, modes, tick, patience=1)
    _raise_if_different(tally, engine, what)
    first = tally.failures[0] if tally.failures else None
    failed = f"on {show(first.text[:40])}, {first.side}: {first.what}" if first else ""
    if tally.alone or not tally.compared:
        raise EngineError(
            f"not checked: one side failed, so its ids cannot be compared: {failed}",
            where=f"{engine.name} {engine.version}",
            fix="nothing was written; the engine cannot run this tokenizer, so take another format",
        )
    return Check(
        engine.name,
        engine.version,
        tuple(mode.scope for mode in modes),
        tally.texts,
        tally.bytes,
        len({failure.text for failure in tally.failures}),
        failed,
    )


def _modes(engine: Engine, model: BPEModel) -> list[Mode]:
    modes = [ORDINARY]
    if model.added and engine.parses_special:
        modes.append(PARSED)
    if model.sequence_template is not None and engine.applies_template:
        modes.append(TEMPLATED if engine.parses_special else AROUND)
    return decoding(modes, [model])


def _raise_if_different(tally: Tally, engine: Engine, what: str) -> None:
    found = tally.mismatch
    if found is None:
        return
    said = f"{list(found.ids_a)} and {list(found.ids_b)}"
    if found.decoding:
        said = f"the text {show(found.decoding[0])} and {show(found.decoding[1])}"
    raise CheckFailedError(
        f"{what} is not the tokenizer that we read, in {engine.name} {engine.version}: "
        f"{show(found.text)} ({found.mode.scope}) gives {said}",
        fix="nothing was kept; please report this with the source file",
    )
