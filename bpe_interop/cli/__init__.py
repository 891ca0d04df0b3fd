"""The command line: one module per command. Results go to stdout, talk to stderr.

Exit codes: 0 yes, 1 no (different, or a refused loss), 2 could not tell.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType, TracebackType

import click

from ..errors import BpeInteropError, CheckFailedError, LossyConversionError

YES, NO, UNKNOWN = 0, 1, 2
CLOSED, INTERRUPTED, TERMINATED = 141, 130, 143
"""What a shell reports of programs that end by SIGPIPE, SIGINT, SIGTERM."""

_SYSTEM = "check the path, the right to it, and that there is room"


COMMANDS = (
    "formats",
    "inspect",
    "convert",
    "verify",
    "encode",
    "decode",
    "fingerprint",
    "lock",
    "train",
    "extend",
    "view",
)
"""Each is a module here, with a function of its name and ``_command``."""


class _Commands(click.Group):
    """A group whose commands are imported when they are asked for.

    It also keeps click from ending with 1, which means "no" here, on a closed pipe.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order of the alphabet."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None if there is none."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f".{cmd_name}", __name__)
        found: click.Command = getattr(module, f"{cmd_name}_command")
        return found

    def invoke(self, ctx: click.Context) -> object:
        """Runs the command."""
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
        click.echo(f"error: {where}{error.strerror or error}\n  {_SYSTEM}", err=True)
        sys.exit(UNKNOWN)


def _discard_output() -> None:
    """Python flushes once more at its end, and must find somebody who reads."""
    with contextlib.suppress(OSError):  # no file of the system's, as in a test
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bpe-interop", prog_name="bpe-interop")
def cli() -> None:
    """Move BPE tokenizers between formats: exactly, or with an error that says why not.

    A source is a file, a directory, tiktoken:NAME, or hf:org/name[@revision].

    Exit codes: 0 yes; 1 no (different, or a refused loss); 2 could not tell.
    """


def main() -> None:
    """Runs the command line; errors of ours end in one message and an exit code."""
    # A command holds large tables to its end: looking through them rarely is enough.
    gc.set_threshold(100_000, 20, 20)
    sys.excepthook = _crash
    signal.signal(signal.SIGTERM, _terminate)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        # click itself writes help and version, before any command is invoked.
        with _written():
            code = cli.main(standalone_mode=False) or YES
        sys.exit(code)
    except LossyConversionError as error:
        click.echo(f"refused: {error}", err=True)
        sys.exit(NO)
    except CheckFailedError as error:
        click.echo(f"check failed: {error}", err=True)
        sys.exit(NO)
    except BpeInteropError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(UNKNOWN)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(UNKNOWN)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(INTERRUPTED)


def _terminate(number: int, frame: FrameType | None) -> None:
    """Ends by an exception, so that what is half written is removed."""
    sys.exit(TERMINATED)


def _crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """An error that nobody foresaw: Python would end with 1, which means "no" here."""
    sys.__excepthook__(kind, error, trace)
    click.echo("this is a bug in bpe-interop; please report it with the command", err=True)
    sys.exit(UNKNOWN)
