"""The one function over parts, and what the process that runs it keeps between two calls."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from ..engines.library import installed
from ..errors import BpeInteropError
from ..formats import Files
from .orders import FailedPart, Finished, Job, Missing, Order, OtherVersions, Reply, Stopped, Work


class _StoppedError(Exception):
    """The run was stopped while a part was worked on."""


_MOST_KEPT = 8
"""Of how many tokenizers a process keeps the files."""

_Key: TypeAlias = "tuple[str, Job[Any, Any], bool]"
"""The run, what it does, and whether engines are isolated."""

_lock = threading.Lock()
_contents: dict[str, Files] = {}
_idle: dict[_Key, list[Work[Any, Any]]] = {}
_busy: dict[str, list[Work[Any, Any]]] = {}
_stopped: set[str] = set()


def versions_here(libraries: Iterable[str]) -> dict[str, str]:
    """The versions of Python, of this package and of libraries; none where one is missing."""
    versions = {"python": platform.python_version()}
    for name in ("bpe-interop", *libraries):
        version = _version(name)
        if version is not None:
            versions[name] = version
    return versions


_version = cache(installed)
"""Asked for every part, and it looks through files."""


def name_of_worker() -> str:
    """What reports call this process: its machine and number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def stop(run: str) -> None:
    """Ends what this process does for a run, and closes what was built for it."""
    with _lock:
        _stopped.add(run)
        works = [*_busy.get(run, ()), *_closable(lambda key: key[0] == run)]
    for work in works:
        work.close()


def _closable(unwanted: Callable[[_Key], bool]) -> list[Work[Any, Any]]:
    return [work for key in [*filter(unwanted, _idle)] for work in _idle.pop(key)]


def perform(order: Order) -> Reply:
    """Works on a part, or says why not. Workers of all engines run this function."""
    worker = name_of_worker()
    other = _other_versions(order)
    if other:
        return OtherVersions(worker, other)
    files = _files_of(order)
    if files is None:
        return Missing(worker)
    began = time.monotonic()
    key = order.run, order.job, order.isolate
    try:
        with _built(key, files) as work:
            value = work.do(order.part, lambda: _check(order.run))
    except _StoppedError:
        return Stopped(worker)
    except BpeInteropError as error:
        return FailedPart(worker, error)
    return Finished(worker, value, time.monotonic() - began, _memory())


def _check(run: str) -> None:
    if run in _stopped:
        raise _StoppedError


def _other_versions(order: Order) -> Mapping[str, tuple[str, str]]:
    here = versions_here(order.versions)
    return {
        name: (version, here.get(name, "none"))
        for name, version in order.versions.items()
        if here.get(name) != version
    }


def _files_of(order: Order) -> list[Files] | None:
    """The files of each tokenizer; None where some are not here."""
    with _lock:
        _contents.update(order.contents)
        wanted = [_contents.get(ticket.sha256) for ticket in order.job.tokenizers]
        while len(_contents) > _MOST_KEPT:
            del _contents[next(iter(_contents))]
    known = [files for files in wanted if files is not None]
    return known if len(known) == len(wanted) else None


@contextlib.contextmanager
def _built(key: _Key, files: Sequence[Files]) -> Iterator[Work[Any, Any]]:
    """What is built for an order of this kind, kept for the next; what fails in it is closed."""
    run, job, isolate = key
    with _lock:  # what runs of other processes left; those of this one are stopped when they end
        own = name_of_worker()
        left = _closable(lambda other: other[0] != run and not other[0].startswith(own))
        held = _idle.get(key)
        work = held.pop() if held else None
    for other in left:
        other.close()
    work = work or job.build(files, isolate)
    with _lock:
        _busy.setdefault(run, []).append(work)
    keep = False
    try:
        _check(run)
        yield work
        keep = True
    finally:
        with _lock:
            _busy[run].remove(work)
            if not _busy[run]:
                del _busy[run]
            if keep and run not in _stopped:
                _idle.setdefault(key, []).append(work)
            else:
                keep = False
        if not keep:
            work.close()


def _memory() -> int:
    """The largest resident size of this process so far, in bytes; 0 where the system has none."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
