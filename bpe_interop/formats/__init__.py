"""The table of formats: one module and one row each."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ..errors import SourceError, TargetError
from ..loss import Loss
from ..model import BPEModel
from .round_trip import RoundTrip

Files: TypeAlias = Mapping[str, bytes]
"""File names to contents: a GPT-2 pair has two files, Hugging Face has several."""


@dataclass(frozen=True, slots=True)
class Format:
    """A format as four pure functions over bytes in memory, and what it can do as data.

    ``sniff`` looks at the names and beginnings of files; it never raises. ``load`` never guesses,
    ``dump`` never refuses. ``explain`` says why what comes back from a round trip is not what was
    written: for each field that this value loses, at least one :class:`~bpe_interop.loss.Loss`.
    A difference that it does not explain is a defect, and is raised as one.

    ``holds`` are the model's fields that the format can carry, ``needs`` those that must be
    known before it can be written. ``options`` are other ways of writing: each turns what
    ``dump`` gave into what is written instead.
    """

    name: str
    aliases: tuple[str, ...]
    title: str
    spec: str
    engine: str
    holds: frozenset[str]
    needs: frozenset[str]
    sniff: Callable[[Files], bool]
    load: Callable[[Files], BPEModel]
    dump: Callable[[BPEModel], Files]
    explain: Callable[[RoundTrip], Iterable[Loss]]
    options: Mapping[str, Callable[[BPEModel, Files], Files]] = field(default_factory=dict)

    def losses(self, model: BPEModel) -> tuple[Loss, ...]:
        """What would be lost by writing a model."""
        return RoundTrip(model, self).losses


def when_called(module: str, name: str, package: str) -> Callable[..., Any]:
    """A function of a module that is imported at its first call.

    Reading a file then does not wait for the import of what writing needs.
    """

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(module, package), name)(*arguments, **named)

    return call


_MODULES = ("gpt2", "tiktoken", "huggingface", "sentencepiece", "minbpe", "tekken")
"""The table: a module here is a format. Its ``FORMAT`` is the row."""


def all_formats() -> tuple[Format, ...]:
    """Every format, in the order of the table."""
    return tuple(each_format())


def each_format() -> Iterator[Format]:
    """The same one by one, each imported when it comes."""
    return map(_row, _MODULES)


def _row(name: str) -> Format:
    row: Format = importlib.import_module(f".{name}", __name__).FORMAT
    return row


def by_name(name: str) -> Format:
    """The format of this name or alias.

    Raises:
        SourceError: there is none; the message lists them.
    """
    if name in _MODULES:
        return _row(name)
    for row in each_format():
        if name in row.aliases:
            return row
    names = ", ".join("/".join((row.name, *row.aliases)) for row in all_formats())
    raise SourceError(f"there is no format {name!r}", fix=f"the formats are: {names}")


def way_of_writing(row: Format, option: str) -> Callable[[BPEModel, Files], Files]:
    """What an option of a format does to the files that are written.

    Raises:
        TargetError: the format has no such option; the message says which one has.
    """
    if option not in row.options:
        others = ", ".join(other.title for other in all_formats() if option in other.options)
        raise TargetError(
            f"{row.title} cannot be written with {option!r}",
            fix=f"it belongs to: {others}" if others else "there is no such option",
        )
    return row.options[option]
