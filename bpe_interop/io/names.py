"""Names of the files that tokenizers are made of, as the formats say them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..errors import SourceError, TargetError
from ..formats import file_names
from ..formats.names import BESIDE, OTHERS


def spelled(name: str) -> str:
    """A name of a file as text that every reader of JSON takes: bytes that are no UTF-8 escaped.

    Python holds such a byte as half a surrogate pair (PEP 383). This is for people, and no path.
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def refuse_nul(path: Path, *, written: bool = False) -> None:
    """Refuses a name that no file can have; the system itself would raise a bare ValueError.

    Raises:
        SourceError: it holds a NUL character; TargetError where a file is to be written there.
    """
    if "\0" in str(path):
        kind, fix = (
            (TargetError, "choose another target") if written else (SourceError, "check the name")
        )
        raise kind("a name cannot hold a NUL character", fix=fix)


def before(folder: Path) -> str:
    """What stands before the name of a file in a folder; nothing of one here, as its user wrote."""
    return "" if folder == Path() else f"{str(folder).removesuffix('/')}/"


@cache
def halves() -> Mapping[str, tuple[str, str]]:
    """How the name of half a tokenizer ends: to the other half, and what both are called."""
    named: dict[str, tuple[str, str]] = {}
    for names in file_names():
        for one, other in names.halves.items():
            named |= {one: (other, names.whole), other: (one, names.whole)}
    return named


@cache
def firsts() -> tuple[str, ...]:
    """The names of files that are meant where a directory holds several tokenizers."""
    return tuple(names.first for names in file_names() if names.first)


@cache
def mains() -> tuple[str, ...]:
    """Names of files that a tokenizer can be told by."""
    return (*firsts(), *halves())


@cache
def endings() -> tuple[str, ...]:
    """How the names of files end that may hold a tokenizer, and of no other kind of file."""
    return tuple({ending: None for names in file_names() for ending in names.endings})


@cache
def common_endings() -> tuple[str, ...]:
    """How the names of files end that may hold a tokenizer, and of many other files."""
    return tuple({ending: None for names in file_names() for ending in names.common})


@cache
def never_alone() -> frozenset[str]:
    """Names, and patterns of names, of files that only stand beside a tokenizer's own."""
    patterns = (p for names in file_names() for each in names.beside for p in each.names)
    return frozenset(pattern for pattern in patterns if "{}" not in pattern)


def model_files() -> tuple[str, ...]:
    """Names, and patterns of names, of what lies in a model's directory beside any format."""
    return tuple(name for name in BESIDE if name != OTHERS)


def is_later_part(name: str) -> bool:
    """Whether a file is a later part of one whose first part has the tokenizer."""
    return any(
        re.search(names.later_part, name) is not None for names in file_names() if names.later_part
    )


@cache
def folders() -> tuple[str, ...]:
    """The names of folders with files that stand beside a tokenizer's own."""
    return tuple(sorted({name.partition("/")[0] for name in never_alone() if "/" in name}))


@cache
def beside(name: str) -> frozenset[str]:
    """The names of files and folders that belong to a file of this name."""
    return frozenset(
        pattern.format(name).partition("/")[0]
        for names in file_names()
        for each in names.beside
        if name.endswith(each.ending)
        for pattern in each.names
    )


@cache
def one_file_endings() -> tuple[str, ...]:
    """How the name of a target ends that is one file, with what stands beside it."""
    return tuple(names.one_file for names in file_names() if names.one_file)


def beside_one_file(name: str) -> tuple[str, ...]:
    """What a target of one file has beside it, by that file's name; nothing for a directory."""
    return tuple(
        other
        for names in file_names()
        if names.one_file and name.endswith(names.one_file)
        for other in names.beside_file(name)
    )


@cache
def written_patterns() -> tuple[str, ...]:
    """Patterns of names that formats write, by themselves enough to know a file by."""
    single = tuple(
        pattern
        for ending in one_file_endings()
        for pattern in (f"*{ending}", *beside_one_file(f"*{ending}"))
    )
    more = tuple(pattern for names in file_names() for pattern in names.written)
    return (*mains(), *sorted(never_alone()), *single, *more)
