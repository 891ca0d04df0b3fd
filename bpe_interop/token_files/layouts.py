"""The files of a shard, for the loaders that read them.

``megatron`` is the indexed dataset of Megatron-LM (``megatron.core.datasets.indexed_dataset``,
version 1 of its index): ``NAME.bin`` has the ids of all rows one after another, ``NAME.idx`` the
length and place of each row, and which rows a document has. ``npy`` has the same in three arrays
that ``numpy.load`` maps: ``NAME.ids.npy``, ``NAME.rows.npy`` (row *i* is ids ``rows[i]`` to
``rows[i + 1]``) and ``NAME.documents.npy`` (document *i* is rows ``documents[i]`` to
``documents[i + 1]``). ``parquet`` has a row for each row: ``input_ids``, ``document_id`` (the file,
of records the field, and the byte, or row, at which the document begins) and ``source`` (the file).
``nanogpt`` has ids alone, ``NAME.bin``; those of all shards become one file when all are done.
"""

from __future__ import annotations

import os
import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Literal, Protocol, TypeAlias

from ..corpora import Document
from ..errors import SourceError
from ..optional import optional

LayoutName: TypeAlias = Literal["megatron", "npy", "parquet", "nanogpt"]
Dtype: TypeAlias = Literal["uint16", "uint32", "int32"]

SIGNED: tuple[LayoutName, ...] = ("parquet",)
"""Layouts that keep ids as int32."""
SIZES: dict[Dtype, int] = {"uint16": 2, "uint32": 4, "int32": 4}
"""Bytes of an id."""
CODES: dict[Dtype, str] = {"uint16": "H", "uint32": "I", "int32": "i"}
"""The codes of Python's ``array``."""
INT64 = "q"

_HEADER = 128
_DESCRIBED = {"H": "<u2", "I": "<u4", "i": "<i4", "q": "<i8"}
_CHUNK = 1 << 20


class Column:
    """A file of numbers in little-endian order, with a header of ``.npy`` where asked for.

    The header is written last, when the count is known (NumPy's format version 1.0).
    """

    def __init__(self, path: Path, code: str, npy: bool = False) -> None:
        self.path, self.count = path, 0
        self._code, self._npy = code, npy
        self._file: BinaryIO = path.open("wb")
        if npy:
            self._file.write(bytes(_HEADER))

    def add(self, numbers: array[int]) -> None:
        """Writes numbers of the column's kind."""
        if sys.byteorder == "big":
            numbers = numbers[:]
            numbers.byteswap()
        self._file.write(numbers)
        self.count += len(numbers)

    def __enter__(self) -> Column:
        """The column."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Ends the file."""
        with self._file as file:
            if self._npy and kind is None:
                file.seek(0)
                file.write(_npy_header(_DESCRIBED[self._code], self.count))


def narrowed(numbers: array[int], code: str) -> array[int]:
    """Numbers of 32 bits in those of a column: the same, or 16 bits.

    Raises:
        OverflowError: one does not fit.
    """
    if code != "H":
        return numbers
    with memoryview(numbers) as whole, whole.cast("B") as data, data.cast("H") as halves:
        low = 0 if sys.byteorder == "little" else 1
        if halves[1 - low :: 2].tobytes().strip(b"\0"):
            raise OverflowError("an id is above 65535")
        narrow = array("H")
        narrow.frombytes(halves[low::2].tobytes())
    return narrow


def _npy_header(described: str, count: int) -> bytes:
    header = f"{{'descr': '{described}', 'fortran_order': False, 'shape': ({count},), }}"
    room = _HEADER - 10
    return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + f"{header:<{room - 1}}\n".encode()


def read_numbers(file: BinaryIO, code: str, start: int, count: int) -> array[int]:
    """Numbers from a byte of a file on; SourceError where the file has not so many."""
    file.seek(start)
    numbers = array(code)
    data = file.read(count * numbers.itemsize)
    if len(data) != count * numbers.itemsize:
        raise SourceError("cut off", where=file.name, fix="write the folder anew")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def chunks(path: Path, start: int = 0, size: int | None = None) -> Iterator[bytes]:
    """What a file holds, or so many bytes from one on, piece by piece."""
    with path.open("rb") as file:
        file.seek(start)
        while data := file.read(_CHUNK if size is None else min(size, _CHUNK)):
            yield data
            size = None if size is None else size - len(data)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of some documents.

    Attributes:
        ids: of all rows one after the other, in 32 bits.
        ends: where each row ends in them.
        lasts: for each document, how many rows there are with its last one. A document may have
            none.
    """

    ids: array[int]
    ends: array[int]
    lasts: array[int]


Read = Callable[[Path, str, Dtype, Mapping[int, str]], dict[int, list[int]]]
"""The ids of documents of a shard: folder, stem, dtype, and numbers (from 0) to document ids."""
Span = Callable[[Path, str, Dtype, int, int], Sequence[int]]
"""Ids of a shard, whatever their rows: folder, stem, dtype, the first and how many."""


class Writer(Protocol):
    """Writes a shard, some documents at a time, and holds little of it."""

    def add(self, documents: Sequence[Document], rows: Rows) -> None:
        """The rows of documents."""
        ...

    def __enter__(self) -> Writer:
        """Itself."""
        ...

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Ends the files."""
        ...


def document_id(document: Document) -> str:
    """What tells a document from all others: its file, where in it it begins, and in records the
    field.
    """
    file, offset = document.file, document.place.offset
    field = "" if file.kind == "text" else f":{file.field}"
    return f"{file.label}{field}:{offset}"


class _Flat:
    """The ids of all rows one after another, and where rows and documents end."""

    def __init__(self, ids: Column, rows: Column, documents: Column, code: str) -> None:
        self._columns = ids, rows, documents
        self._code = code
        self._tokens = self._rows = 0
        self._last = ExitStack()

    def add(self, documents: Sequence[Document], rows: Rows) -> None:
        """Writes them."""
        ids, ends, lasts = self._columns
        ids.add(narrowed(rows.ids, self._code))
        ends.add(array(INT64, [self._tokens + end for end in rows.ends]))
        lasts.add(array(INT64, [self._rows + last for last in rows.lasts]))
        self._tokens += len(rows.ids)
        self._rows += len(rows.ends)

    def __enter__(self) -> _Flat:
        """Begins: the first row and the first document begin at 0."""
        self._last.__enter__()
        for column in self._columns:
            self._last.enter_context(column)
        for column in self._columns[1:]:
            column.add(array(INT64, [0]))
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Ends the files."""
        self._last.close()


def _npy(folder: Path, stem: str, dtype: Dtype) -> _Flat:
    def column(name: str, code: str) -> Column:
        return Column(folder / f"{stem}.{name}.npy", code, npy=True)

    code = CODES[dtype]
    columns = column("ids", code), column("rows", INT64), column("documents", INT64)
    return _Flat(*columns, code)


_MAGIC = b"MMIDIDX\0\0"
_VERSION = 1
_MEGATRON: dict[Dtype, int] = {"uint16": 8, "uint32": 4, "int32": 4}
"""Megatron's numbers of kinds. It has no uint32; every id is below 2**31, so int32 is the same."""
_HEAD = struct.Struct("<9sQBQQ")


class _Megatron(_Flat):
    """As :class:`_Flat`; what is in two files at first becomes the index."""

    def __init__(self, folder: Path, stem: str, dtype: Dtype) -> None:
        self._dtype, self._index = dtype, folder / f"{stem}.idx"
        code = CODES[dtype]
        self._parts = folder / f"{stem}.rows", folder / f"{stem}.documents"
        rows, documents = (Column(path, INT64) for path in self._parts)
        super().__init__(Column(folder / f"{stem}.bin", code), rows, documents, code)

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Writes the index out of the ends of rows and documents."""
        super().__exit__(kind, *error)
        if kind is None:
            self._write_index()
        for path in self._parts:
            path.unlink(missing_ok=True)

    def _write_index(self) -> None:
        rows, documents = self._parts
        counts = self._rows, documents.stat().st_size // 8
        with self._index.open("wb") as file:
            file.write(_HEAD.pack(_MAGIC, _VERSION, _MEGATRON[self._dtype], *counts))
        with Column(rows.with_suffix(".lengths"), "i") as lengths:
            for ends in _pairs(rows):
                lengths.add(array("i", (b - a for a, b in pairwise(ends))))
        with Column(rows.with_suffix(".pointers"), INT64) as pointers:
            size = SIZES[self._dtype]
            for ends in _pairs(rows):
                pointers.add(array(INT64, (end * size for end in ends[:-1])))
        with self._index.open("ab") as file:
            for path in (lengths.path, pointers.path, documents):
                for data in chunks(path):
                    file.write(data)
        lengths.path.unlink()
        pointers.path.unlink()


def _pairs(path: Path) -> Any:
    """The numbers of a file in arrays, each of which begins with the last of the one before."""
    held = array(INT64)
    for data in chunks(path):
        held.frombytes(data)
        yield held
        del held[:-1]


class _Nanogpt:
    """Ids alone."""

    def __init__(self, folder: Path, stem: str, dtype: Dtype) -> None:
        self._ids = Column(folder / f"{stem}.bin", CODES[dtype])
        self._code = CODES[dtype]

    def add(self, documents: Sequence[Document], rows: Rows) -> None:
        """Writes the ids."""
        self._ids.add(narrowed(rows.ids, self._code))

    def __enter__(self) -> _Nanogpt:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Ends the file."""
        self._ids.__exit__(kind, *error)


_GROUP = 1 << 20
"""Ids from which on what is held is written as a row group."""


class _Parquet:
    """Row groups of a Parquet file."""

    def __init__(self, folder: Path, stem: str, dtype: Dtype) -> None:
        self._arrow = optional("pyarrow", "parquet")
        library = optional("pyarrow.parquet", "parquet")
        arrow = self._arrow
        self._schema = arrow.schema(
            [
                ("input_ids", arrow.list_(arrow.int32())),
                ("document_id", arrow.string()),
                ("source", arrow.dictionary(arrow.int32(), arrow.string())),
            ]
        )
        # A path in bytes: pyarrow takes only UTF-8 in text.
        self._file = arrow.OSFile(os.fsencode(folder / f"{stem}.parquet"), "wb")
        self._writer = library.ParquetWriter(self._file, self._schema)
        self._ids, self._ends = array("I"), array("i", [0])
        self._documents: list[str] = []
        self._sources: list[str] = []

    def add(self, documents: Sequence[Document], rows: Rows) -> None:
        """Keeps them, and writes a row group now and then."""
        before = len(self._ids)
        self._ids += rows.ids
        self._ends.extend([before + end for end in rows.ends])
        for document, (first, last) in zip(documents, pairwise((0, *rows.lasts)), strict=True):
            self._documents += [document_id(document)] * (last - first)
            self._sources += [document.file.label] * (last - first)
        if len(self._ids) > _GROUP:
            self._write()

    def _write(self) -> None:
        arrow = self._arrow
        ends = arrow.py_buffer(self._ends)
        # Every id is below 2**31, so these are the bytes of int32.
        ids = arrow.Array.from_buffers(
            arrow.int32(), len(self._ids), [None, arrow.py_buffer(self._ids)]
        )
        rows = arrow.ListArray.from_arrays(
            arrow.Array.from_buffers(arrow.int32(), len(self._ends), [None, ends]), ids
        )
        named = arrow.array(self._documents, arrow.string())
        sources = arrow.array(self._sources, arrow.string()).dictionary_encode()
        table = arrow.Table.from_arrays([rows, named, sources], schema=self._schema)
        self._writer.write_table(table)
        self._ids, self._ends = array("I"), array("i", [0])
        self._documents, self._sources = [], []

    def __enter__(self) -> _Parquet:
        """Itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        """Writes what is left, and the footer."""
        try:
            if kind is None:
                self._write()
        finally:
            with self._file:
                self._writer.close()


class Layout:
    """How the files of a shard are called, written and read.

    Attributes:
        names: what stands behind the stem in the names of its files.
        writer: begins to write a shard: folder, stem, dtype.
        read: the ids of documents of a shard; None where no file says where they begin.
        span: ids of a shard by their places.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        writer: Callable[[Path, str, Dtype], Writer],
        read: Read | None,
        span: Span,
    ) -> None:
        self.names, self.writer, self.read, self.span = names, writer, read, span


def _read_npy(
    folder: Path, stem: str, dtype: Dtype, wanted: Mapping[int, str]
) -> dict[int, list[int]]:
    with ExitStack() as last:
        ids, rows, documents = (
            last.enter_context((folder / f"{stem}.{name}.npy").open("rb"))
            for name in ("ids", "rows", "documents")
        )
        ids_of: dict[int, list[int]] = {}
        for number in wanted:
            first, end = read_numbers(documents, INT64, _HEADER + 8 * number, 2)
            one, two = (read_numbers(rows, INT64, _HEADER + 8 * at, 1)[0] for at in (first, end))
            start = _HEADER + one * SIZES[dtype]
            ids_of[number] = list(read_numbers(ids, CODES[dtype], start, two - one))
    return ids_of


def _read_megatron(
    folder: Path, stem: str, dtype: Dtype, wanted: Mapping[int, str]
) -> dict[int, list[int]]:
    ids_of: dict[int, list[int]] = {}
    with (folder / f"{stem}.idx").open("rb") as index, (folder / f"{stem}.bin").open("rb") as ids:
        *_, rows, _ends = _HEAD.unpack(index.read(_HEAD.size))
        pointers = _HEAD.size + 4 * rows
        documents = pointers + 8 * rows
        for number in wanted:
            first, end = read_numbers(index, INT64, documents + 8 * number, 2)
            ids_of[number] = []
            for row in range(first, end):
                length = read_numbers(index, "i", _HEAD.size + 4 * row, 1)[0]
                start = read_numbers(index, INT64, pointers + 8 * row, 1)[0]
                ids_of[number] += read_numbers(ids, CODES[dtype], start, length)
    return ids_of


def _read_parquet(
    folder: Path, stem: str, dtype: Dtype, wanted: Mapping[int, str]
) -> dict[int, list[int]]:
    library = optional("pyarrow.parquet", "parquet")
    numbers = {name: number for number, name in wanted.items()}
    ids_of: dict[int, list[int]] = {number: [] for number in wanted}
    arrow = optional("pyarrow", "parquet")
    path = os.fsencode(folder / f"{stem}.parquet")
    with arrow.OSFile(path) as stream, library.ParquetFile(stream) as file:
        for batch in file.iter_batches(256, columns=["input_ids", "document_id"]):
            for at, name in enumerate(batch.column(1).to_pylist()):
                if name in numbers:
                    ids_of[numbers[name]] += batch.column(0)[at].as_py()
    return ids_of


def _span(ending: str, header: int = 0) -> Span:
    """Reads a file of numbers alone, behind a header."""

    def read(folder: Path, stem: str, dtype: Dtype, start: int, count: int) -> Sequence[int]:
        with (folder / f"{stem}.{ending}").open("rb") as ids:
            return read_numbers(ids, CODES[dtype], header + start * SIZES[dtype], count)

    return read


def _span_parquet(folder: Path, stem: str, dtype: Dtype, start: int, count: int) -> Sequence[int]:
    library, arrow = optional("pyarrow.parquet", "parquet"), optional("pyarrow", "parquet")
    ids: list[int] = []
    path = os.fsencode(folder / f"{stem}.parquet")
    with arrow.OSFile(path) as stream, library.ParquetFile(stream) as file:
        for batch in file.iter_batches(256, columns=["input_ids"]):
            inner = batch.column(0).flatten()
            if start < len(inner):
                ids += inner.slice(max(start, 0), count - len(ids)).to_pylist()
            if len(ids) == count:
                break
            start -= len(inner)
    return ids


# A new one also has its name in LayoutName, and in SIGNED if it keeps ids as int32.
LAYOUTS: Mapping[str, Layout] = {
    "megatron": Layout(("bin", "idx"), _Megatron, _read_megatron, _span("bin")),
    "npy": Layout(
        ("ids.npy", "rows.npy", "documents.npy"), _npy, _read_npy, _span("ids.npy", _HEADER)
    ),
    "parquet": Layout(("parquet",), _Parquet, _read_parquet, _span_parquet),
    "nanogpt": Layout(("bin",), _Nanogpt, None, _span("bin")),
}
"""The layouts there are, by their names."""
