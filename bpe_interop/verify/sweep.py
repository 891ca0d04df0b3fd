"""Compares two tokenizers over documents: in batches, on all cores; a later run can go on."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ..corpora import (
    BEGINNING,
    EVERYTHING,
    Document,
    Mark,
    Place,
    Selection,
    Shard,
    find_shards,
    select,
    signatures,
    size_of,
    sizes_of,
)
from ..engines.facts import FACTS, facts
from ..errors import SourceError
from ..io import replace_file
from ..shards import Progress
from ..shards.state_file import parse_state, state_of
from ..shards.worker import versions_here
from ..strict_json import Node, check_schema
from .children import ChildPair, cores, run_batches
from .compare import Answers, LocalPair, Pair
from .corpus_report import (
    CorpusReport,
    Counts,
    Failed,
    Found,
    SideName,
    Source,
    digest_of,
    is_plain,
    keep,
    read_report,
)
from .sides import Build, Failure, Mismatch, Mode

if TYPE_CHECKING:
    from .by_parts import ByParts

WORTH_PROCESSES = 1 << 22
"""Bytes on disk from which child processes are worth the second or more that they take to start."""

ENDED_EARLY = "ended early"
"""How a note begins that says why a comparison ended before its corpus did."""

_SUMMED = 64
_SAVED_EVERY = 30.0


def libraries_of(engines: Iterable[str]) -> tuple[str, ...]:
    """The engines' distributions, and what splits texts in our encoder."""
    used = {name: FACTS.get(name) for name in engines}
    names = {facts.distribution or name for name, facts in used.items() if facts is not None}
    return tuple(sorted({"regex", "tokenizers", *names}))


@dataclass(frozen=True)
class Sides:
    """What is compared, so that other processes can build it too, and how both are asked."""

    a: Build
    b: Build
    name_a: SideName
    name_b: SideName
    modes: tuple[Mode, ...]

    @property
    def libraries(self) -> tuple[str, ...]:
        """The distributions on whose versions the results depend."""
        return libraries_of((self.name_a.engine, self.name_b.engine))

    def report(self) -> CorpusReport:
        """A report on nothing: adding it changes no other report on these sides."""
        versions = {"python": (platform.python_version(),)}
        for side in (self.name_a, self.name_b):
            versions[side.engine] = tuple(sorted({*versions.get(side.engine, ()), side.version}))
        scopes = tuple(mode.scope for mode in self.modes)
        return CorpusReport(self.name_a, self.name_b, scopes, versions=versions)

    def pairs(self, processes: int) -> list[Pair]:
        """Pairs of sides, each in a process of its own; with 0, one in this process."""
        if processes:
            return [ChildPair(self.a, self.b, self.modes) for _ in range(processes)]
        return [LocalPair(self.a(), self.b(), self.modes)]


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
        by_parts: the workers that do it instead; :func:`.verify` makes it of an executor.
    """

    names: tuple[str | Path, ...] = ()
    field: str | None = None
    selection: Selection = EVERYTHING
    state: str | Path | None = None
    processes: int | None = None
    by_parts: ByParts | None = None

    def __post_init__(self) -> None:
        if self.selection.errors == "skip":
            raise SourceError(
                "a comparison leaves no document out",
                where="errors",
                fix='errors="replace" reads malformed UTF-8 as U+FFFD',
            )


Tick: TypeAlias = Callable[[Progress], None]


def compare_corpora(
    sides: Sides,
    corpora: Corpora,
    *,
    isolate: bool = False,
    wanted: Wanted = lambda text: True,
    patience: int = sys.maxsize,
    tick: Tick = lambda progress: None,
) -> CorpusReport:
    """Compares two tokenizers over corpora.

    Interrupted with Ctrl-C, it returns what was done so far, with ``interrupted`` set. The text
    of a kept difference is shrunk (:func:`.compare.shrink`), all else is as one document after
    another gave it, whatever the number of processes.

    Args:
        sides: the two tokenizers.
        corpora: the texts, and how they are read.
        isolate: use a child process in any case, so that a text that kills an engine is an
            outcome of its own.
        wanted: documents for whose text it is false are left out, and counted.
        patience: end after one side alone failed so often.
        tick: called after each batch.

    Raises:
        SourceError: a corpus cannot be read, or the state is that of another comparison.
        TargetError: the state cannot be written.
        BpeInteropError: a side cannot be built.
    """
    shards = find_shards(corpora.names, field=corpora.field)
    sizes = sizes_of(shards)
    saved = _saved(sides, corpora, shards)
    report, mark = sides.report(), BEGINNING
    if saved is not None:
        report, mark = saved.read(report)
        saved.write(report, mark)  # now, rather than after hours, it is seen that it cannot be
    processes = corpora.processes
    if processes is None:
        processes = cores() if _pays(sides, sizes) else 0
    run = _Run(sides, max(processes, int(isolate)), report, mark, saved, patience, tick, sizes)
    notes: list[str] = []

    def cut() -> None:
        most = corpora.selection.max_bytes or 0
        notes[:] = [f"only a part was read, as --max-bytes {most} asks (max_bytes)"]

    documents = select(shards, corpora.selection, mark, report.counts.bytes, cut)
    done = run.over(batches(documents, wanted))
    return done if done.interrupted else replace(done, notes=(*done.notes, *notes))


def check_corpora(sides: Sides, corpora: Corpora) -> None:
    """Checks that corpora can be opened, and that a state can be read and written.

    Raises:
        SourceError, FormatError, TargetError: as :func:`compare_corpora`.
    """
    saved = _saved(sides, corpora, find_shards(corpora.names, field=corpora.field))
    if saved is not None:
        saved.write(*saved.read(sides.report()))


def _saved(sides: Sides, corpora: Corpora, shards: tuple[Shard, ...]) -> Saved | None:
    """The state of the comparison, where one is kept."""
    if corpora.state is None:
        return None
    return Saved(Path(corpora.state), shards, corpora.selection, versions_here(sides.libraries))


def _pays(sides: Sides, sizes: list[int | None]) -> bool:
    """Whether child processes are faster: some engines use all cores by themselves."""
    alone = not all(facts(side.engine).all_cores for side in (sides.name_a, sides.name_b))
    return alone and (None in sizes or sum(filter(None, sizes)) >= WORTH_PROCESSES)


class _Run:
    """One comparison: what it did so far, always as of the end of a batch."""

    def __init__(
        self,
        sides: Sides,
        processes: int,
        report: CorpusReport,
        mark: Mark,
        saved: Saved | None,
        patience: int,
        tick: Tick,
        sizes: list[int | None],
    ) -> None:
        self._sides, self._processes = sides, processes
        self._saved, self._tick, self._patience = saved, tick, patience
        self._sizes = [size or 0 for size in sizes]
        # What was done, with how far it goes. It grows by one element at once, so that an
        # interrupt finds it whole.
        self._done: list[tuple[CorpusReport, Mark]] = [(report, mark)]
        self._began = self._wrote = time.monotonic()
        self._resumed = mark != BEGINNING
        self._alone = 0
        self._notes: tuple[str, ...] = ()
        self._progress = Progress(0, 0, 0, 0 if None in sizes else sum(self._sizes), 0.0)

    def over(self, given: Iterable[list[Item]]) -> CorpusReport:
        """Compares on batches of documents."""
        ended = False
        pairs = self._sides.pairs(self._processes)
        try:
            with closing(run_batches(pairs, given, texts_of)) as worked:
                ended = self._work(worked)
        except KeyboardInterrupt:
            pass
        finally:
            self._save()
            if not ended:
                _close(pairs)
        if not ended:
            pairs = self._sides.pairs(min(1, self._processes))
        try:
            report = shrunk(self._report(), pairs[0], self._sides.modes)
            # What ends this run ends no other, so it is not in the state.
            return replace(report, notes=self._notes, interrupted=not ended)
        finally:
            _close(pairs)

    def _work(self, worked: Iterator[tuple[list[Item], list[Answers]]]) -> bool:
        """Whether it came to the end."""
        for batch, outcomes in worked:
            shard, last, _ = batch[-1]
            part = account(self._sides.report(), batch, outcomes)
            self._done.append((part, Mark(shard, last.after)))
            if len(self._done) > _SUMMED:
                self._done[:] = [(self._report(), self._done[-1][1])]
            if self._resumed:  # what a run before read took no time of this one
                first = sum(self._sizes[: batch[0].shard]) + batch[0].document.read
                self._progress = replace(self._progress, before=first)
                self._resumed = False
            self._show(part.counts, sum(self._sizes[:shard]) + last.read)
            if time.monotonic() - self._wrote > _SAVED_EVERY:
                self._save()
            self._alone += sum(outcome.alone for outcome in outcomes)
            if self._alone >= self._patience:
                self._notes = (f"{ENDED_EARLY}: one side alone failed {self._alone:,} times",)
                return False
        return True

    def _report(self) -> CorpusReport:
        first, *rest = [part for part, _ in self._done]
        # The first one may have very many files.
        return first + reduce(add, rest) if rest else first

    def _save(self) -> None:
        if self._saved is not None:
            self._saved.write(self._report(), self._done[-1][1])
        self._wrote = time.monotonic()

    def _show(self, counts: Counts, read: int) -> None:
        done = self._progress
        self._progress = replace(
            done,
            documents=done.documents + counts.documents,
            bytes=done.bytes + counts.bytes,
            read=read,
            seconds=time.monotonic() - self._began,
        )
        self._tick(self._progress)


def _close(pairs: list[Pair]) -> None:
    for pair in pairs:
        pair.close()


def shrunk(report: CorpusReport, pair: Pair, modes: tuple[Mode, ...]) -> CorpusReport:
    """With the texts of the kept differences made small; Ctrl-C leaves the rest as it is."""
    differences = list(report.found)
    named = {mode.scope: mode for mode in modes}
    try:
        for place, each in enumerate(differences):
            mode = named.get(each.scope)  # a state that was edited may have any
            smaller = None if each.shrunk or mode is None else pair.shrink(each.text, mode)
            if smaller is not None:
                differences[place] = _replaced(each, smaller)
    except KeyboardInterrupt:
        pass
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


BATCH_BYTES = 1 << 19
"""Bytes of UTF-8 after which a batch is given to both sides; one document may be more."""
BATCH_DOCUMENTS = 1 << 10

_SHOWN = 1_000
"""Characters that are kept of a text on which a side failed."""

Wanted: TypeAlias = Callable[[str], bool]


class Item(NamedTuple):
    """A document, the number of its shard, and whether it is given to the sides."""

    shard: int
    document: Document
    wanted: bool


def batches(documents: Iterable[tuple[int, Document]], wanted: Wanted) -> Iterator[list[Item]]:
    """Documents in batches, each of them whole."""
    batch: list[Item] = []
    size = 0
    for number, document in documents:
        batch.append(Item(number, document, wanted(document.text)))
        size += document.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def texts_of(batch: list[Item]) -> list[str]:
    """The texts that are given to the sides."""
    return [item.document.text for item in batch if item.wanted]


def account(empty: CorpusReport, batch: list[Item], outcomes: list[Answers]) -> CorpusReport:
    """The report on one batch.

    Args:
        empty: the report on nothing, on the same sides.
        batch: the documents.
        outcomes: what became of those that were given to the sides.
    """
    files: dict[str, Counts] = {}
    differences: list[Found] = []
    failures: list[Failed] = []
    given = iter(outcomes)
    for _, document, wanted in batch:
        label = document.shard.label
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


def _failed(document: Document, side: str, failure: Failure) -> Failed:
    text = document.text[:_SHOWN]
    return Failed(_source(document, 0), side, failure.how, failure.what, text)


def _source(document: Document, common: int) -> Source:
    """Where something was found: in plain text the line itself, else the record."""
    text, place = document.text, document.place
    before = text[:common] if document.shard.kind == "text" else ""
    return Source(
        file=document.shard.label,
        line=place.line + before.count("\n"),
        offset=place.offset + size_of(before),
        size=len(text),
        plain=is_plain(text),
        digest=digest_of(text),
    )


SCHEMA = 2
KIND = "bpe-interop comparison begun"


class Saved:
    """A state file: which corpus it is about, how far it was read, and the report so far.

    The documents before the mark are those that the report is about, so what a run that goes on
    from there reports, added to it, is what one run over all of them reports.
    """

    def __init__(
        self,
        path: Path,
        shards: tuple[Shard, ...],
        selection: Selection,
        versions: Mapping[str, str],
    ) -> None:
        self._path, self._versions = path, dict(versions)
        self._corpus = {
            "shards": signatures(shards),
            "selection": asdict(selection),
        }
        self._labels = [shard.label for shard in shards]

    def read(self, report: CorpusReport) -> tuple[CorpusReport, Mark]:
        """The report and the mark that were written last; without a file, those given.

        Args:
            report: an empty one on the same sides.

        Raises:
            SourceError: the file cannot be read, or is about another corpus, another selection of
                its documents, other versions, or other sides.
            FormatError: it is no state file, or one of another version.
        """
        data = state_of(self._path)
        if data is None:
            return report, BEGINNING
        node = parse_state(data, str(self._path), KIND)
        check_schema(node, SCHEMA)
        self._check_same(node)
        mark = node["mark"]
        shard = _number(mark["shard"], len(self._labels))
        place = Place(_number(mark["line"]), _number(mark["offset"]))
        return report + read_report(node["report"]), Mark(shard, place)

    def write(self, report: CorpusReport, mark: Mark) -> None:
        """Writes the file, whole or not at all.

        Raises:
            TargetError: it cannot be written.
        """
        file = self._labels[mark.shard] if mark.shard < len(self._labels) else ""
        place = {"shard": mark.shard, "file": file, **asdict(mark.place)}
        about = {"kind": KIND, "schema": SCHEMA, "versions": self._versions, **self._corpus}
        done = {**about, "mark": place}
        data = json.dumps({**done, "report": report.as_data()}, ensure_ascii=True)
        replace_file(self._path, data.encode("ascii"))

    def _check_same(self, node: Node) -> None:
        if node["versions"].value != self._versions:
            raise SourceError(
                "this state was begun with other versions of Python, bpe-interop or an engine",
                where=str(self._path),
                fix="start again with another state file",
            )
        rows = [*node["shards"].items()]
        before = [tuple(each.be(str) for each in row.items()) for row in rows]
        for row, old, new in zip(rows, before, map(tuple, self._corpus["shards"]), strict=False):
            if len(old) != len(new):
                row.fail(f"expected {len(new)} members, found {len(old)}")
            if old != new:
                raise SourceError(
                    f"this state belongs to another corpus: it is about {old[0]} with other "
                    f"contents, and now there is {new[0]}",
                    where=str(self._path),
                    fix="start again with another state file",
                )
        if len(before) != len(self._labels) or node["selection"].value != self._corpus["selection"]:
            raise SourceError(
                "this state belongs to another corpus, or to another selection of its documents",
                where=str(self._path),
                fix="start again with another state file",
            )


def _number(node: Node, most: int = (1 << 63) - 1) -> int:
    """A place that a file can have, which no seek fails on."""
    number = node.be(int)
    if not 0 <= number <= most:
        node.fail(f"expected a number from 0 to {most:,}, found {number:,}")
    return number
