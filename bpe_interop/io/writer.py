"""Writes files beside the target first, and moves them into its place when all is well."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Container, Iterator
from pathlib import Path

from ..errors import TargetError
from ..formats import Files, file_names
from .names import beside_one_file, one_file_endings
from .replacement import check_replaceable
from .temporary import remove, stage_in


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
        made = last.enter_context(stage_beside(target)) / "files"
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
def stage_beside(target: Path) -> Iterator[Path]:
    """An empty folder beside a target, removed with all that is in it when the block ends.

    Folders above it that are made for it are removed where the block fails.

    Raises:
        TargetError: it cannot be made.
    """
    place = _place_of(target)
    with contextlib.ExitStack() as last:
        with naming_target(target):
            last.enter_context(_parents_of(place))
            stage = last.enter_context(stage_in(place.parent))
        yield stage


def _place_of(target: Path) -> Path:
    return target.resolve() if os.path.isdir(target) else target


def replace_file(target: Path, data: bytes) -> None:
    """Writes one file, whole or not at all; what was there is replaced.

    Args:
        target: the file.
        data: what it shall hold.

    Raises:
        TargetError: it cannot be written.
    """
    with naming_target(target), contextlib.ExitStack() as last:
        stage = last.enter_context(stage_in(target.parent))
        _write(stage, "file", data)
        with _uninterrupted():
            os.replace(stage / "file", target)
            last.close()


def check_file_target(target: Path) -> None:
    """Finds out whether a file can be written, before it is: makes one beside it, and removes it.

    Raises:
        TargetError: it cannot.
    """
    if "\0" in str(target):
        raise TargetError("a name cannot hold a NUL character", fix="choose another")
    try:
        if os.path.isdir(target):
            raise TargetError("this is a directory", where=str(target), fix="name a file in it")
        with contextlib.suppress(FileNotFoundError):
            target.lstat()
        with stage_in(target.parent) as stage:
            (stage / "file").touch()
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
def naming_target(target: Path) -> Iterator[None]:
    """Turns what the system refuses into a TargetError that names the target."""
    try:
        yield
    except (FileExistsError, NotADirectoryError):
        raise TargetError(
            "a folder that it should be in is a file", where=str(target), fix="choose another"
        ) from None
    except OSError as error:
        why = f": {error.strerror}" if error.strerror else ""
        missing = isinstance(error, FileNotFoundError) and not target.parent.is_dir()
        room = "choose a folder where you may write, with enough free space"
        raise TargetError(
            f"cannot be written{why}",
            where=str(target),
            fix="make the directory first" if missing else room,
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
    """A target that is one file takes that file and what stands beside it, and no other."""
    for name in files:
        if name not in (target.name, *beside_one_file(target.name)):
            called = next((n.called for n in file_names() if n.is_one_file(target.name)), "file")
            raise TargetError(
                f"the target is one {called}, and {name} has no place beside it",
                where=str(target),
                fix="name a directory",
            )


def check_target(target: Path, *, force: bool | None = False) -> None:
    """Raises TargetError where the target holds something that must not be replaced.

    ``force`` is None for what is never replaced.
    """
    if "\0" in str(target):
        raise TargetError("a name cannot hold a NUL character", fix="choose another target")
    if str(target).startswith("hf:"):
        name = str(target).removeprefix("hf:")
        raise TargetError(
            "a target is a folder or a file, and this is a repository of the hub",
            where=str(target),
            fix=f"write to a folder, and send that: hf upload {name} FOLDER",
        )
    if force:
        place = target.resolve()
        with naming_target(target):
            repository = (place / ".git").exists()
        if repository or place in (Path.cwd(), Path.home(), *Path.cwd().parents):
            raise TargetError(
                "replacing this directory as a whole would delete more than a tokenizer",
                where=str(target),
                fix="choose another target",
            )
        with naming_target(target):
            check_replaceable(place)
        for name in beside_one_file(target.name) if is_file_target(target) else ():
            if os.path.isdir(target.with_name(name)):
                raise TargetError(
                    f"{name} is a directory, and the sidecar has that name",
                    where=str(target),
                    fix="choose another target",
                )
        return
    if is_file_target(target):
        beside = map(target.with_name, beside_one_file(target.name))
        taken = any(map(os.path.lexists, (target, *beside)))
    else:
        with naming_target(target):
            taken = target.exists() and not (os.path.isdir(target) and not any(target.iterdir()))
    if taken:
        raise TargetError(
            "the target is already there",
            where=str(target),
            fix="choose a new one"
            + ("" if force is None else ", or replace it as a whole with --force (force=True)"),
        )


def is_file_target(target: Path) -> bool:
    """Whether a target's name is that of one file rather than of a directory."""
    return target.name.endswith(one_file_endings()) and not os.path.isdir(target)


def is_one_file(target: Path, names: Container[str]) -> bool:
    """Whether these files are no directory: one of them is the target itself."""
    return is_file_target(target) or (target.name in names and not os.path.isdir(target))


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
    if is_one_file(target, names):
        _commit_pair(stage, target, names)
    elif not target.exists() or (os.path.isdir(target) and not any(target.iterdir())):
        os.rename(stage, target)
    else:
        _exchange(stage, target)
    _sync(target.parent)


def _commit_pair(stage: Path, target: Path, names: list[str]) -> None:
    """Puts a rank file and its sidecar in their places, old ones aside.

    The old rank file goes first and the new one comes last: a run that is killed between leaves
    a sidecar without ranks, and never ranks with the sidecar of others. Where a step fails, those
    before it are undone.
    """
    places = [target, *map(target.with_name, beside_one_file(target.name))]
    aside, put = list[Path](), list[Path]()
    try:
        for place in places:
            if os.path.lexists(place):
                os.rename(place, stage / f"{place.name}.old")
                aside.append(place)
                _sync(target.parent)
        for name in sorted(names, key=len, reverse=True):
            os.rename(stage / name, target.parent / name)
            put.append(target.parent / name)
            _sync(target.parent)
    except OSError:
        for place in put:
            place.unlink()
        for place in reversed(aside):
            os.rename(stage / f"{place.name}.old", place)
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
    remove(spare)


def _renameat2(new: Path, old: Path) -> bool:
    """Linux's renameat2(2) with RENAME_EXCHANGE; False where it does not exist."""
    at_cwd, exchange = -100, 2
    call = getattr(ctypes.CDLL(None), "renameat2", None) if os.name == "posix" else None
    if call is None:
        return False
    result: int = call(at_cwd, os.fsencode(new), at_cwd, os.fsencode(old), exchange)
    return result == 0
