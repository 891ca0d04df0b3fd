"""A verdict in a sentence or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .prove import about

if TYPE_CHECKING:
    from .report import Report


def summary(report: Report) -> str:
    """The verdict in a sentence or two."""
    if report.verdict == "proved":
        return f"Both give the same ids for {about(report.scope, report.stages)}."
    ran = f"{report.compared:,} texts ({report.bytes:,} bytes)"
    if report.verdict == "tested":
        return f"Both gave the same ids for each of {ran}; that is not every text."
    if report.verdict == "unknown" and report.compared:
        return f"Both gave the same ids for each of {ran}; that is not enough to tell."
    if report.verdict == "unknown":
        return f"None of {report.texts:,} texts was answered by both."
    at = f"The first stage that differs is: {report.stage}. " if report.stage else ""
    return f"{at}{report.differing:,} of {ran} differ."
