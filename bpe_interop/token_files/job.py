"""Encodes a part of a corpus to the files of a shard, as settings say."""

from __future__ import annotations

import hashlib
import os
import shlex
import uuid
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict

from ..corpora import (
    BATCH_BYTES,
    BATCH_DOCUMENTS,
    EVERYTHING,
    Document,
    Part,
    PartReader,
    Selection,
)
from ..engines.choice import FASTEST
from ..errors import ArgumentError, BpeInteropError, SourceError, TargetError
from ..formats import Files
from ..model import Allowed, BPEModel
from ..quoting import show
from ..special import Disallowed
from ..strict_json import LATER
from ..tokenizer import Tokenizer
from ..workers import Ticket, opened_from
from ..workers.orders import Check
from .layouts import INT64, LAYOUTS, SIGNED, Dtype, LayoutName, Rows, Writer, chunks

SpecialTexts: TypeAlias = Literal["text", "parse", "error"]

_NAMED = 20
"""How many special tokens an error names."""

NANOGPT: LayoutName = "nanogpt"
TRAIN, VAL = "train", "val"
"""nanoGPT's names of the two."""

_Joined: TypeAlias = "tuple[array[int], array[int]]"
"""Ids of documents one after the other, and where those of each end."""


@dataclass(frozen=True)
class Settings:
    """How documents become rows of ids.

    Args:
        layout: the files: ``"megatron"`` (Megatron-LM's indexed dataset), ``"npy"``,
            ``"parquet"``, or ``"nanogpt"`` (one ``train.bin`` of ids alone, without rows).
        dtype: the numbers; None for what the layout and the highest id need.
        special: what the text of a special token in a document is: ordinary text, the token, or
            an error.
        template: apply the sequence template to each document.
        eos: the text of a special token whose id ends each document.
        max_length: a document with more ids is cut into rows of so many; no row has ids of two.
        pack: the documents of a shard are joined and cut into rows of ``max_length``; only the
            last row of a shard is shorter. A row may have ids of several documents.
        validation: the fraction of documents that go to files of their own. A hash of the text and
            of ``selection.seed`` decides, so that equal documents are on one side.
        selection: which documents are taken.
        most_skipped: how many records may be skipped with ``errors="skip"``; None for any number.
    """

    layout: LayoutName = "megatron"
    dtype: Dtype | None = None
    special: SpecialTexts = "error"
    template: bool = False
    eos: str | None = None
    max_length: int | None = None
    selection: Selection = EVERYTHING
    most_skipped: int | None = field(default=None, metadata={LATER: True})
    pack: bool = field(default=False, metadata={LATER: True})
    validation: float | None = field(default=None, metadata={LATER: True})

    def __post_init__(self) -> None:
        """Refuses what does not go together.

        Raises:
            ArgumentError: rows without a length, in a layout without rows, or no fraction.
        """
        if self.pack and self.max_length is None:
            raise ArgumentError("rows are packed to a length: give --max-length N", where="--pack")
        if self.layout == NANOGPT and self.max_length is not None:
            raise ArgumentError(
                "nanoGPT's file has no rows: whoever loads it cuts blocks where it likes",
                where="--max-length",
                fix="leave it out",
            )
        if self.validation is not None and not 0 < self.validation < 1:
            raise ArgumentError(
                "this is no fraction between 0 and 1", where="--validation", fix="give 0.01 or 1%"
            )

    @property
    def sides(self) -> tuple[str, ...]:
        """What tells the files of training and of validation apart."""
        return ("",) if self.validation is None else (TRAIN, VAL)

    @property
    def marks_documents(self) -> bool:
        """Whether the files say where documents begin."""
        return not self.pack and self.layout != NANOGPT

    def side_of(self, text: str) -> str:
        """Where a document goes."""
        if self.validation is None:
            return ""
        digest = hashlib.blake2b(
            text.encode(), digest_size=8, salt=b"validation", key=str(self.selection.seed).encode()
        ).digest()
        return VAL if int.from_bytes(digest, "big") < self.validation * (1 << 64) else TRAIN


def eos_id(settings: Settings, model: BPEModel) -> int | None:
    """The id that ends each document; None where none does.

    Raises:
        SourceError: the tokenizer has no special token of that text.
    """
    if settings.eos is None:
        return None
    special = [token for token in model.added or () if token.special]
    for token in special:
        if token.text == settings.eos:
            return token.id
    first = [*(show(token.text) for token in special[:_NAMED]), *["..."][: len(special) > _NAMED]]
    there = f"there are {len(special):,}: {', '.join(first)}" if special else "there are none"
    eos = shlex.quote(settings.eos)
    raise SourceError(
        f"there is no special token {show(settings.eos)}",
        where="--eos",
        fix=f"name one by its text; {there}; or add it first: bpe-interop extend SRC NEW --special "
        f"{eos} --eos {eos}",
    )


def dtype_of(settings: Settings, tokenizer: Tokenizer) -> Dtype:
    """The numbers in which every id of a tokenizer can be kept.

    Raises:
        TargetError: those that were asked for are too small, or the layout has no such.
    """
    highest = tokenizer.max_token_value
    if settings.layout in SIGNED:
        if settings.dtype not in (None, "int32"):
            raise TargetError(
                f"{settings.layout} holds ids as int32, not as {settings.dtype}",
                where="--dtype",
                fix="leave it out",
            )
        return "int32"
    if settings.dtype is None:
        return "uint16" if highest < 1 << 16 else "uint32"
    if settings.dtype == "uint16" and highest >= 1 << 16:
        raise TargetError(
            f"the highest id is {highest}, and uint16 ends at 65535",
            where="--dtype",
            fix="take uint32, or leave it out",
        )
    return settings.dtype


@dataclass(frozen=True)
class File:
    """A file of a shard: its name in the folder, its bytes and their sha256."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Skipped:
    """A record that was left out: its line in its file (of Parquet its row, from 1), and why."""

    line: int
    why: str


@dataclass(frozen=True)
class Encoded:
    """What became of a part.

    ``bytes`` are of the documents' UTF-8. ``empty`` documents have no ids, and so no row. What
    begins with ``val_`` is of validation, and in the others too.
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
    skips: tuple[Skipped, ...] = field(default=(), metadata={LATER: True})
    val_documents: int = field(default=0, metadata={LATER: True})
    val_tokens: int = field(default=0, metadata={LATER: True})


COUNTED = (
    "documents",
    "empty",
    "replaced",
    "rows",
    "tokens",
    "bytes",
    "val_documents",
    "val_tokens",
)
"""What is counted of a part."""


SHARD = "shard-"
"""How the names of all shards begin."""


def stem_of(part: int, side: str = "") -> str:
    """How the names of a shard's files begin."""
    return f"{SHARD}{part:05d}.{side}".rstrip(".")


def encode_batch(tokenizer: Tokenizer, texts: list[str], settings: Settings) -> list[list[int]]:
    """The ids of texts, without what ends a document.

    Raises:
        EncodeError, DisallowedSpecialError: one of them has no encoding.
    """
    return tokenizer.encode_batch(texts, **_how(settings))


class _How(TypedDict):
    allowed_special: Allowed
    disallowed_special: Disallowed
    add_special_tokens: bool


def _how(settings: Settings) -> _How:
    """How settings are said to a tokenizer."""
    parse, error = settings.special == "parse", settings.special == "error"
    return {
        "allowed_special": "all" if parse else frozenset(),
        "disallowed_special": "all" if error else (),
        "add_special_tokens": settings.template,
    }


def check_skips(
    settings: Settings, count: int, where: str = "", last: Document | None = None
) -> None:
    """Refuses to skip more records than are to be skipped; SourceError where there are more."""
    if settings.most_skipped is None or count <= settings.most_skipped:
        return
    raise SourceError(
        f"more than {settings.most_skipped:,} records would be skipped"
        + (f": {last.skipped}" if last else ""),
        where=where,
        fix="mend them, or let more be skipped: --errors skip=N, or skip for any number",
    )


def rows_of(ids: array[int], ends: Iterable[int], longest: int | None) -> Rows:
    """The ids of documents as rows of at most ``longest``; a document without ids has none.

    ``ends`` are where those of each document end in ``ids``.
    """
    places, lasts = array(INT64), array(INT64)
    start = 0
    for stop in ends:
        if longest is not None:
            places.extend(range(start + longest, stop, longest))
        if stop > start:
            places.append(stop)
        lasts.append(len(places))
        start = stop
    return Rows(ids, places, lasts)


class Packing:
    """Joins documents and cuts what they are together into rows of one length.

    What is written for a row is the document in which it begins.
    """

    def __init__(self, length: int) -> None:
        self._length = length
        self._rest: array[int] = array("I")
        self._begun: list[Document] = []

    def add(
        self, documents: Sequence[Document], ids: array[int], ends: Sequence[int]
    ) -> tuple[list[Document], Rows]:
        """The rows that are full with these documents; the rest is kept."""
        kept = len(self._rest)
        joined = self._rest + ids
        # The rest is shorter than a row, so only the first one begins in it.
        begins = range(0 if not kept else self._length, len(joined), self._length)
        first = self._begun + [documents[bisect_right(ends, at - kept)] for at in begins]
        full = len(joined) // self._length
        self._rest, self._begun = joined[full * self._length :], first[full:]
        return first[:full], self._as_rows(joined[: full * self._length])

    def last(self) -> tuple[list[Document], Rows]:
        """What is left: a shorter row, or none."""
        return self._begun, self._as_rows(self._rest)

    def _as_rows(self, ids: array[int]) -> Rows:
        # Each row stands as a document of its own: a document is in several of them.
        ends = array(INT64, range(self._length, len(ids), self._length))
        if ids:
            ends.append(len(ids))
        return Rows(ids, ends, array(INT64, range(1, len(ends) + 1)))


def with_ends(ids: array[int], ends: Iterable[int], end: int) -> tuple[array[int], array[int]]:
    """The same with an id behind those of each document."""
    ended, places = array(ids.typecode), array(INT64)
    start = 0
    for stop in ends:
        ended += ids[start:stop]
        ended.append(end)
        places.append(len(ended))
        start = stop
    return ended, places


@dataclass(frozen=True)
class EncodeJob:
    """Encodes a part to files in a folder that all workers see.

    ``threads`` are those of the kernel in a process: one where many processes work at the same
    time, each of which has a core.
    """

    ticket: Ticket
    settings: Settings
    dtype: Dtype
    folder: str
    threads: int = 1

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
        reader, skipped = PartReader(part), list[Document]()
        stems = {side: f"{stem}.{side}".rstrip(".") for side in settings.sides}
        packing = {side: Packing(settings.max_length or 1) for side in stems if settings.pack}
        filled = set[str]()
        with ExitStack() as last:
            writers: dict[str, Writer] = {
                side: last.enter_context(layout.writer(folder, name, self._job.dtype))
                for side, name in stems.items()
            }

            def write(side: str, documents: Sequence[Document], rows: Rows) -> None:
                writers[side].add(documents, rows)
                counts["rows"] += len(rows.ends)

            for side, batch, (ids, ends) in self._batches(reader, skipped):
                check()
                filled.add(side)
                if self._end is not None:
                    ids, ends = with_ends(ids, ends, self._end)
                if settings.pack:
                    write(side, *packing[side].add(batch, ids, ends))
                else:
                    write(side, batch, rows_of(ids, ends, settings.max_length))
                counts["documents"] += len(batch)
                counts["empty"] += sum(a == b for a, b in pairwise((0, *ends)))
                counts["replaced"] += sum(document.replaced for document in batch)
                counts["tokens"] += len(ids)
                counts["bytes"] += sum(document.size for document in batch)
                if side == VAL:
                    counts["val_documents"] += len(batch)
                    counts["val_tokens"] += len(ids)
            for side, packed in packing.items():
                write(side, *packed.last())
        if settings.layout == NANOGPT:
            counts["rows"] = 0
        before = reader.before() if skipped else 0
        skips = tuple(Skipped(before + each.place.line, each.skipped) for each in skipped)
        made = {
            f"{stem_of(part.number, side)}.{name}": folder / f"{stems[side]}.{name}"
            for side in settings.sides
            for name in layout.names
            # A memory map cannot be empty.
            if side in filled
        }
        if not made:
            return Encoded(files=(), skips=skips, **counts)
        # The disk is waited for once, and meanwhile the sums are made.
        with ThreadPoolExecutor(len(made)) as pool:
            synced = pool.map(sync, made.values())
            files = tuple(
                File(name, path.stat().st_size, sha256_of_file(path)) for name, path in made.items()
            )
            for _ in synced:
                pass
        for name, path in made.items():
            os.replace(path, folder / name)
        return Encoded(files=files, skips=skips, **counts)

    def _batches(
        self, reader: PartReader, skipped: list[Document]
    ) -> Iterator[tuple[str, list[Document], _Joined]]:
        """Documents of one side and their ids; what is skipped is put into the list."""
        settings = self._job.settings
        batches: dict[str, list[Document]] = {side: [] for side in settings.sides}
        sizes = dict.fromkeys(batches, 0)
        for document in reader.documents(settings.selection):
            if document.skipped:
                skipped.append(document)
                check_skips(settings, len(skipped), reader.where(document), document)
                continue
            side = settings.side_of(document.text)
            batch = batches[side]
            batch.append(document)
            sizes[side] += document.size
            if sizes[side] >= BATCH_BYTES or len(batch) >= BATCH_DOCUMENTS:
                yield side, batch, self._encoded(batch, reader)
                batches[side], sizes[side] = [], 0
        for side, batch in batches.items():
            if batch:
                yield side, batch, self._encoded(batch, reader)

    def _encoded(self, batch: list[Document], reader: PartReader) -> _Joined:
        settings = self._job.settings
        try:
            return self._tokenizer.encode_to_arrays(
                [each.text for each in batch], num_threads=self._job.threads, **_how(settings)
            )
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


def sha256_of_file(path: Path, start: int = 0, size: int | None = None) -> str:
    """The sha256 of a file, or of so many bytes from one on."""
    digest = hashlib.sha256()
    for data in chunks(path, start, size):
        digest.update(data)
    return digest.hexdigest()


def sync(path: Path) -> None:
    """Asks for a file to be on the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
