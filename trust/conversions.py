"""Every source in every format, with what is refused dropped: no check may fail.

Where a conversion is refused, it is asked for again with just the fields that the refusal names,
and then has to be written and checked. Facts that a source leaves unsaid are said: a preset that
knows its files, and that nothing is placed around a text.
"""

from __future__ import annotations

import base64
import importlib
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from bpe_interop.compare.stress import awkward
from bpe_interop.convert import convert
from bpe_interop.errors import (
    BpeInteropError,
    EngineError,
    EngineMissingError,
    LossyConversionError,
    SourceError,
    UnstatedError,
)
from bpe_interop.formats import all_formats
from bpe_interop.loss import Field
from bpe_interop.model import BPEModel
from bpe_interop.presets import PRESETS, candidates
from bpe_interop.sources import load_source
from bpe_interop.statement import Statement
from fixtures import TOKENIZERS

from .page import made_of, put, table, write_option

NO_TEMPLATE = Statement(template="none")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a conversion.

    Attributes:
        source: the source.
        target: the format.
        preset: the preset that was named; empty for none.
        dropped: the fields that were dropped, as the refusal named them.
        what: the verdict, ``unstated`` or ``missing``, or ``FAULT`` and the error.
    """

    source: str
    target: str
    preset: str
    dropped: tuple[str, ...]
    what: str

    @property
    def is_fault(self) -> bool:
        """Whether it is neither written and checked, nor refused with a way on that leads on."""
        return self.what.startswith("FAULT")

    def __str__(self) -> str:
        preset = f" --preset {self.preset}" if self.preset else ""
        drop = f" --drop {','.join(self.dropped)}" if self.dropped else ""
        return f"{self.source} --to {self.target}{preset}{drop}: {self.what}"


def fixtures() -> list[Path]:
    """The tokenizers of the repository."""
    return sorted(path for path in TOKENIZERS.glob("*/*/") if path.is_dir())


def run(
    sources: Iterable[Path],
    wanted: Callable[[str, str], bool] = lambda source, target: True,
    presets: Callable[[BPEModel], Iterable[str]] = candidates,
) -> Iterator[Outcome]:
    """What becomes of each source in each format.

    ``wanted`` says which are tried, ``presets`` with which where something is unsaid.
    """
    for source in sources:
        try:
            model = load_source(source).model
        except BpeInteropError:
            continue  # what is not read is not converted
        unsaid = model.pretokenizer is None or model.added is None
        for preset in [*(presets(model) if unsaid else ())] or [""]:
            for row in all_formats():
                if wanted(f"{source.parent.name}/{source.name}", row.name):
                    yield _converted(source, row.name, preset)


def _converted(source: Path, target: str, preset: str) -> Outcome:
    dropped: tuple[Field, ...] = ()
    said = Statement()
    for _ in range(3):
        with tempfile.TemporaryDirectory() as folder:
            try:
                done = convert(
                    source,
                    Path(folder) / "out",
                    target,
                    drop=dropped,
                    preset=preset or None,
                    said=said,
                )
            except LossyConversionError as error:
                named = {loss.field for loss in error.losses}
                if named <= {*dropped}:
                    return Outcome(str(source), target, preset, dropped, f"FAULT again: {error}")
                dropped = tuple(sorted({*dropped, *named}))
                continue
            except UnstatedError:
                return Outcome(str(source), target, preset, dropped, "unstated")
            except EngineError as error:
                if not isinstance(error, EngineMissingError) and "--no-verify" not in error.fix:
                    return Outcome(str(source), target, preset, dropped, f"FAULT {error}")
                return Outcome(str(source), target, preset, dropped, "missing")
            except SourceError as error:
                return Outcome(str(source), target, preset, dropped, f"not read: {error}")
            except Exception as error:
                what = f"FAULT {type(error).__name__}: {error}"
                return Outcome(str(source), target, preset, dropped, what)
        what = "none" if done.report is None else done.report.verdict
        return Outcome(str(source), target, preset, dropped, what)
    return Outcome(str(source), target, preset, dropped, "FAULT refused three times")


def rank_file(folder: Path) -> Path:
    """A rank file that nobody published: all bytes, and a few words."""
    tokens = [*(bytes([byte]) for byte in range(256)), b"th", b"the", b" the"]
    lines = (f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens))
    path = folder / "made-up.tiktoken"
    path.write_text("".join(lines), "utf-8")
    return path


def one_of_twenty(model: BPEModel) -> list[str]:
    """A part of the texts that a check runs."""
    return list(awkward(model))[::20]


@click.command()
@click.option("--few", is_flag=True, help="Run one of twenty of a check's texts.")
@click.option("--presets", is_flag=True, help="Convert a made-up rank file, with every preset.")
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path, exists=True))
@write_option
def conversions(sources: tuple[Path, ...], few: bool, presets: bool, page: Path | None) -> None:
    """Convert each of SOURCES (by default all fixtures) to every format, what is lost dropped."""
    began = time.perf_counter()
    if few:
        importlib.import_module("bpe_interop.compare.conversion").__dict__["awkward"] = (
            one_of_twenty
        )
    outcomes = []
    with tempfile.TemporaryDirectory() as folder:
        runs = run(sources or fixtures())
        if presets:
            runs = run([rank_file(Path(folder))], presets=lambda model: PRESETS)
        for outcome in runs:
            outcomes.append(outcome)
            click.echo(str(outcome), err=True)
    faults = [each for each in outcomes if each.is_fault]
    counts: dict[str, Counter[str]] = {}
    for each in outcomes:
        kind = "fault" if each.is_fault else each.what.partition(":")[0]
        counts.setdefault(each.target, Counter())[kind] += 1
    kinds = sorted({kind for found in counts.values() for kind in found})
    rows = ([target, *(found[kind] for kind in kinds)] for target, found in counts.items())
    section = "presets" if presets else "conversions"
    command = "conversions --presets" if presets else "conversions"
    made = made_of(command + (" --few" if few else ""), time.perf_counter() - began, {})
    said = f"{len(outcomes):,} conversions, **{len(faults)} faults**."
    put(page, section, [*made, "", said, "", *table(["target", *kinds], rows)])
    if faults:
        raise SystemExit(1)
