"""What a verification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ..diff import Difference
from ..model import show
from ..text.notebook import framed
from .alignment import Span
from .corpus_report import CorpusReport, Source
from .prove import Scope
from .sides import Failure, Mismatch
from .stages import Stage

Verdict: TypeAlias = Literal["proved", "tested", "refuted", "unknown"]


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
    """What a verification found, and what it is about.

    ``verdict``: ``"proved"`` (every text of the scope has the same ids on both sides, under the
    ``assumptions``), ``"refuted"`` (``mismatch`` has a text that has not, ``stage`` is the first
    that differs), ``"tested"`` (the sides agreed on every text that both answered) or ``"unknown"``
    (they answered none, or a lock file has another fingerprint and no text shows why): ``compared``
    of ``texts`` were answered. ``stages`` says what was established of each stage; ``replayed`` in
    which engines the text of ``mismatch`` was run again. ``differences`` are the fields in which
    the models differ that the two sides really run, and ``matters`` says of each whether it changes
    ids. ``examples`` are texts on which the sides differ, that of ``mismatch`` first; ``corpus`` is
    what was compared on corpora, which ``texts``, ``bytes``, ``compared`` and ``differing`` count
    too. ``failures`` are of all other texts: those of the corpora are in ``corpus``.
    ``interrupted`` says that Ctrl-C ended it before all texts were compared.
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
    examples: tuple[Example, ...] = ()
    corpus: CorpusReport | None = None
    matters: tuple[str, ...] = ()
    interrupted: bool = False

    def __repr__(self) -> str:
        return (
            f"<Report {self.verdict}: {self.a} and {self.b}, "
            f"{self.differing:,} of {self.compared:,} texts differ>"
        )

    def __str__(self) -> str:
        """The verdict, on what it rests, and a text that differs if there is one."""
        found = self.mismatch
        told = {
            "sides": [f"{self.a} in {self.engine_a}", f"{self.b} in {self.engine_b}"],
            "texts": [f"{self.differing:,} of {self.compared:,} differ ({self.bytes:,} bytes)"],
            "scopes": self.scopes,
            "stage": [self.stage] if self.stage else [],
            "text": [show(found.text)] if found else [],
            "a gives": [_ids(found.ids_a)] if found else [],
            "b gives": [_ids(found.ids_b)] if found else [],
            "assumes": self.assumptions,
            "note": self.notes,
        }
        lines = (f"  {word}: {line}" for word, lines in told.items() for line in lines)
        return "\n".join([f"{self.verdict.upper()}: {self.a} and {self.b}", *lines])

    def _repr_html_(self) -> str:
        head, *rest = str(self).splitlines()
        return framed(head, rest, self.verdict)


def _ids(ids: tuple[int, ...]) -> str:
    more = f" ... ({len(ids):,} ids)" if len(ids) > 20 else ""
    return " ".join(map(str, ids[:20])) + more
