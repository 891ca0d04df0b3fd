"""The command line: one module per command. Results go to stdout, messages to stderr.

Exit codes: 0 yes, 1 no (different, or a refused conversion), 2 no answer.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain
from types import TracebackType
from typing import TYPE_CHECKING, Any

import click

from ..errors import BpeInteropError, CheckFailedError, LossyConversionError, SourceError
from ..kernel import running
from ..quoting import show
from .interrupts import INTERRUPTED, Interrupts
from .manual import NO, UNKNOWN, nearest
from .terminal import tell

if TYPE_CHECKING:
    from . import documents

CLOSED = 141
"""What a shell reports of programs that end by SIGPIPE."""

_SYSTEM = "check the path, your permission to write there, and the free space"


COMMANDS = {
    "formats": "Show what each format can hold, and its engine.",
    "inspect": "Show what SRC holds, and what is unusual in it.",
    "convert": "Convert SRC to DST, and check the result.",
    "verify": "Decide whether A and B are equal, and run both on texts.",
    "verify-shards": "Check what encode --corpus wrote.",
    "encode": "Print the ids of TEXT, its tokens, or how they were merged.",
    "decode": "Print the text of IDS.",
    "fingerprint": "Print sha256 hashes of what SRC does, whatever its format.",
    "lock": "Freeze what SRC does, to verify others against it.",
    "train": "Learn a tokenizer from FILES, and write it.",
    "extend": "Add tokens, and say how many rows a network needs.",
    "view": "Show a text as coloured tokens on a page.",
    "explain": "Print the page of a code, such as LOSS-added.",
}
"""Each is a module here, with a function of its name and ``_command``; ``-`` is ``_`` there.

Each with its first sentence, for which no module need be imported.
"""


class _Commands(click.Group):
    """A group whose commands are imported when they are asked for.

    It also keeps click from ending with 1, which means "no" here, on a closed pipe.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        module = importlib.import_module(f".{name}", __name__)
        command: click.Command = getattr(module, f"{name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, which imports all of them for their first sentences."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; a name that is nearly a command's is answered with that."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = ", ".join(self.list_commands(ctx))
            guess = nearest(name, COMMANDS)
            raise click.UsageError(f"there is no command {show(name)}\n  {guess}commands: {known}")
        return super().resolve_command(ctx, args)

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """As click does, which prints help and the version here."""
        with _written():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        with _written():
            return super().invoke(ctx)


@contextlib.contextmanager
def _written() -> Iterator[None]:
    """A block whose output is written at its end; where it cannot be, that is told, and exits."""
    try:
        try:
            yield
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        sys.exit(CLOSED)
    except OSError as error:
        _discard_output()
        where = f"{error.filename}: " if error.filename else ""
        tell(f"error: {where}{error.strerror or error}\n  {_SYSTEM}")
        sys.exit(UNKNOWN)


def _discard_output() -> None:
    """Python flushes once more at its end, and must find somebody who reads."""
    with contextlib.suppress(OSError):  # no file of the system's, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from ..entry_points import own_version
        from .terminal import say_line

        say_line(f"bpe-interop, version {own_version()}")
        say_line(f"kernel: {running()}")
        ctx.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_tell_version,
    help="Show the version and which kernel runs, and exit.",
)
def cli() -> None:
    """Move BPE tokenizers between formats: exactly, or with an error that says why not.

    A source is a file, a directory, tiktoken:NAME, hf:org/name[@revision][:FILE], or
    git:REV:PATH.

    Exit codes: 0 yes; 1 no (different, or a refused conversion); 2 no answer.

    A code such as LOSS-added or ERROR-source is a page, with an example and what to do:
    bpe-interop explain LOSS-added.
    """


def main() -> None:
    """Runs the command line; errors of ours end in one message and an exit code."""
    # A command holds large tables to its end: looking through them rarely is enough.
    if sys.implementation.name == "cpython":  # PyPy's collector has no such thresholds
        gc.set_threshold(100_000, 20, 20)
    signals = Interrupts()
    sys.excepthook = partial(_crash, signals)
    signals.install()
    _check_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # click itself writes help and version, before any command is invoked.
        with _written():
            # A library may have taken the exception of a signal for its own end.
            code = cli.main(standalone_mode=False) or signals.code
        sys.exit(code)
    except LossyConversionError as error:  # with --json the losses are printed already
        tell(f"refused: {error}\n  {_accepting(error)}")
        sys.exit(NO)
    except CheckFailedError as error:
        tell(f"check failed: {error}\n  see {error.code}")
        _as_document(error.code, error.what, error.where, error.fix)
        sys.exit(NO)
    except BpeInteropError as error:
        if signals.came:
            sys.exit(signals.code)
        command, *words = sys.argv[1:]
        if isinstance(error, SourceError) and error.by_extend and command == "convert":
            error.fix += f"\n  {shlex.join(['bpe-interop', 'extend', *words])}"
        tell(f"error: {error}\n  see {error.code}")
        _as_document(error.code, error.what, error.where, error.fix)
        sys.exit(UNKNOWN)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        usage = io.StringIO()
        error.show(file=usage)
        tell(re.sub("^Error: ", "error: ", usage.getvalue().rstrip("\n"), count=1, flags=re.M))
        _as_document("ERROR-usage", error.format_message(), "", "")
        sys.exit(UNKNOWN)
    except (click.Abort, KeyboardInterrupt):
        tell("interrupted")
        sys.exit(INTERRUPTED)


def _as_document(code: str, what: str, where: str, fix: str) -> None:
    """Prints an error for programs too, where JSON was asked for."""
    if "--json" in sys.argv[1:]:
        from .screen import as_json

        told: documents.ErrorDocument
        told = {"error": {"code": code, "what": what, "where": where, "fix": fix}}
        as_json(told)


def _accepting(error: LossyConversionError) -> str:
    """The command that was given, as it would be with what was refused stated, else given up."""
    words = sys.argv[1:]
    if error.another is not None:
        return shlex.join(["bpe-interop", *_to_another(words, error)])
    fields = sorted({loss.field for loss in error.losses})
    options = (error.stating.get(field, ("--drop", field)) for field in fields)
    return shlex.join(["bpe-interop", *words, *chain.from_iterable(options)])


def _to_another(words: list[str], error: LossyConversionError) -> list[str]:
    """A command whose ``--to`` names another format; the page, where it has none."""
    if error.another:
        for place, word in enumerate(words):
            if word == "--to":
                return [*words[: place + 1], error.another, *words[place + 2 :]]
            if word.startswith("--to="):
                return [*words[:place], f"--to={error.another}", *words[place + 1 :]]
    loss = next(loss for loss in error.losses if loss.field == "alphabet")
    return ["explain", loss.code]


def _check_streams() -> None:
    """Ends where nobody can be told the result: a file opened later would get its number."""
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if sys.stdin is None:
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
    if sys.stdout is None:
        tell("error: standard output is closed\n  open it, or send it to a file or /dev/null")
        os._exit(UNKNOWN)


def _crash(
    signals: Interrupts,
    kind: type[BaseException],
    error: BaseException,
    trace: TracebackType | None,
) -> None:
    """An error that nobody foresaw: Python would end with 1, which means "no" here."""
    if signals.came:
        # A library made another error of it, or it came while the command was ending.
        sys.exit(signals.code)
    sys.__excepthook__(kind, error, trace)
    tell("this is a bug in bpe-interop; please report it with the command")
    sys.exit(UNKNOWN)
