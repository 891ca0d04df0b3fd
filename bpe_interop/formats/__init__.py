"""The table of formats: one module and one row each, and those that other packages bring."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ..entry_points import entry_points
from ..errors import ArgumentError, BpeInteropError, EngineError, SourceError, TargetError
from ..loss import Field, Loss
from ..model import BPEModel, Json
from .names import STEM, TABLE, FileNames
from .round_trip import RoundTrip

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from ..steps import Dialect
    from .losses import Decided, Words

Files: TypeAlias = Mapping[str, bytes]
"""File names to contents: a GPT-2 pair has two files, Hugging Face has several."""

GROUP = "bpe_interop.formats"
"""The group of entry points by which an installed package brings a format: each is a Format."""


FormatOption: TypeAlias = Literal["plugin", "vocab-listing", "vocab-names"]
"""The options of writing that single formats have, which are ``Format.options`` of each.

One is a name without a value (``--names vocab`` is ``vocab-names``). A new one is a function in the
format's ``write.py``, with what it loses in ``Format.drops``; its click option and its field in
``_ConvertOptions`` are in ``cli/convert.py``; the pattern of a further file that it writes is in
``written`` of ``names.py``. It is described in ``docs/formats.md``.
"""


@dataclass(frozen=True, slots=True)
class Format:
    """A format as pure functions over bytes in memory, and what it can do as data.

    Attributes:
        name: what it is called in options and reports.
        aliases: other names.
        title: what it is called in sentences.
        spec: where it is defined.
        engines: each library that runs its files, and what hands them to it: ``module:function``,
            called with the files and the model (which says what they leave unsaid), gives a
            :class:`~bpe_interop.engines.Engine`. The first is the format's own.
        holds: the model's fields that it can carry.
        needs: those that must be known before it can be written; by default all that a text meets
            before merging.
        says: fields of which a file always says something, so that what is unknown would read
            back as "there is none".
        sniff: looks at the names and beginnings of files; never raises.
        load: reads files; never guesses.
        dump: writes a model; never refuses.
        words: of a field that comes back otherwise, what is lost and the consequence, and a text
            that shows it where the proof has none; nothing where the difference says enough.
        proves: of a model, the fields of which a theorem says that they come back otherwise and
            change no id and no text, where the general proof does not reach.
        holder: what those sentences call it; by default its title.
        names: how its files are called.
        called_after_name: whether the files are all that holds the tokenizer's name, so that it
            must be one that files can have (:data:`.names.STEM`).
        options: other ways of writing: each turns what ``dump`` gave into what is written instead.
        drops: options of writing that are asked for knowing which fields they lose.
        how_to_load: what a user does to load what was written, where naming it is not enough:
            called with the files, and with what gives the path of each, it gives code and
            commands.
        handed: the libraries that are handed a model in this format.
        particulars: what there is to tell of a model that was read from it, as plain data by name.
        told: the same for people, as labels and sentences.
        embedded: the files of another format that its files hold as they are, beside their own
            tokenizer; none where they hold none.
        embedding: of a source's files, a way of writing that puts those in; None for none of them.
        nearest: of a model, and what comes back of it, what would come back under other names for
            what the format cannot hold, by name; nothing where it has no such names.
        cause: of a model that was read from it, and of another one whose pretokens are others: what
            in the file makes them so, empty where nothing is known, and whether a file that says
            otherwise would be right.
        served: the library that serves a directory of it as a whole; empty where none does.
        registry: the library whose named tokenizers are of this format; empty where none has any.
        dialect: the one dialect that its patterns are read in; None where it takes several.
        only_by_name: whether its files are read only where somebody asks for the format by its
            name, for whoever opens them has to trust them.
    """

    name: str
    title: str
    spec: str
    engines: Mapping[str, str]
    holds: frozenset[str]
    sniff: Callable[[Files], bool]
    load: Callable[[Files], BPEModel]
    dump: Callable[[BPEModel], Files]
    names: FileNames
    words: Callable[[RoundTrip, Decided], Iterable[Words]] = lambda trip, decided: ()
    proves: Callable[[BPEModel], Collection[str]] = lambda model: ()
    holder: str = ""
    needs: frozenset[str] = frozenset({"normalizer", "pretokenizer", "added"})
    aliases: tuple[str, ...] = ()
    options: Mapping[str, Callable[[BPEModel, Files], Files]] = field(default_factory=dict)
    drops: Mapping[str, tuple[Field, ...]] = field(default_factory=dict)
    how_to_load: Callable[[Files, Callable[[str], str]], list[str]] | None = None
    handed: tuple[str, ...] = ()
    particulars: Callable[[BPEModel], Mapping[str, Json]] = lambda model: {}
    told: Callable[[BPEModel], Iterable[tuple[str, str]]] = lambda model: ()
    called_after_name: bool = False
    embedded: Callable[[Files], Files] = lambda files: {}
    embedding: Callable[[Files], Callable[[BPEModel, Files], Files] | None] = lambda files: None
    nearest: Callable[[BPEModel, BPEModel], Mapping[str, BPEModel]] = lambda model, again: {}
    cause: Callable[[BPEModel, BPEModel], tuple[str, bool]] = lambda model, other: ("", False)
    served: str = ""
    registry: str = ""
    says: frozenset[Field] = frozenset()
    dialect: Dialect | None = None
    only_by_name: bool = False

    @property
    def engine(self) -> str:
        """The format's own engine, in which conversions are checked."""
        return next(iter(self.engines))

    def losses(self, model: BPEModel) -> tuple[Loss, ...]:
        """What would be lost by writing a model."""
        return RoundTrip(model, self).losses


def when_called(module: str, name: str, package: str) -> Callable[..., Any]:
    """A function of a module that is imported at its first call: reading waits for no writer."""

    def call(*arguments: Any, **named: Any) -> Any:
        return getattr(importlib.import_module(module, package), name)(*arguments, **named)

    return call


def all_formats() -> tuple[Format, ...]:
    """Every format: those of the table in its order, then those of other packages."""
    return tuple(each_format())


def each_format() -> Iterator[Format]:
    """The same one by one, each imported when it comes."""
    yield from map(_row, TABLE)
    yield from brought()


def file_names() -> tuple[FileNames, ...]:
    """How the files of every format are called, in the same order; no module is imported."""
    return (*TABLE.values(), *(row.names for row in brought()))


@cache
def brought() -> tuple[Format, ...]:
    """The formats of other packages, by the names of their entry points.

    Raises:
        SourceError: one cannot be imported, is no format, or has the name of another.
    """
    rows: list[Format] = []
    for entry in entry_points(GROUP):
        row = _imported(entry)
        taken = {*TABLE, *(name for other in rows for name in (other.name, *other.aliases))}
        if taken & {row.name, *row.aliases}:
            raise _not_taken(entry, f"there is a format {row.name!r} already")
        rows.append(row)
    return tuple(rows)


def _imported(entry: EntryPoint) -> Format:
    try:
        row = entry.load()
    except (ImportError, AttributeError) as error:
        raise _not_taken(entry, str(error)) from error
    if not isinstance(row, Format):
        raise _not_taken(entry, f"{entry.value} is no bpe_interop.formats.Format")
    functions = {f.name: getattr(row, f.name) for f in fields(row)}
    named: dict[str, Any] = {
        name: _blamed(value, row.name, _package(entry))
        for name, value in functions.items()
        if callable(value)
    }
    return replace(row, **named)


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an installed package"


def _blamed(function: Callable[..., Any], name: str, package: str) -> Callable[..., Any]:
    """A function of another package, whose faults are said to be that package's."""

    def call(*arguments: Any) -> Any:
        try:
            given = function(*arguments)
            return list(given) if isinstance(given, Iterator) else given
        except (BpeInteropError, MemoryError):
            raise
        except Exception as error:  # whatever another's code raises, its package is named
            raise EngineError(
                f"the format {name!r}, which {package} brings, failed: {error!r}",
                where=f"{function.__module__}.{function.__qualname__}",
                fix=f"show it to the authors of {package}, or remove that package",
            ) from error

    return call


def _not_taken(entry: EntryPoint, why: str) -> SourceError:
    package = _package(entry)
    return SourceError(
        f"the format {entry.name!r} that {package} brings cannot be used: {why}",
        fix=f"repair or remove {package}",
    )


def _row(name: str) -> Format:
    row: Format = importlib.import_module(f".{name}", __name__).FORMAT
    return row


def by_name(name: str) -> Format:
    """The format of this name or alias.

    Raises:
        ArgumentError: there is none; the message lists them.
    """
    if name in TABLE:
        return _row(name)
    for row in each_format():
        if name in (row.name, *row.aliases):
            return row
    from difflib import get_close_matches

    rows = [(row.name, *row.aliases) for row in all_formats()]
    runs = [
        (*row.aliases, row.name)[0] for row in each_format() if name in (row.engine, row.served)
    ]
    near = runs or get_close_matches(name.lower(), [each for row in rows for each in row], n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    names = ", ".join(map("/".join, rows))
    raise ArgumentError(f"there is no format {name!r}", fix=f"{guess}the formats are: {names}")


def check_name(row: Format, name: str) -> None:
    """Raises TargetError where somebody names a tokenizer as its files cannot be called.

    An empty name is none. A name that only a source has is not checked: it is left out.
    """
    if name and row.called_after_name and not STEM.fullmatch(name):
        raise TargetError(
            f"{name!r} cannot name a {row.title}, whose files are called by the name",
            fix="use letters, digits and . _ - in --name (name=...), a letter or digit first",
        )


def way_of_writing(
    row: Format, option: str, spelled: str = ""
) -> Callable[[BPEModel, Files], Files]:
    """What an option of a format (asked for as ``spelled``) does to the files that are written.

    Raises:
        TargetError: the format has no such option; the message says which one has.
    """
    if option not in row.options:
        others = ", ".join(other.title for other in all_formats() if option in other.options)
        raise TargetError(
            f"{row.title} cannot be written with {spelled or repr(option)}",
            fix=f"it belongs to: {others}" if others else "there is no such option",
        )
    return row.options[option]
