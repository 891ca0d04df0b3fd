"""``python -m trust``: one command for each long test, and for each table that is measured."""

from __future__ import annotations

from pathlib import Path

import click

from benchmarks.machine import sources

from . import laws
from .commands import commands
from .conversions import conversions
from .encoders.command import encoders
from .faults import faults
from .gguf import gguf
from .guided import guided
from .interpreters import interpreters
from .kernel.command import kernel
from .kills import kills
from .matrix import matrix
from .mutations import mutations
from .page import state
from .patterns import patterns
from .readers import readers
from .threads import threads
from .verdicts.command import verdicts
from .versions import versions

COMMANDS: tuple[click.Command, ...] = (
    verdicts,
    encoders,
    patterns,
    commands,
    conversions,
    kills,
    readers,
    kernel,
    guided,
    threads,
    versions,
    interpreters,
    mutations,
    faults,
)
"""Every long test."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Test for long what the library promises; exit with 1 where a promise did not hold.

    Each of these prints its table, and with ``--write docs/trust/PAGE.md`` puts it into the page,
    between the marks that have its name. `matrix` makes the table of docs/conversions.md, `gguf`
    the tables of docs/trust/gguf.md and docs/gguf-names.md.
    """


for command in (*COMMANDS, matrix, gguf):
    main.add_command(command)


@main.command("state")
@click.argument(
    "pages", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
def state_command(pages: tuple[Path, ...]) -> None:
    """Say which tables of PAGES were made with the library's sources as they are now."""
    text = "\n".join(page.read_text("utf-8") for page in pages)
    click.echo("\n".join(state(text, sources())))


@main.command("decisions")
def decisions_command() -> None:
    """Write fixtures/decisions.txt: what each fixture loses in each format."""
    laws.DECISIONS.write_text("".join(f"{row}\n" for row in laws.decision_rows()), "utf-8")


if __name__ == "__main__":
    main()
