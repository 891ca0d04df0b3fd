"""The texts to learn from: given as they are, or in files and directories."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias, Union

from ..errors import SourceError
from ..text.normalize import repair
from .training import empty

Texts: TypeAlias = Union[str, Path, Iterable[Union[str, Path]]]
"""A ``str`` is a text, a ``Path`` is a file, or a directory of files."""


def read_texts(texts: Texts) -> Iterator[str]:
    """The texts one after the other; a file is one text, read when it is its turn.

    Of a directory, all files below it in the order of their paths; what begins with a dot is
    left out. Line ends stay as they are.

    Raises:
        SourceError: a file cannot be read or is not UTF-8, or a directory holds no file.
    """
    for one in (texts,) if isinstance(texts, (str, Path)) else texts:
        if isinstance(one, str):
            yield repair(one)
        elif isinstance(one, Path):
            for path in _files(one):
                yield _read(path)
        else:
            raise TypeError(f"a text is str and a file is Path, not {type(one).__name__}")


class Handed:
    """Texts for a library that asks for them one by one, counted as they go.

    Libraries make errors of their own of what is raised while they ask, or lose it; it is kept
    here, and raised again behind the block that they ran in.
    """

    def __init__(self, texts: Iterator[str], tick: Callable[[int], None]) -> None:
        self.size = 0
        self.count = 0
        self._texts = texts
        self._tick = tick
        self._raised: BaseException | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for text in self._texts:
                self.count += 1
                self.size += len(text.encode("utf-8"))
                self._tick(self.size)
                yield text
            if not self.size:
                raise empty()
        except GeneratorExit:
            raise
        except BaseException as error:
            self._raised = error
            raise

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """A block in which the library runs: raises what was raised while it asked."""
        try:
            yield
        finally:
            if self._raised is not None:
                raise self._raised


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(
        file
        for file in path.rglob("*")
        if not any(part.startswith(".") for part in file.relative_to(path).parts) and file.is_file()
    )
    if not found:
        raise SourceError("the directory holds no file to learn from", where=str(path))
    return found


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"not UTF-8: byte 0x{error.object[error.start]:02X} at offset {error.start}",
            where=str(path),
            fix="a tokenizer learns from text, so make it UTF-8 first",
        ) from None
    except OSError as error:
        raise SourceError(error.strerror or "cannot be read", where=str(path)) from None
