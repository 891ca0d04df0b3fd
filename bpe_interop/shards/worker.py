"""The one function over parts, and what the process that runs it keeps between two calls."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import socket
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ..errors import BpeInteropError
from ..formats import Files
from .orders import Failed, Finished, Job, Missing, Order, OtherVersions, Reply, Stopped, Work


class _StoppedError(Exception):
    """The run was stopped while a part was worked on."""


_MOST_KEPT = 8
"""Of how many tokenizers a process keeps the files."""

_lock = threading.Lock()
_contents: dict[str, Files] = {}
_idle: dict[tuple[str, Job[Any], bool], list[Work[Any]]] = {}
_stopped: set[str] = set()


def versions_here(libraries: Iterable[str]) -> dict[str, str]:
    """The versions of Python, of this package and of libraries; none where one is missing."""
    versions = {"python": platform.python_version()}
    for name in ("bpe-interop", *libraries):
        version = _version(name)
        if version is not None:
            versions[name] = version
    return versions


@cache
def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def name_of_worker() -> str:
    """What reports call this process: its machine and number."""
    return f"{socket.gethostname()}:{os.getpid()}"


def stop(run: str) -> None:
    """Lets what this process does for a run end at the next chance."""
    _stopped.add(run)


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
        work = _taken(key) or order.job.build(files, order.isolate)
        try:
            value = work.do(order.part, lambda: _check(order.run))
        except BaseException:
            work.close()
            raise
    except _StoppedError:
        return Stopped(worker)
    except BpeInteropError as error:
        return Failed(worker, error)
    _give_back(key, work)
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


def _taken(key: tuple[str, Job[Any], bool]) -> Work[Any] | None:
    """What was built for an order of this kind and is idle; what other runs left is closed."""
    with _lock:
        for other in [each for each in _idle if each[0] != key[0]]:
            for work in _idle.pop(other):
                work.close()
        held = _idle.get(key)
        return held.pop() if held else None


def _give_back(key: tuple[str, Job[Any], bool], work: Work[Any]) -> None:
    with _lock:
        _idle.setdefault(key, []).append(work)


def _memory() -> int:
    """The largest resident size of this process so far, in bytes; 0 where the system has none."""
    if sys.platform == "win32":
        return 0
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
