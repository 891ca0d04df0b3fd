"""``convert SRC hf:org/name``: what is said of what the hub is given."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from ..publish import PREFIX, Publication, address
from .screen import lines


def is_repository(target: Path) -> bool:
    """Whether a target is a repository's name; ``./hf:name`` is a folder."""
    return str(target).startswith(PREFIX)


def check_options(target: Path, *, publish: bool, private: bool, offline: bool) -> None:
    """Refuses options that do not fit the target or each other.

    Raises:
        click.UsageError: they do not.
        TargetError: the target is ``hf:`` and no repository's name.
    """
    if not is_repository(target):
        if publish or private:
            asked = "--publish" if publish else "--private"
            raise click.UsageError(f"{asked} belongs to a target hf:org/name")
        return
    address(str(target))
    if private and not publish:
        raise click.UsageError("--private belongs to --publish")
    if publish and offline:
        raise click.UsageError("--publish needs the network, which --offline forbids")


@contextlib.contextmanager
def place_for(target: Path) -> Iterator[Path]:
    """Where the files are written: the target, or a folder that goes when the block ends."""
    if not is_repository(target):
        yield target
        return
    with tempfile.TemporaryDirectory(prefix="bpe-interop-") as folder:
        yield Path(folder) / "tokenizer"


def show_unsent(wanted: Publication) -> None:
    """Prints what would be sent."""
    at = f" in branch {wanted.revision}" if wanted.revision else ""
    lines("not sent", [f"{wanted.repository}{at} would be given {_listed(wanted)}"])
    lines("card", [wanted.section])
    lines("to send", ["give --publish; the rest of the repository's card stays as it is"])


def show_sent(wanted: Publication, commit: str) -> None:
    """Prints what was sent, and the commit's address."""
    lines("published", [f"{_listed(wanted)}: {commit}"])


def _listed(wanted: Publication) -> str:
    held = sorted(wanted.files.items())
    return ", ".join(f"{name} ({len(data):,} bytes)" for name, data in held)
