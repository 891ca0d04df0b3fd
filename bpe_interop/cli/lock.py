"""``bpe-interop lock``."""

from __future__ import annotations

from pathlib import Path

import click

from ..compare.lock import Lock, dump, is_lock, load, lock
from ..engines import versions
from ..entry_points import own_version
from ..errors import BpeInteropError, TargetError
from ..io.reader import beginning, read
from ..io.target import keep_apart
from ..io.writer import replace_file
from ..sources import SourceOptions, load_source, read_with
from .manual import command
from .options import file_names, source_options
from .screen import lines


@command(
    "lock",
    short_help="Freeze what SRC does, to verify others against it.",
    examples={
        "bpe-interop lock my-tok -o tokenizer.lock": "Freeze a tokenizer, and commit the file",
        "bpe-interop verify tokenizer.lock my-tok": "Fail in CI when an id changes",
    },
)
@click.argument("source", shell_complete=file_names, metavar="SRC")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path),
    default=Path("tokenizer.lock"),
    show_default=True,
    help="Where to write the lock file; an old lock file there is replaced.",
)
@source_options
def lock_command(source: str, output: Path, reading: SourceOptions) -> None:
    """Freeze what SRC does: the whole tokenizer in one file, with a head to read.

    Commit the file; bpe-interop verify tokenizer.lock SRC then proves that nothing changed, or
    fails with exit code 1 and a text that shows what did.
    """
    keep_apart(read_with(source, reading.get("preset")), output)
    old = _replaced(output)
    loaded = load_source(source, **reading)
    used = {name: number for name, number in versions().items() if number is not None}
    frozen = lock(loaded.model, loaded.label, {"bpe-interop": own_version(), **used})
    replace_file(output, dump(frozen))
    lines("wrote", [f"{output}{_in_place_of(old, frozen)}"])
    tokens, merges = frozen.stated["tokens"], frozen.stated["merges"]
    lines("locked", [f"the whole tokenizer: {tokens:,} tokens, {merges:,} merges, and all steps"])
    lines("fingerprint", [frozen.fingerprint["all"]])
    lines("note", loaded.passed_over)
    if loaded.model.added is None:
        what = "special tokens are not stated, so they are not locked; name them with --preset"
        lines("note", [what])
    lines("note", list(loaded.model.origin.notes))


def _replaced(output: Path) -> bytes | None:
    """The lock file that is to be replaced; raises TargetError where it is something else."""
    if output.is_dir():
        raise TargetError("this is a directory", where=str(output), fix="name a file in it")
    if not output.exists():
        return None
    if not (output.is_file() and is_lock(beginning(output))):
        raise TargetError(
            "this exists and is no lock file, so it is not replaced",
            where=str(output),
            fix="name another file with -o, or remove it",
        )
    return read(output)


def _in_place_of(old: bytes | None, frozen: Lock) -> str:
    if old is None:
        return ""
    try:
        was = load(old, "the old lock file")
    except BpeInteropError:
        return ", in place of a lock file that cannot be read"
    if was.fingerprint != frozen.fingerprint:
        return ", in place of one of another tokenizer"
    same = was.settings == frozen.settings
    return f", in place of one of the same tokenizer{'' if same else ' with other metadata'}"
