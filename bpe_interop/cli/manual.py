"""What every command's help ends with: examples and exit codes. And what a typing error meant."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from ..errors import BpeInteropError, SourceError
from ..quoting import show
from .terminal import QUIET

YES, NO, UNKNOWN = 0, 1, 2

CODES: Mapping[int, str] = {
    YES: "done",
    UNKNOWN: "it could not be done; the message says why, and what to do",
}
"""The exit codes of a command that decides nothing."""
DECIDING: Mapping[int, str] = {
    YES: "written and checked",
    NO: "refused: something would be lost, or a check failed",
    UNKNOWN: "it could not be done; the message says why, and what to do",
}
"""The exit codes of a command that writes a tokenizer."""


ALIKE: Mapping[str, tuple[str, str]] = {
    "--template": ("--add-special-tokens", "to place what the tokenizer's template says"),
    "--add-special-tokens": ("--template", "to say what is placed around each text"),
}
"""Options that some commands have, and of others the one that is probably meant, and its use."""


class DocumentedCommand(click.Command):
    """A command whose help ends with examples and exit codes.

    Args:
        examples: command lines as they are typed, each with what it does.
        codes: exit codes and what they mean.
    """

    def __init__(
        self, *args: Any, examples: Mapping[str, str], codes: Mapping[int, str], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.params.append(
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                expose_value=False,
                callback=_hush,
                help="Say nothing but errors, and in one line an answer that is not yes (exit code "
                "1 or 2); what is asked for as data (ids, JSON) is printed.",
            )
        )
        self.examples, self.codes = dict(examples), dict(codes)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; an option that another command has for the same is answered with ours.

        And so is a name of standard input, which looks like an option.
        """
        given = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = next(filter(_names_stdin, given), None)
            if error.option_name == "-:" and name is not None:
                what = f"{name} looks like an option: put it last, behind --, as in: -- {name}"
                raise click.UsageError(what, ctx) from None
            alike, does = ALIKE.get(error.option_name, ("", ""))
            if not any(alike in parameter.opts for parameter in self.params):
                raise
            what = f"there is no option {error.option_name} here; {does}: {alike}"
            raise click.UsageError(what, ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """As click does; a source that stands behind what it is for is answered with the order.

        Raises:
            SourceError: the first argument is no source, and another one is.
        """
        check_order(self.name or "", ctx.params)
        return super().invoke(ctx)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples as they can be copied, and a list of exit codes."""
        with formatter.section("Examples"):
            for line, does in self.examples.items():
                formatter.write_text(f"{does}:")
                formatter.write(f"{'':>{formatter.current_indent + 2}}{line}\n")
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), means) for code, means in self.codes.items()])


def _hush(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked:
        ctx.meta[QUIET] = True


def command(
    name: str,
    *,
    examples: Mapping[str, str],
    codes: Mapping[int, str] = CODES,
    **settings: Any,
) -> Callable[[Callable[..., Any]], DocumentedCommand]:
    """A function as a command; see :class:`DocumentedCommand`."""

    def made(function: Callable[..., Any]) -> DocumentedCommand:
        return click.command(
            name, cls=DocumentedCommand, examples=examples, codes=codes, **settings
        )(function)

    return made


def check_order(command: str, given: Mapping[str, Any]) -> None:
    """Refuses a source that stands behind the text, the ids or the target of a command.

    Raises:
        SourceError: the first argument is no source, and another one is.
    """
    first = given.get("source")
    if not isinstance(first, str) or ":" in first or os.path.exists(first):
        return
    from ..io.reader import near_path  # only a mistake needs it

    if near_path(Path(first)) is not None:
        return  # a typing error in its name, which the reader answers
    ids, others = given.get("ids", ()), (given.get("text"), given.get("target"))
    behind = [str(each) for each in (*ids, *others) if each is not None]
    source = next(filter(_is_source, behind), None)
    if source is None:
        return
    behind.remove(source)
    line = shlex.join([source, first, *behind])
    raise SourceError(
        f"this is no source, and {source} is one: the source comes first",
        where=show(first) if len(first.split()) > 1 else first,
        fix=f"did you mean: bpe-interop {command} {line}",
    )


def _is_source(name: str) -> bool:
    """Whether there is a tokenizer of a name, as far as can be told without the network."""
    if name.startswith(("tiktoken:", "hf:", "git:")):
        return True
    if not os.path.exists(name):
        return False
    from ..io.reader import find  # only a mistake needs it

    try:
        find(Path(name))
    except BpeInteropError:
        return False
    return True


def _names_stdin(argument: str) -> bool:
    return argument.startswith("-:")


def nearest(name: str, names: Iterable[str]) -> str:
    """The name that was probably meant as a question, with a space behind it; or nothing."""
    import difflib  # only a mistake needs it

    near = difflib.get_close_matches(name.lower(), [*names], n=1, cutoff=0.6)
    return f"did you mean {near[0]}? " if near else ""
