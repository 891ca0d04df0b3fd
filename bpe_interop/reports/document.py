"""A report as one JSON document: ``report.schema.json`` is its schema, docs/report.md says more."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TypedDict

from ..compare import counts
from ..compare.report import Check, Example, Report, Verdict
from ..compare.sentences import (
    differences,
    engines,
    failed,
    remarks,
    summary,
    why_not_proved,
)
from ..compare.sides import Mismatch
from ..engines import versions
from ..entry_points import own_version
from ..proof.stage import Scope, Stage

KIND = "bpe-interop verification"
SCHEMA = 2
"""The version of the document. A key is added without a new one; none changes its meaning."""


def to_json(report: Report) -> str:
    """The document in ASCII, every control character escaped; equal reports give equal text."""
    return json.dumps(as_data(report), ensure_ascii=True, allow_nan=False, indent=2) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """What :func:`to_json` writes, as dicts, lists, texts and numbers."""
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "verdict": report.verdict,
        "scope": report.scope,
        "summary": summary(report),
        "interrupted": report.interrupted,
        "stage": report.stage,
        "a": {"source": report.a, "engine": report.engine_a},
        "b": {"source": report.b, "engine": report.engine_b},
        "witness": None if report.mismatch is None else _mismatch(report.mismatch),
        "replayed": list(report.replayed),
        "stages": [
            {**asdict(stage), "counts": counts(stage.name, report.scope)} for stage in report.stages
        ],
        "assumptions": list(report.assumptions),
        "counts": {
            "texts": report.texts,
            "bytes": report.bytes,
            "compared": report.compared,
            "differing": report.differing,
            "failed": failed(report),
        },
        "asked": list(report.scopes),
        "differences": [
            {**asdict(each), "matters": matters or None} for each, matters in differences(report)
        ],
        "examples": [_example(each) for each in report.examples],
        # By way of its own text, which sorts what has no order of its own.
        "corpus": None if report.corpus is None else json.loads(report.corpus.to_json()),
        "failures": [asdict(failure) for failure in report.failures],
        "unstated": list(report.unstated),
        "narrower": report.narrower or None,
        "metadata": [asdict(each) for each in report.metadata],
        "notes": list(remarks(report)),
        "versions": installed(),
    }


class WrittenVerdict(TypedDict):
    """What is known of files that were written."""

    outcome: Verdict
    scope: Scope
    stages: list[Stage]
    why: str
    witness: str | None
    engines: list[str]
    assumptions: list[str]
    texts: int
    dropped: list[str]
    notes: list[str]
    given: list[str]
    example: Any
    stray_ids: bool


class SourceServed(TypedDict):
    """How a library serves the source's folder otherwise than its files are read here.

    For ``text`` it gives ``ids``, and what was read gives ``read``. ``command`` writes what it
    serves; empty where the source has no path.
    """

    engine: str
    version: str
    texts: int
    differing: int
    text: str
    asked: str
    ids: list[int]
    read: list[int]
    command: str


class WrittenFacts(TypedDict):
    """How files that were written were checked; ``verdict`` is null where they were not.

    ``source_served`` is null where no library is known to serve the source otherwise.
    """

    checks: list[Check]
    verdict: WrittenVerdict | None
    source_served: SourceServed | None


def written_data(report: Report | None) -> WrittenFacts:
    """What the documents on files that were written have in common."""
    if report is None:
        return {"checks": [], "verdict": None, "source_served": None}
    verdict: WrittenVerdict = {
        "outcome": report.verdict,
        "scope": report.scope,
        "stages": list(report.stages),
        "why": why_not_proved(report),
        "witness": None if report.mismatch is None else report.mismatch.text,
        "engines": list(engines(report)),
        "assumptions": list(report.assumptions),
        "texts": report.texts,
        "dropped": list(report.dropped),
        "notes": list(report.notes),
        "given": list(report.by_user),
        "example": report.changed,
        "stray_ids": report.stray_ids,
    }
    return {
        "checks": list(report.checks),
        "verdict": verdict,
        "source_served": _source_served(report),
    }


def _source_served(report: Report) -> SourceServed | None:
    found = report.source_served
    if found is None:
        return None
    return {
        "engine": found.engine,
        "version": found.version,
        "texts": found.texts,
        "differing": found.differing,
        "text": found.mismatch.text,
        "asked": found.mismatch.mode.scope,
        "ids": list(found.mismatch.ids_b),
        "read": list(found.mismatch.ids_a),
        "command": found.command,
    }


def installed() -> dict[str, str]:
    """The installed versions of this library and of the engines, by name."""
    numbers = {"bpe-interop": own_version(), **versions()}
    return {name: number for name, number in sorted(numbers.items()) if number is not None}


def _mismatch(mismatch: Mismatch) -> dict[str, Any]:
    return {
        "text": mismatch.text,
        "asked": mismatch.mode.scope,
        "ids_a": list(mismatch.ids_a),
        "ids_b": list(mismatch.ids_b),
        "decoding": None if mismatch.decoding is None else list(mismatch.decoding),
    }


def _example(example: Example) -> dict[str, Any]:
    return {
        **_mismatch(example.mismatch),
        "source": None if example.source is None else asdict(example.source),
        "spans": [asdict(span) for span in example.spans],
    }
