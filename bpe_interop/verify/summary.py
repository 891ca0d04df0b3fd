"""A verdict in a sentence or two, and what it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .prove import about
from .sides import AROUND, PARSED, TEMPLATED
from .stages.stage import Scope, Stage, counts

if TYPE_CHECKING:
    from .report import Report


def subject(report: Report) -> str:
    """What a verdict is about: the scope, and what of it was not compared.

    A proof is about the whole scope; a run, and a lock file, about what both sides were asked.
    """
    whole = about(report.scope, report.stages)
    locked = any(stage.name == "text" for stage in report.stages)
    if report.scope != "all" or (report.verdict == "proved" and not locked):
        return whole
    asked = {*report.scopes}
    if asked.isdisjoint({PARSED.scope, TEMPLATED.scope}):
        if AROUND.scope in asked and whole == about("all", ()):
            return "every text, the sequence template included; special tokens are not compared"
        return "every text; special tokens and the sequence template are not compared"
    if asked.isdisjoint({AROUND.scope, TEMPLATED.scope}) and whole == about("all", ()):
        return "every text, special tokens included; the sequence template is not compared"
    return whole


def other_metadata(report: Report) -> tuple[str, ...]:
    """What differs of the added tokens (roles are theirs) and of the chat template, as lines.

    What one side does not state differs too: a chat template that is gone is not served.
    """
    return tuple(
        f"{each.field}: {each.how}"
        for each in report.differences
        if each.field in ("added", "chat_template")
    )


def omitted(report: Report) -> str:
    """Who does not state special tokens that count; empty where all do."""
    if not report.unstated:
        return ""
    return f"special tokens are not stated by {' and '.join(report.unstated)}, so not compared"


def reason(stage: Stage, scope: Scope) -> str:
    """What is known of a stage, as a line on a screen; it says where the stage does not count."""
    return stage.why if counts(stage.name, scope) else f"outside the scope: {stage.why}"


def summary(report: Report) -> str:
    """The verdict in a sentence or two."""
    if report.verdict == "proved":
        return f"Both give the same ids for {subject(report)}."
    ran = f"{report.compared:,} {report.counted} ({report.bytes:,} bytes)"
    if report.verdict == "tested":
        return f"Both gave the same ids for each of {ran}; that is not every text."
    if report.verdict == "unknown" and report.compared:
        why = omitted(report)
        but = f"; but {why}" if why else "; that is not enough to tell"
        known = f"{report.known[:1].upper()}{report.known[1:]}. " if report.known else ""
        return f"{known}Both gave the same ids for each of {ran}{but}."
    if report.verdict == "unknown":
        return f"None of {report.texts:,} texts was answered by both."
    at = f"The first stage that differs is: {report.stage}. " if report.stage else ""
    but = f" But they are {report.narrower}." if report.narrower else ""
    return f"{at}{report.differing:,} of {ran} differ.{but}"
