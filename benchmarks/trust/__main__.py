"""``python -m benchmarks.trust``: one command for each long test."""

from __future__ import annotations

import click

from .commands import commands
from .encoders.command import encoders
from .faults import faults
from .guided import guided
from .kernel.command import kernel
from .kills import kills
from .mutations import mutations
from .readers import readers
from .threads import threads
from .verdicts.command import verdicts
from .versions import versions

COMMANDS: tuple[click.Command, ...] = (
    verdicts,
    encoders,
    commands,
    kills,
    readers,
    kernel,
    guided,
    threads,
    versions,
    mutations,
    faults,
)
"""Every long test, in the order of the page."""


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Test for long what the library promises; exit with 1 where a promise did not hold.

    Each command prints its table, and with ``--write docs/trust.md`` puts it into the page,
    between the marks that have its name.
    """


for command in COMMANDS:
    main.add_command(command)

if __name__ == "__main__":
    main()
