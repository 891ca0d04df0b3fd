"""``--report``: what was found, in files for people and for CI."""

from __future__ import annotations

import click

from ..errors import TargetError
from ..pages import SUFFIXES, check_targets
from .completion import file_names


def _writable(
    context: click.Context, option: click.Parameter, paths: tuple[str, ...]
) -> tuple[str, ...]:
    """Refuses before anything runs what could not be written hours later."""
    try:
        check_targets(paths)
    except TargetError as error:
        raise click.BadParameter(str(error), ctx=context, param=option) from None
    return paths


report_option = click.option(
    "--report",
    "reports",
    shell_complete=file_names,
    multiple=True,
    metavar="FILE",
    callback=_writable,
    help="Write a report: "
    + ", ".join(f"{what} to FILE{suffix}" for suffix, what in SUFFIXES.items())
    + ". May be repeated.",
)
