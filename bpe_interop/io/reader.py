"""Paths to files in memory: what lies there, and of which format it is."""

from __future__ import annotations

import importlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO, Generic, NoReturn, TypeVar, cast

from ..errors import FormatError, SourceError
from ..formats import Files, Format, by_name, each_format, file_names
from ..formats.names import FileNames
from ..limits import FILE_BYTES
from ..model import BPEModel
from ..openai_encodings import ENCODINGS, MODEL_TO_ENCODING
from .foreign import HEAD_BYTES, OWN_FILE, explain, recognised, refuse_lock
from .names import (
    before,
    beside_one_file,
    common_endings,
    endings,
    firsts,
    halves,
    is_later_part,
    mains,
    model_files,
    never_alone,
    refuse_nul,
    spelled,
)

_COPY = "devices and pipes are not read: copy what it gives to a file, and name that"
_FLAGS = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


M = TypeVar("M", bound=BPEModel | None)
M_co = TypeVar("M_co", bound=BPEModel | None, covariant=True)


@dataclass(frozen=True, slots=True)
class TokenizerSource(Generic[M_co]):
    """A tokenizer's files, where they came from, and the model that was read from them.

    The engines that can run it are those of ``format``. The type says whether there is a model:
    ``TokenizerSource[None]`` was found and not read, ``TokenizerSource[BPEModel]`` was read, and
    of ``TokenizerSource[BPEModel | None]`` our reader may have refused the files.

    Attributes:
        label: how the user named it, as text (:func:`.names.spelled`); it is no path.
        format: its format.
        files: its files, by name; empty for an object in memory.
        model: what was read.
        directory: the folder that was given or downloaded, if it was one.
        twins: the names of other files there that have a tokenizer.
        refusal: why there is no model.
        says_template: whether the files themselves say what is placed around a text.
        by_user: the model's fields that the user said and neither the files nor a preset did.
        beside: the files of a model's directory beside its own files, by name; empty where the
            format's own reader takes them.
        alone: the model that ``files`` say without those; None where it is ``model``.
        supplied: notes of the model on what comes of a preset, or of a table of known files.
    """

    label: str
    format: Format
    files: Files
    model: M_co
    directory: Path | None = None
    twins: tuple[str, ...] = ()
    refusal: str = ""
    says_template: bool = True
    by_user: tuple[str, ...] = ()
    beside: Files = field(default_factory=dict)
    alone: BPEModel | None = None
    supplied: tuple[str, ...] = ()

    @property
    def passed_over(self) -> tuple[str, ...]:
        """A note that says which of several tokenizers in a folder was read."""
        if not self.twins:
            return ()
        there = "are" if self.twins[1:] else "is"
        was = "were" if self.twins[1:] else "was"
        return (
            f"{next(iter(self.files))} was read; beside it there {there} {', '.join(self.twins)}, "
            f"which {was} not: to read another, name its file",
        )

    def with_model(self, model: M) -> TokenizerSource[M]:
        return replace(cast(TokenizerSource[M], self), model=model)


def find(path: Path, format: str | None = None, *, alone: bool = False) -> TokenizerSource[None]:
    """Reads the files of the tokenizer at a path: a file, or a directory.

    ``alone``: not what lies beside a file.

    Raises:
        SourceError: nothing is there, it cannot be read or recognised, or it could be several
            things; the message lists them.
        UnsupportedError: it is something that is refused by name.
    """
    wanted = by_name(format) if format else None
    refuse_nul(path)
    try:
        source = _find(path, wanted, alone)
        return source if alone else replace(source, beside=_companions_of(source, path))
    except OSError as error:
        raise unreadable(error, str(path)) from None


def _find(path: Path, wanted: Format | None, alone: bool) -> TokenizerSource[None]:
    if path.is_dir():
        return _find_in_directory(path, wanted)
    if not path.exists():
        raise _absent(path)
    if not path.is_file():
        raise SourceError("this is not a regular file", where=str(path), fix=_COPY)
    name = path.name
    group = _read_group(path.parent, [name, *([] if alone else _beside(path))])
    row = _recognise(group, wanted)
    if row is None and wanted:
        inner = _inside({name: group[name]}, wanted)
        if inner:
            return TokenizerSource(spelled(str(path)), wanted, inner, None)
        _say_why_not(path, group, wanted)
    if row is None:
        explain(path, group[name], wanted)
    return TokenizerSource(spelled(str(path)), row, group, None)


def _companions_of(source: TokenizerSource[None], path: Path) -> Files:
    """The files of a model's directory that the format's own reader does not take."""
    folder = source.directory or path.parent
    if _takes_all(source.format):
        return {}
    names = [name for pattern in model_files() for name in _spelled(pattern, folder / "-")]
    return _read_group(folder, [name for name in names if _is_there(folder / name)])


def parted(row: Format, files: Files) -> tuple[Files, Files]:
    """Files of a model's directory: those that the format's reader takes, and those beside them.

    A format may read some of the latter too.
    """
    if _takes_all(row):
        return files, {}
    beside = {
        name: data
        for name, data in files.items()
        if any(fnmatchcase(name, pattern) for pattern in model_files())
    }
    read_too = {name for each in row.names.beside for name in each.names}
    own = {name: data for name, data in files.items() if name not in beside or name in read_too}
    return own, beside


def _takes_all(row: Format) -> bool:
    """Whether the format's own reader takes all files of a model's directory."""
    return any(name in model_files() for each in row.names.beside for name in each.names[1:])


def _inside(files: Files, wanted: Format) -> Files:
    """The files of a format that a file of another one holds as they are; mostly none."""
    for row in each_format():
        if row.sniff(files):
            inner = row.embedded(files)
            return inner if inner and wanted.sniff(inner) else {}
    return {}


def _say_why_not(path: Path, files: Files, wanted: Format) -> None:
    """Lets the reader of a format that was named say what it takes exception to, and where.

    Raises:
        FormatError: what it said.
    """
    if not files[path.name].strip():
        return  # said of an empty file in every format
    try:
        wanted.load(files)
    except FormatError as error:
        error.where = f"{before(path.parent)}{error.where}" if error.where else str(path)
        error.what = f"this is no {wanted.title}: {error.what}"
        raise


def _absent(path: Path) -> SourceError:
    """That nothing is at a path, or that a link there leads to nothing."""
    if path.is_symlink():
        return SourceError(
            f"this is a link to {path.readlink()}, which is not there",
            where=str(path),
            fix="get that file, or remove the link",
        )
    if any(path.with_name(name).is_file() for name in beside_one_file(path.name)):
        return SourceError(
            "only its sidecar is here: a run was killed while it wrote the two, or one was moved",
            where=str(path),
            fix="write both again (convert ... --force)",
        )
    is_registered = str(path) in ENCODINGS or str(path) in MODEL_TO_ENCODING
    name = f"tiktoken:{path}" if is_registered else f"hf:{path}"
    known = is_registered or _may_be_on_the_hub(path)
    near = near_path(path)
    guess = f"; did you mean {name if known else near}?" if known or near else ""
    return SourceError(
        "there is no such file or directory",
        where=str(path),
        fix="check the path; names that are no paths are tiktoken:NAME and hf:org/name[@revision]"
        + guess,
    )


def near_path(path: Path) -> Path | None:
    """What is in the same folder under nearly the same name."""
    import difflib  # only a mistake needs it

    try:
        there = os.listdir(path.parent)
    except (OSError, ValueError):
        return None
    near = difflib.get_close_matches(path.name, there, n=1, cutoff=0.75)
    return path.with_name(near[0]) if near else None


def _may_be_on_the_hub(path: Path) -> bool:
    """Whether a path that is not there reads as a repository's name."""
    is_file = path.name.endswith((*endings(), *common_endings()))
    spelled_so = re.fullmatch(r"\w[\w.-]*/\w[\w.-]*(@[\w.-]+)?", str(path))
    return spelled_so is not None and not is_file and not path.parent.exists()


def _beside(path: Path) -> list[str]:
    """The names of the files that are read with a file."""
    partner = _partner(path)
    return [partner] if partner else _companions(path)


def _partner(path: Path) -> str | None:
    """The other half, where the path names one of two files and both are there."""
    for own, (other, _) in halves().items():
        if path.name.endswith(own):
            name = path.name.removesuffix(own) + other
            if (path.parent / name).is_file():
                return name
    return None


def _companions(path: Path) -> list[str]:
    """The names of what belongs to a file and is there."""
    companions: dict[str, None] = {}
    for names in file_names():
        for each in names.beside:
            if path.name.endswith(each.ending) and (not each.sniffed or _begins_as(names, path)):
                for pattern in each.names:
                    companions.update(dict.fromkeys(_spelled(pattern, path)))
    return [name for name in companions if _is_there(path.parent / name)]


def _spelled(pattern: str, path: Path) -> list[str]:
    """The names that a pattern stands for beside a file."""
    folder, slash, inner = pattern.rpartition("/")
    if "*" in inner:
        there = sorted((path.parent / folder).glob(inner))
        return [f"{folder}{slash}{entry.name}" for entry in there]
    return [pattern.format(path.name)]


def _is_there(path: Path) -> bool:
    """Whether a file that belongs to a tokenizer is there; what else has its name is an error.

    Raises:
        SourceError: its name is a folder's, or a link's that leads to nothing.
    """
    if path.is_file():
        return True
    if path.is_dir():
        raise SourceError(
            "this is a folder, and a file of this name belongs to a tokenizer",
            where=str(path),
            fix="rename the folder, or put the file in its place",
        )
    if path.exists():
        raise SourceError("this is not a regular file", where=str(path), fix="put a file there")
    if path.is_symlink():
        raise _absent(path)
    return False


def _begins_as(names: FileNames, path: Path) -> bool:
    """Whether a file is of the format with these names: another's may be called the same."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except OSError:
        return False
    return any(row.names == names and row.sniff({path.name: head}) for row in each_format())


def _read_group(directory: Path, names: list[str]) -> dict[str, bytes]:
    """Files that belong together, all read before any was replaced.

    Raises:
        SourceError: one of them cannot be read, or was replaced meanwhile.
    """
    paths = [directory / name for name in names]
    before = [_identity(path) for path in paths]
    group = {name: read(path) for name, path in zip(names, paths, strict=True)}
    if before != [_identity(path) for path in paths]:
        raise SourceError(
            "a file was replaced while it was read with those beside it",
            where=str(directory),
            fix="read them again when nothing writes there",
        )
    return group


def _identity(path: Path) -> tuple[int, ...]:
    """What a file has that another one, or the same one changed, has not."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(error, str(path)) from None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def read(path: Path) -> bytes:
    """A file's bytes; of one that holds more than a tokenizer, those of its head.

    Raises:
        SourceError: the file cannot be read, or is larger than any tokenizer.
        FormatError, UnsupportedError: the head cannot be told from the rest.
    """
    try:
        # O_NONBLOCK: a pipe may never begin. A device's size is 0 and it has no end.
        number = os.open(path, os.O_RDONLY | _FLAGS)
        with open(number, "rb") as file:
            status = os.fstat(number)
            if not stat.S_ISREG(status.st_mode):
                raise SourceError("this is not a regular file", where=str(path), fix=_COPY)
            head = _head_reader(file)
            if head is not None:
                return head(file, path.name)
            # Files of the system itself say 0 and hold more, so what is read counts as well.
            size = status.st_size
            data = b"" if size > FILE_BYTES.most else file.read(FILE_BYTES.most + 1)
        if max(size, len(data)) > FILE_BYTES.most:
            raise SourceError(FILE_BYTES.passed("the file"), where=str(path), fix=OWN_FILE)
        return data
    except OSError as error:
        raise unreadable(error, str(path)) from None


def beginning(path: Path, size: int = 256) -> bytes:
    """The first bytes of a file; SourceError where the file cannot be read."""
    try:
        if not path.is_file():  # a pipe may never begin
            raise SourceError("this is not a regular file", where=str(path), fix=_COPY)
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise unreadable(error, str(path)) from None


def find_head(file: BinaryIO, name: str, format: str | None = None) -> TokenizerSource[None] | None:
    """The tokenizer in the head of an open file; None where the file is no such one.

    ``file`` is at its begin, and need not lie on a disk.

    Raises:
        SourceError: the file is of another format than the one that was named.
        FormatError, UnsupportedError: its head is malformed.
    """
    reader = _head_reader(file)
    if reader is None:
        return None
    files = {name: reader(file, name)}
    wanted = by_name(format) if format else None
    row = _recognise(files, wanted)
    if row is None:
        raise SourceError(
            f"this is no {wanted.title if wanted else 'tokenizer'}",
            where=name,
            fix="check --from (format=...)",
        )
    return TokenizerSource(name, row, files, None)


def _head_reader(file: BinaryIO) -> Callable[[BinaryIO, str], bytes] | None:
    """What reads the part of a file that counts, where that is not all of it."""
    known = [names for names in file_names() if names.magic]
    begin = file.read(max((len(names.magic) for names in known), default=0))
    file.seek(0)
    for names in known:
        if begin.startswith(names.magic):
            module, name = names.head.split(":")
            reader: Callable[[BinaryIO, str], bytes] = getattr(
                importlib.import_module(f"..{module}", __package__), name
            )
            return reader
    return None


def unreadable(error: OSError, where: str) -> SourceError:
    """The error for what the system does not let be read."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        fix = "check the path"
    elif isinstance(error, IsADirectoryError):
        fix = "name a file in it"
    elif isinstance(error, PermissionError):
        fix = "check that you may read it, or name another"
    else:
        fix = "check that it is there, whole, and a file"
    return SourceError(error.strerror or str(error) or "cannot be read", where=where, fix=fix)


def _recognise(files: Files, wanted: Format | None) -> Format | None:
    rows = [wanted] if wanted else (row for row in each_format() if not row.only_by_name)
    return next((row for row in rows if row.sniff(files)), None)


def _find_in_directory(directory: Path, wanted: Format | None) -> TokenizerSource[None]:
    groups = list(_groups(directory, wanted if wanted and wanted.only_by_name else None))
    main = [each for each in groups if each.format.names.first in each.files]
    if main and (wanted is None or wanted.name == main[0].format.name):
        # Groups share files: a tokenizer_config.json lies beside a tokenizer.json and a .model.
        others = dict.fromkeys(name for each in groups for name in each.files)
        twins = tuple(name for name in others if name not in main[0].files)
        return replace(main[0], twins=twins)
    if wanted:
        groups = [each for each in groups if each.format.name == wanted.name]
    if len(groups) == 1:
        return groups[0]
    if not groups:
        _explain_directory(directory, wanted)
    listing = "; ".join(f"{' + '.join(f.files)} ({f.format.name})" for f in groups)
    alone = [f.format.name for f in groups if [g.format for g in groups].count(f.format) == 1]
    way = f", or a format with --from (format=...): {', '.join(alone)}" if alone else ""
    raise SourceError(
        f"several tokenizers are here: {listing}",
        where=str(directory),
        fix=f"name one of the files{way}",
    )


def _explain_directory(directory: Path, wanted: Format | None) -> NoReturn:
    """Raises what is known of a folder in which no reader finds a tokenizer.

    Raises:
        SourceError: the file that was to be one, and what it is; else that there is none.
    """
    plausible = [path for path in _plausible(directory) if path.name not in never_alone()]
    for path in plausible:
        if path.name in mains():
            explain(path, read(path), wanted)
    # The cache of the hub: models--ORG--NAME/snapshots/REVISION.
    inner = [*directory.glob("snapshots/*"), *directory.glob("models--*/snapshots/*")]
    inner = inner or [entry for entry in _entries(directory) if entry.is_dir()]
    files = [path for path in _entries(directory) if path.is_file()]
    if inner:  # what stands beside a tokenizer may stand above its folder, as config.json does
        files = [path for path in files if path.name not in never_alone()]
    # Any other file explains better than those that only stand beside a tokenizer.
    files.sort(key=lambda path: (path.name in never_alone(), path.name != "tokenizer_config.json"))
    for path in files[:1000]:
        with suppress(OSError), path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            refuse_lock(path, head)
            if found := recognised(path, head):
                raise SourceError(found[0], where=str(path), fix=found[1])
    # Beside folders, a file that is nothing known is no sign of what was meant.
    if len(plausible) == 1 and not inner:
        explain(plausible[0], read(plausible[0]), wanted)
    listed = ", ".join(str(entry.relative_to(directory)) for entry in inner[:8])
    listed += ", ..." if len(inner) > 8 else ""
    raise SourceError(
        f"no {wanted.title} is here" if wanted else "no tokenizer is here",
        where=str(directory),
        fix=f"name a file, or one of the folders in it: {listed}" if inner else OWN_FILE,
    )


def _plausible(directory: Path) -> list[Path]:
    known = (*endings(), *common_endings())
    return [
        path
        for path in _entries(directory)
        if path.name.endswith(known)
        and (_is_there(path) if path.name in firsts() else path.is_file())
    ]


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError as error:
        raise unreadable(error, str(directory)) from None


def _groups(directory: Path, wanted: Format | None) -> Iterator[TokenizerSource[None]]:
    """Each tokenizer in a directory, with the files that belong to it; of all formats or one."""
    taken: set[str] = set()
    paths = _plausible(directory)
    beside = never_alone().union(*(beside_one_file(path.name) for path in paths))
    for path in paths:
        if path.name in taken or path.name in beside or is_later_part(path.name):
            continue
        group = _read_group(directory, [path.name, *_beside(path)])
        row = _recognise(group, wanted)
        if row is not None:
            taken.update(group)
            yield TokenizerSource(spelled(str(directory)), row, group, None, directory)
