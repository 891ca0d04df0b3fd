"""What is known of two tokenizers: the verdict, what it rests on, and texts that show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..diff import Difference
from ..notebook import verdict_block
from ..proof.stage import Scope, Stage
from ..text.visible import as_text
from .alignment import Span
from .corpus_report import CorpusReport, Source
from .sides import Failure, Mismatch
from .words import report_lines, summary, texts_differ

Verdict: TypeAlias = Literal["proved", "tested", "different", "unknown"]
"""What is said of two tokenizers, or of what was written and its source."""


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison of a conversion's files with our reading of the source, in an engine.

    ``of`` says whose files were run: the source's own, or those written for the target.
    ``texts`` and ``bytes`` were run; ``failures`` of them have no encoding on either side,
    ``failed`` says why the first has none. ``skipped`` says why nothing was run, and what to do.
    """

    engine: str
    version: str
    scopes: tuple[str, ...] = ()
    texts: int = 0
    bytes: int = 0
    failures: int = 0
    failed: str = ""
    skipped: str = ""
    of: Literal["source", "target"] = "target"


@dataclass(frozen=True, slots=True)
class Example:
    """A text on which the sides differ, with both sides' tokens beside each other.

    ``source`` is the place in a corpus where it was found, before shrinking; None elsewhere.
    """

    mismatch: Mismatch
    spans: tuple[Span, ...]
    source: Source | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of two tokenizers, and what it is about.

    ``verdict``: ``"proved"`` (every text of the scope has the same ids on both sides, under the
    ``assumptions``), ``"different"`` (``mismatch`` has a text that has not, ``stage`` is the first
    that differs), ``"tested"`` (the sides agreed on every text that both answered, and that is
    every document of the corpora) or ``"unknown"`` (they answered none, or not every document, or
    special tokens are ``unstated``): ``compared`` of ``texts`` were answered. ``stages`` says what
    was established of each stage; ``replayed`` in which engines the text of ``mismatch`` was run
    again.
    ``differences`` are the fields in which the models differ that the two sides really run, and
    ``matters`` says of each whether it changes ids. ``examples`` are texts on which the sides
    differ, that of ``mismatch`` first; ``corpus`` is what was compared on corpora, which
    ``texts``, ``bytes``, ``compared`` and ``differing`` count too. ``failures`` are of all other
    texts: those of the corpora are in ``corpus``.
    ``narrower`` names a narrower scope in which the two are proved equal, as a sentence.
    ``interrupted`` says that Ctrl-C ended it before all texts were compared. ``unstated`` has the
    sides, ``a`` or ``b``, that do not state their special tokens though they count. ``whole`` is
    the text that was run and of which that of ``mismatch`` was made small, None where it is other.
    ``metadata`` is in which roles and settings they differ that change no id of a text: whoever
    asks for the same metadata does not accept these. ``given`` says that the texts are the
    caller's, and none of ours. ``against`` says why the two are not called proved, though their
    models may be equal; ``notes`` are other remarks.
    ``seconds`` is how long it all took, 0 where nobody measured it.

    Of a conversion, ``a`` is the source and ``b`` what was written. ``checks`` are the engines in
    which files of either were run; ``texts`` counts those of the target's own engine. The fields
    ``dropped`` are no part of the verdict, ``changed`` is a text that they change, if one is known;
    ``by_user`` are fields of the source that the user filled.
    """

    verdict: Verdict
    scope: Scope
    a: str
    b: str
    engine_a: str
    engine_b: str
    texts: int
    bytes: int
    compared: int
    differing: int
    scopes: tuple[str, ...]
    mismatch: Mismatch | None
    stage: str | None
    stages: tuple[Stage, ...]
    assumptions: tuple[str, ...]
    replayed: tuple[str, ...]
    failures: tuple[Failure, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    against: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    corpus: CorpusReport | None = None
    matters: tuple[str, ...] = ()
    interrupted: bool = False
    unstated: tuple[str, ...] = ()
    whole: str | None = None
    narrower: str = ""
    given: bool = False
    metadata: tuple[Difference, ...] = ()
    checks: tuple[Check, ...] = ()
    dropped: tuple[str, ...] = ()
    changed: str | None = None
    by_user: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        return f"<Report {self.verdict}: {self.a} and {self.b}, {_texts(self)}>"

    def __bool__(self) -> bool:
        """Never: ``assert verify(a, b)`` would pass whatever was found."""
        raise TypeError(
            "a report is neither true nor false: ask for report.verdict, which is "
            "'proved', 'tested', 'different' or 'unknown'; in a test, bpe_interop.pytest_plugin."
            "assert_parity(a, b) fails where two tokenizers differ"
        )

    def __str__(self) -> str:
        """What ``bpe-interop verify`` prints of it."""
        return as_text(report_lines(self))

    def _repr_html_(self) -> str:
        """The head of the report's page, and below it what the verdict rests on."""
        sides = f"{self.a} in {self.engine_a}", f"{self.b} in {self.engine_b}"
        shown = ((line.label or "", line.text) for line in report_lines(self))
        rest = (line for line in shown if line[0] not in ("a", "b"))  # the head has them
        return verdict_block(self.verdict, sides, summary(self), rest)


def _texts(report: Report) -> str:
    if report.verdict == "different":
        return texts_differ(report)
    return f"{report.differing:,} of {report.compared:,} texts differ"
