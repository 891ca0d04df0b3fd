"""Somebody else's library as an encoder. Each may be absent, and says so when it is asked for.

Nothing here imports an engine until one is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Protocol

from ..errors import EngineError, EngineMissingError, UnstatedError
from ..formats import Files, Format, by_name, each_format
from ..formats.round_trip import RoundTrip
from ..model import BPEModel
from ..presets import ways_to_say
from .library import OneByOne, Special, guarded, installed, to_install
from .rows import ROWS
from .tiktoken import constructors, registry

__all__ = [
    "NAMES",
    "Engine",
    "Special",
    "check_installed",
    "constructors",
    "from_directory",
    "from_files",
    "from_model",
    "reads",
    "registry",
    "versions",
]

NAMES = tuple(ROWS)
"""The engines there are."""


class Engine(OneByOne, Protocol):
    """A library that turns texts into ids.

    ``special="text"`` takes the text of special tokens as ordinary text, ``"parse"`` finds them.
    Added tokens that are not special are found either way. What the library raises becomes an
    :class:`~bpe_interop.errors.EngineError` that names the text.
    """

    @property
    def name(self) -> str:
        """One of ``NAMES``."""
        ...

    @property
    def version(self) -> str:
        """The library's version."""
        ...

    @property
    def parses_special(self) -> bool:
        """Whether there is a ``special="parse"``; without one it is an ``EngineError``."""
        ...

    @property
    def applies_template(self) -> bool:
        """Whether ``add_special_tokens`` puts around a text what its tokenizer says."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, special tokens included."""
        ...


def versions() -> dict[str, str | None]:
    """Each engine's installed version, None where it is not installed. Imports none of them."""
    found: dict[str, str | None] = {}
    for name, known in ROWS.items():
        found[name] = installed(known.distribution or name)
        if found[name] is None and known.instead:
            found[name] = installed(known.instead)
    return found


def check_installed(name: str) -> None:
    """Raises before long work what asking for the engine would raise after it.

    Raises:
        EngineMissingError: the engine is one of ``NAMES``, and its library is not installed.
    """
    if versions().get(name, "") is None:
        package = ROWS[name].distribution or name
        raise EngineMissingError(
            f"{name} is to check what is written, and {package} is not installed",
            fix=f"{to_install(package)}; or write without the check: --no-verify (verify=False)",
        )


def check_known(name: str) -> None:
    """Raises EngineError where there is no engine of this name."""
    if name not in NAMES and not any(name in row.engines for row in each_format()):
        raise _no_such(name, "")


def reads(name: str, format: str) -> bool:
    """Whether an engine is handed the files of a format, by its name, as they are."""
    return name in by_name(format).engines


def from_files(name: str, format: str, files: Files, model: BPEModel | None = None) -> Engine:
    """An engine that reads the files as they are written.

    Args:
        name: an engine of ``NAMES``.
        format: the name or alias of the files' format.
        files: names to contents.
        model: says what the files leave unsaid (the pattern of a rank file without sidecar);
            what they do say is never replaced.

    Raises:
        EngineMissingError: the library is not installed.
        EngineError: it does not read this format, or fails on these files.
        UnstatedError: a fact is needed that neither the files nor the model state.
    """
    return of_format(name, by_name(format), files, model)


def of_format(name: str, row: Format, files: Files, model: BPEModel | None = None) -> Engine:
    """:func:`from_files` for a format that need not be known by name."""
    module, _, function = row.engines.get(name, "").partition(":")
    if not module:
        raise _no_such(name, row.name)
    # A fault of another package's function is told with that package's name; ours guard their own.
    ours = module.startswith(__name__.partition(".")[0] + ".")
    doing = f"on the files of {row.title}, as {module} hands them to it"
    with nullcontext() if ours else guarded(name, doing):
        engine: Engine = getattr(importlib.import_module(module), function)(files, model)
    return engine


def from_address(name: str) -> Engine:
    """A server that runs, by ``ENGINE@http://HOST:PORT``.

    Raises:
        EngineError: there is none of this engine, or nothing answers there.
    """
    engine, _, address = name.partition("@")
    known = ROWS.get(engine)
    module, _, built = (known.served if known else "").partition(":")
    if not module:
        raise _no_such(engine, "a server")
    made: Engine = getattr(importlib.import_module(f".{module}", __name__), built)(address)
    return made


def from_model(name: str, model: BPEModel) -> Engine:
    """An engine that runs a model, written in the engine's own format.

    What the format cannot hold is left out; pass the gate first (``gate.refuse``).

    Raises:
        EngineMissingError: the library is not installed.
        EngineError: the engine reads no format that a model can be written in.
        UnstatedError: the model does not state what the format has to say.
    """
    return from_trip(name, RoundTrip(model, engine_format(name)))


def from_trip(name: str, trip: RoundTrip) -> Engine:
    """:func:`from_model` for files of the engine's own format that were written already."""
    for field in sorted(trip.format.needs):
        if getattr(trip.model, field) is None:
            raise UnstatedError(
                f"the source does not state {field}, and {name} needs it",
                fix=ways_to_say(trip.model),
            )
    return from_files(name, trip.format.name, trip.files, trip.model)


def from_directory(name: str, path: str | Path) -> Engine:
    """``AutoTokenizer`` on a directory as it stands: no network, no code from the directory.

    Raises:
        EngineMissingError: transformers is not installed.
        EngineError: another engine than ``transformers`` was named, or it fails on the directory.
    """
    if name != "transformers":
        raise _no_such(name, "a directory")
    from .transformers import read_directory

    return read_directory(path)


def engine_format(name: str) -> Format:
    """The format in which an engine is handed a model.

    Raises:
        EngineError: there is no such engine, or none that a model can be written for.
    """
    for row in each_format():
        if name in row.handed:
            return row
    raise _no_such(name, "a model")


def _no_such(name: str, kind: str) -> EngineError:
    if name not in NAMES:
        return EngineError(
            f"there is no engine {name!r}", fix=f"the engines are {', '.join(NAMES)}"
        )
    return EngineError(f"{name} does not run {kind}", fix="name another engine")
