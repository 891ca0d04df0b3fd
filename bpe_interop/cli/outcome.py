"""What ``convert``, ``extend`` and ``train`` say alike of what they wrote, or were refused."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..engines.facts import facts
from ..errors import LossyConversionError
from ..formats import Format
from ..io import spelled
from ..loss import Loss
from .screen import as_json, lines
from .terminal import say_line

if TYPE_CHECKING:
    from ..compare.report import Check, Report
    from ..cost import Cost


@contextlib.contextmanager
def refusals(
    source: str,
    target: Path,
    *,
    json_output: bool,
    costs: Callable[[], Sequence[Cost]] = lambda: (),
) -> Iterator[None]:
    """A block whose refused losses are printed as JSON, where that is asked for.

    ``costs`` is asked what they cost on corpora, which is printed either way.
    """
    try:
        yield
    except LossyConversionError as error:
        measured = costs()
        if json_output:
            refused = [
                {**asdict(loss), "code": loss.code}
                for loss in error.losses
                if isinstance(loss, Loss)
            ]
            names = {"source": spelled(source), "target": spelled(str(target))}
            told = {**names, "refused": refused}
            if measured:
                told["costs"] = [asdict(cost) for cost in measured]
            as_json(told)
        else:
            lines("cost", [str(cost) for cost in measured])
        raise


def show_outcome(report: Report | None, to: str = "", *, has_source: bool = True) -> None:
    """Prints what was checked and what is known of what was written; ``to`` says what it equals.

    Without ``has_source`` it was made here, and nothing else could have said its template.
    """
    if report is None:
        lines("not checked", ["--no-verify was given"])
        return
    from ..compare.words import written  # a verdict was found, so its modules are there

    for check in report.checks:
        _show_check(check)
    served = [check for check in report.checks if facts(check.engine).directories and check.texts]
    also = [f"; tested as {check.engine} {check.version} serves it" for check in served]
    lines("verdict", [written(report, to, has_source=has_source) + "".join(also)])
    lines("note", report.notes)


def show_how_to_load(row: Format, names: Iterable[str], target: Path) -> None:
    """Prints how the target's engine loads what was written, where naming it is not enough.

    Code stands at the margin, so that it can be copied.
    """
    if row.how_to_load is None:
        return
    folder = target if target.is_dir() else target.parent
    files = {name: (folder / name).read_bytes() for name in names}
    for step in row.how_to_load(files, lambda name: str(folder / name)):
        sentence, *code = step.split("\n")
        lines("to load", [sentence])
        for line in code:
            say_line(line)


def _show_check(check: Check) -> None:
    """Prints what was compared with what, or why nothing was."""
    if check.skipped:
        lines("not checked", [f"{check.of} in {check.engine}: {check.skipped}"])
        return
    lines(
        "checked",
        [
            f"{check.of}: same ids in {check.engine} {check.version} on {check.texts:,} texts "
            f"({check.bytes:,} bytes): {'; '.join(check.scopes)}"
        ],
    )
    if check.failures:
        lines("not checked", [f"{check.failures:,} of these texts: {check.failed}"])
