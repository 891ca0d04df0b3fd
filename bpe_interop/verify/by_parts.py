"""Compares two tokenizers over the parts of a corpus, each wherever a worker is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from typing import Any, TypeVar

from ..corpora import (
    CutCorpus,
    Part,
    PartReader,
    Selection,
    check_parts_can_be_read,
    cut,
    find_shards,
    lines_before,
)
from ..engines.facts import FACTS
from ..errors import EngineError, SourceError, UnsupportedError
from ..formats import Files, by_name
from ..io import TokenizerSource
from ..io.reader import parted
from ..model import BPEModel
from ..proof.stage import Scope
from ..shards import (
    LIMIT,
    Carried,
    Progress,
    Ticket,
    Workers,
    opened_from,
    run_corpus,
)
from ..shards.orders import Check
from ..shards.worker import versions_here
from .children import ChildPair
from .compare import LocalPair, Pair
from .corpus_report import CorpusReport, Failed, Found, SideName
from .sides import Inside, Mode, side_of
from .sweep import (
    ENDED_EARLY,
    Corpora,
    Sides,
    account,
    batches,
    libraries_of,
    shrunk,
    texts_of,
)

_SUMMED = 64


@dataclass(frozen=True)
class SideTicket:
    """One side as it travels: the tokenizer, the engine that was asked for, and its name."""

    ticket: Ticket
    engine: str | None
    name: SideName

    def open(self, files: Files) -> TokenizerSource[BPEModel | None]:
        """The side as it is opened where it arrived."""
        row = by_name(self.ticket.format)
        own, beside = parted(row, files)
        try:
            model = opened_from(self.ticket, files)
        except UnsupportedError as error:
            return TokenizerSource(self.ticket.label, row, own, None, refusal=error.what)
        return TokenizerSource(self.ticket.label, row, own, model, beside=beside)


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of a part: the report on it, how many lines it has, and of how many questions
    one side alone failed. Lines in the report count from the part's first one.
    """

    report: CorpusReport
    lines: int
    alone: int

    @property
    def documents(self) -> int:
        """How many documents were compared."""
        return self.report.counts.documents

    @property
    def bytes(self) -> int:
        """How many bytes of UTF-8 they have."""
        return self.report.counts.bytes


@dataclass(frozen=True)
class CompareJob:
    """Compares two sides on the documents of a part."""

    a: SideTicket
    b: SideTicket
    modes: tuple[Mode, ...]
    scope: Scope
    selection: Selection

    @property
    def tokenizers(self) -> tuple[Ticket, ...]:
        """Both."""
        return self.a.ticket, self.b.ticket

    @property
    def libraries(self) -> tuple[str, ...]:
        """The engines' distributions, and what splits texts in our encoder."""
        return libraries_of((self.a.name.engine, self.b.name.engine))

    def build(self, files: Sequence[Files], isolate: bool) -> CompareWork:
        """Both sides, built in this process or in a child of it."""
        return CompareWork(self, files, isolate)


class CompareWork:
    """Both sides, and which texts are in the scope."""

    def __init__(self, job: CompareJob, files: Sequence[Files], isolate: bool) -> None:
        opened = [side.open(each) for side, each in zip((job.a, job.b), files, strict=True)]
        (build_a, name_a), (build_b, name_b) = (
            side_of(each, side.engine) for each, side in zip(opened, (job.a, job.b), strict=True)
        )
        for side, name in ((job.a, name_a), (job.b, name_b)):
            if not side.name.same(name):
                raise EngineError(
                    f"it is another tokenizer here: {name.engine} {name.version} "
                    f"{name.digest[:12]} instead of {side.name.engine} {side.name.version} "
                    f"{side.name.digest[:12]}",
                    where=side.ticket.label,
                )
        self._job = job
        self._empty = Sides(build_a, build_b, job.a.name, job.b.name, job.modes).report()
        self._wanted = Inside(job.scope, [each.model for each in opened])
        self._pair: Pair
        if isolate:
            self._pair = ChildPair(build_a, build_b, job.modes)
        else:
            self._pair = LocalPair(build_a(), build_b(), job.modes)

    def do(self, part: Part, check: Check) -> Compared:
        """The report on a part."""
        reader = PartReader(part)
        documents = ((part.file, each) for each in reader.documents(self._job.selection))
        reports: list[CorpusReport] = []
        alone = 0
        for batch in batches(documents, self._wanted):
            check()
            outcomes = self._pair.compare(texts_of(batch))
            alone += sum(outcome.alone for outcome in outcomes)
            reports.append(account(self._empty, batch, outcomes))
            if len(reports) >= _SUMMED:  # a compressed file is one part, however large
                reports = [sum(reports, self._empty)]
        return Compared(sum(reports, self._empty), reader.lines, alone)

    def close(self) -> None:
        """Ends the child process, if there is one."""
        self._pair.close()


@dataclass(frozen=True)
class ByParts:
    """Who compares corpora by parts, and what is sent there.

    ``carried`` are both tokenizers, ``engines`` those that were asked for, ``limit`` is in
    seconds for a part.
    """

    workers: Workers
    carried: tuple[Carried, Carried]
    engines: tuple[str | None, str | None]
    limit: float = LIMIT


def compare_by_parts(
    sides: Sides,
    corpora: Corpora,
    by: ByParts,
    scope: Scope,
    patience: int,
    tick: Callable[[Progress], None],
) -> CorpusReport:
    """Compares two tokenizers over corpora; as :func:`.sweep.compare_corpora`, with its report.

    Raises:
        SourceError, TargetError: as there; and the selection depends on the parts before.
        EngineError: a part was not done in two attempts.
    """
    check_parts_can_be_read(corpora.selection)
    corpus = CutCorpus(find_shards(corpora.names, field=corpora.field))
    a, b = (
        SideTicket(each.ticket, engine, name)
        for each, engine, name in zip(
            by.carried, by.engines, (sides.name_a, sides.name_b), strict=True
        )
    )
    job = CompareJob(a, b, sides.modes, scope, corpora.selection)
    run = run_corpus(
        job,
        by.carried,
        corpus,
        by.workers,
        state=corpora.state,
        about=_about(job),
        kind=Compared,
        limit=by.limit,
        tick=lambda seen, part: tick(seen),
    )
    report, ended = merged(sides.report(), corpus.parts, run.results, patience)
    pair = sides.pairs(0)[0]
    try:
        report = shrunk(report, pair, sides.modes)
    finally:
        pair.close()
    return replace(
        report,
        notes=tuple(sorted({*ended, *run.notes})),
        interrupted=run.interrupted or bool(ended),
    )


def check_by_parts(corpora: Corpora, by: ByParts) -> None:
    """Looks at the corpora and at the tokenizers before anything else is done.

    Raises:
        SourceError: a corpus cannot be read by parts, or an engine reads a directory.
    """
    check_parts_can_be_read(corpora.selection)
    cut(find_shards(corpora.names, field=corpora.field))
    for engine, carried in zip(by.engines, by.carried, strict=True):
        if engine is not None and engine in FACTS and FACTS[engine].directories:
            raise SourceError(
                f"{engine} reads a directory, and to workers only the tokenizer's files travel",
                where=carried.ticket.label,
                fix="compare on corpora without a scheduler, or name another engine",
            )


def _about(job: CompareJob) -> dict[str, Any]:
    return {
        "work": "compare",
        "a": asdict(job.a.name),
        "b": asdict(job.b.name),
        "scopes": [mode.scope for mode in job.modes],
        "scope": job.scope,
        "selection": asdict(job.selection),
        "versions": versions_here(job.libraries),
    }


def merged(
    empty: CorpusReport,
    parts: Sequence[Part],
    results: Mapping[int, Compared],
    patience: int,
) -> tuple[CorpusReport, list[str]]:
    """The report on the parts that are done, in the order of the corpus, and why it ends early.

    Lines are counted in the whole file. Where a part before is not done, because the run was
    interrupted, they are counted in the file.
    """
    total, waiting, notes = empty, list[CorpusReport](), list[str]()
    alone = 0
    lines: dict[int, int | None] = {}
    for part in parts:
        done = results.get(part.number)
        first = lines.get(part.file, 0)
        if done is None:
            lines[part.file] = None
            continue
        report = done.report
        if first is None and (report.found or report.failures):
            first = lines_before(part)
        if first:
            report = _moved(report, first)
        lines[part.file] = None if first is None else first + done.lines
        waiting.append(report)
        if len(waiting) >= _SUMMED:
            total, waiting = total + reduce(add, waiting), []
        alone += done.alone
        if alone >= patience:
            notes.append(f"{ENDED_EARLY}: one side alone failed {alone:,} times")
            break
    return sum(waiting, total), notes


K = TypeVar("K", Found, Failed)


def _moved(report: CorpusReport, lines: int) -> CorpusReport:
    """With lines that count from the beginning of the file; rows of Parquet do already."""

    def moved(each: K) -> K:
        return replace(each, source=replace(each.source, line=each.source.line + lines))

    return replace(
        report,
        found=tuple(map(moved, report.found)),
        failures=tuple(map(moved, report.failures)),
    )
