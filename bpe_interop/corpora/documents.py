"""Documents of a corpus: plain text cut at lines, and records of JSONL."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Literal, NamedTuple, Protocol, TypeAlias

from ..errors import SourceError, not_utf8
from .remote import RemoteFile

# A new kind has its row in BY_BYTES below; one that is not cut by bytes is named where selection.py
# and parts.py ask for Parquet. The ends of its names are in _KINDS of selection.py; its help is in
# cli/options.py, docs/scale.md and docs/training.md.
Kind: TypeAlias = Literal["text", "jsonl", "parquet"]
Errors: TypeAlias = Literal["strict", "replace", "skip"]
BytesRead: TypeAlias = Callable[[], int]

TEXT_BYTES = 1 << 14
"""Bytes from which on a document of plain text ends at the next LF."""
LONGEST_LINE = 1 << 20
"""Bytes without LF after which a document of plain text ends inside a line."""
BLOCK = 1 << 22
"""Bytes of plain text: at the first LF from each multiple of it on, a document ends in any case.

So a reader may begin near a multiple without what stands before it, and cuts as all others do. It
is more than ``LONGEST_LINE``.
"""
LONGEST_RECORD = 1 << 28
"""Bytes of a line of JSONL from which on it is refused: it would have to be held whole."""

BATCH_BYTES = 1 << 19
"""Bytes of UTF-8 after which documents are encoded together; one document may be more."""
BATCH_DOCUMENTS = 1 << 10

GO_ON = (
    "make it UTF-8 first; verify and encode can also read malformed parts as U+FFFD: "
    '--errors replace (errors="replace")'
)
NO_TEXT = "give it a text, or leave such records out: encode --corpus takes --errors skip"
NAME_FIELD = "name the field that holds the texts: FILE:FIELD"
ONE_OBJECT = "JSONL has one object per line; plain text needs another suffix, and no :FIELD"

STDIN = "-"
"""The name of standard input."""
PLAIN = "-"
"""The field that says that a file is plain text, whatever it looks like: ``FILE:-``."""

_JSON = re.compile(rb"\s*(?:\[\s*)?\{\s*" + rb'"(?:[^"\\\n]|\\.)*"\s*:')
"""How an object begins, or an array of objects."""

_ARROW = "Arrow, as datasets saves it: write Parquet of it, with Dataset.to_parquet(...)"
_OTHERS = (
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ", "xz"),
    (b"PK\x03\x04", "zip"),
    (b"\xff\xff\xff\xff", _ARROW),
    (b"ARROW1", _ARROW),
    (b"PAR1", "Parquet, whose files end in .parquet"),
)
_LONE = re.compile("[\ud800-\udfff]")


class Readable(Protocol):
    """A stream of bytes, of which lines can be read."""

    def read(self, size: int = -1, /) -> bytes:
        """At most so many bytes; none at the end."""
        ...

    def readline(self, size: int = -1, /) -> bytes:
        """A line with its LF, or at most so many bytes of it."""
        ...


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """One file of a corpus. ``path`` is None for standard input, and a URL's file for a URL.

    ``label`` is what reports call it, ``name`` its path below what was named for the corpus,
    ``field`` the key (JSONL) or column (Parquet) that holds the texts. ``spooled`` says that it
    is a copy, for one run, of what can be read only once.
    """

    label: str
    path: Path | RemoteFile | None
    kind: Kind = "text"
    field: str = "text"
    name: str = ""
    spooled: bool = False

    @property
    def local(self) -> Path | None:
        """Where it is on a disk of this machine, if it is."""
        return self.path if isinstance(self.path, Path) else None

    @property
    def command_name(self) -> str:
        """The name that a command was given, or ``NAME`` for what a shell named (``<(...)``)."""
        if self.path is None or (self.spooled and self.name == STDIN):
            return STDIN
        return "NAME" if self.label.startswith(("/dev/fd/", "/proc/self/fd/")) else self.label

    @property
    def size(self) -> int | None:
        """Its bytes as they are stored; None where it can be read only once (a pipe).

        Raises:
            OSError: it is not there.
        """
        if isinstance(self.path, RemoteFile):
            return self.path.size()
        if self.path is None or not self.path.is_file():
            return None
        return self.path.stat().st_size


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document begins: its line from 1, its byte from 0 after decompression.

    In Parquet both count rows.
    """

    line: int = 1
    offset: int = 0


START = Place()


@dataclass(frozen=True, slots=True)
class Document:
    """A text and where it stands.

    ``size`` is in bytes of UTF-8. ``after`` is where the next document begins, ``read`` how many
    bytes of the file on disk were read by then. ``replaced`` says that malformed parts are U+FFFD,
    ``skipped`` why it is none and has no text (only with ``errors="skip"``).
    """

    text: str
    size: int
    file: CorpusFile
    place: Place
    after: Place
    read: int = 0
    replaced: bool = False
    skipped: str = ""


def texts(
    file: CorpusFile,
    stream: Readable,
    bytes_read: BytesRead,
    start: Place,
    errors: Errors,
    end: int | None = None,
) -> Iterator[Document]:
    """Plain text in documents of whole lines, each about ``TEXT_BYTES`` bytes.

    LF stays in the text. The same file is always cut alike, from whichever document on it is
    read. Documents that begin at the byte ``end`` or later are left out.

    Raises:
        SourceError: it is not UTF-8, and ``errors`` is ``"strict"``; or it begins as JSON does,
            and no field says what is meant (``PLAIN``: that it is plain text).
    """
    place, held = start, b""
    while end is None or place.offset < end:
        left = BLOCK - place.offset % BLOCK
        data = stream.read(min(TEXT_BYTES, left) - len(held))
        if data and not data.endswith(b"\n"):
            data += stream.readline(LONGEST_LINE)
            over = len(held) + len(data) - left
            if 0 <= over < LONGEST_LINE and not data.endswith(b"\n"):
                data += stream.readline(LONGEST_LINE - over)
        block = held + data
        if not block:
            return
        # A cut inside a line must not cut a character.
        kept = len(block) - (_unfinished(block) if data else 0)
        block, held = block[:kept], block[kept:]
        if not place.offset:
            refuse_json(file, block)
        after = Place(place.line + block.count(b"\n"), place.offset + len(block))
        try:
            text, replaced = _decode(block, file, place, errors)
        except SourceError as error:
            if errors != "skip":
                raise
            what = f"{error.what}: the document of {len(block):,} bytes around it"
            yield Document("", 0, file, place, after, bytes_read(), skipped=what)
            place = after
            continue
        size = size_of(text) if replaced else len(block)
        yield Document(text, size, file, place, after, bytes_read(), replaced)
        place = after


def refuse_json(file: CorpusFile, head: bytes) -> None:
    """Refuses a file of plain text that begins as JSON does, by its first bytes.

    Raises:
        SourceError: it does, and no field says what is meant (``PLAIN``: that it is plain text).
    """
    if file.field == PLAIN or not _JSON.match(head):
        return
    name = file.command_name
    raise SourceError(
        "it begins as JSON does, and would be read as plain text, keys and quotes too",
        where=file.label,
        fix=f"if each line is an object, put the field of the texts behind its name: {name}:FIELD; "
        f"if it is plain text all the same: {name}:{PLAIN}",
    )


def first_text(stream: BinaryIO, near: int) -> int:
    """Where the first document begins that does not begin before a multiple of ``BLOCK``."""
    if not near:
        return 0
    stream.seek(near - 4)
    before = stream.read(4)
    if before.endswith(b"\n"):
        return near
    block = before + stream.readline(LONGEST_LINE)
    return near - 4 + len(block) - _unfinished(block)


def first_record(stream: BinaryIO, near: int) -> int:
    """Where the first line begins that does not begin before a byte."""
    if not near:
        return 0
    stream.seek(near - 1)
    at = near - 1
    while line := stream.readline(1 << 20):
        at += len(line)
        if line.endswith(b"\n"):
            break
    return at


def _unfinished(block: bytes) -> int:
    """How many bytes at the end begin a character that is not complete."""
    if block.endswith(b"\n"):
        return 0
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(block[-4:])
    return len(decoder.getstate()[0])


def size_of(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def records(
    file: CorpusFile,
    stream: Readable,
    bytes_read: BytesRead,
    start: Place,
    errors: Errors,
    end: int | None = None,
) -> Iterator[Document]:
    """A field of every line of JSONL; a blank line is no document.

    Lines that begin at the byte ``end`` or later are left out.

    Raises:
        SourceError: a line is longer than ``LONGEST_RECORD``; or, unless ``errors="skip"``, is
            not a JSON object, or without the field, or the field is null or no text; or a line is
            not UTF-8, or the text holds a lone surrogate (with ``errors="strict"``).
    """
    place = start
    while (end is None or place.offset < end) and (data := stream.readline(LONGEST_RECORD)):
        where = f"{file.label}:{place.line}"
        if len(data) == LONGEST_RECORD and not data.endswith(b"\n"):
            raise SourceError(
                f"a line of more than {LONGEST_RECORD >> 20} MiB",
                where=where,
                fix="cut it into several records, or make it plain text",
            )
        after = Place(place.line + 1, place.offset + len(data))
        try:
            line, replaced = _decode(data, file, place, errors)
            line = line if place.offset else line.removeprefix("\ufeff")
            text = _field(line, file.field, where)
            if text is not None:
                text, mended = _mended(text, where, errors)
                yield Document(
                    text, size_of(text), file, place, after, bytes_read(), replaced or mended
                )
        except SourceError as error:
            if errors != "skip":
                raise
            yield Document("", 0, file, place, after, bytes_read(), skipped=error.what)
        place = after


def _decode(data: bytes, file: CorpusFile, place: Place, errors: Errors) -> tuple[str, bool]:
    try:
        return data.decode("utf-8"), False
    except UnicodeDecodeError as error:
        if errors == "replace":
            return data.decode("utf-8", "replace"), True
        start, what = error.start, not_utf8(error, place.offset)
    looks = [name for head, name in _OTHERS if data.startswith(head) and not place.offset]
    raise SourceError(
        what,
        where=f"{file.label}:{place.line + data.count(bytes([10]), 0, start)}",
        fix=f"it looks like {looks[0]}" if looks else GO_ON,
    )


def _field(line: str, field: str, where: str) -> str | None:
    """The text in a line of JSONL; None where the line is blank."""
    if not line.strip(" \t\r\n"):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not JSON: {error}", where=where, fix=ONE_OBJECT) from None
    if not isinstance(record, dict):
        raise SourceError("not a JSON object", where=where, fix=ONE_OBJECT)
    if field not in record:
        raise no_field(field, [*record], where)
    value = record[field]
    if value is None:
        raise SourceError(f"the field {field!r} is null", where=where, fix=NO_TEXT)
    if isinstance(value, str):
        return value
    raise SourceError(f"the field {field!r} is no text", where=where, fix=NAME_FIELD)


def no_field(field: str, fields: list[str], where: str) -> SourceError:
    """The error for records that lack the field that was asked for."""
    there = ", ".join(map(repr, fields[:20])) or "none"
    return SourceError(f"no field {field!r}; there are: {there}", where=where, fix=NAME_FIELD)


def _mended(text: str, where: str, errors: Errors) -> tuple[str, bool]:
    """JSON can spell a lone surrogate, which no UTF-8 text holds."""
    if text.isascii() or not _LONE.search(text):
        return text, False
    if errors != "replace":
        raise SourceError("a lone surrogate in the text", where=where, fix=GO_ON)
    return _LONE.sub("\ufffd", text), True


class ByBytes(NamedTuple):
    """How a kind of file is cut into documents, in bytes after decompression.

    ``first`` gives where the first document begins that does not begin before a byte, which is
    a multiple of ``step``.
    """

    documents: Callable[
        [CorpusFile, Readable, BytesRead, Place, Errors, int | None], Iterator[Document]
    ]
    first: Callable[[BinaryIO, int], int]
    step: int


BY_BYTES: Mapping[Kind, ByBytes] = MappingProxyType(
    {
        "text": ByBytes(texts, first_text, BLOCK),
        "jsonl": ByBytes(records, first_record, 1),
    }
)
"""Every kind but Parquet, which is cut by rows (``parquet.py``)."""
