"""The one way out to the terminal for what people read: nothing in it is a control character.

Names of files, keys of JSON, tokens and the messages of engines come from elsewhere, and a
terminal obeys what it finds in them. Data (JSON, ids, decoded text) does not go through here.
"""

from __future__ import annotations

import click

from ..limits import MESSAGE_CHARACTERS
from ..model import escaped


def say(text: str, *, bold: bool = False) -> None:
    """Prints text for people to stdout; line feeds stay, other control characters are escaped."""
    plain = shown(text)
    click.echo(click.style(plain, bold=True) if bold else plain)


def tell(text: str) -> None:
    """Prints a message to stderr in the same way, cut in its middle where it is too long."""
    click.echo(cut(shown(text)), err=True)


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
