"""Places where files are made whole before they take their own: locked, and cleaned when left.

A stage is a hidden folder beside the target, ``.bpe-interop-XXXXXXXX.tmp``. Its maker holds a
lock on it (``flock``) as long as it runs, so what a killed run left can be told from what another
one still needs. Where the system has no such locks, nothing is cleaned.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

_PREFIX, _SUFFIX = ".bpe-interop-", ".tmp"
_LITTER = re.compile(re.escape(_PREFIX) + r"[a-z0-9_]{8}" + re.escape(_SUFFIX))


@contextlib.contextmanager
def stage_in(folder: Path) -> Iterator[Path]:
    """A new empty folder in a folder, removed with all that is in it when the block ends.

    What killed runs left in the folder is removed first.

    Raises:
        OSError: it cannot be made.
    """
    _clean(folder)
    while True:
        stage = Path(tempfile.mkdtemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder))
        lock = _locked(stage)
        # Another run may have taken it for litter before it was locked.
        if stage.is_dir():
            break
        _release(lock)
    try:
        yield stage
    finally:
        remove(stage)
        _release(lock)


def remove(path: Path) -> None:
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
            remove(Path(path))
            _release(lock)


def _locked(path: Path) -> int | None:
    """A descriptor that holds the lock of a folder; None if another run holds it."""
    if os.name != "posix":
        return None
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
    except OSError:
        return None
    if take_lock(number):
        return number
    os.close(number)
    return None


def take_lock(number: int) -> bool:
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
