"""Writes files beside the target first, and moves them into its place when all is well.

Files are made in a hidden folder beside the target, ``.bpe-interop-XXXXXXXX.tmp``. Its maker holds
a lock on it (``flock``) as long as it runs, so what a killed run left can be told from what another
one still needs. Where the system has no such locks, nothing is cleaned.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from ..errors import TargetError
from ..formats import Files, file_names
from .names import beside_one_file, refuse_nul
from .target import check_target, is_one_file, naming_target

_PREFIX, _SUFFIX = ".bpe-interop-", ".tmp"
_LITTER = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}" + re.escape(_SUFFIX))


@contextlib.contextmanager
def staged(target: Path, files: Files, *, force: bool = False) -> Iterator[Path]:
    """Writes files beside the target, and puts them in its place when the block ends well.

    The target is a directory, a link to one, or ``NAME.tiktoken`` for a rank file with its
    sidecar. Yields the temporary directory. If the block raises, or the run is interrupted, the
    target is as before.

    Raises:
        TargetError: the target holds something and ``force`` is not given, or what is not
            replaced; or it cannot be written.
    """
    check_target(target, force=force)
    if is_one_file(target, files):
        _check_names(target, files)
    place = _place_of(target)
    with contextlib.ExitStack() as last:
        made = last.enter_context(staging_beside(target)) / "files"
        with naming_target(target):
            made.mkdir()
            for name, data in files.items():
                _write(made, name, data)
        yield made
        check_target(target, force=force)
        with naming_target(target), _uninterrupted():
            _commit(made, place, list(files))
            last.close()


@contextlib.contextmanager
def staging_beside(target: Path) -> Iterator[Path]:
    """An empty folder beside a target, removed with all that is in it when the block ends.

    Folders above it that are made for it are removed where the block fails.

    Raises:
        TargetError: it cannot be made.
    """
    place = _place_of(target)
    with contextlib.ExitStack() as last:
        with naming_target(target):
            last.enter_context(_parents_of(place))
            staging = last.enter_context(_staging_in(place.parent))
        yield staging


def _place_of(target: Path) -> Path:
    return target.resolve() if os.path.isdir(target) else target


def replace_file(target: Path, data: bytes) -> None:
    """Writes one file, whole or not at all; TargetError where it cannot be written."""
    with naming_target(target), contextlib.ExitStack() as last:
        staging = last.enter_context(_staging_in(target.parent))
        _write(staging, "file", data)
        with _uninterrupted():
            os.replace(staging / "file", target)
            last.close()


def check_file_target(target: Path) -> None:
    """Finds out whether a file can be written, before it is: makes one beside it, and removes it.

    Raises:
        TargetError: it cannot.
    """
    refuse_nul(target, written=True)
    try:
        if os.path.isdir(target):
            raise TargetError("this is a directory", where=str(target), fix="name a file in it")
        with contextlib.suppress(FileNotFoundError):
            target.lstat()
        with _staging_in(target.parent) as staging:
            (staging / "file").touch()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and not target.parent.is_dir()
        fix = "make the directory first" if missing else "choose a place that can be written"
        what = error.strerror or "cannot be written"
        raise TargetError(what, where=str(target), fix=fix) from None


@contextlib.contextmanager
def _parents_of(place: Path) -> Iterator[None]:
    """Makes the folders above a place, and removes them again where the block fails."""
    made = [folder for folder in place.parents if not folder.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """A block in which signals wait."""
    # Between two renames a rank file has the other's sidecar.
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_names(target: Path, files: Files) -> None:
    """A target that is one file takes that file and what stands beside it, and no other."""
    for name in files:
        if name not in (target.name, *beside_one_file(target.name)):
            called = next((n.called for n in file_names() if n.is_one_file(target.name)), "file")
            raise TargetError(
                f"the target is one {called}, and {name} has no place beside it",
                where=str(target),
                fix="name a directory",
            )


def _write(staging: Path, name: str, data: bytes) -> None:
    path = staging / name
    if staging.resolve() not in path.resolve().parents:
        raise TargetError(
            "a file name leads outside the target", where=name, fix="name it by a path inside"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _commit(staging: Path, target: Path, names: list[str]) -> None:
    if is_one_file(target, names):
        _commit_pair(staging, target, names)
    elif not target.exists() or (os.path.isdir(target) and not any(target.iterdir())):
        os.rename(staging, target)
    else:
        _exchange(staging, target)
    _sync(target.parent)


def _commit_pair(staging: Path, target: Path, names: list[str]) -> None:
    """Puts a rank file and its sidecar in their places; undone where a step fails."""
    # The old rank file goes first and the new one comes last: a run that is killed between leaves
    # a sidecar without ranks, which is refused, and never ranks with the sidecar of others.
    places = [target, *map(target.with_name, beside_one_file(target.name))]
    aside, put = list[Path](), list[Path]()
    try:
        for place in places:
            if os.path.lexists(place):
                os.rename(place, staging / f"{place.name}.old")
                aside.append(place)
                _sync(target.parent)
        for name in sorted(names, key=len, reverse=True):
            os.rename(staging / name, target.parent / name)
            put.append(target.parent / name)
            _sync(target.parent)
    except OSError:
        for place in put:
            place.unlink()
        for place in reversed(aside):
            os.rename(staging / f"{place.name}.old", place)
        raise


def _sync(folder: Path) -> None:
    """Asks for the names of a folder to be on the disk, where the system can be asked that."""
    with contextlib.suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def _exchange(new: Path, old: Path) -> None:
    """Swaps two paths in one step where the system can, else in two."""
    if _renameat2(new, old):
        return
    spare = old.with_name(f"{old.name}{new.parent.name}.old")
    os.rename(old, spare)
    try:
        os.rename(new, old)
    except OSError:
        os.rename(spare, old)
        raise
    _remove(spare)


def _renameat2(new: Path, old: Path) -> bool:
    """Linux's renameat2(2) with RENAME_EXCHANGE; False where it does not exist."""
    at_cwd, exchange = -100, 2
    call = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if call is None:
        return False
    result: int = call(at_cwd, os.fsencode(new), at_cwd, os.fsencode(old), exchange)
    return result == 0


@contextlib.contextmanager
def _staging_in(folder: Path) -> Iterator[Path]:
    """A new empty folder in a folder, removed with all that is in it when the block ends.

    What killed runs left in the folder is removed first.

    Raises:
        OSError: it cannot be made.
    """
    _clean(folder)
    while True:
        staging = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder))
        lock = _locked(staging)
        if staging.is_dir():  # another run may have taken it for litter before it was locked
            break
        _release(lock)
    try:
        yield staging
    finally:
        _remove(staging)
        _release(lock)


def _remove(path: Path) -> None:
    """Removes a file, a link or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _clean(folder: Path) -> None:
    with os.scandir(folder) as entries:
        litter = [entry.path for entry in entries if _LITTER.fullmatch(entry.name)]
    for path in litter:
        lock = _locked(Path(path))
        if lock is not None:
            _remove(Path(path))
            _release(lock)


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a folder; None if another run holds it."""
    if os.name != "posix":
        return None
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    except OSError:
        return None
    if _take_lock(number):
        return number
    os.close(number)
    return None


def _take_lock(number: int) -> bool:
    """Takes the lock of an open file or folder, until it is closed; False if another has it.

    Where the system has no such locks, True.
    """
    if os.name != "posix":
        return True
    locks = import_module("fcntl")
    try:
        locks.flock(number, locks.LOCK_EX | locks.LOCK_NB)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def held_alone(folder: Path) -> Iterator[bool]:
    """A folder, made where there is none, that no other run has while the block runs.

    Yields False if another one has it.

    Raises:
        OSError: it cannot be made.
    """
    while True:
        folder.mkdir(parents=True, exist_ok=True)
        if os.name != "posix":
            yield True
            return
        lock = _locked(folder)
        # Another run may have given it its last name before it was locked.
        if lock is None or (folder.is_dir() and os.path.samestat(os.fstat(lock), folder.stat())):
            break
        _release(lock)
    try:
        yield lock is not None
    finally:
        _release(lock)


def _release(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)
