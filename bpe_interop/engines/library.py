"""Somebody else's library: its import, its version, and its failures as errors of ours."""

from __future__ import annotations

import importlib
from types import ModuleType, TracebackType
from typing import Literal, TypeAlias

from ..errors import BpeInteropError, EngineError, EngineMissingError
from ..model import show

Special: TypeAlias = Literal["text", "parse"]

LONG = 1000
"""Mean characters of a text from which a library's batch call pays (measured: tiktoken and
tokenizers start threads for each call, which costs more than a short text)."""


def library(name: str, distribution: str = "") -> ModuleType:
    """Imports a library, or a module of a distribution.

    Raises:
        EngineMissingError: it is not installed, or cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        named = distribution or name
        if installed(named) is None or error.name == name:
            what = f"not checked: {named} is not installed"
        else:
            what = f"not checked: {named} cannot be imported ({error})"
        raise EngineMissingError(what, fix=f"install {named}") from error


def installed(name: str) -> str | None:
    """The installed version of a distribution; None if there is none. Imports none of it."""
    from importlib import metadata  # slow to import, and most uses need no version

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


class guarded:
    """A block in which whatever a library raises becomes an ``EngineError`` that names the text.

    A panic in Rust arrives as ``pyo3_runtime.PanicException``, which is a ``BaseException`` of
    each extension's own and can be told by its name only. Interrupts, exhausted memory and our
    own errors pass.
    """

    def __init__(self, engine: str, doing: str, text: str | None = None) -> None:
        self._engine = engine
        self._doing = doing
        self._text = text

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None or isinstance(error, (BpeInteropError, MemoryError)):
            return
        panicked = type(error).__name__ == "PanicException"
        if not panicked and not isinstance(error, Exception):
            return
        how = "panicked" if panicked else "failed"
        said = str(error).strip().split("\n")[0][:200] or type(error).__name__
        on = "" if self._text is None else f" {shortened(self._text)}"
        raise EngineError(f"{self._engine} {how} {self._doing}{on}: {said}") from error


def shortened(text: str, limit: int = 60) -> str:
    """A text for people: quoted, escaped, and cut in the middle where it is long."""
    if len(text) <= limit:
        return show(text)
    half = limit // 2
    return f"{show(text[:half])}...{show(text[-half:])} ({len(text):,} characters)"


def pays_as_batch(texts: list[str]) -> bool:
    """Whether texts are long enough, and more than one, for a library's batch call."""
    return len(texts) > 1 and sum(map(len, texts)) >= LONG * len(texts)
