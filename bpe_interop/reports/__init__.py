"""What was found, for people and for CI: JSON, JUnit XML, Markdown and HTML, and into files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from ..arguments import names
from ..compare.report import Report
from ..errors import TargetError
from ..io.writer import check_file_target, replace_file
from .document import as_data, to_json
from .junit import to_junit
from .markdown import to_markdown
from .page import to_html

__all__ = [
    "SUFFIXES",
    "Require",
    "as_data",
    "check_targets",
    "to_html",
    "to_json",
    "to_junit",
    "to_markdown",
    "write_reports",
]

Require: TypeAlias = Literal["proved", "tested"]

SUFFIXES: Mapping[str, str] = {
    ".json": "JSON",
    ".xml": "JUnit XML",
    ".html": "a page",
    ".md": "Markdown",
}
"""What is written, by the suffix of a file's name."""


def check_targets(paths: str | Path | Iterable[str | Path]) -> None:
    """Finds out whether reports can be written, before there are any.

    A file is made and removed beside each; none is touched.

    Raises:
        TargetError: a name does not say what to write, or nothing can be written there.
    """
    for path in map(Path, names(paths)):
        _suffix(path)
        check_file_target(path)


def write_reports(
    report: Report,
    paths: str | Path | Iterable[str | Path],
    require: Require = "tested",
    *,
    metadata: bool = False,
) -> list[Path]:
    """Writes a report to each path, in the form that its suffix names.

    Each file is written beside its place first. Where one cannot be written the others are, and
    what was there is left as it is.

    Args:
        report: what was found.
        paths: a file, or several, whose names end in one of ``SUFFIXES``.
        require: what is accepted. The cases of JUnit XML follow it, and the heads of pages and
            Markdown say where a verdict is not accepted.
        metadata: whether the metadata must be the same; said in the same places.

    Returns:
        The files written.

    Raises:
        TargetError: one or more cannot be written; what the first of them ran into.
    """
    done: list[Path] = []
    failed: TargetError | None = None
    for path in map(Path, names(paths)):
        try:
            replace_file(path, _written(report, path, require, metadata))
        except TargetError as error:
            failed = failed or error
        else:
            done.append(path)
    if failed is not None:
        raise failed
    return done


def _written(report: Report, path: Path, require: Require, metadata: bool) -> bytes:
    write: Mapping[str, Callable[[Report], str]] = {
        ".json": to_json,
        ".xml": partial(to_junit, require=require, metadata=metadata),
        ".html": partial(to_html, require=require, metadata=metadata),
        ".md": partial(to_markdown, require=require, metadata=metadata),
    }
    return write[_suffix(path)](report).encode("utf-8")


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise TargetError(
            "the name does not say what to write",
            where=str(path),
            fix=f"end it in one of {', '.join(SUFFIXES)}",
        )
    return suffix
