"""Documents of a Parquet file: one column, read row group by row group with pyarrow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import SourceError, not_utf8
from ..optional import optional
from .documents import (
    GO_ON,
    NAME_FIELD,
    NO_TEXT,
    CorpusFile,
    Document,
    Errors,
    Place,
    no_field,
    size_of,
)
from .remote import RemoteFile
from .streams import DAMAGED

_ROWS = 256
_TEXTUAL = {"string", "large_string", "string_view", "binary", "large_binary", "binary_view"}


def rows(
    file: CorpusFile, start: Place, errors: Errors, end: int | None = None
) -> Iterator[Document]:
    """A column's texts, one document per row from a row on.

    Rows from the number ``end`` on are left out.

    Raises:
        SourceError: the file is not Parquet or is damaged, has no such column or one that holds
            no texts; or, unless ``errors`` is ``"skip"``, a text is null; or a text is not UTF-8
            and ``errors`` is ``"strict"``.
        EngineMissingError: pyarrow is not installed.
    """
    arrow, parquet = optional("pyarrow", "parquet"), optional("pyarrow.parquet", "parquet")
    if file.path is None:
        raise SourceError(
            "Parquet cannot be read from standard input", where=file.label, fix="name the file"
        )
    size = file.size or 0
    try:
        with _opened(file, parquet) as table:
            _check(table, file, arrow)
            total = max(1, table.metadata.num_rows)
            for row, data in _column(table, file.field, start.offset, end, arrow):
                place, after = Place(row + 1, row), Place(row + 2, row + 1)
                read = size * (row + 1) // total
                try:
                    text, replaced = _decode(data, file, row, errors)
                except SourceError as error:
                    if errors != "skip":
                        raise
                    yield Document("", 0, file, place, after, read, skipped=error.what)
                    continue
                yield Document(text, size_of(text), file, place, after, read, replaced)
    except arrow.ArrowException as error:
        raise SourceError(
            f"not Parquet, or damaged: {error}", where=file.label, fix=DAMAGED
        ) from error


@contextmanager
def _opened(file: CorpusFile, parquet: Any) -> Iterator[Any]:
    if isinstance(file.path, RemoteFile):
        opening: Any = file.path.open()
    else:
        # A path in bytes: pyarrow takes only UTF-8 in text.
        opening = optional("pyarrow", "parquet").OSFile(os.fsencode(file.path or ""))
    with (
        opening as stream,
        parquet.ParquetFile(stream, page_checksum_verification=True) as table,
    ):
        yield table


def _check(table: Any, file: CorpusFile, arrow: Any) -> None:
    names = table.schema_arrow.names
    if file.field not in names:
        raise no_field(file.field, names, file.label)
    kind = table.schema_arrow.field(file.field).type
    if arrow.types.is_dictionary(kind):
        kind = kind.value_type
    if str(kind) not in _TEXTUAL:
        raise SourceError(
            f"the column {file.field!r} holds no texts but {kind}",
            where=file.label,
            fix=NAME_FIELD,
        )


def row_groups(file: CorpusFile) -> list[tuple[int, int]]:
    """The number of rows and the compressed bytes of each row group, from the file's end.

    Raises:
        SourceError, EngineMissingError: as :func:`rows`.
    """
    arrow, parquet = optional("pyarrow", "parquet"), optional("pyarrow.parquet", "parquet")
    try:
        with _opened(file, parquet) as table:
            _check(table, file, arrow)
            groups: list[tuple[int, int]] = []
            for number in range(table.num_row_groups):
                group = table.metadata.row_group(number)
                columns = map(group.column, range(group.num_columns))
                groups.append((group.num_rows, sum(c.total_compressed_size for c in columns)))
            return groups
    except arrow.ArrowException as error:
        raise SourceError(
            f"not Parquet, or damaged: {error}", where=file.label, fix=DAMAGED
        ) from error


def _column(
    table: Any, field: str, start: int, end: int | None, arrow: Any
) -> Iterator[tuple[int, bytes | None]]:
    """Row numbers and contents as bytes: pyarrow itself does not check that strings are UTF-8.

    ``start`` may lie in a row group, ``end`` is where one ends.
    """
    first = 0
    for group in range(table.num_row_groups):
        if end is not None and first >= end:
            return
        count = table.metadata.row_group(group).num_rows
        if first + count > start:
            row = first
            for batch in table.iter_batches(_ROWS, row_groups=[group], columns=[field]):
                for data in batch.column(0).cast(arrow.large_binary()).to_pylist():
                    if row >= start:
                        yield row, data
                    row += 1
        first += count


def _decode(data: bytes | None, file: CorpusFile, row: int, errors: Errors) -> tuple[str, bool]:
    where = f"{file.label}, row {row + 1}"
    if data is None:
        raise SourceError(f"the column {file.field!r} is null", where=where, fix=NO_TEXT)
    try:
        return data.decode("utf-8"), False
    except UnicodeDecodeError as error:
        if errors == "replace":
            return data.decode("utf-8", "replace"), True
        raise SourceError(
            f"{not_utf8(error)} of the text",
            where=where,
            fix=GO_ON,
        ) from None
