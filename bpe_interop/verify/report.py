"""What a verification found, with examples, and whether the fields that differ change ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..diff import Difference, diff
from ..encode import Encoder
from ..model import BPEModel, show
from ..notebook import verdict_block
from ..proof.prove import STAGES, Proof
from ..proof.stage import Scope, Stage, counts
from .alignment import Span, align
from .corpus_report import CorpusReport, Source
from .metadata import metadata_apart
from .runs import Ran, mismatch_of
from .sides import Failure, Mismatch, Mode, Side, unstated
from .summary import summary, texts_differ
from .verdict import Verdict, conclude


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
    caller's, and none of ours.
    ``seconds`` is how long it all took, 0 where nobody measured it.
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
    unstated: tuple[str, ...] = ()
    whole: str | None = None
    narrower: str = ""
    given: bool = False
    metadata: tuple[Difference, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        return f"<Report {self.verdict}: {self.a} and {self.b}, {_texts(self)}>"

    def __bool__(self) -> bool:
        """Never: ``assert verify(a, b)`` would pass whatever was found."""
        raise TypeError(
            "a report is neither true nor false: ask for report.verdict, which is "
            "'proved', 'tested', 'refuted' or 'unknown'; in a test, bpe_interop.pytest_plugin."
            "assert_parity(a, b) fails where two tokenizers differ"
        )

    def __str__(self) -> str:
        """The verdict, on what it rests, and a text that differs if there is one."""
        mismatch = self.mismatch
        told = {
            "sides": [f"{self.a} in {self.engine_a}", f"{self.b} in {self.engine_b}"],
            "texts": [f"{_texts(self)} ({self.bytes:,} bytes)"],
            "scopes": self.scopes,
            "stage": [self.stage] if self.stage else [],
            "text": [show(mismatch.text)] if mismatch else [],
            "a gives": [_ids(mismatch.ids_a)] if mismatch else [],
            "b gives": [_ids(mismatch.ids_b)] if mismatch else [],
            "assumes": self.assumptions,
            "but": [self.narrower] if self.narrower else [],
            "note": self.notes,
        }
        lines = (f"  {word}: {line}" for word, lines in told.items() for line in lines)
        verdict = "DIFFERENT" if self.verdict == "refuted" else self.verdict.upper()
        return "\n".join([f"{verdict}: {self.a} and {self.b}", *lines])

    def _repr_html_(self) -> str:
        """The head of the report's page, and below it what the verdict rests on."""
        sides = f"{self.a} in {self.engine_a}", f"{self.b} in {self.engine_b}"
        rest = [line for line in str(self).splitlines()[1:] if not line.startswith("  sides: ")]
        return verdict_block(self.verdict, sides, summary(self), rest)


def _texts(report: Report) -> str:
    if report.verdict == "refuted":
        return texts_differ(report)
    return f"{report.differing:,} of {report.compared:,} texts differ"


def _ids(ids: tuple[int, ...]) -> str:
    more = f" ... ({len(ids):,} ids)" if len(ids) > 20 else ""
    return " ".join(map(str, ids[:20])) + more


EXAMPLES = 10
"""How many are shown at most."""


def examples_of(
    first: Mismatch | None,
    corpus: CorpusReport | None,
    modes: Sequence[Mode],
    models: tuple[BPEModel | None, BPEModel | None],
) -> tuple[Example, ...]:
    """The text that refutes, and others of the corpora.

    Args:
        first: the text that refutes; None where there is none.
        corpus: what was compared on corpora.
        modes: how the sides were asked.
        models: the models that the sides run, as far as they are known.
    """
    if first is None:
        return ()
    sources: dict[tuple[str, str], Source] = {}
    shown = [first]
    for difference in () if corpus is None else corpus.witnesses:
        sources.setdefault((difference.scope, difference.text), difference.source)
        if (difference.scope, difference.text) != (first.mode.scope, first.text):
            shown.append(mismatch_of(difference, modes))
    one, two = (None if model is None else Encoder(model) for model in models)
    return tuple(
        Example(
            each,
            align(each.text, each.ids_a, each.ids_b, one, two, each.mode),
            sources.get((each.mode.scope, each.text)),
        )
        for each in shown[:EXAMPLES]
    )


_TEXT = frozenset({"normalizer", "pre-tokenizer", "core", "lookup", "ids"})
"""The stages of texts in which no added token is looked for."""


def matters(differences: Sequence[Difference], proof: Proof) -> tuple[str, ...]:
    """Says of each difference whether it changes ids.

    Args:
        differences: the fields in which two models differ.
        proof: what was established of the models.
    """
    return tuple(_said(each, differences, proof) for each in differences)


def _said(difference: Difference, differences: Sequence[Difference], proof: Proof) -> str:
    names = STAGES[difference.field]
    if not names:
        return "does not change ids: metadata"
    mine = [stage for stage in proof.stages if stage.name in names]
    for stage in mine:
        if stage.outcome == "refuted" and stage.name == "decoding":
            return f"changes texts (see stage {stage.name})"
        if stage.outcome == "refuted":
            verb = "may change" if _beside_others(names, differences, proof) else "changes"
            return f"{verb} ids (see stage {stage.name}{_outside(stage, proof)})"
    for stage in mine:
        if stage.outcome == "unknown":
            return f"not established (see stage {stage.name}{_outside(stage, proof)})"
    same = "decode to the same text" if difference.field == "decoder" else "give the same ids"
    return f"proved to {same}"


def _beside_others(names: tuple[str, ...], differences: Sequence[Difference], proof: Proof) -> bool:
    """Whether another field may be what changes ids: a text shows what they do together."""
    if not _TEXT.issuperset(names):
        return False
    open_ = {stage.name for stage in proof.stages if stage.outcome != "proved"} & _TEXT
    return sum(not open_.isdisjoint(STAGES[each.field]) for each in differences) > 1


def _outside(stage: Stage, proof: Proof) -> str:
    return "" if counts(stage.name, proof.scope) else ", outside the scope"


def report_of(
    scope: Scope,
    sides: tuple[Side, Side],
    modes: Sequence[Mode],
    proof: Proof | None,
    ran: Ran,
    notes: list[str],
) -> Report:
    """The report on two sides.

    Args:
        scope: what counts.
        sides: what was compared.
        modes: how the sides were asked.
        proof: what was proved of the models; None where nothing was tried.
        ran: what was run.
        notes: what there is to say besides; more is added to them.
    """
    tally = ran.total()
    counts = None if ran.corpus is None else ran.corpus.counts
    unanswered = 0 if counts is None else max(counts.failed_a, counts.failed_b)
    silent = unstated(side.source.model for side in sides) if scope == "all" else ()
    concluded = conclude(proof, tally, sides, notes, unanswered, silent)
    a, b = sides
    one, two = a.model, b.model
    differences = () if one is None or two is None else diff(one, two)
    return Report(
        verdict=concluded.verdict,
        scope=scope,
        a=a.source.label,
        b=b.source.label,
        engine_a=f"{a.engine.name} {a.engine.version}",
        engine_b=f"{b.engine.name} {b.engine.version}",
        texts=tally.texts,
        bytes=tally.bytes,
        compared=tally.compared,
        differing=tally.differing,
        scopes=tuple(mode.scope for mode in modes),
        mismatch=concluded.mismatch,
        stage=concluded.stage,
        stages=concluded.stages,
        assumptions=concluded.assumptions,
        replayed=concluded.replayed,
        failures=tuple(tally.failures),
        differences=differences,
        notes=tuple(notes),
        examples=examples_of(concluded.mismatch, ran.corpus, modes, (one, two)),
        corpus=ran.corpus,
        matters=()
        if proof is None
        else matters(differences, replace(proof, stages=concluded.stages)),
        interrupted=ran.interrupted,
        metadata=metadata_apart(one or a.source.model, two or b.source.model, differences),
        unstated=silent,
        whole=tally.whole if concluded.mismatch is tally.mismatch else None,
    )
