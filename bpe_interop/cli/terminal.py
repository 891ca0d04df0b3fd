"""The one way out to the terminal for what people read: nothing in it is a control character.

Names of files, keys of JSON, tokens and the messages of engines come from elsewhere, and a
terminal obeys what it finds in them. Data (JSON, ids, decoded text) does not go through here.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator
from shutil import get_terminal_size
from typing import TextIO

import click

from ..limits import MESSAGE_CHARACTERS
from ..quoting import escaped

_QUOTED = re.compile(r"""(?<!\w)b?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')(?!\w)""")
"""A quoted text; what stands in a word is an apostrophe."""
QUIET = f"{__name__}.quiet"
"""The key by which a context of click says so."""
_HELD = "\ue000"
"""Stands for a space at which no line is broken; what is shown has no character of private use."""


def is_quiet() -> bool:
    """Whether the command that runs was given ``--quiet``. Errors are told when it has ended."""
    context = click.get_current_context(silent=True)
    return context is not None and QUIET in context.meta


def say(text: str) -> None:
    """Prints text for people to stdout; line feeds stay, other control characters are escaped."""
    if is_quiet():
        return
    click.echo("\n".join(wrapped(shown(text), sys.stdout)))


def say_line(text: str, *, bold: bool = False) -> None:
    """Prints a line that is laid out already; its length is left as it is."""
    if is_quiet():
        return
    plain = shown(text)
    click.echo(click.style(plain, bold=True) if bold else plain)


def say_answer(text: str) -> None:
    """Prints to stdout an answer that is not yes, which ``--quiet`` leaves, as ``diff -q`` does."""
    click.echo(shown(text))


def tell(text: str) -> None:
    """Prints a message to stderr in the same way, cut in its middle where it is too long."""
    if is_quiet():
        return
    click.echo("\n".join(wrapped(cut(shown(text)), sys.stderr)), err=True)


def wrapped(text: str, stream: TextIO, used: int = 0) -> Iterator[str]:
    """The lines of a text, broken between words where a terminal would break them anywhere.

    No quoted text is broken, its spaces are its own; and no command to paste.

    Args:
        text: lines of any length.
        stream: where it goes; nothing is broken but for a terminal.
        used: columns that stand before the first line already.
    """
    for line in text.split("\n"):
        width = get_terminal_size().columns - used if stream.isatty() else 0
        begins = len(line) - len(line.lstrip(" "))
        # A command is to be pasted, so it stays one line.
        command = line[begins:].startswith("bpe-interop ")
        if command or width <= max(20, begins) or len(line) < width // 2:
            yield line
            continue
        held = _QUOTED.sub(lambda quoted: quoted[0].replace(" ", _HELD), line[begins:])
        item = 2 if held.startswith("- ") else 0
        broken = textwrap.wrap(
            held,
            width,
            initial_indent=" " * begins,
            subsequent_indent=" " * (begins + item),
            expand_tabs=False,
            replace_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
        yield from (part.replace(_HELD, " ") for part in broken)


def shown(text: str) -> str:
    """A text in which a terminal finds nothing to obey; lines stay lines."""
    return "\n".join(map(escaped, text.split("\n")))


def cut(text: str) -> str:
    """A message of no more characters than its limit; its end says what to do, so it stays."""
    most = MESSAGE_CHARACTERS.most
    if len(text) <= most:
        return text
    note = f" ... ({len(text):,} characters, cut) ... "
    end = most // 3
    return text[: most - end - len(note)] + note + text[-end:]
