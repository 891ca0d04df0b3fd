"""Opening a side of a comparison: our model of it, or only its files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..diff import diff
from ..engines.transformers import read_directory
from ..errors import UnsupportedError
from ..formats import Files, Format
from ..formats.huggingface.beside import WORDS, explain
from ..formats.huggingface.survey import serving
from ..io import find
from ..model import BPEModel
from ..sources import load_source


@dataclass(frozen=True, slots=True)
class Opened:
    """A tokenizer to compare. ``model`` is None where we refuse it; ``unread`` says why."""

    label: str
    format: Format
    files: Files
    directory: Path | None
    model: BPEModel | None
    unread: str = ""


def open_side(
    source: str | Path, *, preset: str | None = None, offline: bool = False, served: bool = False
) -> Opened:
    """Opens a source.

    With ``served``, the question is whether a library serves what the files say, so files on
    disk that our encoder does not read are left to the engine of their format.

    Raises:
        BpeInteropError: as :func:`bpe_interop.sources.load_source`.
    """
    try:
        loaded = load_source(source, preset=preset, offline=offline)
    except UnsupportedError as error:
        path = Path(source)
        if not served or not path.exists():
            raise
        found = find(path)
        folder = path if path.is_dir() else None
        return Opened(str(source), found.format, found.files, folder, None, error.what)
    return Opened(loaded.label, loaded.format, loaded.files, loaded.directory, loaded.model)


def run_in_transformers(opened: Opened, notes: list[str]) -> BPEModel | None:
    """The model that ``AutoTokenizer`` really runs for a directory.

    What is other than its files say is noted, with the reason. None where what transformers
    built cannot be read as a model.

    Raises:
        EngineMissingError, EngineError: as :func:`bpe_interop.engines.served_model`.
    """
    own, directory = opened.model, opened.directory
    if own is None or directory is None:
        return own
    engine = read_directory(directory)
    found = serving(opened.files, own)
    served = engine.model()
    if served is None:
        notes.append(
            f"{opened.label}: what transformers built ({engine.class_name}) cannot be read as a "
            "model"
        )
        return None
    # Extras are no part of what runs, and AutoTokenizer has none.
    served = replace(served, extras=own.extras)
    if found is not None:
        fields = [d.field for d in diff(own, served) if d.field in WORDS]
        sentence = explain(found.choice, fields, engine.class_name)
        notes += [*([sentence] if sentence else []), *found.on_tokens]
    return served
