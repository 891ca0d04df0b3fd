"""Corpora: what their names stand for, and which documents of them are taken."""

from __future__ import annotations

import glob
import hashlib
import heapq
import importlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..arguments import names
from ..errors import SourceError
from ..io.names import spelled
from ..io.reader import unreadable
from ..optional import optional
from .documents import (
    BY_BYTES,
    PLAIN,
    START,
    STDIN,
    CorpusFile,
    Document,
    Errors,
    Kind,
    Place,
)
from .parquet import rows
from .remote import RemoteFile, expanded, has_magic, is_url, without_scheme
from .streams import COMPRESSED, naming, opened, skip

_HUB = "hf:datasets/"
_DATASET = re.compile(r"(?P<repository>[\w.-]+/[\w.-]+)(@(?P<revision>[^/:]+))?(/(?P<inner>.*))?")
_KINDS: dict[str, Kind] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_HEAD = 1 << 12


@dataclass(frozen=True, slots=True)
class Selection:
    """Which documents of a corpus are taken, and how they are read.

    Args:
        max_bytes: end with the document that fills so many bytes of UTF-8.
        sample: a fraction of the documents (a float up to 1.0), or a count of them (an int). A
            document is drawn by where it stands, so the choice does not depend on the order of
            work; a count reads the corpus twice.
        seed: draws another sample.
        errors: ``"strict"`` refuses what is not UTF-8, ``"replace"`` reads it as U+FFFD, and
            ``"skip"``, which only :func:`.encode_corpora` takes, leaves out what is refused.

    Raises:
        SourceError: a number makes no sense.
    """

    max_bytes: int | None = None
    sample: float | None = None
    seed: int = 0
    errors: Errors = "strict"

    def __post_init__(self) -> None:
        if self.max_bytes is not None and self.max_bytes < 1:
            raise SourceError(
                f"max_bytes is {self.max_bytes}, so that nothing would be read",
                fix="give 1 or more, or leave it out",
            )
        if self.sample is None:
            return
        fraction = isinstance(self.sample, float)
        if not 0 < self.sample <= (1 if fraction else float("inf")):
            raise SourceError(
                f"a sample of {self.sample} cannot be drawn",
                fix="give a fraction as 0.01 (1%), or a count of documents as 1000",
            )


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a corpus was read: all files before ``file_number``, and that one up to ``place``."""

    file_number: int = 0
    place: Place = START


EVERYTHING = Selection()
BEGINNING = Mark()


def parse_sample(text: str) -> float:
    """A sample as people write it: ``1%`` and ``0.01`` are fractions, ``1000`` is a count.

    Raises:
        SourceError: it is none of these.
    """
    try:
        if text.endswith("%"):
            return float(text[:-1]) / 100
        return int(text) if text.strip("+-").isdecimal() else float(text)
    except ValueError:
        raise SourceError(
            f"{text!r} is no sample", fix="give a fraction as 0.01 or 1%, or a count as 1000"
        ) from None


def find_files(
    corpora: str | Path | Iterable[str | Path], *, field: str | None = None
) -> tuple[CorpusFile, ...]:
    """The files that the names of corpora stand for, in order, each once (or once per field).

    A name is a file, a directory (all files below it in order of their paths, hidden ones left
    out), a glob pattern (``**`` for any depth), ``-`` for standard input, or
    ``hf:datasets/org/name[@revision][/PATTERN]`` for the JSONL, Parquet and ``.txt`` files that
    the hub's local cache holds of a data set (nothing is downloaded), or a URL that fsspec opens
    (``s3://``, ``https://``, ``zip://INNER::OUTER``; :func:`.remote.expanded`). ``NAME:FIELD``
    names the key or column that holds the texts, ``text`` otherwise; a file with a field that is
    not Parquet is JSONL. Files that end in ``.jsonl``, ``.ndjson``, ``.parquet`` or ``.pq``,
    compressed or not, are that; all others are plain text. A file that is named itself, and any
    ``.txt``, is refused where it begins as JSON does; ``NAME:-`` is plain text in any case.

    Args:
        corpora: a name, or several.
        field: the field where a name has none.

    Raises:
        SourceError: there is no such file, it cannot be opened or is a device, a directory holds
            none, or a data set is not in the local cache.
        EngineMissingError: huggingface_hub is needed and is not installed.
    """
    files: dict[tuple[str, str], CorpusFile] = {}
    for name in names(corpora):
        for file in _expand(name, field):
            files.setdefault((file.label, file.field), file)
    for file in files.values():
        _check_readable(file)
    return tuple(files.values())


def names_file(text: str) -> bool:
    """Whether a text is the name of a file or a folder that there is."""
    try:
        return len(text) < _HEAD and os.path.exists(text)
    except ValueError:  # it holds what no name can
        return False


def _expand(corpus: str | Path, field: str | None) -> Iterator[CorpusFile]:
    name, own_field = _parted(os.fspath(corpus))
    if name == STDIN:
        kind = _kind(Path(STDIN), own_field)
        yield CorpusFile("standard input", None, kind, own_field or "text", STDIN)
        return
    if name.startswith(_HUB):
        yield from _of_dataset(name, own_field, field)
        return
    if is_url(name):
        named_files: list[tuple[Path | RemoteFile, str]] = [*expanded(name)]
        yield from _files(name, named_files, own_field, field, alone=len(named_files) == 1)
        return
    root = Path(without_scheme(name))
    if root.is_dir():
        files = [(path, path.relative_to(root).as_posix()) for path in _below(root)]
    elif root.exists() or not glob.has_magic(str(root)):
        files = [(root, root.name)]
    else:
        matches = sorted(map(Path, glob.glob(str(root), recursive=True)))
        inner = [_below(match) if match.is_dir() else [match] for match in matches]
        files = [(path, path.as_posix()) for each in inner for path in each]
    if not files and root.is_dir():
        fix = "name one that holds some; hidden files are left out"
        raise SourceError("no files in this directory", where=name, fix=fix)
    yield from _files(name, files, own_field, field, alone=[path for path, _ in files] == [root])


def _files(
    name: str,
    files: Sequence[tuple[Path | RemoteFile, str]],
    own_field: str | None,
    field: str | None,
    *,
    alone: bool,
) -> Iterator[CorpusFile]:
    """Files with their paths below what was named; ``alone``: a file was named itself."""
    if not files:
        raise SourceError("no file matches", where=name, fix="check the name, or the pattern")
    for path, short in files:
        kind = _kind(path, own_field)
        # In a folder of code, JSON is code.
        usual = "text" if alone or _suffix(path) == ".txt" else PLAIN
        asked = own_field or (PLAIN if kind == "text" and usual == PLAIN else field or "text")
        label = path.url if isinstance(path, RemoteFile) else path.as_posix()
        yield CorpusFile(spelled(label), path, kind, asked, short)


def _of_dataset(name: str, own_field: str | None, field: str | None) -> Iterator[CorpusFile]:
    """The files of a data set that hold texts; what stands beside them (README.md) does not."""
    root, inner = _local_dataset(name)
    whole = name.removesuffix(inner).rstrip("/")
    files = _below(root)
    if inner:
        wanted = {Path(match) for match in glob.glob(inner, root_dir=root, recursive=True)}
        files = [p for p in files if wanted & {p.relative_to(root), *p.relative_to(root).parents}]
    held = [path for path in files if _kind(path) != "text" or _suffix(path) == ".txt"]
    if not held:
        there = ", ".join(path.relative_to(root).as_posix() for path in files[:10]) or "no file"
        raise SourceError(
            "the local cache holds no JSONL, Parquet or .txt file of it",
            where=name,
            fix=f"get it whole, or read another; there is: {there}",
        )
    for path in held:
        short = path.relative_to(root).as_posix()
        kind = _kind(path, own_field)
        yield CorpusFile(
            spelled(f"{whole}/{short}"), path, kind, own_field or field or "text", short
        )


def _local_dataset(name: str) -> tuple[Path, str]:
    """Where the files of a data set lie, and what is named inside it (empty: all of it).

    Raises:
        SourceError: it is no such name, or the data set is not in the local cache.
        EngineMissingError: huggingface_hub is not installed.
    """
    match = _DATASET.fullmatch(name.removeprefix(_HUB))
    if match is None:
        raise SourceError(
            "this is not the name of a data set",
            where=name,
            fix="write hf:datasets/org/name[@revision][/PATTERN][:FIELD]",
        )
    hub = optional("huggingface_hub", "hub")
    missing = importlib.import_module("huggingface_hub.errors").LocalEntryNotFoundError
    repository, revision = match["repository"], match["revision"]
    try:
        folder = hub.snapshot_download(
            repository, repo_type="dataset", revision=revision, local_files_only=True
        )
    except (missing, OSError, ValueError) as error:
        at = f" --revision {revision}" if revision else ""
        raise SourceError(
            "this data set is not in the local cache, and corpora are never downloaded",
            where=name,
            fix=f"get it once: hf download {repository} --repo-type dataset{at}",
        ) from error
    return Path(folder), match["inner"] or ""


def _parted(name: str) -> tuple[str, str | None]:
    """``FILE:FIELD`` taken apart, unless there is a file of that whole name."""
    left, colon, right = name.rpartition(":")
    if not (left and colon and right) or Path(name).exists():
        return name, None
    if is_url(name):
        return (left, right) if _is_field(left, right) else (name, None)
    if name.startswith(_HUB):
        return (name, None) if left == "hf" else (left, right)
    if left == STDIN or Path(left).exists() or glob.has_magic(left) or _kind(Path(left)) != "text":
        return left, right
    return name, None


def _is_field(url: str, right: str) -> bool:
    """Whether what stands behind the last colon of a URL is no part of it."""
    port = right.isdecimal() and "/" not in url.partition("://")[2]
    if "/" in right or url.endswith(":") or port:
        return False
    if right == PLAIN or has_magic(url) or _kind(RemoteFile(url)) != "text":
        return True
    whole = f"{url}:{right}"
    with naming(whole):
        return not RemoteFile(whole).is_file()


def _kind(path: Path | RemoteFile, field: str | None = None) -> Kind:
    if field == PLAIN:
        return "text"
    return _KINDS.get(_suffix(path), "text" if field is None else "jsonl")


def _suffix(path: Path | RemoteFile) -> str:
    """How a file's name ends, in small letters, without what says that it is compressed."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _below(root: Path) -> list[Path]:
    """The files below a directory in order of their paths, hidden ones left out."""
    paths: list[Path] = []

    def fail(error: OSError) -> None:
        raise unreadable(error, error.filename or str(root))

    for folder, folders, files in os.walk(root, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(folder, name) for name in files if not name.startswith(".")]
    return sorted(paths, key=lambda path: path.parts)


def _check_readable(file: CorpusFile) -> None:
    """Looks at a file before a long comparison begins; a pipe could be looked at only once."""
    if file.path is None:
        return
    with naming(file.label):
        if isinstance(file.path, RemoteFile):
            file.path.size()
            return
        mode = file.path.stat().st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise SourceError(
                "this is a device, not a regular file",
                where=file.label,
                fix="name files, directories or pipes, or - for standard input",
            )
        if stat.S_ISREG(mode):
            with file.path.open("rb") as stream:
                stream.read(1)


def read_documents(
    file: CorpusFile, *, errors: Errors = "strict", start: Place = START, end: int | None = None
) -> Iterator[Document]:
    """The documents of a file, from one that begins at ``start`` on, never held whole.

    Those that begin at the byte (in Parquet: the row) ``end`` or later are left out.

    Raises:
        SourceError: the file cannot be read, is cut off or damaged, lacks the field, or is not
            UTF-8 (see :mod:`.documents`).
        EngineMissingError: an optional library is needed and is not installed.
    """
    with naming(file.label):
        if file.kind == "parquet":
            yield from rows(file, start, errors, end)
            return
        with opened(file.path, file.label) as (stream, bytes_read):
            skip(stream, start.offset, file.label)
            cut = BY_BYTES[file.kind].documents
            yield from cut(file, stream, bytes_read, start, errors, end)


def select(
    files: tuple[CorpusFile, ...],
    selection: Selection = EVERYTHING,
    start: Mark = BEGINNING,
    taken: int = 0,
    ended: Callable[[], None] = lambda: None,
) -> Iterator[tuple[int, Document]]:
    """The chosen documents in order, each with the number of its file.

    ``start`` and ``taken`` say where reading ended before, and after how many bytes; ``ended`` is
    called where ``max_bytes`` leaves documents out.

    Raises:
        The errors of :func:`read_documents`.
    """
    limit = drawn_limit(files, selection)
    for number, document in _all(files, selection.errors, start):
        if selection.max_bytes is not None and taken >= selection.max_bytes:
            ended()
            return
        if limit is None or draw(number, document, selection.seed) <= limit:
            taken += document.size
            yield number, document


def _all(
    files: tuple[CorpusFile, ...], errors: Errors, start: Mark = BEGINNING
) -> Iterator[tuple[int, Document]]:
    for number in range(start.file_number, len(files)):
        place = start.place if number == start.file_number else START
        for document in read_documents(files[number], errors=errors, start=place):
            yield number, document


def draw(number: int, document: Document, seed: int) -> tuple[float, int, int]:
    """A number from 0 to 1 for where a document stands, made unique."""
    where = f"{seed}\0{document.file.name}\0{document.place.offset}"
    digest = hashlib.blake2b(where.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big") / (1 << 64), number, document.place.offset


def drawn_limit(
    files: tuple[CorpusFile, ...], selection: Selection
) -> tuple[float, int, int] | None:
    """The highest draw that is taken; None where all are."""
    sample = selection.sample
    if sample is None or isinstance(sample, float):
        return None if sample is None else (sample, -1, -1)
    if any(file.path is None for file in files):
        raise SourceError(
            "a count of documents is drawn in two readings, and standard input can be read once",
            fix="give a fraction, as 0.01",
        )
    draws = (draw(n, document, selection.seed) for n, document in _all(files, selection.errors))
    return max(heapq.nsmallest(sample, draws), default=(0.0, -1, -1))


def identity(file: CorpusFile) -> str:
    """What tells a file from another one in its place: its size and the sha256 of both its ends.

    Raises:
        SourceError: it cannot be read, or it is a pipe, which has none.
    """
    path, label = file.path, file.label
    with naming(label):
        there = path is not None and path.is_file()
    if path is None or not there:
        raise SourceError(
            "nothing shows whether it is the same when it is read again",
            where=label,
            fix="make it a file, or leave --state out (state=...)",
        )
    with naming(label), path.open("rb") as stream:
        head = stream.read(_HEAD)
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - _HEAD))
        return f"{size}:{hashlib.sha256(head + stream.read()).hexdigest()}"


def sizes_of(files: Iterable[CorpusFile]) -> list[int | None]:
    """The bytes of files on the disk; None for a pipe; SourceError where one is not there."""
    sizes = []
    for file in files:
        with naming(file.label):
            sizes.append(file.size)
    return sizes


def stamp(file: CorpusFile) -> str:
    """What a file is when it was written last: its time on a disk, or what its store says of it.

    A change in the middle that leaves the size as it was is seen here, and not by
    :func:`identity`; a copy has another stamp.
    """
    with naming(file.label):
        if isinstance(file.path, RemoteFile):
            return file.path.version()
        return "" if file.path is None else str(file.path.stat().st_mtime_ns)


def signatures(files: Iterable[CorpusFile]) -> list[list[str]]:
    """What a state keeps of each file, so that a later run sees whether it is the same."""
    return [[file.label, file.kind, file.field, identity(file), stamp(file)] for file in files]


def whole_name(file: CorpusFile) -> str:
    """A name by which a file is found from any folder; empty for what is read only once."""
    if isinstance(file.path, RemoteFile):
        return file.path.url
    return "" if file.path is None or file.spooled else str(file.path.resolve())


def named(name: str) -> Path | RemoteFile:
    """The file of a whole name."""
    return RemoteFile(name) if is_url(name) else Path(name)
