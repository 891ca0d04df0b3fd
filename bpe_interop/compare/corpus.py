"""Compares two tokenizers over documents: here, in child processes, or wherever workers are.

Documents come in two ways. Without workers, this process reads them one after another, whatever
they come from, and gives batches of them to both sides in this process, or in child processes
that each have a thread here. Workers, who see the same files, get places in them
(:func:`.corpora.cut`) and read for themselves. All else is one way: :func:`.workers.run_parts`.
"""

from __future__ import annotations

import math
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from ..corpora import (
    BATCH_BYTES,
    BATCH_DOCUMENTS,
    BEGINNING,
    EVERYTHING,
    CorpusFile,
    CutCorpus,
    Document,
    Mark,
    Part,
    PartReader,
    Place,
    Selection,
    check_parts_can_be_read,
    cut,
    find_files,
    lines_before,
    select,
    size_of,
    sizes_of,
)
from ..engines.child_process import cores
from ..engines.rows import ROWS, engine_row
from ..errors import EngineError, FormatError, SourceError, UnsupportedError
from ..formats import Files, by_name
from ..io.reader import TokenizerSource, parted
from ..model import BPEModel
from ..proof.stage import Scope
from ..workers import (
    LIMIT,
    Carried,
    Progress,
    Run,
    Ticket,
    Workers,
    carry,
    opened_from,
    pool_of,
    run_corpus,
    run_parts,
)
from ..workers.orders import Check
from ..workers.state import State, keeping
from ..workers.worker import versions_here
from .corpus_report import (
    CorpusReport,
    Counts,
    FailedDocument,
    Found,
    SideName,
    Source,
    digest_of,
    is_plain,
    keep,
)
from .opening import side_of
from .run import Answers, Pair, Sides
from .sides import Failure, Mismatch, Mode, OwnEngine, Side, inside_of

WORTH_PROCESSES = 1 << 22
"""Bytes on disk from which child processes are worth the second or more that they take to start."""

_SUMMED = 64
_SAVED_EVERY = 30.0
_SHOWN = 1_000
"""Characters that are kept of a text on which a side failed."""


def _libraries(sides: Iterable[SideName]) -> tuple[str, ...]:
    used = {side.engine: ROWS.get(side.engine) for side in sides}
    names = {facts.distribution or name for name, facts in used.items() if facts is not None}
    # Our encoder runs patterns in regex, and normal forms in tokenizers.
    return tuple(sorted({"regex", "tokenizers", *names}))


def empty_report(sides: Sides) -> CorpusReport:
    """A report on nothing: adding it changes no other report on these sides."""
    versions = {"python": (platform.python_version(),)}
    for name in sides.names:
        versions[name.engine] = tuple(sorted({*versions.get(name.engine, ()), name.version}))
    scopes = tuple(mode.scope for mode in sides.modes)
    return CorpusReport(*sides.names, scopes, versions=versions)


@dataclass(frozen=True, slots=True)
class Corpora:
    """Texts to compare on, and how they are read.

    Attributes:
        names: files, directories and globs of plain text (in documents of whole lines), JSONL or
            Parquet (``FILE:FIELD``), compressed or not.
        field: the key or column that holds the texts, where a name has none.
        selection: which documents are taken, and what is done where they are not UTF-8.
        state: a file in which it is kept how far the corpora were compared, to go on from.
        processes: how many child processes compare; 0 for none. None is as many as there are
            cores where that is faster: for sides that run one text after another.
    """

    names: tuple[str | Path, ...] = ()
    field: str | None = None
    selection: Selection = EVERYTHING
    state: str | Path | None = None
    processes: int | None = None

    def __post_init__(self) -> None:
        if self.selection.errors == "skip":
            raise SourceError(
                "a comparison leaves no document out",
                where="errors",
                fix='errors="replace" reads malformed UTF-8 as U+FFFD',
            )

    def files(self) -> tuple[CorpusFile, ...]:
        return find_files(self.names, field=self.field)


ProgressTick: TypeAlias = Callable[[Progress], None]
Wanted: TypeAlias = Callable[[str], bool]


def compare_corpora(
    sides: Sides,
    corpora: Corpora,
    *,
    workers: Workers | None = None,
    limit: float = LIMIT,
    isolate: bool = False,
    wanted: Wanted = lambda text: True,
    scope: Scope = "all",
    patience: int = sys.maxsize,
    tick: ProgressTick = lambda progress: None,
) -> tuple[CorpusReport, bool]:
    """Compares two tokenizers over corpora: the report, and whether its ``patience`` ended it.

    Interrupted with Ctrl-C, it returns what was done so far, with ``interrupted`` set. The text
    of a kept difference is shrunk (:func:`.compare.shrink`), all else is as one document after
    another gave it, whoever works.

    Args:
        sides: the two tokenizers.
        corpora: the texts, and how they are read.
        workers: who compares them by parts; None for this machine.
        limit: seconds for a part.
        isolate: use a child process in any case, so that a text that kills an engine is an
            outcome of its own.
        wanted: documents for whose text it is false are left out, and counted.
        scope: the scope by which workers leave documents out.
        patience: end after one side alone failed so often.
        tick: called after each batch, or part.

    Raises:
        SourceError: a corpus cannot be read, or the state is that of another comparison; workers
            are to work, and the selection depends on the parts before.
        FormatError: the state is none, or damaged.
        TargetError: the state cannot be written.
        EngineError: a part was not done in two attempts.
        BpeInteropError: a side cannot be built.
    """
    files = corpora.files()
    if workers is not None:
        report, alone = _by_parts(sides, corpora, workers, limit, files, scope, patience, tick)
        # Where a text killed an engine there, texts are shrunk in a child process here.
        children = any(each.how == "killed" for each in report.failures)
    else:
        sizes = sizes_of(files)
        processes = corpora.processes
        if processes is None:
            processes = cores() if _pays(sides, sizes) else 0
        # A text that kills an engine must not kill this process.
        processes = max(processes, int(isolate))
        children = processes > 0
        reading = _Reading(sides, corpora, files, sizes, wanted, scope, patience, tick)
        report, alone = reading.report(processes)
    ended = alone >= patience
    if ended:
        # Documents that were not read leave a report unfinished, whatever ended it.
        note = f"ended early: one side alone failed {alone:,} times"
        notes = tuple(sorted({note, *report.notes}))
        report = replace(report, notes=notes, interrupted=True)
    return _shrunk(report, sides, children), ended


def check_corpora(
    sides: Sides, corpora: Corpora, scope: Scope = "all", workers: Workers | None = None
) -> None:
    """Looks at the corpora, the state and the tokenizers before anything else is done.

    Raises:
        SourceError, FormatError, TargetError: as :func:`compare_corpora`; or an engine reads a
            directory, and workers are to run it.
    """
    files = corpora.files()
    if workers is None:
        with _kept(sides, corpora, files, scope):
            return
    check_parts_can_be_read(corpora.selection)
    cut(files)
    for side, name in zip((sides.a, sides.b), sides.names, strict=True):
        if name.engine in ROWS and ROWS[name.engine].directories:
            raise SourceError(
                f"{name.engine} reads a directory, "
                "and to workers only the tokenizer's files travel",
                where=side.source.label,
                fix="compare on corpora without a scheduler, or name another engine",
            )


def _about(sides: Sides, selection: Selection, scope: Scope) -> dict[str, Any]:
    return {
        "work": "compare",
        "a": asdict(sides.names[0]),
        "b": asdict(sides.names[1]),
        "scopes": [mode.scope for mode in sides.modes],
        "scope": scope,
        "selection": asdict(selection),
        "versions": versions_here(_libraries(sides.names)),
    }


def _pays(sides: Sides, sizes: list[int | None]) -> bool:
    """Whether child processes are faster: some engines use all cores by themselves."""
    alone = not all(engine_row(side.engine).all_cores for side in sides.names)
    return alone and (None in sizes or sum(filter(None, sizes)) >= WORTH_PROCESSES)


# What is done with documents, wherever they are.


@dataclass(frozen=True, slots=True)
class Compared:
    """What became of a part: the report on it, how many lines it has, and of how many questions
    one side alone failed. Lines in the report count from the part's first one.

    ``file_number``, ``line`` and ``offset`` say where the next document begins, where documents
    are read one after another.
    """

    report: CorpusReport
    lines: int
    alone: int
    file_number: int = 0
    line: int = 1
    offset: int = 0

    def __post_init__(self) -> None:
        """A state may say anything.

        Raises:
            FormatError: it is no place, or a difference is in a scope that was not asked for.
        """
        if min(self.file_number, self.line - 1, self.offset) < 0 or self.offset >= 1 << 63:
            raise FormatError("it ends in no place that a file can have")
        if any(each.scope not in self.report.scopes for each in self.report.found):
            raise FormatError("it has a difference in none of its scopes")

    @property
    def documents(self) -> int:
        return self.report.counts.documents

    @property
    def bytes(self) -> int:
        return self.report.counts.bytes


class Item(NamedTuple):
    """A document, the number of its file, and whether it is given to the sides."""

    file_number: int
    document: Document
    wanted: bool


@dataclass(frozen=True, slots=True)
class Batch:
    """Documents that were read; ``size`` is in bytes on disk."""

    number: int
    size: int
    items: list[Item]

    def __str__(self) -> str:
        first = self.items[0].document
        return f"{first.file.label}:{first.place.line}"


def batched(documents: Iterable[Item]) -> Iterator[list[Item]]:
    """Documents in batches, each of them whole."""
    batch: list[Item] = []
    size = 0
    for item in documents:
        batch.append(item)
        size += item.document.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class CompareWork:
    """Both sides, and the reports on what they are given."""

    def __init__(
        self,
        pair: Pair,
        empty: CorpusReport,
        selection: Selection = EVERYTHING,
        wanted: Wanted = lambda text: True,
    ) -> None:
        self._pair, self._empty = pair, empty
        self._selection, self._wanted = selection, wanted

    def do(self, part: Part | Batch, check: Check) -> Compared:
        """The report on a part; ``check`` is called now and then, and may raise."""
        if isinstance(part, Batch):
            report, alone = self._compared(part.items)
            number, last, _ = part.items[-1]
            return Compared(report, 0, alone, number, last.after.line, last.after.offset)
        reader = PartReader(part)
        items = (
            Item(part.file_number, each, self._wanted(each.text))
            for each in reader.documents(self._selection)
        )
        total, reports, alone = self._empty, list[CorpusReport](), 0
        for batch in batched(items):
            check()
            report, failed = self._compared(batch)
            alone += failed
            reports.append(report)
            if len(reports) >= _SUMMED:  # a compressed file is one part, however large
                total, reports = sum(reports, total), []
        return Compared(sum(reports, total), reader.lines, alone)

    def _compared(self, batch: list[Item]) -> tuple[CorpusReport, int]:
        outcomes = self._pair.compare([item.document.text for item in batch if item.wanted])
        alone = sum(outcome.one_failed for outcome in outcomes)
        return account(self._empty, batch, outcomes), alone

    def close(self) -> None:
        self._pair.close()


# Documents that this process reads.


@dataclass(frozen=True, eq=False)
class ReadJob:
    """Compares two sides on documents that this process read."""

    sides: Sides
    tokenizers: tuple[Ticket, ...] = ()

    @property
    def libraries(self) -> tuple[str, ...]:
        return _libraries(self.sides.names)

    def build(self, files: Sequence[Files], isolate: bool) -> CompareWork:
        return CompareWork(self.sides.pair(isolate), empty_report(self.sides))


def _kept(sides: Sides, corpora: Corpora, files: tuple[CorpusFile, ...], scope: Scope) -> Any:
    """The state of a comparison that reads documents one after another."""
    about = {**_about(sides, corpora.selection, scope), "parts": [BATCH_BYTES, BATCH_DOCUMENTS]}
    return keeping(corpora.state, about, files, Compared)


class _Reading:
    """One comparison of documents that this process reads.

    What is done is one sum, on all documents before a place, and what came before its turn.
    """

    def __init__(
        self,
        sides: Sides,
        corpora: Corpora,
        files: tuple[CorpusFile, ...],
        sizes: list[int | None],
        wanted: Wanted,
        scope: Scope,
        patience: int,
        tick: ProgressTick,
    ) -> None:
        self._sides, self._corpora, self._files = sides, corpora, files
        self._sizes = [size or 0 for size in sizes]
        self._wanted, self._scope, self._patience, self._tick = wanted, scope, patience, tick
        # What was done, each with the number of the next batch. It grows by one element at once,
        # so that an interrupt finds it whole.
        self._done: list[tuple[int, Compared]] = [(0, Compared(empty_report(sides), 0, 0))]
        self._alone = 0
        self._early: dict[int, Compared] = {}
        self._cut: list[str] = []
        self._saved = self._began = time.monotonic()
        self._progress = Progress(0, 0, 0, 0 if None in sizes else sum(self._sizes), 0.0)

    def report(self, processes: int) -> tuple[CorpusReport, int]:
        """Compares in so many child processes, or in this one.

        The report, and how often one side alone failed.
        """
        with ExitStack() as last:
            state = last.enter_context(_kept(self._sides, self._corpora, self._files, self._scope))
            self._go_on_from(state)
            last.callback(self._save, state)
            workers = pool_of(None)
            if processes:
                threads = last.enter_context(ThreadPoolExecutor(processes))
                # More than there are threads, so that none waits for this one.
                workers = pool_of(threads, processes + 2)
            run: Run[Compared] = run_parts(
                ReadJob(self._sides),
                (),
                self._batches(),
                workers,
                limit=math.inf,
                tick=lambda batch, value: self._took(batch, value, state),
                isolate=processes > 0,
                most_failed=1,
                enough=lambda: self._alone >= self._patience,
            )
            for error in run.failed.values():
                raise error
        following, done = self._total()
        ended = done.alone >= self._patience
        early = [] if ended else [each for n, each in self._early.items() if n >= following]
        total = reduce(_both, early, done).report
        notes = () if ended or run.interrupted else tuple(self._cut)
        return replace(total, notes=notes, interrupted=run.interrupted), done.alone

    def _go_on_from(self, state: State[Compared]) -> None:
        """Takes what a run before did.

        Raises:
            FormatError: the state says of it what cannot be.
        """
        for number, before in state.results.items():
            try:
                whole = _both(self._done[0][1], before)
            except SourceError as error:
                raise FormatError(error.what, where=str(self._corpora.state)) from None
            if before.file_number >= max(1, len(self._files)):
                raise FormatError("it ends in no file", where=str(self._corpora.state))
            self._done, self._alone = [(number + 1, whole)], whole.alone

    def _batches(self) -> Iterator[Batch]:
        first, done = self._done[0]
        selection = self._corpora.selection
        mark = Mark(done.file_number, Place(done.line, done.offset)) if first else BEGINNING
        most = selection.max_bytes or 0
        note = f"only a part was read, as --max-bytes {most} asks (max_bytes)"
        documents = select(self._files, selection, mark, done.bytes, lambda: self._cut.append(note))
        items = (Item(number, each, self._wanted(each.text)) for number, each in documents)
        read = 0
        for number, batch in enumerate(batched(items), first):
            if number == first != 0:  # what a run before read took no time of this one
                read = sum(self._sizes[: batch[0].file_number]) + batch[0].document.read
                self._progress = replace(self._progress, before=read, read=read)
            now = sum(self._sizes[: batch[-1].file_number]) + batch[-1].document.read
            yield Batch(number, now - read, batch)
            read = now

    def _took(self, batch: Batch, value: Compared, state: State[Compared]) -> None:
        self._early[batch.number] = value
        while (following := self._done[-1][0]) in self._early and self._alone < self._patience:
            self._done.append((following + 1, self._early[following]))
            self._alone += self._early.pop(following).alone
        if len(self._done) > _SUMMED:
            self._done[:] = [self._total()]
        if time.monotonic() - self._saved > _SAVED_EVERY:
            self._save(state)
        seen = self._progress
        self._progress = replace(
            seen,
            documents=seen.documents + value.documents,
            bytes=seen.bytes + value.bytes,
            read=seen.read + batch.size,
            seconds=time.monotonic() - self._began,
        )
        self._tick(self._progress)

    def _total(self) -> tuple[int, Compared]:
        # The first one may have very many files.
        first, *rest = [each for _, each in self._done]
        return self._done[-1][0], _both(first, reduce(_both, rest)) if rest else first

    def _save(self, state: State[Compared]) -> None:
        following, total = self._total()
        if following:
            state.replace(following - 1, total)
        self._saved = time.monotonic()


def _both(one: Compared, two: Compared) -> Compared:
    return replace(two, report=one.report + two.report, alone=one.alone + two.alone)


# Documents that workers read.


def _opened(ticket: Ticket, files: Files) -> TokenizerSource[BPEModel | None]:
    row = by_name(ticket.format)
    own, beside = parted(row, files)
    try:
        model = opened_from(ticket, files)
    except UnsupportedError as error:
        # As where it was opened first: the engine of its format runs it.
        return TokenizerSource(ticket.label, row, own, None, refusal=error.what)
    return TokenizerSource(ticket.label, row, own, model, beside=beside)


@dataclass(frozen=True)
class CompareJob:
    """Compares two sides, by their tokenizers and names, on the documents of a part."""

    tokenizers: tuple[Ticket, Ticket]
    names: tuple[SideName, SideName]
    modes: tuple[Mode, ...]
    scope: Scope
    selection: Selection

    @property
    def libraries(self) -> tuple[str, ...]:
        return _libraries(self.names)

    def build(self, files: Sequence[Files], isolate: bool) -> CompareWork:
        """Both sides, built in this process or in a child of it.

        Raises:
            EngineError: one is another tokenizer here.
        """
        opened = [*map(_opened, self.tokenizers, files)]
        asked = [None if name.engine == OwnEngine.name else name.engine for name in self.names]
        a, b = map(side_of, opened, asked)
        sides = Sides(a, b, self.modes)
        for ticket, name, here in zip(self.tokenizers, self.names, sides.names, strict=True):
            if not name.same(here):
                raise EngineError(
                    f"it is another tokenizer here: {here.engine} {here.version} "
                    f"{here.digest[:12]} instead of {name.engine} {name.version} "
                    f"{name.digest[:12]}",
                    where=ticket.label,
                )
        wanted = inside_of(self.scope, [each.model for each in opened])
        # Parts are added by the names that were asked about, whatever the files are called here.
        empty = replace(empty_report(sides), a=self.names[0], b=self.names[1])
        return CompareWork(sides.pair(isolate), empty, self.selection, wanted)


def _by_parts(
    sides: Sides,
    corpora: Corpora,
    workers: Workers,
    limit: float,
    files: tuple[CorpusFile, ...],
    scope: Scope,
    patience: int,
    tick: ProgressTick,
) -> tuple[CorpusReport, int]:
    check_parts_can_be_read(corpora.selection)
    corpus = CutCorpus(files)
    carried = _carried(sides.a), _carried(sides.b)
    tickets = carried[0].ticket, carried[1].ticket
    run = run_corpus(
        CompareJob(tickets, sides.names, sides.modes, scope, corpora.selection),
        carried,
        corpus,
        workers,
        state=corpora.state,
        about=_about(sides, corpora.selection, scope),
        kind=Compared,
        limit=limit,
        tick=lambda seen, part: tick(seen),
    )
    report, alone = merged(empty_report(sides), corpus.parts, run.results, patience)
    notes = tuple(sorted(run.notes))
    return replace(report, notes=notes, interrupted=run.interrupted), alone


def _carried(side: Side) -> Carried:
    source = side.source
    return carry(source.label, source.format.name, source.files, side.preset, source.beside)


def merged(
    empty: CorpusReport,
    parts: Sequence[Part],
    results: Mapping[int, Compared],
    patience: int,
) -> tuple[CorpusReport, int]:
    """The report on the parts that are done, in order, and how often one side alone failed.

    Lines are counted in the whole file. Where a part before is not done, because the run was
    interrupted, they are counted in the file.
    """
    total, waiting, alone = empty, list[CorpusReport](), 0
    lines: dict[int, int | None] = {}
    for part in parts:
        done = results.get(part.number)
        first = lines.get(part.file_number, 0)
        if done is None:
            lines[part.file_number] = None
            continue
        report = done.report
        if first is None and (report.found or report.failures):
            first = lines_before(part)
        if first:
            report = _moved(report, first)
        lines[part.file_number] = None if first is None else first + done.lines
        waiting.append(report)
        if len(waiting) >= _SUMMED:
            total, waiting = total + reduce(add, waiting), []
        alone += done.alone
        if alone >= patience:
            break
    return sum(waiting, total), alone


K = TypeVar("K", Found, FailedDocument)


def _moved(report: CorpusReport, lines: int) -> CorpusReport:
    """With lines that count from the beginning of the file; rows of Parquet do already."""

    def moved(each: K) -> K:
        return replace(each, source=replace(each.source, line=each.source.line + lines))

    return replace(
        report,
        found=tuple(map(moved, report.found)),
        failures=tuple(map(moved, report.failures)),
    )


# Reports.


def _shrunk(report: CorpusReport, sides: Sides, isolate: bool) -> CorpusReport:
    """With the texts of the kept differences made small; Ctrl-C leaves the rest as it is."""
    differences = list(report.found)
    named = {mode.scope: mode for mode in sides.modes}
    if all(each.shrunk for each in differences):
        return report
    pair = sides.pair(isolate)
    try:
        for place, each in enumerate(differences):
            mode = named.get(each.scope)  # a state that was edited may have any
            smaller = None if each.shrunk or mode is None else pair.shrink(each.text, mode)
            if smaller is not None:
                differences[place] = _replaced(each, smaller)
    except KeyboardInterrupt:
        pass  # the report is whole; the texts that are left stay as long as they were
    finally:
        pair.close()
    return replace(report, found=keep(differences))


def _replaced(difference: Found, smaller: Mismatch) -> Found:
    return replace(
        difference,
        text=smaller.text,
        ids_a=smaller.ids_a,
        ids_b=smaller.ids_b,
        decoding=smaller.decoding,
        shrunk=True,
    )


def account(empty: CorpusReport, batch: list[Item], outcomes: list[Answers]) -> CorpusReport:
    """The report on one batch; ``outcomes`` are of the documents that were given to the sides."""
    files: dict[str, Counts] = {}
    differences: list[Found] = []
    failures: list[FailedDocument] = []
    given = iter(outcomes)
    for _, document, wanted in batch:
        label = document.file.label
        outcome = next(given) if wanted else Answers()
        counts = _counted(document, outcome, wanted)
        files[label] = files[label] + counts if label in files else counts
        if outcome.mismatch is not None:
            rank = empty.scopes.index(outcome.mismatch.mode.scope)
            differences.append(_found(document, outcome.mismatch, rank, outcome.common))
        for side, failed in (("a", outcome.failures_a), ("b", outcome.failures_b)):
            failures += [_failed(document, side, each) for each in failed]
    return replace(
        empty,
        counts=reduce(add, files.values()),
        files=files,
        found=keep(differences),
        failures=keep(failures),
    )


def _counted(document: Document, outcome: Answers, wanted: bool) -> Counts:
    mismatch = outcome.mismatch
    return Counts(
        documents=1,
        bytes=document.size,
        tokens_a=outcome.tokens_a,
        tokens_b=outcome.tokens_b,
        compared=int(outcome.compared > 0),
        differing=int(mismatch is not None),
        decoding=int(mismatch is not None and mismatch.decoding is not None),
        failed_a=int(bool(outcome.failures_a)),
        failed_b=int(bool(outcome.failures_b)),
        replaced=int(document.replaced),
        left_out=int(not wanted),
        left_out_bytes=0 if wanted else document.size,
    )


def _found(document: Document, mismatch: Mismatch, rank: int, common: int) -> Found:
    return Found(
        source=_source(document, common),
        scope=mismatch.mode.scope,
        rank=rank,
        text=mismatch.text,
        ids_a=mismatch.ids_a,
        ids_b=mismatch.ids_b,
        decoding=mismatch.decoding,
    )


def _failed(document: Document, side: str, failure: Failure) -> FailedDocument:
    text = document.text[:_SHOWN]
    return FailedDocument(_source(document, 0), side, failure.how, failure.what, text)


_AROUND = 30
"""So many characters are shown on each side of the place where ids begin to differ."""


def _source(document: Document, common: int) -> Source:
    """Where something was found: in plain text the line itself, else the record."""
    text, place = document.text, document.place
    before = text[:common] if document.file.kind == "text" else ""
    return Source(
        file=document.file.label,
        line=place.line + before.count("\n"),
        offset=place.offset + size_of(before),
        size=len(text),
        plain=is_plain(text),
        digest=digest_of(text),
        before=text[max(0, common - _AROUND) : common],
        after=text[common : common + _AROUND],
    )
