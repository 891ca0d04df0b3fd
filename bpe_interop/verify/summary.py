"""A verdict in a sentence or two, and what it is about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..proof.prove import about
from ..proof.stage import Scope, Stage, counts
from ..text.visible import many
from .corpus_report import Counts
from .metadata import COVERED
from .sides import AROUND, PARSED, TEMPLATED
from .verdict import reasons_against_proof

if TYPE_CHECKING:
    from ..diff import Difference
    from .report import Example, Report


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
    if report.verdict == "refuted":
        return ()
    other = [f"{each}; --metadata asks for the same" for each in other_metadata(report)]
    proof = report.verdict == "tested" and require == "proved"
    return (*(other if metadata else ()), *(["--require proved asks for a proof"] if proof else ()))


def but_not_accepted(report: Report, reasons: Sequence[str]) -> str:
    """What stands behind a verdict that is not accepted; nothing where there are no reasons."""
    joined = "and" if report.verdict == "unknown" else "but"
    return f"; {joined} not accepted" if reasons else ""


def metadata_of(report: Report) -> tuple[Difference, ...]:
    """In which metadata the sides differ."""
    return report.metadata


def covered(report: Report) -> str:
    """What is compared of the metadata."""
    return COVERED


def other_metadata(report: Report) -> tuple[str, ...]:
    """What differs of the metadata, as lines."""
    return tuple(f"{each.field}: {each.how}" for each in metadata_of(report))


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
    ran = many(report.compared, "text")
    ran += f" ({report.bytes:,} bytes)"
    if report.verdict == "tested":
        why = "".join(
            f" Not called proved: {each}." for each in reasons_against_proof(report.notes)
        )
        return f"Both gave the same ids for each of {ran}; that is not every text.{why}"
    if report.verdict == "unknown" and report.compared:
        why = omitted(report)
        but = f"; but {why}" if why else "; that is not enough to tell"
        return f"Both gave the same ids for each of {ran}{but}."
    if report.verdict == "unknown":
        return f"None of {report.texts:,} texts was answered by both."
    at = f"The first stage that differs is: {report.stage}. " if report.stage else ""
    but = f" But they are {report.narrower}." if report.narrower else ""
    differ = texts_differ(report)
    return f"{at}{differ[:1].upper()}{differ[1:]}.{but}"
