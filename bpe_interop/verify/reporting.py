"""What was opened, proved and run, as a report."""

from __future__ import annotations

from collections.abc import Sequence

from ..diff import diff
from ..engines import Engine
from ..model import BPEModel
from .conclusion import conclude
from .examples import examples_of
from .matters import matters
from .opening import Opened
from .prove import Proof, Scope
from .report import Report
from .running import Ran
from .sides import Mode


def report_of(
    scope: Scope,
    opened: tuple[Opened, Opened],
    engines: tuple[Engine, Engine],
    models: tuple[BPEModel | None, BPEModel | None],
    modes: Sequence[Mode],
    proof: Proof | None,
    ran: Ran,
    notes: list[str],
) -> Report:
    """The report on two sides.

    Args:
        scope: what counts.
        opened: what was opened.
        engines: what runs it.
        models: the models that really run, as far as they are known.
        modes: how the sides were asked.
        proof: what was proved of the models; None where nothing was tried.
        ran: what was run.
        notes: what there is to say besides; more is added to them.
    """
    tally = ran.total()
    found = conclude(proof, tally, opened, models, engines, notes)
    one, two = models
    differences = () if one is None or two is None else diff(one, two)
    return Report(
        verdict=found.verdict,
        scope=scope,
        a=opened[0].label,
        b=opened[1].label,
        engine_a=f"{engines[0].name} {engines[0].version}",
        engine_b=f"{engines[1].name} {engines[1].version}",
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
        differences=differences,
        notes=tuple(notes),
        examples=examples_of(found.mismatch, ran.corpus, modes, models),
        corpus=ran.corpus,
        matters=() if proof is None else matters(differences, proof),
        interrupted=ran.interrupted,
    )
