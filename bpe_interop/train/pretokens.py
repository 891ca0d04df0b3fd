"""The texts to learn from, given as they are or in corpora, and the pretokens in them, counted."""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, Union

from ..corpora import (
    CorpusFile,
    find_files,
    names_file,
    naming,
    opened,
    read_documents,
    refuse_json,
)
from ..errors import PatternError, SourceError, not_utf8
from ..kernel import THREADS, defect
from ..kernel.learner import PretokenCounter, counter_of
from ..kernel.splitter import TableSplitter, splitter_of
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.patterns import parse
from ..text.spellings import is_known
from ..text.split import compiled
from ..text.surrogates import repair
from ..theory.split_tables import split_tables
from ..ticks import Tick, no_progress
from .training import StepTick, empty

if TYPE_CHECKING:
    from concurrent.futures import Future

Texts: TypeAlias = Union[str, Path, Iterable[Union[str, Path]]]
"""A ``str`` is a text; a ``Path`` stands for files, as :func:`.corpora.find_files` says."""

WINDOW = 1 << 20
"""Bytes of a text that are read at once, and counted at once."""

_NEAR = 1 << 10
"""Bytes at the end of a window in which a cut is looked for first."""

LINES = re.compile(r"(?<=\n)")
"""Cuts behind line feeds."""

_LETTER = r"0-9A-Za-z\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"

PRETOKENS = re.compile(
    rf"(?<=[!-~])(?= )|(?<=[!-~\u3001\u3002{_LETTER}]\n)(?=[{_LETTER}])",
)
r"""Cuts where every known pattern (``text.spellings``) begins a pretoken, whatever follows.

Before a space behind ASCII that is no white space: no alternative takes a space but as its first
character or among white space, and none looks further than one character on, where a space and
the end of the text are the same to ``(?!\S)``, and ``$`` stands behind white space only. Behind
one single line feed before a letter or digit: none takes a letter behind a line feed, and one
line feed is one pretoken, or the end of one, for whichever alternative. All these characters have
been what they are in every version of Unicode that the engines know.
"""


def cuts(steps: tuple[PreTokenizerStep, ...]) -> re.Pattern[str] | None:
    """Where a text can be cut without changing its pretokens; None where that is not known."""
    step = steps[0] if len(steps) == 1 else None
    if not isinstance(step, Split) or not isinstance(step.pattern, Pattern):
        return None
    with contextlib.suppress(PatternError):  # said when it is used
        if is_known(parse(step.pattern)):
            return PRETOKENS
    return None


_NAMED = 3
"""How many files a message names."""


def refuse_names(texts: Texts) -> None:
    """Refuses a ``str`` that names a file, from whose letters nobody wants to learn.

    Raises:
        SourceError: it is the name of a file or a folder; or, in a list, all are.
        TypeError: it is bytes.
    """
    if isinstance(texts, (bytes, bytearray)):
        raise TypeError(f"a text is str and a file is Path, not {type(texts).__name__}")
    given = [texts] if isinstance(texts, str) else texts
    if not isinstance(given, (list, tuple)) or not given:
        return
    if all(isinstance(each, str) and names_file(each) for each in given):
        raise SourceError(
            "a str is a text to learn from, and this is the name of a file",
            where=str(given[0]),
            fix=f"to learn from the file, give Path({str(given[0])!r})",
        )


def names_of(texts: Texts) -> str:
    """The files of a training for a message, the first of them where there are many."""
    given = [texts] if isinstance(texts, (str, Path)) else texts
    if not isinstance(given, (list, tuple)):  # it is read once
        return ""
    files = [str(each) for each in given if isinstance(each, Path)]
    more = [f"{len(files) - _NAMED:,} more"] if files[_NAMED:] else []
    return ", ".join([*files[:_NAMED], *more])


class Content(NamedTuple):
    """A text in UTF-8. That of a file, of which ``label`` and ``place`` say where it is, may be
    none.
    """

    data: bytes
    label: str = ""
    place: int = 0

    def text(self) -> str:
        """The text.

        Raises:
            SourceError: it is none.
        """
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SourceError(
                not_utf8(error, self.place),
                where=self.label,
                fix="a tokenizer learns from text, so make it UTF-8 first",
            ) from None


def read_texts(
    texts: Texts, cut: re.Pattern[str] | None = None, tick: StepTick = lambda what, number: None
) -> Iterator[Content]:
    """The texts one after the other, of files as every command reads corpora.

    A ``str`` or a file of plain text is one text, or several where it may be ``cut``; a record of
    JSONL or a row of Parquet is a text. Line ends stay as they are. ``tick`` is told ``"files"``,
    and how many bytes of files on disk were read.

    Raises:
        SourceError, EngineMissingError: as :func:`.corpora.find_files` and
            :func:`.corpora.read_documents`.
    """
    before = 0

    def read(size: int) -> None:
        tick("files", before + size)

    for one in (texts,) if isinstance(texts, (str, Path)) else texts:
        if isinstance(one, str):
            data = repair(one).encode("utf-8")
            if cut is None or len(data) <= WINDOW:
                yield Content(data)
            else:
                places = range(0, len(data), WINDOW)
                yield from _windows((data[at : at + WINDOW] for at in places), cut)
        elif isinstance(one, Path):
            for file in find_files([one]):
                if file.kind == "text":
                    yield from _windows(_chunks(file, read), cut, file.label)
                else:
                    for document in read_documents(file):
                        read(document.read)
                        yield Content(document.text.encode("utf-8"))
                before += file.size or 0
        else:
            raise TypeError(f"a text is str and a file is Path, not {type(one).__name__}")


class Handed:
    """Texts for a library that asks for them one by one, their bytes counted as they go."""

    # Libraries make errors of their own of what is raised while they ask, or lose it; so it is
    # kept, and raised again behind the block that they ran in.

    def __init__(self, contents: Iterator[Content], tick: Tick, where: str = "") -> None:
        self.size = 0
        self._contents = contents
        self._tick = tick
        self._where = where
        self._raised: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for content in self._contents:
                text = content.text()
                self.size += len(content.data)
                self._tick(self.size)
                yield text
            if not self.size:
                raise empty(where=self._where)
        except GeneratorExit:
            raise
        except BaseException as error:
            self._raised = error
            raise

    def keep(self, error: Exception) -> Exception:
        """The same error, which will be what comes out."""
        self._raised = error
        return error

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """A block in which the library runs: raises what was raised while it asked."""
        try:
            yield
        finally:
            if self._raised is not None:
                raise self._raised


def _chunks(file: CorpusFile, read: Tick) -> Iterator[bytes]:
    with naming(file.label), opened(file.path, file.label) as (stream, bytes_read):
        first = True
        while data := stream.read(WINDOW):
            if first:
                refuse_json(file, data)
            first = False
            read(bytes_read())
            yield data


def _windows(
    chunks: Iterable[bytes], cut: re.Pattern[str] | None, label: str = ""
) -> Iterator[Content]:
    """A text that comes in chunks as one, or as several where it may be cut."""
    held: list[bytes] = []
    begin = 0
    for data in chunks:
        place = _last(cut, data) if cut else 0
        if place:
            whole = b"".join([*held, memoryview(data)[:place]])
            yield Content(whole, label, begin)
            begin += len(whole)
            held = []
        held.append(data[place:])
    if held:
        yield Content(b"".join(held), label, begin)


def _last(cut: re.Pattern[str], data: bytes) -> int:
    """The last place where a text can be cut; 0 if there is none.

    What a cut depends on stands right before and behind it, so it is looked for in the end of the
    text first. What is left of a character there becomes surrogates, at which nothing is cut.
    """
    size = _NEAR
    while True:
        near = data[-size:].decode("utf-8", "surrogateescape")
        places = [at for at in (found.start() for found in cut.finditer(near)) if at < len(near)]
        if places:
            return len(data) - len(near[places[-1] :].encode("utf-8", "surrogateescape"))
        if size >= len(data):
            return 0
        size *= 16


@dataclass(slots=True)
class Pretokens:
    """Distinct pretokens in the order they first came, and how often each came, of ``size`` bytes
    that were read.
    """

    counts: Counter[bytes] = field(default_factory=Counter)
    size: int = 0

    @property
    def unmatched(self) -> int:
        """How many of the bytes are in no pretoken."""
        return self.size - sum(len(pretoken) * often for pretoken, often in self.counts.items())


def native_splitter(steps: tuple[PreTokenizerStep, ...]) -> TableSplitter | None:
    """What cuts texts in the kernel before it counts, if tables can hold the pre-tokenizer."""
    if not steps:
        return None
    try:
        return splitter_of(split_tables(steps))
    except PatternError:
        return None


def count(
    contents: Iterable[Content],
    steps: tuple[PreTokenizerStep, ...],
    tick: Tick = no_progress,
) -> Pretokens:
    """Cuts texts into pretokens and counts these; ``tick`` is called with the bytes read.

    Raises:
        PatternError: the pattern cannot be run, or not to its end.
        SourceError: a text is none.
    """
    counted, cut = Pretokens(), compiled(steps)
    whole: PretokenCounter | None = None
    for batch, part in _parts(_batches(contents), native_splitter(steps)):
        if part is not None and (whole is None or whole.absorb(part)):
            whole = whole or part
        else:
            _take(counted, whole)
            whole = None
            for content in batch:
                for pretoken, often in Counter(cut(content.text())).items():
                    counted.counts[pretoken.encode("utf-8")] += often
        counted.size += sum(len(content.data) for content in batch)
        tick(counted.size)
    _take(counted, whole)
    return counted


def _batches(contents: Iterable[Content]) -> Iterator[list[Content]]:
    """What is counted at once: many small texts, or one that is larger than ``WINDOW``."""
    batch: list[Content] = []
    size = 0
    for content in contents:
        if batch and size + len(content.data) > WINDOW:
            yield batch
            batch, size = [], 0
        batch.append(content)
        size += len(content.data)
    if batch:
        yield batch


def _parts(
    batches: Iterator[list[Content]], splitter: TableSplitter | None
) -> Iterator[tuple[list[Content], PretokenCounter | None]]:
    """Each batch, and its pretokens if the kernel counts them, in the order of the batches.

    Threads count some, while this one reads the next: what they give is added in order, so
    nothing depends on which of them is quick.
    """
    if splitter is None:
        yield from ((batch, None) for batch in batches)
        return
    from concurrent.futures import ThreadPoolExecutor  # takes long to import

    threads = min(THREADS, os.cpu_count() or 1)
    running: deque[tuple[list[Content], Future[PretokenCounter | None]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for batch in batches:
            data = [content.data for content in batch]
            running.append((batch, pool.submit(counter_of, splitter, data)))
            if len(running) > threads:
                first, part = running.popleft()
                yield first, part.result()
        for first, part in running:
            yield first, part.result()


def _take(counted: Pretokens, whole: PretokenCounter | None) -> None:
    """Takes over what the kernel has counted."""
    if whole is None:
        return
    counts = whole.counts()
    if counts is None:
        raise defect()
    counted.counts.update(counts)
