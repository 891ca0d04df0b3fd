"""What travels between the process that leads and those that work: tokenizers, orders, replies.

A tokenizer travels as the content of its files, known by their sha256.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, NoReturn, Protocol, TypeAlias, TypeVar

from .. import presets
from ..errors import BpeInteropError, EngineError
from ..formats import Files, by_name
from ..io.reader import parted
from ..model import BPEModel, digest_of
from ..sources import carried_preset, completed

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

Check: TypeAlias = Callable[[], None]
"""Called now and then by what works on a part; raises where the run was stopped."""


class WorkItem(Protocol):
    """What is worked on: a part of a corpus by its place, or documents that were read already.

    Its ``str`` is what people call it.
    """

    @property
    def number(self) -> int:
        """Its place in the corpus, from 0."""
        ...

    @property
    def size(self) -> int:
        """About how many bytes on disk it has."""
        ...


I_contra = TypeVar("I_contra", bound=WorkItem, contravariant=True)


class Work(Protocol[I_contra, R_co]):
    """A job as one process does it: its tokenizers are built. One thread uses it at a time."""

    def do(self, part: I_contra, check: Check) -> R_co:
        """What becomes of a piece: a small value, which can be pickled.

        Raises:
            BpeInteropError: the part cannot be read, or its result cannot be written.
        """
        ...

    def close(self) -> None:
        """Gives back what it holds, at once; another thread may be at work with it."""
        ...


class Job(Protocol[I_contra, R_co]):
    """What is to be done with each part. It travels with every order, so it is small.

    It is a frozen dataclass: equal jobs share what was built for them.
    """

    @property
    def tokenizers(self) -> tuple[Ticket, ...]:
        """The tokenizers that it needs."""
        ...

    @property
    def libraries(self) -> tuple[str, ...]:
        """The distributions whose versions must be the same wherever it is done."""
        ...

    def build(self, files: Sequence[Files], isolate: bool) -> Work[I_contra, R_co]:
        """The job made ready in this process, with the files of each of the tokenizers.

        ``isolate``: engines run in a child process, which a text may kill.
        """
        ...


@dataclass(frozen=True)
class Order:
    """A part to be worked on.

    ``run`` tells runs apart, ``versions`` are those of the leading process. ``contents`` has the
    tokenizers' files by sha256 for a worker that asked for them, else nothing.
    """

    job: Job[NoReturn, object]
    part: WorkItem
    run: str
    versions: Mapping[str, str]
    contents: Mapping[str, Files] = field(default_factory=dict, repr=False)
    isolate: bool = False


@dataclass(frozen=True)
class Finished(Generic[R]):
    """What became of a part, in so many seconds, and the largest size of the process in bytes."""

    worker: str
    value: R
    seconds: float
    memory: int


@dataclass(frozen=True)
class Missing:
    """The worker has not got the tokenizers' files."""

    worker: str


@dataclass(frozen=True)
class OtherVersions:
    """The worker has other versions, so it did nothing: library to (here, there)."""

    worker: str
    versions: Mapping[str, tuple[str, str]]

    def __str__(self) -> str:
        versions = [
            f"{name} {there} instead of {here}" for name, (here, there) in self.versions.items()
        ]
        return f"the worker {self.worker} has {', '.join(versions)}"


@dataclass(frozen=True)
class FailedPart:
    """The part cannot be worked on, anywhere."""

    worker: str
    error: BpeInteropError


@dataclass(frozen=True)
class Stopped:
    """The run was stopped before the part was done."""

    worker: str


Reply: TypeAlias = Finished[Any] | Missing | OtherVersions | FailedPart | Stopped


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


def carry(
    label: str, format: str, files: Files, preset: str | None = None, beside: Files | None = None
) -> Carried:
    """A tokenizer made ready to travel.

    ``preset`` is a name or a file; ``beside`` are the other files of a model's directory.
    """
    files = {**(beside or {}), **files}
    return Carried(Ticket(label, format, digest_of(files), carried_preset(preset)), files)


def opened_from(ticket: Ticket, files: Files) -> BPEModel:
    """The model of files that arrived.

    Raises:
        EngineError: they are not the files of the ticket.
        FormatError: they cannot be read.
    """
    if digest_of(files) != ticket.sha256:
        raise EngineError("the tokenizer's files arrived with another sha256", where=ticket.label)
    return _opened(Carried(ticket, files))


@lru_cache(maxsize=4)
def _opened(carried: Carried) -> BPEModel:
    """Told by the ticket, so that a worker builds a tokenizer once, and not for each run."""
    preset = carried.ticket.preset
    row = by_name(carried.ticket.format)
    own, beside = parted(row, carried.files)
    named = presets.by_name(preset) if preset else None
    return presets.fill_template(completed(row.load(own), beside, named)[-1])
