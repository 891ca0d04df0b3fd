"""Sides that other processes can build too, and what tells them from other sides."""

from __future__ import annotations

import hashlib
import importlib.metadata
from functools import partial

from ..engines import Engine, from_directory, from_files, reads, versions
from ..engines.facts import facts
from ..errors import EngineError, SourceError
from .corpus_report import SideName
from .opening import Opened
from .pairs import Build
from .sides import Own


class Kept:
    """A way to build a side which keeps it; other processes are sent the way, and build their own.

    So a side that runs in this process is built once.
    """

    def __init__(self, build: Build) -> None:
        self._build = build
        self._side: Engine | None = None

    def __call__(self) -> Engine:
        """The side."""
        if self._side is None:
            self._side = self._build()
        return self._side

    def __reduce__(self) -> tuple[type[Kept], tuple[Build]]:
        return Kept, (self._build,)


def side_of(opened: Opened, engine: str | None = None) -> tuple[Build, SideName]:
    """How a source becomes a side, and the side's name.

    Args:
        opened: the source.
        engine: run it in this engine; by default in our encoder, or where our model of it is not
            known, in the engine of its format.

    Raises:
        SourceError: transformers is asked for, and the source is no directory.
        EngineError: the engine does not run the source's format.
    """
    if engine is None and opened.model is not None:
        version = importlib.metadata.version("bpe-interop")
        return partial(Own, opened.model), _named(opened, Own.name, version)
    engine = engine or opened.format.engine
    name = _named(opened, engine, versions().get(engine) or "")
    if facts(engine).directories:
        if opened.directory is None:
            raise SourceError(
                f"{engine} reads a directory", where=opened.label, fix="name the directory"
            )
        return partial(from_directory, engine, opened.directory), name
    if not reads(engine, opened.format.name):
        raise EngineError(
            f"{engine} does not run {opened.format.title}",
            where=opened.label,
            fix=f"its engine is {opened.format.engine}",
        )
    return partial(from_files, engine, opened.format.name, dict(opened.files), opened.model), name


def _named(opened: Opened, engine: str, version: str) -> SideName:
    """With a sha256 of the files, and of what a preset may say beside them."""
    digest = hashlib.sha256()
    for name, data in sorted(opened.files.items()):
        digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        digest.update(data)
    model = opened.model
    if model is not None:
        said = (model.normalizer, model.pretokenizer, model.added, model.sequence_template)
        digest.update(repr((said, model.decoder)).encode("utf-8", "surrogatepass"))
    return SideName(opened.label, engine, version, digest.hexdigest())
