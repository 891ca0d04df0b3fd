"""How a report is told in words, alike on every page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..diff import Difference
from ..verify import Scope, Stage, counts
from ..verify.alignment import align
from ..verify.corpus_report import Counts, Source
from ..verify.report import Example, Report

OUTCOMES: Mapping[str, str] = {
    "proved": "proved",
    "refuted": "different",
    "unknown": "not proved",
}
"""What a page calls what was established of a stage."""


def accepted(report: Report, require: str) -> bool:
    """Whether a verdict of equality is as strong as what is required, on all that was asked for."""
    if report.interrupted:
        return False
    return report.verdict == "proved" or (report.verdict == "tested" and require != "proved")


def word(stage: Stage, scope: Scope) -> str:
    """What was established of a stage."""
    outside = "" if counts(stage.name, scope) else ", outside the scope"
    return f"{OUTCOMES[stage.outcome]}{outside}"


def examples(report: Report) -> tuple[Example, ...]:
    """The texts on which the sides differ; where a report has the one only, ids beside each other.

    A lock file knows ids and no tokens, so a report on it can have no more.
    """
    mismatch = report.mismatch
    if report.examples or mismatch is None:
        return report.examples
    return (Example(mismatch, align(mismatch.text, mismatch.ids_a, mismatch.ids_b)),)


def differences(report: Report) -> list[tuple[Difference, str]]:
    """The fields in which the models differ, and of each whether it matters; empty: not known."""
    told = report.matters if len(report.matters) == len(report.differences) else ()
    return list(zip(report.differences, told or [""] * len(report.differences), strict=True))


class Trouble(NamedTuple):
    """A text on which a side failed, wherever it was found."""

    side: str
    text: str
    how: str
    what: str
    found_in: str = ""


def failed(report: Report) -> int:
    """On how many texts a side failed, those of corpora included."""
    counted = Counts() if report.corpus is None else report.corpus.counts
    return len(report.failures) + counted.failed_a + counted.failed_b


def troubles(report: Report) -> list[Trouble]:
    """The texts on which a side failed that a report has kept, those of corpora last."""
    failures = [Trouble(each.side, each.text, each.how, each.what) for each in report.failures]
    for each in report.corpus.failures if report.corpus is not None else ():
        side = each.side.upper()
        failures.append(Trouble(side, each.text, each.how, each.what, place(each.source)))
    return failures


def place(source: Source | None) -> str:
    """Where in a corpus a text was found."""
    if source is None:
        return ""
    return f"{source.file}, line {source.line:,}, byte {source.offset:,}"


def file_outcome(counted: Counts) -> str:
    """``different``, ``failed``, ``not compared`` or ``equal``, of a file in a corpus."""
    if counted.differing:
        return "different"
    if counted.failed_a or counted.failed_b:
        return "failed"
    return "equal" if counted.compared else "not compared"
