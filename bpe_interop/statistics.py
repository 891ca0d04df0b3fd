"""What tokenizers make of corpora: bytes per token, tokens per word, which tokens are never met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from .corpora import (
    CorpusFile,
    CutCorpus,
    Document,
    Part,
    PartReader,
    read_documents,
    sizes_of,
)
from .engines.choice import FASTEST
from .errors import EncodeError
from .formats import Files
from .ticks import Tick, begin, no_progress
from .token_counts import Statistics, special_ids
from .tokenizer import Tokenizer
from .workers import (
    LIMIT,
    Carried,
    Progress,
    Ticket,
    Workers,
    opened_from,
    pool_of,
    run_corpus,
)
from .workers.orders import Check
from .workers.worker import versions_here


@dataclass(frozen=True)
class Measurement:
    """The statistics of each file and tokenizer, and of all files where there are several.

    Where parts were worked on: ``done`` of ``parts``, ``notes`` on what happened to workers, and
    whether Ctrl-C ended it (``interrupted``); the statistics are of the parts that are done.
    """

    statistics: list[Statistics]
    done: int = 0
    parts: int = 0
    notes: tuple[str, ...] = ()
    interrupted: bool = False


def measure(
    tokenizers: Sequence[tuple[str, Tokenizer] | Carried],
    files: Sequence[CorpusFile],
    *,
    executor: Executor | Workers | None = None,
    slots: int | None = None,
    limit: float = LIMIT,
    state: str | Path | None = None,
    tick: Tick = no_progress,
    watch: Callable[[Progress], None] = no_progress,
) -> Measurement:
    """Tokens per word, bytes per token, unused tokens: of each file, and of all, in each tokenizer.

    Without an executor or a state, each file is read once, from its start: also a pipe. With one,
    parts of the files are worked on; the statistics are the same.

    Args:
        tokenizers: their names and themselves. To workers files travel: with an executor or a
            state, the files (:func:`.workers.carry`).
        files: the files of a corpus (:func:`.corpora.find_files`).
        executor: who works.
        slots: how many parts it is given at once.
        limit: seconds after which a part is given to another worker, once.
        state: a file in which it is kept what is done, to go on from.
        tick: is told how many bytes of the files were read since it was last called; a
            :class:`.PhaseTick` is told how many there are as well.
        watch: is told how far it is after each part.

    Raises:
        SourceError: a file cannot be read, or changes meanwhile; the state is of another run.
        EncodeError: a document has no encoding.
        UnstatedError: a tokenizer's pattern is not known.
        EngineError: a part was not done in two attempts.
        TypeError: parts are to be worked on, and a tokenizer is given without its files.
    """
    if executor is not None or state is not None:
        carried = [each for each in tokenizers if isinstance(each, Carried)]
        if len(carried) < len(tokenizers):
            raise TypeError("with an executor or a state, give each tokenizer as carry(...)")
        workers = pool_of(executor, slots)
        return _by_parts(carried, CutCorpus(files), workers, limit, state, watch)
    sides = [_side(each) for each in tokenizers]
    statistics: list[Statistics] = []
    sizes = sizes_of(files)
    begin(tick, "measuring", None if None in sizes else sum(filter(None, sizes)), "bytes")
    for file in files:
        statistics += _of_file(file, sides, tick)
    return Measurement(_with_all(statistics, len(sides), len(files)))


def _with_all(statistics: list[Statistics], sides: int, files: int) -> list[Statistics]:
    """The statistics of files, and those of all of them where there are several."""
    if files > 1:
        statistics += [_together(statistics[at::sides]) for at in range(sides)]
    return statistics


@dataclass(frozen=True)
class PartCounts:
    """What became of a part: documents, bytes of UTF-8, words, and ids by tokenizer."""

    documents: int = 0
    bytes: int = 0
    words: int = 0
    counts: tuple[Counter[int], ...] = ()

    def __add__(self, other: PartCounts) -> PartCounts:
        return PartCounts(
            self.documents + other.documents,
            self.bytes + other.bytes,
            self.words + other.words,
            tuple(one + two for one, two in zip(self.counts, other.counts, strict=True)),
        )


@dataclass(frozen=True)
class MeasureJob:
    """Counts the tokens of a part with each tokenizer, on the fastest exact engine."""

    tokenizers: tuple[Ticket, ...]
    libraries: tuple[str, ...] = ("regex", *FASTEST)

    def build(self, files: Sequence[Files], isolate: bool) -> MeasureWork:
        """The tokenizers."""
        # There is nothing to isolate: our own encoder takes what an engine fails on.
        models = [
            opened_from(ticket, each) for ticket, each in zip(self.tokenizers, files, strict=True)
        ]
        return MeasureWork([Tokenizer(model, engine="auto") for model in models])


class MeasureWork:
    """The tokenizers of a process."""

    def __init__(self, tokenizers: Sequence[Tokenizer]) -> None:
        self._tokenizers = tokenizers

    def do(self, part: Part, check: Check) -> PartCounts:
        """The counts of a part."""
        reader = PartReader(part)
        return _counted(reader.documents(), self._tokenizers, reader.where, lambda each: check())

    def close(self) -> None:
        """Nothing."""


def _by_parts(
    carried: Sequence[Carried],
    corpus: CutCorpus,
    workers: Workers,
    limit: float,
    state: str | Path | None,
    watch: Callable[[Progress], None],
) -> Measurement:
    job = MeasureJob(tuple(each.ticket for each in carried))
    about = {"work": "measure", **asdict(job), "versions": versions_here(job.libraries)}
    run = run_corpus(
        job,
        carried,
        corpus,
        workers,
        state=state,
        about=about,
        kind=PartCounts,
        limit=limit,
        tick=lambda seen, part: watch(seen),
    )
    statistics = _merged(carried, corpus, run.results)
    notes = tuple(sorted(run.notes))
    return Measurement(statistics, len(run.results), len(corpus.parts), notes, run.interrupted)


def _merged(
    carried: Sequence[Carried], corpus: CutCorpus, results: Mapping[int, PartCounts]
) -> list[Statistics]:
    """The statistics of the files, in the order of the corpus."""
    sides = [_side(each) for each in carried]
    nothing = PartCounts(counts=tuple(Counter[int]() for _ in sides))
    measured: list[Statistics] = []
    for number, file in enumerate(corpus.files):
        of_file = [part.number for part in corpus.parts if part.file_number == number]
        total = sum((results[each] for each in of_file if each in results), nothing)
        for side, counts in zip(sides, total.counts, strict=True):
            measured.append(_statistics(side, file.label, total, counts))
    return _with_all(measured, len(sides), len(corpus.files))


class _MeasuredSide:
    """A tokenizer, and what is to be known of its tokens."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name, self.tokenizer = name, tokenizer
        self.sizes = {number: len(content) for number, content in tokenizer.vocab.items()}
        self.special = special_ids(tokenizer.model)


def _side(given: tuple[str, Tokenizer] | Carried) -> _MeasuredSide:
    if isinstance(given, Carried):
        model = opened_from(given.ticket, given.files)
        return _MeasuredSide(given.ticket.label, Tokenizer(model))
    return _MeasuredSide(*given)


def _of_file(file: CorpusFile, sides: Sequence[_MeasuredSide], tick: Tick) -> Iterator[Statistics]:
    read = 0

    def seen(document: Document) -> None:
        nonlocal read
        tick(document.read - read)
        read = document.read

    total = _counted(read_documents(file), [side.tokenizer for side in sides], _where, seen)
    for side, counted in zip(sides, total.counts, strict=True):
        yield _statistics(side, file.label, total, counted)


def _counted(
    documents: Iterable[Document],
    tokenizers: Sequence[Tokenizer],
    where: Callable[[Document], str],
    seen: Callable[[Document], None],
) -> PartCounts:
    """What each tokenizer makes of documents; ``seen`` is called after each."""
    count = size = words = 0
    counts: list[Counter[int]] = [Counter() for _ in tokenizers]
    for document in documents:
        for tokenizer, counted in zip(tokenizers, counts, strict=True):
            try:
                counted.update(tokenizer.encode_ordinary(document.text))
            except EncodeError as error:
                raise EncodeError(error.what, where=where(document), fix=error.fix) from None
        count, size = count + 1, size + document.size
        words += len(document.text.split())
        seen(document)
    return PartCounts(count, size, words, tuple(counts))


def _statistics(
    side: _MeasuredSide, file: str, total: PartCounts, counts: Counter[int]
) -> Statistics:
    read = total.documents, total.bytes, total.words
    return Statistics(side.name, file, *read, counts, side.sizes, side.special)


def _where(document: Document) -> str:
    return f"{document.file.label}:{document.place.line}"


def _together(files: Sequence[Statistics]) -> Statistics:
    """The statistics of all files for one tokenizer."""
    first, counts = files[0], Counter[int]()
    for each in files:
        counts.update(each.counts)
    return replace(
        first,
        file="",
        documents=sum(each.documents for each in files),
        bytes=sum(each.bytes for each in files),
        words=sum(each.words for each in files),
        counts=counts,
    )
