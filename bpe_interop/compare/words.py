"""Every sentence about a report: on the screen, on pages, in a notebook, in a test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..engines import versions
from ..model import show
from ..proof.prove import about
from ..proof.stage import Scope, Stage, counts
from ..text.visible import many
from .assumptions import EXAMINED
from .corpus_report import Counts, Source
from .sides import AROUND, PARSED, TEMPLATED

if TYPE_CHECKING:
    from ..diff import Difference
    from .report import Example, Report

OUTCOMES: Mapping[str, str] = {
    "proved": "proved",
    "refuted": "different",
    "unknown": "not proved",
}
"""What is said of a stage; of two sides as a whole it is the verdict that is said."""


def subject(report: Report) -> str:
    """What a verdict is about: the scope, and what of it was not compared.

    A proof is about the whole scope; a run is about what both sides were asked.
    """
    whole = about(report.scope, report.stages)
    if report.scope != "all" or report.verdict == "proved":
        return whole
    asked = {*report.scopes}
    if asked.isdisjoint({PARSED.scope, TEMPLATED.scope}):
        if AROUND.scope in asked and whole == about("all", ()):
            return "every text, the sequence template included; special tokens are not compared"
        return "every text; special tokens and the sequence template are not compared"
    if asked.isdisjoint({AROUND.scope, TEMPLATED.scope}) and whole == about("all", ()):
        return "every text, special tokens included; the sequence template is not compared"
    return whole


def texts_differ(report: Report) -> str:
    """On how many of the texts that were run the sides differ; on none where a proof found one.

    The texts of a corpus are counted apart: how many of the awkward ones differ is no rate.
    """
    counts = Counts() if report.corpus is None else report.corpus.counts
    kind = "given" if report.given else "awkward"
    ran = [(report.differing - counts.differing, report.compared - counts.compared, f"{kind} text")]
    if report.corpus is not None:
        ran.append((counts.differing, counts.compared, "document"))
    if not report.differing:
        whole = " and ".join(many(compared, what) for _, compared, what in ran)
        return f"no text that was run differs (of {whole}); a proof found the one that does"
    return " and ".join(
        f"{differing:,} of {many(compared, what)} {'differs' if differing == 1 else 'differ'}"
        for differing, compared, what in ran
    )


def found_in(example: Example) -> str:
    """Where in a corpus a text was found; empty where it is of none."""
    source = example.source
    if source is None:
        return ""
    made = "" if source.holds(example.mismatch.text) else f"; {MADE}"
    return f"found in {source.file} at line {source.line:,}, byte {source.offset:,}{made}"


MADE = "the text was made from what stands there, with fewer and other characters"
"""What is said of a text that is not the document in which it was found."""


def unmet(report: Report, require: str = "tested", *, metadata: bool = False) -> tuple[str, ...]:
    """Why a verdict that is not "different" is not accepted, though it may be a good one.

    Args:
        report: what was found.
        require: what is required: ``"tested"`` or ``"proved"``.
        metadata: whether the metadata must be the same.
    """
    if report.verdict == "different":
        return ()
    other = [f"{each}; --metadata asks for the same" for each in other_metadata(report)]
    proof = report.verdict == "tested" and require == "proved"
    return (*(other if metadata else ()), *(["--require proved asks for a proof"] if proof else ()))


def but_not_accepted(report: Report, reasons: Sequence[str]) -> str:
    """What stands behind a verdict that is not accepted; nothing where there are no reasons."""
    joined = "and" if report.verdict == "unknown" else "but"
    return f"; {joined} not accepted" if reasons else ""


def other_metadata(report: Report) -> tuple[str, ...]:
    """What differs of the metadata, as lines."""
    return tuple(f"{each.field}: {each.how}" for each in report.metadata)


def omitted(report: Report) -> str:
    """Who does not state special tokens that count; empty where all do."""
    if not report.unstated:
        return ""
    return f"special tokens are not stated by {' and '.join(report.unstated)}, so not compared"


def reason(stage: Stage, scope: Scope) -> str:
    """What is known of a stage, as a line on a screen; it says where the stage does not count."""
    return stage.why if counts(stage.name, scope) else f"outside the scope: {stage.why}"


def word(stage: Stage, scope: Scope) -> str:
    """What was established of a stage."""
    outside = "" if counts(stage.name, scope) else ", outside the scope"
    return f"{OUTCOMES[stage.outcome]}{outside}"


def remarks(report: Report) -> tuple[str, ...]:
    """All that there is to say besides, why it is not called proved first."""
    return (*(f"not called proved: {each}" for each in report.against), *report.notes)


def why_not_proved(report: Report) -> str:
    """What keeps a verdict from being a proof; empty where it is one."""
    if report.verdict == "proved":
        return ""
    if report.verdict == "different":
        return f"stage {report.stage}"
    left = (s for s in report.stages if counts(s.name, report.scope) and s.outcome != "proved")
    first = [f"stage {stage.name} ({stage.why})" for stage in left][:1]
    return "; ".join(report.against or first)


def summary(report: Report) -> str:
    """The verdict in a sentence or two."""
    return f"{_dropped(report)}{_summary(report)}"


def _dropped(report: Report) -> str:
    """That what was written is not the same tokenizer, where fields were dropped."""
    if not report.dropped:
        return ""
    return f"This is not the same tokenizer: {_fields_dropped(report)}. Of all else: "


def _fields_dropped(report: Report) -> str:
    """What was dropped, and a text that this changes."""
    changed = "" if report.changed is None else f", which changes {show(report.changed)}"
    return f"{', '.join(report.dropped)} dropped{changed}"


def _summary(report: Report) -> str:
    if report.verdict == "proved":
        return f"Both give the same ids for {subject(report)}."
    ran = many(report.compared, "text")
    ran += f" ({report.bytes:,} bytes)"
    if report.verdict == "tested":
        why = "".join(f" Not called proved: {each}." for each in report.against)
        return f"Both gave the same ids for each of {ran}; that is not every text.{why}"
    if report.verdict == "unknown" and report.compared:
        why = omitted(report)
        but = f"; but {why}" if why else "; that is not enough to tell"
        return f"Both gave the same ids for each of {ran}{but}."
    if report.verdict == "unknown" and not report.texts:
        return "Nothing was run."
    if report.verdict == "unknown":
        return f"None of {report.texts:,} texts was answered by both."
    at = f"The first stage that differs is: {report.stage}. " if report.stage else ""
    but = f" But they are {report.narrower}." if report.narrower else ""
    differ = texts_differ(report)
    return f"{at}{differ[:1].upper()}{differ[1:]}.{but}"


def written(report: Report, to: str = "", *, has_source: bool = True) -> str:
    """The verdict on what was written, as a line on a screen.

    Args:
        report: what is known of it.
        to: what it equals, where that is not the source as it is.
        has_source: it was made of a source, which could have said another template.
    """
    but = f"not the same tokenizer: {_fields_dropped(report)}; all else " if report.dropped else ""
    if report.verdict == "proved":
        text = about(report.scope, report.stages)
        if "sequence_template" in report.by_user:
            text += "; the template is the one that was given" + ", not the source's" * has_source
        return f"{but}PROVED equal {to}for {text} ({', '.join(engines(report))})"
    if report.mismatch is not None:
        text = show(report.mismatch.text)
        return f"DIFFERENT by more than what was dropped, {why_not_proved(report)}; a text: {text}"
    if report.verdict == "tested":
        why = why_not_proved(report)
        return f"{but}TESTED equal {to}on {report.texts:,} texts; not proved: {why}"
    return f"NONE: {why_not_proved(report)}"


def engines(report: Report) -> tuple[str, ...]:
    """The engines of both formats of a conversion, which its proof is about, with versions."""
    installed = versions()
    names = {check.engine for check in report.checks} & EXAMINED.keys()
    return tuple(f"{name} {installed[name] or 'not installed'}" for name in sorted(names))


def accepted(report: Report, require: str) -> bool:
    """Whether a verdict of equality is as strong as what is required, on all that was asked for."""
    if report.interrupted:
        return False
    return report.verdict == "proved" or (report.verdict == "tested" and require != "proved")


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
