"""What is known of two tokenizers: the verdict, what it rests on, and texts that show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..diff import Difference
from ..notebook import verdict_block
from ..proof.stage import Scope, Stage
from ..text.visible import as_text
from .alignment import Span
from .corpus_report import CorpusReport, Source
from .sentences import report_lines, summary, texts_differ
from .sides import Failure, Mismatch

Verdict: TypeAlias = Literal["proved", "tested", "different", "unknown"]
"""What is said of two tokenizers, or of what was written and its source."""


Whose: TypeAlias = Literal["source", "target"]
"""Whose files are run, of a conversion's two."""


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
    of: Whose = "target"


@dataclass(frozen=True, slots=True)
class ServedOtherwise:
    """A library that serves a conversion's source folder with other ids than its files say.

    Of ``mismatch``, ``ids_a`` are what the files say as they are read here, ``ids_b`` the
    library's. It was found on ``differing`` of ``texts``. ``saved``: the library wrote the folder.
    ``command`` writes what the library serves: the target itself, or where that has changes of its
    own, what these are made to (``before``).
    """

    engine: str
    version: str
    mismatch: Mismatch
    texts: int
    differing: int
    saved: bool
    command: str = ""
    before: bool = False


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
    """What a comparison of two tokenizers found: the verdict, the text that shows it, the stages.

    ``verdict``: ``"proved"`` (every text of the scope has the same ids on both sides, under the
    ``assumptions``), ``"different"`` (``mismatch`` has a text that has not, ``stage`` is the first
    that differs), ``"tested"`` (the sides agreed on every text that both answered, and that is
    every document of the corpora) or ``"unknown"`` (they answered none, or not every document, or
    special tokens are ``unstated``). docs/report.md says what the other fields are.
    """

    verdict: Verdict
    scope: Scope
    # Of a conversion a is the source, and b what was written.
    a: str
    b: str
    engine_a: str
    engine_b: str
    # Of texts, with so many bytes of UTF-8, both sides answered compared, and did not agree on
    # differing. Documents of corpora are counted; of a conversion, what the target's engine ran.
    texts: int
    bytes: int
    compared: int
    differing: int
    scopes: tuple[str, ...]  # how both sides were asked
    mismatch: Mismatch | None
    stage: str | None
    stages: tuple[Stage, ...]
    assumptions: tuple[str, ...]
    replayed: tuple[str, ...]  # the engines in which the text of mismatch was run again
    failures: tuple[Failure, ...]  # of all texts but those of the corpora
    differences: tuple[Difference, ...]  # fields of the models that the sides really run
    notes: tuple[str, ...]
    against: tuple[str, ...] = ()  # why it is not called proved, though the models may be equal
    examples: tuple[Example, ...] = ()  # that of mismatch first
    corpus: CorpusReport | None = None
    matters: tuple[str, ...] = ()  # of each of differences whether it changes ids
    interrupted: bool = False  # Ctrl-C ended it before all texts were compared
    unstated: tuple[str, ...] = ()  # sides that do not state special tokens, though they count
    whole: str | None = None  # the text that was run, of which that of mismatch was made small
    narrower: str = ""  # a sentence: a narrower scope in which the two are proved equal
    given: bool = False  # the texts are the caller's
    # In which roles and settings they differ that change no id of a text: whoever asks for the
    # same metadata does not accept these.
    metadata: tuple[Difference, ...] = ()
    # On how many of the texts, those of corpora left out, they differ when asked in one way.
    differing_in: Mapping[str, int] = field(default_factory=dict)
    # Of a conversion: the engines in which files of either were run; the fields that are no part
    # of the verdict, with a text that they change; and those that the user filled in the source.
    checks: tuple[Check, ...] = ()
    dropped: tuple[str, ...] = ()
    changed: str | None = None
    by_user: tuple[str, ...] = ()
    source_served: ServedOtherwise | None = None
    # Of a conversion: ids that no text gives decode to other texts; and where all that was
    # converted differs, the scope in which it does not.
    stray_ids: bool = False
    equal_in: Scope | None = None
    seconds: float = field(default=0.0, compare=False)  # 0 where nobody measured it

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
