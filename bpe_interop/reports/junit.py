"""A report as JUnit XML: a case for the verdict, one per stage, one per file of a corpus.

There is no one standard. This is what Jenkins' ``junit-10.xsd`` allows, and with it GitLab, GitHub
actions and Azure read it: ``testsuites > testsuite > testcase``, with ``time`` everywhere, which
some of them need: all of it is the verdict's, on which stages and files rest together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias
from xml.etree import ElementTree

from ..compare import Stage, counts
from ..compare.corpus_report import CorpusReport, Counts, Found
from ..compare.metadata import COVERED
from ..compare.report import Report
from ..compare.sentences import (
    MADE,
    accepted,
    file_outcome,
    mismatch_lines,
    other_metadata,
    place,
    remarks,
    summary,
    why_not_proved,
    word,
)
from ..compare.sides import Mismatch
from ..notebook import HEADLINES
from ..quoting import escaped, show
from ..text.visible import as_text
from .fragments import shortened

Kind: TypeAlias = Literal["failure", "error", "skipped", ""]

_IDS = 200
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'


class JUnitCase(NamedTuple):
    """A test case: its name, what came of it (nothing: it passed), and what is said about it.

    ``notes`` are said whatever came of it.
    """

    name: str
    kind: Kind
    message: str
    detail: str = ""
    seconds: float = 0.0
    notes: tuple[str, ...] = ()


def to_junit(report: Report, require: str = "tested", metadata: bool = False) -> str:
    """The report as JUnit XML.

    A stage that is not proved is skipped, not failed: the verdict's own case says whether that is
    accepted.

    Args:
        report: what was found.
        require: ``"proved"``: what is only tested is an error.
        metadata: whether other metadata is a failure; the names of its fields are in the message.
    """
    verdict = _verdict(report, require)._replace(seconds=report.seconds, notes=remarks(report))
    suites = [
        ("verdict", [verdict]),
        ("metadata", [_metadata(report)] if metadata else []),
        ("stages", [_stage(stage, report) for stage in report.stages]),
        ("corpora", [] if report.corpus is None else list(_files(report.corpus))),
    ]
    root = ElementTree.Element("testsuites", name="bpe-interop verify", time=_time(report.seconds))
    for name, cases in suites:
        if cases:
            _suite(root, name, cases, report)
    _count(root, [case for _, cases in suites for case in cases])
    ElementTree.indent(root)
    return f"{_DECLARATION}{ElementTree.tostring(root, encoding='unicode')}\n"


def _verdict(report: Report, require: str) -> JUnitCase:
    sentence = summary(report)
    if report.verdict == "different":
        mismatch = report.mismatch
        if mismatch is None:
            return JUnitCase("verdict", "failure", sentence)
        sides = (
            f"{side} {at} ({engine})"
            for side, at, engine in (
                ("a", report.a, report.engine_a),
                ("b", report.b, report.engine_b),
            )
        )
        # What tools show of a failed case is this text: the cause and the cure are in it.
        lines = [sentence, *sides, as_text(mismatch_lines(report, mismatch)), *remarks(report)]
        detail = "\n".join(lines)
        return JUnitCase("verdict", "failure", _difference(mismatch, mismatch.mode.scope), detail)
    if accepted(report, require):
        return JUnitCase(
            "verdict", "", sentence, "\n".join(f"assumed: {each}" for each in report.assumptions)
        )
    why = "A proof is required." if report.verdict == "tested" else ""
    why = "The comparison was interrupted." if report.interrupted else why
    unproved = [f"not proved: {left}"] if (left := why_not_proved(report)) else []
    said = f"{HEADLINES[report.verdict]}: {sentence} {why}".rstrip()
    return JUnitCase("verdict", "error", said, "\n".join([sentence, *unproved, *remarks(report)]))


def _metadata(report: Report) -> JUnitCase:
    other = other_metadata(report)
    fields = ", ".join(each.field for each in report.metadata)
    sentence = f"other {fields}" if other else f"the same {COVERED}"
    return JUnitCase(
        "metadata", "failure" if other else "", sentence, "\n".join(map(escaped, other))
    )


def _difference(shown: Mismatch | Found, asked: str) -> str:
    text = f"{show(shortened(shown.text)[0])} ({asked})"
    if shown.decoding is not None:
        one, two = (show(shortened(each)[0]) for each in shown.decoding)
        return f"{text} decodes to {one} and to {two}"
    return f"{text} gives {_ids(shown.ids_a)} and {_ids(shown.ids_b)}"


def _ids(ids: Sequence[int]) -> str:
    more = f" ... {len(ids) - _IDS:,} more" if len(ids) > _IDS else ""
    return "[" + " ".join(map(str, ids[:_IDS])) + more + "]"


def _stage(stage: Stage, report: Report) -> JUnitCase:
    text = "" if stage.witness is None else f"; a text: {show(shortened(stage.witness)[0])}"
    sentence = f"{word(stage, report.scope)}: {stage.why}{text}"
    kind: Kind = "" if stage.outcome == "proved" else "skipped"
    if stage.outcome == "different" and counts(stage.name, report.scope):
        kind = "failure"
    return JUnitCase(stage.name, kind, sentence)


def _files(corpus: CorpusReport) -> Iterator[JUnitCase]:
    where: dict[str, list[str]] = {}
    for witness in corpus.witnesses:
        made = "" if witness.source.holds(witness.text) else f"; {MADE}"
        origin = f"{place(witness.source)}{made}"
        sentence = f"{origin}: {_difference(witness, witness.scope)}"
        where.setdefault(witness.source.file, []).append(sentence)
    for failed in corpus.failures:
        sentence = f"{place(failed.source)}: {failed.side} {failed.how}: {failed.what}"
        where.setdefault(failed.source.file, []).append(sentence)
    kinds: dict[str, Kind] = {"different": "failure", "failed": "error", "not compared": "skipped"}
    for name, counted in sorted(corpus.files.items()):
        kind = kinds.get(file_outcome(counted), "")
        yield JUnitCase(name, kind, _counted(counted), "\n".join(where.get(name, [])))


def _counted(counted: Counts) -> str:
    sentence = f"{counted.differing:,} of {counted.compared:,} documents differ"
    failed = counted.failed_a + counted.failed_b
    return f"{sentence}; a side failed on {failed:,}" if failed else sentence


def _suite(root: ElementTree.Element, name: str, cases: list[JUnitCase], report: Report) -> None:
    suite = ElementTree.SubElement(root, "testsuite", name=name)
    _count(suite, cases)
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in (
        ("verdict", report.verdict),
        ("scope", report.scope),
        ("a", f"{report.a} ({report.engine_a})"),
        ("b", f"{report.b} ({report.engine_b})"),
    ):
        ElementTree.SubElement(properties, "property", name=key, value=_legal(value))
    for case in cases:
        item = ElementTree.SubElement(
            suite, "testcase", name=_legal(case.name), classname=f"verify.{name}"
        )
        item.set("time", _time(case.seconds))
        if case.kind:
            result = ElementTree.SubElement(item, case.kind, message=_legal(case.message))
            result.text = _legal(case.detail or case.message)
            if case.kind != "skipped":
                result.set("type", case.kind)
        passing = () if case.kind else (case.message, case.detail)
        output = [*filter(None, passing), *(f"note: {escaped(each)}" for each in case.notes)]
        if output:
            ElementTree.SubElement(item, "system-out").text = _legal("\n".join(output))


def _count(element: ElementTree.Element, cases: list[JUnitCase]) -> None:
    kinds = [case.kind for case in cases]
    element.set("tests", str(len(cases)))
    element.set("failures", str(kinds.count("failure")))
    element.set("errors", str(kinds.count("error")))
    if element.tag == "testsuite":
        element.set("skipped", str(kinds.count("skipped")))
        element.set("time", _time(sum(case.seconds for case in cases)))


def _time(seconds: float) -> str:
    return f"{seconds:.3f}"


def _legal(text: str) -> str:
    """A text with its lines, and with all else escaped that XML forbids or nobody sees."""
    return "\n".join(map(escaped, text.split("\n")))
