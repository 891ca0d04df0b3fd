"""Encodes a part of a corpus to the files of a shard."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..corpora import Document, Part, PartReader
from ..engines.choice import FASTEST
from ..errors import BpeInteropError, TargetError
from ..formats import Files
from ..shards import Ticket, opened_from
from ..shards.orders import Check
from ..strict_json import Node, read_as
from ..tokenizer import Tokenizer
from .columns import sha256_of_file, sync
from .layouts import LAYOUTS
from .settings import Dtype, Settings, eos_id

_BATCH_BYTES = 1 << 19
_BATCH_DOCUMENTS = 1 << 10


@dataclass(frozen=True)
class File:
    """A file of a shard: its name in the folder, its bytes and their sha256."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Encoded:
    """What became of a part.

    ``bytes`` are of the documents' UTF-8. ``empty`` documents have no ids, and so no row.
    ``replaced`` are documents in which malformed UTF-8 was read as U+FFFD. A part without
    documents has no files.
    """

    documents: int
    empty: int
    replaced: int
    rows: int
    tokens: int
    bytes: int
    files: tuple[File, ...]

    def as_data(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)

    @classmethod
    def of(cls, node: Node) -> Encoded:
        """From JSON."""
        return read_as(cls, node)


COUNTED = ("documents", "empty", "replaced", "rows", "tokens", "bytes")
"""What is counted of a part."""


SHARD = "shard-"
"""How the names of all shards begin."""


def stem_of(part: int) -> str:
    """How the names of a shard's files begin."""
    return f"{SHARD}{part:05d}"


def encode_batch(tokenizer: Tokenizer, texts: list[str], settings: Settings) -> list[list[int]]:
    """The ids of texts, without what ends a document.

    Raises:
        EncodeError, DisallowedSpecialError: one of them has no encoding.
    """
    parse, error = settings.special == "parse", settings.special == "error"
    return tokenizer.encode_batch(
        texts,
        allowed_special="all" if parse else frozenset(),
        disallowed_special="all" if error else (),
        add_special_tokens=settings.template,
    )


def rows_of(ids: list[int], end: int | None, longest: int | None) -> list[list[int]]:
    """A document's ids, with what ends it, as rows; a document without ids has none."""
    if end is not None:
        ids = [*ids, end]
    if longest is None or len(ids) <= longest:
        return [ids] if ids else []
    return [ids[start : start + longest] for start in range(0, len(ids), longest)]


@dataclass(frozen=True)
class EncodeJob:
    """Encodes a part to files in a folder that all workers see."""

    ticket: Ticket
    settings: Settings
    dtype: Dtype
    folder: str

    @property
    def tokenizers(self) -> tuple[Ticket, ...]:
        """The one."""
        return (self.ticket,)

    @property
    def libraries(self) -> tuple[str, ...]:
        """What encodes."""
        return ("regex", *FASTEST)

    def build(self, files: Sequence[Files], isolate: bool) -> EncodeWork:
        """The tokenizer on its fastest exact engine; our own encoder takes what that fails on."""
        return EncodeWork(self, Tokenizer(opened_from(self.ticket, files[0]), engine="auto"))


class EncodeWork:
    """The tokenizer of a process."""

    def __init__(self, job: EncodeJob, tokenizer: Tokenizer) -> None:
        self._job, self._tokenizer = job, tokenizer
        self._end = eos_id(job.settings, tokenizer.model)

    def do(self, part: Part, check: Check) -> Encoded:
        """Writes the shard under a temporary name, and then gives it its own.

        Raises:
            SourceError, EncodeError, DisallowedSpecialError: a document cannot be read, or has no
                encoding.
            TargetError: the shard cannot be written.
        """
        folder = Path(self._job.folder)
        # Two workers may be at the same part, where one seemed to hang.
        stem = f"{stem_of(part.number)}.{uuid.uuid4().hex[:8]}.tmp"
        try:
            return self._write(part, folder, stem, check)
        except OSError as error:
            raise TargetError(
                f"cannot be written: {error.strerror or error}",
                where=str(folder / stem_of(part.number)),
                fix="choose a folder where files can be made, with room, that all workers see",
            ) from None
        finally:
            for path in folder.glob(f"{stem}*"):
                with suppress(OSError):
                    path.unlink()

    def close(self) -> None:
        """Nothing."""

    def _write(self, part: Part, folder: Path, stem: str, check: Check) -> Encoded:
        settings, layout = self._job.settings, LAYOUTS[self._job.settings.layout]
        counts = dict.fromkeys(COUNTED, 0)
        with layout.writer(folder, stem, self._job.dtype) as writer:
            for batch, ids in self._batches(PartReader(part)):
                check()
                for document, each in zip(batch, ids, strict=True):
                    rows = rows_of(each, self._end, settings.max_length)
                    writer.add(document, rows)
                    counts["documents"] += 1
                    counts["empty"] += not rows
                    counts["replaced"] += document.replaced
                    counts["rows"] += len(rows)
                    counts["tokens"] += sum(map(len, rows))
                    counts["bytes"] += document.size
        files: list[File] = []
        for name in layout.names if counts["documents"] else ():
            made, place = folder / f"{stem}.{name}", folder / f"{stem_of(part.number)}.{name}"
            sync(made)
            files.append(File(place.name, made.stat().st_size, sha256_of_file(made)))
            os.replace(made, place)
        return Encoded(files=tuple(files), **counts)

    def _batches(self, reader: PartReader) -> Iterator[tuple[list[Document], list[list[int]]]]:
        batch: list[Document] = []
        size = 0
        for document in reader.documents(self._job.settings.selection):
            batch.append(document)
            size += document.size
            if size >= _BATCH_BYTES or len(batch) >= _BATCH_DOCUMENTS:
                yield batch, self._encoded(batch, reader)
                batch, size = [], 0
        if batch:
            yield batch, self._encoded(batch, reader)

    def _encoded(self, batch: list[Document], reader: PartReader) -> list[list[int]]:
        settings = self._job.settings
        try:
            return encode_batch(self._tokenizer, [each.text for each in batch], settings)
        except BpeInteropError:
            for document in batch:
                self._try(document, reader)
            raise

    def _try(self, document: Document, reader: PartReader) -> None:
        """Raises the error of a document, with the place where it stands."""
        try:
            encode_batch(self._tokenizer, [document.text], self._job.settings)
        except BpeInteropError as error:
            error.where = reader.where(document)
            raise
