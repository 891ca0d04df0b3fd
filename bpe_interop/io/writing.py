"""Files to a target at once: beside it first, in its place when all is well."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from ..errors import TargetError
from ..formats import Files, Format, by_name


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
        why = f": {error.strerror}" if error.strerror else ""
        raise TargetError(
            f"cannot be written{why}",
            where=str(target),
            fix="choose a place where files can be made, and where there is room",
        ) from None


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


def target_format(place: Path, to: str | None) -> Format:
    """The format of a target, as it is asked for or as the target's name says.

    Raises:
        TargetError: neither says it, or they contradict each other.
        SourceError: there is no such format.
    """
    if to is None and is_file_target(place):
        to = "tiktoken"
    if to is None:
        raise TargetError(
            "the target's format is not given", where=str(place), fix="name it with --to (to=...)"
        )
    row = by_name(to)
    if is_file_target(place) and row.name != "tiktoken":
        raise TargetError(
            f"{row.title} is a directory, and this is the name of a rank file",
            where=str(place),
            fix="name a directory, or leave --to out (to=...)",
        )
    return row


def _write(stage: Path, name: str, data: bytes) -> None:
    path = stage / name
    if stage.resolve() not in path.resolve().parents:
        raise TargetError(
            "a file name leads outside the target", where=name, fix="name it by a path inside"
        )
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
