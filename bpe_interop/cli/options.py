"""Options that several commands share."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, fields, is_dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from ..errors import SourceError, not_utf8
from ..io.reader import read
from ..model import FIELDS
from ..presets import NORMALIZERS
from ..quoting import show
from ..sources import SourceOptions
from ..statement import ENDS, Statement
from ..ticks import PART_SECONDS
from .manual import nearest

if TYPE_CHECKING:
    from ..loss import Field
    from ..workers import Workers

    _Choice = click.Choice[str]
else:
    _Choice = click.Choice

Command = TypeVar("Command", bound=Callable[..., object])


def format_names(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """The names of formats that begin like this, short ones as well."""
    from ..formats import all_formats

    names = [name for row in all_formats() for name in (row.name, *row.aliases)]
    return [name for name in names if name.startswith(begun)]


def preset_names(
    ctx: click.Context, parameter: click.Parameter, begun: str
) -> list[str] | list[CompletionItem]:
    """The names of presets that begin like this; files where there is none."""
    from ..presets import PRESETS

    names = [name for name in PRESETS if name.startswith(begun)]
    return names or file_names(ctx, parameter, begun)


def file_names(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    return [CompletionItem(begun, type="file")]


class OneOf(_Choice):
    """One of several words; one that is nearly one of them is answered with that."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The word.

        Raises:
            click.BadParameter: it is none of them.
        """
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            guess = nearest(str(value), self.choices).rstrip()
            self.fail(f"{error.message}\n  {guess}" if guess else error.message, param, ctx)


class SomeOf(OneOf):
    """Some of several words, with commas between them. The option needs ``callback=joined``."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The words.

        Raises:
            click.BadParameter: one is none of them.
        """
        one = super().convert
        return tuple(one(word, param, ctx) for word in str(value).split(","))


def joined(
    ctx: click.Context, param: click.Parameter, given: Iterable[tuple[str, ...]]
) -> tuple[str, ...]:
    """What was given in several lists, one after another."""
    return tuple(chain.from_iterable(given))


def gathers(**kinds: type[Any]) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Hands a command its options in typed values.

    Each parameter that is named here becomes one value of its type, made of the options that are
    called as the fields of that type. The other options are handed on one by one.
    """

    def gathered(command: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(command)
        def run(**given: object) -> object:
            values = {
                parameter: kind(**{name: given.pop(name) for name in _names(kind) & given.keys()})
                for parameter, kind in kinds.items()
            }
            return command(**values, **given)

        return run

    return gathered


def _names(kind: type[Any]) -> Set[str]:
    if is_dataclass(kind):
        return {field.name for field in fields(kind)}
    return kind.__annotations__.keys()


def ends_in(what: str, *suffixes: str) -> Callable[..., Path | None]:
    """A callback that refuses before anything is read a name that does not say what is written.

    A file of another kind is never replaced by it.
    """

    def checked(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
        if path is not None and not path.name.lower().endswith(suffixes):
            fix = f"end its name in {' or '.join(suffixes)}"
            raise click.BadParameter(f"{path}: {what}\n  {fix}", ctx=context, param=option)
        return path

    return checked


format_option = click.option(
    "--from",
    "format",
    shell_complete=format_names,
    metavar="F",
    help="The source's format, if it is not recognised.",
)
_PRESET = (
    "Known facts that the source does not state: pattern, special tokens. Or a file of your own "
    "that says them, FILE.json."
)
preset_option = click.option("--preset", shell_complete=preset_names, metavar="NAME", help=_PRESET)
presets_option = click.option(
    "--preset",
    "presets",
    multiple=True,
    shell_complete=preset_names,
    metavar="NAME",
    help=f"{_PRESET} Of several sources it is for those that do not state them; give one for "
    "all of these, or one for each in their order.",
)
offline_option = click.option("--offline", is_flag=True, help="Never use the network.")
json_option = click.option("--json", "json_output", is_flag=True, help="Print JSON.")


def source_options(command: Callable[..., object]) -> Callable[..., object]:
    """``--from``, ``--preset``, ``--offline``: ``reading``, how sources are read."""
    command = gathers(reading=SourceOptions)(command)
    return format_option(preset_option(offline_option(command)))


@dataclass(frozen=True, slots=True)
class WritingOptions:
    to: str | None
    drop: tuple[Field, ...]
    force: bool
    no_verify: bool


def to_option(says: str) -> Callable[[Command], Command]:
    """``--to``, the target's format; ``says`` is its help."""
    return click.option("--to", shell_complete=format_names, metavar="F", help=says)


def writing_options(command: Command) -> Command:
    """``--drop``, ``--force`` and ``--no-verify``: with ``--to`` a :class:`WritingOptions`."""
    drop = click.option(
        "--drop",
        multiple=True,
        metavar="FIELD",
        type=SomeOf(FIELDS),
        callback=joined,
        help="Write although this field is lost; several with commas, or repeated.",
    )
    force = click.option("--force", is_flag=True, help="Replace the target as a whole.")
    no_verify = click.option("--no-verify", is_flag=True, help="Do not check what was written.")
    return drop(force(no_verify(command)))


def source_and_target(command: Command) -> Command:
    source = click.argument("source", shell_complete=file_names, metavar="SRC")
    target = click.argument("target", metavar="DST", type=click.Path(path_type=Path))
    return source(target(command))


def corpus_option(does: str) -> Callable[[Command], Command]:
    """``--corpus``; ``does`` is what the help says first."""
    return click.option(
        "--corpus",
        "corpora",
        shell_complete=file_names,
        multiple=True,
        metavar="FILE",
        help=f"{does}: a file, a directory, a glob, FILE.jsonl:FIELD; plain text, JSONL or "
        "Parquet, gzip or zstd. May be repeated.",
    )


def scheduler_options(command: Command) -> Command:
    """``--scheduler`` and ``--limit``, for :func:`workers_of`."""
    limit = click.option(
        "--limit",
        type=click.FloatRange(min=0, min_open=True),
        default=PART_SECONDS,
        show_default=True,
        metavar="SECONDS",
        help="Give a part of a corpus to another worker after so long, once.",
    )
    scheduler = click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="Work by parts of the corpora, on Dask: tcp://HOST:PORT, or local:N for N processes "
        "here. Workers read the files themselves.",
    )
    return scheduler(limit(command))


@contextlib.contextmanager
def workers_of(scheduler: str | None) -> Iterator[Workers | None]:
    """The workers of ``--scheduler`` while the block runs; None where there is none."""
    if scheduler is None:
        yield None
        return
    from ..workers.dask import dask_workers  # it takes a while to import

    with dask_workers(scheduler) as workers:
        yield workers


_ROLES = ("bos", "eos", "pad", "unk")


def statement_options(command: Callable[..., object]) -> Callable[..., object]:
    """``--template``, ``--role``, ``--bos`` and the like, ``--chat-template``: a ``Statement``."""

    @functools.wraps(command)
    def run(
        template: str | None,
        role: tuple[str, ...],
        chat_template: Path | None,
        normalizer: str | None,
        **given: object,
    ) -> object:
        roles = _named(role)
        for name in _ROLES:
            text = given.pop(name)
            if text is not None and roles.setdefault(name, str(text)) != text:
                raise click.UsageError(f"--role {name} and --{name} name different tokens")
        chat = None if chat_template is None else _chat_template(chat_template)
        return command(said=Statement(template, roles, chat, normalizer), **given)

    options = [
        click.option(
            "--template",
            metavar="T",
            help=f"Tokens around each text: {', '.join(ENDS)}, or '<s> $A'.",
        ),
        click.option(
            "--role",
            multiple=True,
            metavar="ROLE=TOKEN",
            help="What a special token is for (bos, eos, unk, sep, pad, cls, mask); may be "
            "repeated.",
        ),
        *(
            click.option(f"--{role}", role, metavar="TOKEN", help=f"The {role} token, by its text.")
            for role in _ROLES
        ),
        click.option(
            "--chat-template",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="The chat template, in Jinja.",
        ),
        click.option(
            "--normalizer",
            type=click.Choice([*NORMALIZERS], case_sensitive=False),
            help="What is done to a text before a rank file or a GPT-2 pair, which cannot say it, "
            "is run on it.",
        ),
    ]
    for option in reversed(options):
        run = option(run)
    return run


def _named(roles: tuple[str, ...]) -> dict[str, str]:
    named: dict[str, str] = {}
    for given in roles:
        role, equals, text = given.partition("=")
        if not equals:
            raise click.UsageError(f"--role {show(given)} is not ROLE=TOKEN")
        if role in named:
            raise click.UsageError(f"--role {show(role)} is given twice")
        named[role] = text
    return named


def _chat_template(file: Path) -> str:
    from ..chat_jinja import check  # where none is given, Jinja is not needed

    try:
        source = read(file).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            not_utf8(error), where=str(file), fix="give a chat template in UTF-8"
        ) from None
    check(source, str(file))
    return source
