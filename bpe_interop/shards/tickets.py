"""How a tokenizer travels: as the content of its files, known by their sha256."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache

from .. import presets
from ..errors import EngineError
from ..formats import Files, by_name
from ..frozen import dataclass, field
from ..model import BPEModel
from ..sources import carried_preset


@dataclass(frozen=True, slots=True)
class Ticket:
    """What every order says of a tokenizer: enough to build it where its files are.

    ``sha256`` is of the files' names and contents, ``preset`` says what the files do not.
    """

    label: str
    format: str
    sha256: str
    preset: str | None = None


@dataclass(frozen=True)
class Carried:
    """A tokenizer's ticket with its files."""

    ticket: Ticket
    files: Files = field(repr=False, compare=False)


def carry(label: str, format: str, files: Files, preset: str | None = None) -> Carried:
    """A tokenizer made ready to travel.

    Args:
        label: what people call it.
        format: the name of its format.
        files: names to contents.
        preset: the preset that says what the files do not, a name or a file.
    """
    ticket = Ticket(label, format, sha256_of(files), carried_preset(preset))
    return Carried(ticket, dict(files))


def sha256_of(files: Mapping[str, bytes]) -> str:
    """The sha256 of names and contents, in the order of the names."""
    digest = hashlib.sha256()
    for name, data in sorted(files.items()):
        digest.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        digest.update(data)
    return digest.hexdigest()


def opened_from(ticket: Ticket, files: Files) -> BPEModel:
    """The model of files that arrived.

    Raises:
        EngineError: they are not the files of the ticket.
        FormatError: they cannot be read.
    """
    if sha256_of(files) != ticket.sha256:
        raise EngineError("the tokenizer's files arrived with another sha256", where=ticket.label)
    return _opened(Carried(ticket, files))


@lru_cache(maxsize=4)
def _opened(carried: Carried) -> BPEModel:
    """Told by the ticket, so that a worker builds a tokenizer once, and not for each run."""
    preset = carried.ticket.preset
    model = by_name(carried.ticket.format).load(carried.files)
    return presets.fill_template(presets.fill(model, presets.by_name(preset) if preset else None))
