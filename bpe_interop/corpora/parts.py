"""Parts of a corpus, cut at document ends, so that each can be read by another process.

Plain text and JSONL are cut by bytes and Parquet by row groups, without reading what lies between.
A compressed file is one part: nothing in it can be found without what stands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from ..errors import SourceError
from .documents import BY_BYTES, CorpusFile, Document, Place
from .parquet import row_groups
from .selection import EVERYTHING, Selection, draw, drawn_limit, identity, read_documents, stamp
from .streams import is_compressed, naming, opened

PART_BYTES = 1 << 24
"""About how many bytes on disk a part has; it is a multiple of ``BLOCK``."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of one file of a corpus.

    ``number`` counts the parts of the corpus, ``file_number`` its files, both from 0. It holds the
    documents that begin near the byte (in Parquet: the row) ``start`` or later, and not near
    ``end`` or later; ``end`` is None for the rest of the file. ``size`` is in bytes on disk.
    ``identity`` tells the file as it was cut from another one in its place.
    """

    number: int
    file_number: int
    file: CorpusFile
    start: int
    end: int | None
    size: int
    identity: str

    def __str__(self) -> str:
        if self.start == 0 and self.end is None:
            return self.file.label
        unit = "rows" if self.file.kind == "parquet" else "bytes"
        end = "the end" if self.end is None else f"{self.end:,}"
        return f"{self.file.label} ({unit} {self.start:,} to {end})"


def cut(files: Sequence[CorpusFile], size: int = PART_BYTES) -> tuple[Part, ...]:
    """The parts of a corpus in order, each of about ``size`` bytes on disk.

    No document is in two, and none is left out.

    Raises:
        SourceError: a file cannot be opened, or can be read once only (a pipe).
        EngineMissingError: a library that reads it is not installed.
    """
    parts: list[Part] = []
    for number, file in enumerate(files):
        with naming(file.label):
            total = file.size
        if total is None:
            raise SourceError(
                "it can be read only once, from its start, and parts are read by several processes",
                where=file.label,
                fix="make it a file",
            )
        own = identity(file)
        for start, end, held in _of_file(file, total, size):
            parts.append(Part(len(parts), number, file, start, end, held, own))
    return tuple(parts)


def _of_file(file: CorpusFile, total: int, size: int) -> Iterator[tuple[int, int | None, int]]:
    """Start, end and size of each part of a file."""
    with naming(file.label):
        if file.kind == "parquet":
            yield from _by_groups(row_groups(file), size)
        elif is_compressed(file.path):
            yield 0, None, total
        else:
            step = BY_BYTES[file.kind].step
            wide = max(1, -(-size // step)) * step
            starts = [*range(0, max(1, total), wide)]
            for start in starts:
                end = start + wide if start != starts[-1] else None
                yield start, end, min(wide, total - start)


def _by_groups(
    groups: Iterable[tuple[int, int]], size: int
) -> Iterator[tuple[int, int | None, int]]:
    start = row = held = 0
    for rows, stored in groups:
        row, held = row + rows, held + stored
        if held >= size:
            yield start, row, held
            start, held = row, 0
    if held or not row:
        yield start, row if row else None, held


class CutCorpus:
    """A corpus cut into ``parts`` (:func:`cut`), and its files as they were then."""

    def __init__(self, files: Sequence[CorpusFile], size: int = PART_BYTES) -> None:
        self.files = files
        self._seen = [(file, stamp(file)) for file in files]
        self.parts = cut(files, size)

    def check_unchanged(self) -> None:
        """Raises SourceError where a file is another now."""
        # Each part looks at its file before and after it; this sees what changed between two.
        for file, before in self._seen:
            if stamp(file) != before:
                raise _changed(file)


def _changed(file: CorpusFile) -> SourceError:
    return SourceError(
        "the file is not as it was when it was cut into parts",
        where=file.label,
        fix="begin again when nothing writes there; workers must see the same file",
    )


class PartReader:
    """Reads the documents of a part, and counts its lines.

    In a part that does not begin its file, lines are counted from the part's own first one;
    ``lines`` says how many the part has once it is read to its end. Rows of Parquet are numbered
    in the whole file.
    """

    def __init__(self, part: Part) -> None:
        self.part = part
        self.lines = 0

    def documents(self, selection: Selection = EVERYTHING) -> Iterator[Document]:
        """The chosen documents of the part in order.

        Raises:
            The errors of :func:`.selection.read_documents`, with the line in the whole file; and
            SourceError: the selection needs the documents before the part, or the file is not as
                it was when it was cut.
        """
        check_parts_can_be_read(selection)
        limit = drawn_limit((self.part.file,), selection)
        self._check()
        for document in self._all(selection):
            if limit is None or draw(self.part.file_number, document, selection.seed) <= limit:
                yield document
        self._check()

    def _check(self) -> None:
        """A file that became shorter would lose documents without an error."""
        if identity(self.part.file) != self.part.identity:
            raise _changed(self.part.file)

    def where(self, document: Document) -> str:
        """The file and the line, or row, of a document of the part, for a message."""
        return f"{self.part.file.label}:{self.before() + document.place.line}"

    def before(self) -> int:
        """How many lines the file has before the part; of rows none are counted."""
        part = self.part
        whole = part.file.kind == "parquet" or not part.start
        return 0 if whole else lines_before(part)

    def _all(self, selection: Selection) -> Iterator[Document]:
        part = self.part
        if part.file.kind == "parquet" or (part.start == 0 and part.end is None):
            place = Place(part.start + 1, part.start)
            yield from read_documents(part.file, errors=selection.errors, start=place, end=part.end)
            return
        try:
            yield from self._from_line(1, selection)
        except SourceError:
            before = lines_before(part)
            if not before:
                raise
            # Once more, for an error that names the line in the file.
            for _ in self._from_line(before + 1, selection):
                pass
            raise

    def _from_line(self, line: int, selection: Selection) -> Iterator[Document]:
        part, file = self.part, self.part.file
        with naming(file.label), opened(file.path, file.label) as (stream, bytes_read):
            lines = _Lines(stream)
            start = _first(file, stream, part.start)
            stream.seek(start)
            read = BY_BYTES[file.kind].documents
            place = Place(line, start)
            yield from read(file, lines, bytes_read, place, selection.errors, part.end)
            self.lines = lines.count


class _Lines:
    """A stream that counts the LF which it gave."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.count = 0

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self.count += data.count(b"\n")
        return data

    def readline(self, size: int = -1, /) -> bytes:
        data = self._stream.readline(size)
        self.count += data.endswith(b"\n")
        return data


def check_parts_can_be_read(selection: Selection) -> None:
    """Refuses a selection that depends on the documents before a part.

    Raises:
        SourceError: it does.
    """
    if selection.max_bytes is not None or isinstance(selection.sample, int):
        what = "a count of documents" if selection.max_bytes is None else "a number of bytes"
        raise SourceError(
            f"{what} is taken from a corpus that is read from its start, and here its parts are "
            "read by several processes",
            fix="take a fraction of the documents, as 0.01",
        )


def no_documents(files: Sequence[CorpusFile]) -> SourceError:
    """The error for files that hold no document."""
    return SourceError(
        "there are no documents in the corpora",
        where=", ".join(file.label for file in files[:5]),
        fix="name files that hold texts",
    )


def lines_before(part: Part) -> int:
    """How many LF a plain file has before a part."""
    file, count = part.file, 0
    with naming(file.label), opened(file.path, file.label) as (stream, _):
        start, end = (_first(file, stream, near) for near in (0, part.start))
        stream.seek(start)
        while start < end and (data := stream.read(min(1 << 20, end - start))):
            count += data.count(b"\n")
            start += len(data)
    return count


def _first(file: CorpusFile, stream: BinaryIO, near: int) -> int:
    return BY_BYTES[file.kind].first(stream, near)
