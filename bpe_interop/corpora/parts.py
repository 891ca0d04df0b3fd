"""Parts of a corpus, cut at document ends, so that each can be read by another process.

Plain text and JSONL are cut by bytes and Parquet by row groups, without reading what lies between.
A compressed file is one part: nothing in it can be found without what stands before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from ..errors import SourceError
from .documents import BLOCK, Document, Place, Shard, first_record, first_text, records, texts
from .parquet import row_groups
from .selection import EVERYTHING, Selection, draw, drawn_limit, identity, read_documents, stamp
from .streams import is_compressed, naming, opened

PART_BYTES = 1 << 24
"""About how many bytes on disk a part has; it is a multiple of ``BLOCK``."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of one file of a corpus.

    ``number`` counts the parts of the corpus, ``file`` its files, both from 0. It holds the
    documents that begin near the byte (in Parquet: the row) ``start`` or later, and not near
    ``end`` or later; ``end`` is None for the rest of the file. ``size`` is in bytes on disk.
    ``identity`` tells the file as it was cut from another one in its place.
    """

    number: int
    file: int
    shard: Shard
    start: int
    end: int | None
    size: int
    identity: str

    def __str__(self) -> str:
        if self.start == 0 and self.end is None:
            return self.shard.label
        unit = "rows" if self.shard.kind == "parquet" else "bytes"
        end = "the end" if self.end is None else f"{self.end:,}"
        return f"{self.shard.label} ({unit} {self.start:,} to {end})"


def cut(shards: Sequence[Shard], size: int = PART_BYTES) -> tuple[Part, ...]:
    """The parts of a corpus in order. No document is in two, and none is left out.

    Args:
        shards: the files.
        size: about how many bytes on disk a part has.

    Raises:
        SourceError: a file cannot be opened, or can be read once only (a pipe).
        EngineMissingError: a library that reads it is not installed.
    """
    step = max(1, -(-size // BLOCK)) * BLOCK
    parts: list[Part] = []
    for number, shard in enumerate(shards):
        with naming(shard.label):
            total = shard.size
        if total is None:
            raise SourceError(
                "it can be read only once, from its start, and parts are read by several processes",
                where=shard.label,
                fix="make it a file",
            )
        own = identity(shard)
        for start, end, held in _of_file(shard, total, size, step):
            parts.append(Part(len(parts), number, shard, start, end, held, own))
    return tuple(parts)


def _of_file(
    shard: Shard, total: int, size: int, step: int
) -> Iterator[tuple[int, int | None, int]]:
    """Start, end and size of each part of a file."""
    with naming(shard.label):
        if shard.kind == "parquet":
            yield from _by_groups(row_groups(shard), size)
        elif is_compressed(shard.path):
            yield 0, None, total
        else:
            wide = step if shard.kind == "text" else size
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
    """A corpus cut into ``parts``, and its files as they were then: none may be written to.

    Each part looks at its file before and after it; this sees what changed between two parts.

    Args:
        shards: the files.
        size: about how many bytes on disk a part has.

    Raises:
        SourceError, EngineMissingError: as :func:`cut`.
    """

    def __init__(self, shards: Sequence[Shard], size: int = PART_BYTES) -> None:
        self.shards = shards
        self._seen = [(shard, stamp(shard)) for shard in shards]
        self.parts = cut(shards, size)

    def check_unchanged(self) -> None:
        """Looks at the files again.

        Raises:
            SourceError: a file is another now.
        """
        for shard, before in self._seen:
            if stamp(shard) != before:
                raise _changed(shard)


def _changed(shard: Shard) -> SourceError:
    return SourceError(
        "the file is not as it was when it was cut into parts",
        where=shard.label,
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
        limit = drawn_limit((self.part.shard,), selection)
        self._check()
        for document in self._all(selection):
            if limit is None or draw(self.part.file, document, selection.seed) <= limit:
                yield document
        self._check()

    def _check(self) -> None:
        """A file that became shorter would lose documents without an error."""
        if identity(self.part.shard) != self.part.identity:
            raise _changed(self.part.shard)

    def where(self, document: Document) -> str:
        """The file and the line, or row, of a document of the part, for a message."""
        return f"{self.part.shard.label}:{self.before() + document.place.line}"

    def before(self) -> int:
        """How many lines the file has before the part; of rows none are counted."""
        part = self.part
        whole = part.shard.kind == "parquet" or not part.start
        return 0 if whole else lines_before(part)

    def _all(self, selection: Selection) -> Iterator[Document]:
        part = self.part
        if part.shard.kind == "parquet" or (part.start == 0 and part.end is None):
            place = Place(part.start + 1, part.start)
            yield from read_documents(
                part.shard, errors=selection.errors, start=place, end=part.end
            )
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
        part, shard = self.part, self.part.shard
        with naming(shard.label), opened(shard.path, shard.label) as (stream, told):
            lines = _Lines(stream)
            start = _first(shard, stream, part.start)
            stream.seek(start)
            read = records if shard.kind == "jsonl" else texts
            place = Place(line, start)
            yield from read(shard, lines, told, place, selection.errors, part.end)
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


def no_documents(shards: Sequence[Shard]) -> SourceError:
    """The error for files that hold no document."""
    return SourceError(
        "there are no documents in the corpora",
        where=", ".join(shard.label for shard in shards[:5]),
        fix="name files that hold texts",
    )


def lines_before(part: Part) -> int:
    """How many LF a plain file has before a part."""
    shard, count = part.shard, 0
    with naming(shard.label), opened(shard.path, shard.label) as (stream, _):
        start, end = (_first(shard, stream, near) for near in (0, part.start))
        stream.seek(start)
        while start < end and (data := stream.read(min(1 << 20, end - start))):
            count += data.count(b"\n")
            start += len(data)
    return count


def _first(shard: Shard, stream: BinaryIO, near: int) -> int:
    return (first_record if shard.kind == "jsonl" else first_text)(stream, near)
