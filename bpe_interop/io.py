"""The only room that touches the disk: paths to files in memory, and files to a target at once."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from .errors import SourceError, TargetError, UnsupportedError
from .formats import Files, Format, all_formats, by_name

MAX_FILE = 1 << 30
"""No file of a tokenizer comes near one gibibyte."""

_PARTNERS = {"encoder.json": "vocab.bpe", "vocab.json": "merges.txt"}
_MAIN = ("tokenizer.json", *_PARTNERS, *_PARTNERS.values())
_BESIDE = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "config.json",
    "generation_config.json",
    "chat_template.jinja",
)
_TEMPLATES = "additional_chat_templates"
_NAMES = (".json", ".tiktoken", ".model", ".txt", ".bpe", ".gguf")


@dataclass(frozen=True, slots=True)
class Found:
    """A source on disk: its format, its files by name, and what else lay there."""

    format: Format
    files: Files
    twins: tuple[str, ...] = ()


def find(path: Path, format: str | None = None) -> Found:
    """Reads the tokenizer at a path: a file, or a directory.

    Raises:
        SourceError: nothing is there, it cannot be read or recognised, or it could be several
            things; the message lists them.
        UnsupportedError: it is something that is refused by name.
    """
    wanted = by_name(format) if format else None
    if "\0" in str(path):
        raise SourceError("a name cannot hold a NUL character")
    if path.is_dir():
        return _find_in_directory(path, wanted)
    if not path.exists():
        raise SourceError("there is no such file or directory", where=str(path))
    name = path.name
    partner = _partner(path)
    group = _read_group(path.parent, [name, *([partner] if partner else _companions(path))])
    row = _recognise(group, wanted)
    if row is None:
        _explain(path, group[name], wanted)
    return Found(row, group)


def _partner(path: Path) -> str | None:
    """The other half of a GPT-2 pair, where the path names one half and both are there."""
    for pair in _PARTNERS.items():
        for own, other in (pair, pair[::-1]):
            if path.name.endswith(own):
                name = path.name.removesuffix(own) + other
                if (path.parent / name).is_file():
                    return name
    return None


def _companions(path: Path) -> list[str]:
    beside = [f"{path.name}.json"]
    if path.name.endswith("tokenizer.json"):
        beside += _BESIDE
        folder = path.parent / _TEMPLATES
        beside += [f"{_TEMPLATES}/{entry.name}" for entry in sorted(folder.glob("*.jinja"))]
    elif path.name.endswith(".model") and _begins_with_pieces(path):
        beside.append(_BESIDE[0])
    return [name for name in beside if (path.parent / name).is_file()]


def _begins_with_pieces(path: Path) -> bool:
    """Whether a file is SentencePiece's; a rank file may have the same name (Llama-3's does)."""
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except OSError:
        return False
    return by_name("sentencepiece").sniff({path.name: head})


def _read_group(directory: Path, names: list[str]) -> dict[str, bytes]:
    return {name: read(directory / name) for name in names}


def read(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        SourceError: the file cannot be read, or is larger than any tokenizer.
    """
    try:
        if path.stat().st_size > MAX_FILE:
            raise SourceError("the file is too large to be a tokenizer", where=str(path))
        return path.read_bytes()
    except OSError as error:
        raise SourceError(error.strerror or "cannot be read", where=str(path)) from None


def _recognise(files: Files, wanted: Format | None) -> Format | None:
    rows = [wanted] if wanted else all_formats()
    return next((row for row in rows if row.sniff(files)), None)


def _find_in_directory(directory: Path, wanted: Format | None) -> Found:
    groups = list(_groups(directory))
    main = [found for found in groups if "tokenizer.json" in found.files]
    if main and (wanted is None or wanted.name == main[0].format.name):
        others = tuple(n for found in groups if found is not main[0] for n in found.files)
        return Found(main[0].format, main[0].files, others)
    if wanted:
        groups = [found for found in groups if found.format.name == wanted.name]
    if len(groups) == 1:
        return groups[0]
    if groups:
        listing = "; ".join(f"{' + '.join(f.files)} ({f.format.name})" for f in groups)
        raise SourceError(
            f"several tokenizers are here: {listing}",
            where=str(directory),
            fix="name one of the files, or a format with --from",
        )
    for path in _plausible(directory):
        if path.name in _MAIN:
            _explain(path, read(path), wanted)
        _refuse_by_name(path, read(path))
    what = f"no {wanted.title} is here" if wanted else "no tokenizer is here"
    inner = [entry.name for entry in _entries(directory) if entry.is_dir()]
    listed = ", ".join(inner[:8]) + (", ..." if len(inner) > 8 else "")
    fix = f"name a file, or one of the folders in it: {listed}" if inner else ""
    raise SourceError(what, where=str(directory), fix=fix)


def _plausible(directory: Path) -> list[Path]:
    return [p for p in _entries(directory) if p.name.endswith(_NAMES) and p.is_file()]


def _entries(directory: Path) -> list[Path]:
    try:
        return sorted(directory.iterdir())
    except OSError as error:
        raise SourceError(error.strerror or "cannot be read", where=str(directory)) from None


def _groups(directory: Path) -> Iterator[Found]:
    """Each tokenizer in a directory, with the files that belong to it."""
    taken: set[str] = set()
    paths = _plausible(directory)
    names = {path.name for path in paths}
    for path in paths:
        if path.name in taken or path.name in _BESIDE:
            continue
        if path.name.endswith(".tiktoken.json") and path.name.removesuffix(".json") in names:
            continue
        partner = _partner(path)
        group = _read_group(directory, [path.name, *([partner] if partner else _companions(path))])
        row = _recognise(group, None)
        if row is not None:
            taken.update(group)
            yield Found(row, group)


def _explain(path: Path, data: bytes, wanted: Format | None) -> NoReturn:
    if not data.strip():
        raise SourceError("the file is empty", where=str(path), fix="get it again")
    _refuse_by_name(path, data)
    for own, other in _PARTNERS.items():
        if path.name.endswith((own, other)):
            raise SourceError(
                f"half of a GPT-2 pair; {other if path.name.endswith(own) else own} is missing",
                where=str(path),
            )
    if path.suffix == ".json":
        _explain_json(path, data)
    names = wanted.title if wanted else ", ".join(row.title for row in all_formats())
    raise SourceError(
        f"this is not a {names}" if wanted else f"this is none of: {names}", where=str(path)
    )


def _explain_json(path: Path, data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}", where=str(path)
        ) from None
    if not data.lstrip().startswith(b"{"):
        raise SourceError("this is no JSON object", where=str(path))


def _refuse_by_name(path: Path, data: bytes) -> None:
    head = data[:4096].lstrip()
    kind = ""
    if data[:4] == b"GGUF":
        kind = "a GGUF file"
    elif head[:1] == b"{" and b'"config"' in head and b'"pattern"' in head:
        kind = "a tekken.json (Mistral)"
    if kind:
        raise UnsupportedError(f"this is {kind}, which is not supported yet", where=str(path))


# Writing.


@contextlib.contextmanager
def staged(target: Path, files: Files, *, force: bool = False) -> Iterator[Path]:
    """Writes files beside the target, and puts them in its place when the block ends well.

    The target is a directory, or ``NAME.tiktoken`` for a rank file with its sidecar. Yields the
    temporary directory. If the block raises, or the run is interrupted, the target is as before.

    Raises:
        TargetError: the target holds something and ``force`` is not given, or cannot be written.
    """
    check_target(target, force=force)
    if is_file_target(target):
        _check_names(target, files)
    with _writing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        with _writing(target):
            for name, data in files.items():
                _write(stage, name, data)
        yield stage
        with _writing(target), _uninterrupted():
            _commit(stage, target, list(files))
    finally:
        _remove(stage)


def replace_file(target: Path, data: bytes) -> None:
    """Writes one file, whole or not at all; what was there is replaced.

    Raises:
        TargetError: it cannot be written.
    """
    with _writing(target):
        number, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    stage = Path(name)
    try:
        with _writing(target), _uninterrupted():
            with open(number, "wb") as file:
                file.write(data)
            os.chmod(stage, 0o666 & ~_umask())
            os.replace(stage, target)
    finally:
        stage.unlink(missing_ok=True)


@contextlib.contextmanager
def _writing(target: Path) -> Iterator[None]:
    """Turns what the system refuses into a TargetError that names the target."""
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise TargetError(
            "a folder that it should be in is a file", where=str(target), fix="choose another"
        ) from None
    except OSError as error:
        raise TargetError(error.strerror or "cannot be written", where=str(target)) from None


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keeps signals waiting: between two renames a rank file has the other's sidecar."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_names(target: Path, files: Files) -> None:
    """A target that is one file takes a rank file and its sidecar, of its own name, only."""
    for name in files:
        if name not in (target.name, f"{target.name}.json"):
            raise TargetError(
                f"the target is one rank file, and {name} has no place beside it",
                where=str(target),
                fix="name a directory",
            )


def check_target(target: Path, *, force: bool = False) -> None:
    """Raises TargetError where the target holds something that must not be replaced."""
    if "\0" in str(target):
        raise TargetError("a name cannot hold a NUL character", fix="choose another target")
    if force:
        place = target.resolve()
        if place in (Path.cwd(), Path.home(), *Path.cwd().parents) or (place / ".git").exists():
            raise TargetError(
                "replacing this directory as a whole would delete more than a tokenizer",
                where=str(target),
                fix="choose another target",
            )
        return
    if is_file_target(target):
        taken = any(p.exists() for p in (target, target.with_name(f"{target.name}.json")))
    else:
        with _writing(target):
            taken = target.exists() and not (target.is_dir() and not any(target.iterdir()))
    if taken:
        raise TargetError(
            "the target is already there",
            where=str(target),
            fix="choose a new one, or replace it as a whole with --force (force=True)",
        )


def is_file_target(target: Path) -> bool:
    """Whether a target names a rank file rather than a directory."""
    return target.name.endswith(".tiktoken") and not target.is_dir()


def _write(stage: Path, name: str, data: bytes) -> None:
    path = stage / name
    if stage.resolve() not in path.resolve().parents:
        raise TargetError("a file name leads outside the target", where=name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _commit(stage: Path, target: Path, names: list[str]) -> None:
    if is_file_target(target):
        for name in sorted(names, key=len, reverse=True):
            os.replace(stage / name, target.parent / name)
        return
    os.chmod(stage, 0o777 & ~_umask())
    if not target.exists() or (target.is_dir() and not any(target.iterdir())):
        os.rename(stage, target)
        return
    _exchange(stage, target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _exchange(new: Path, old: Path) -> None:
    """Swaps two paths in one step where the system can, else in two."""
    if _renameat2(new, old):
        return
    spare = new.with_name(f"{new.name}.old")
    os.rename(old, spare)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(spare, old)
        raise
    _remove(spare)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _renameat2(new: Path, old: Path) -> bool:
    """Linux's renameat2(2) with RENAME_EXCHANGE; False where it does not exist."""
    at_cwd, exchange = -100, 2
    call = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if call is None:
        return False
    result: int = call(at_cwd, os.fsencode(new), at_cwd, os.fsencode(old), exchange)
    return result == 0


def plain_names(files: Mapping[str, bytes], target: Path) -> str:
    """How a target's files are listed for people."""
    if is_file_target(target):
        return ", ".join(str(target.parent / name) for name in files)
    names = list(files)
    return ", ".join([str(target / names[0]), *names[1:]])
