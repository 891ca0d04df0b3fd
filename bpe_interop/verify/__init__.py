"""Are two tokenizers the same? Run both, and say exactly what was run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Literal, TypeAlias

from ..diff import Difference, diff
from ..encode import Encoder
from ..engines import Engine, from_directory, from_files, served_model
from ..errors import EngineError, SourceError, UnstatedError
from ..gate import ways_to_say
from ..model import BPEModel
from .compare import (
    AROUND,
    ORDINARY,
    PARSED,
    TEMPLATED,
    Failure,
    Mismatch,
    Mode,
    Own,
    Tally,
    compare,
    first_stage,
)
from .opening import Opened, open_side
from .stress import awkward

PATIENCE = 1_000
"""How often one side alone may fail before a comparison ends."""

Verdict: TypeAlias = Literal["tested", "refuted", "unknown"]


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification found.

    ``verdict`` is ``"refuted"`` where a text gives other ids (``mismatch`` has it, ``stage`` the
    first stage that differs), ``"tested"`` where the sides agreed on every text that both
    answered, and ``"unknown"`` where they answered none: ``compared`` of ``texts`` were answered.
    ``differences`` are the fields in which the models differ that the two sides really run.
    """

    verdict: Verdict
    a: str
    b: str
    engine_a: str
    engine_b: str
    texts: int
    bytes: int
    compared: int
    differing: int
    scopes: tuple[str, ...]
    mismatch: Mismatch | None
    stage: str | None
    failures: tuple[Failure, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]


def verify(
    a: str | Path,
    b: str | Path,
    *,
    engine_a: str | None = None,
    engine_b: str | None = None,
    preset_a: str | None = None,
    preset_b: str | None = None,
    corpora: Iterable[str | Path] = (),
    offline: bool = False,
    tick: Callable[[int], None] = lambda count: None,
) -> Report:
    """Compares two tokenizers on awkward texts and on corpora.

    Args:
        a: a source, as :func:`bpe_interop.load` takes it.
        b: the other source.
        engine_a: run ``a`` in this engine (``tiktoken``, ``tokenizers``, ``transformers``)
            instead of our encoder.
        engine_b: the same for ``b``.
        preset_a: says what ``a`` leaves unsaid.
        preset_b: the same for ``b``.
        corpora: UTF-8 text files to compare on as well, in pieces of whole lines.
        offline: never use the network.
        tick: called with the number of texts compared since the last call.

    Raises:
        BpeInteropError: a source cannot be read, or a named engine is missing.
    """
    notes: list[str] = []
    served = engine_a is not None or engine_b is not None
    left = open_side(a, preset=preset_a, offline=offline, served=served)
    right = open_side(b, preset=preset_b, offline=offline, served=served)
    for side, opened in (("a", left), ("b", right)):
        _need(side, opened)
    paths = [_readable(Path(path)) for path in corpora]
    side_a, side_b = _side(left, engine_a, notes), _side(right, engine_b, notes)
    modes = _modes(left.model, right.model, (side_a, side_b), notes)
    texts = chain(awkward(left.model), awkward(right.model, seed=1), _pieces(paths))
    tally = compare(side_a, side_b, texts, modes, tick, PATIENCE)
    if tally.alone >= PATIENCE:
        notes.append(f"ended early: one side alone failed {tally.alone:,} times")
    one, two = _run_model(engine_a, left, notes), _run_model(engine_b, right, notes)
    return Report(
        verdict="refuted" if tally.differing else "tested" if tally.compared else "unknown",
        a=left.label,
        b=right.label,
        engine_a=f"{side_a.name} {side_a.version}",
        engine_b=f"{side_b.name} {side_b.version}",
        texts=tally.texts,
        bytes=tally.bytes,
        compared=tally.compared,
        differing=tally.differing,
        scopes=tuple(mode.scope for mode in modes),
        mismatch=tally.mismatch,
        stage=_stage(one, two, tally),
        failures=tuple(tally.failures),
        differences=() if one is None or two is None else diff(one, two),
        notes=tuple(notes),
    )


def _need(side: str, loaded: Opened) -> None:
    """Nothing can be encoded without the pattern."""
    if loaded.model is not None and loaded.model.pretokenizer is None:
        raise UnstatedError(
            "the source does not state the pattern that splits texts (pretokenizer)",
            where=loaded.label,
            fix=ways_to_say(loaded.model, f"--preset-{side} (preset_{side}=...)"),
        )


def _readable(path: Path) -> Path:
    """A corpus, looked at before a long comparison begins."""
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise SourceError(error.strerror or "cannot be read", where=str(path)) from None
    return path


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
    a: BPEModel | None,
    b: BPEModel | None,
    sides: tuple[Engine, Engine],
    notes: list[str],
) -> list[Mode]:
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
    return modes


def _stage(one: BPEModel | None, two: BPEModel | None, tally: Tally) -> str | None:
    found = tally.mismatch
    if found is None:
        return None
    if found.decoding is not None:
        return "decoding"
    if one is None or two is None:
        return None
    return first_stage(Encoder(one), Encoder(two), found.text, found.mode)


def _run_model(engine: str | None, loaded: Opened, notes: list[str]) -> BPEModel | None:
    """The model that a side really runs: transformers may have built another one."""
    if loaded.model is None or engine != "transformers" or loaded.directory is None:
        return loaded.model
    served = served_model(loaded.directory)
    if served is None:
        notes.append(f"{loaded.label}: what transformers built cannot be read as a model")
    return served


def _pieces(paths: Iterable[Path], size: int = 1 << 14) -> Iterator[str]:
    """Corpora in pieces of whole lines, each about ``size`` characters, never held whole."""
    for path in paths:
        try:
            with path.open(encoding="utf-8", newline="") as file:
                lines: list[str] = []
                held = 0
                for line in file:
                    lines.append(line)
                    held += len(line)
                    if held >= size:
                        yield "".join(lines)
                        lines, held = [], 0
                yield "".join(lines)
        except UnicodeDecodeError as error:
            raise SourceError(
                f"not UTF-8: byte 0x{error.object[error.start]:02X}", where=str(path)
            ) from None
        except OSError as error:
            raise SourceError(error.strerror or "cannot be read", where=str(path)) from None


__all__ = ["Engine", "Report", "verify"]
