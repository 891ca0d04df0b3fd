"""``bpe-interop lock``."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from ..compare.lock import Lock, dump, is_lock, load, lock
from ..engines import versions
from ..entry_points import own_version
from ..errors import BpeInteropError, TargetError
from ..fingerprint import PARTS
from ..formats.names import MAIN
from ..io.names import spelled
from ..io.reader import beginning, read
from ..io.target import keep_apart
from ..io.writer import replace_file
from ..sources import SourceOptions, load_source, read_with
from .manual import command
from .options import file_names, json_option, source_options
from .screen import as_json, lines

if TYPE_CHECKING:
    from . import documents


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
@json_option
def lock_command(source: str, output: Path, reading: SourceOptions, json_output: bool) -> None:
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
    notes = [*loaded.passed_over]
    if loaded.model.added is None:
        notes.append(_NO_SPECIALS)
    notes += loaded.model.origin.notes
    to_check = ""
    folder = loaded.directory
    if folder is not None and ((folder / MAIN).is_file() or loaded.model.origin.settings):
        notes.append(_BEFORE_TOO)
        names = ["bpe-interop", "verify", spelled(str(output)), loaded.label]
        to_check = shlex.join([*names, "--engine-b", "transformers"])
    done: documents.Locked = {
        "lock": spelled(str(output)),
        "source": loaded.label,
        "format": loaded.format.name,
        "tokens": cast(int, frozen.stated["tokens"]),
        "merges": cast(int, frozen.stated["merges"]),
        "fingerprint": cast("documents.Fingerprint", frozen.fingerprint),
        "replaced": None if old is None else _change(old, frozen),
        "notes": notes,
        "to_check": to_check,
    }
    if json_output:
        as_json(done)
        return
    replaced = done["replaced"]
    lines("wrote", [f"{output}{_IN_PLACE[replaced['differs']] if replaced else ''}"])
    held = f"{done['tokens']:,} tokens, {done['merges']:,} merges"
    lines("locked", [f"the whole tokenizer: {held}, and all steps"])
    lines("fingerprint", [frozen.fingerprint["all"]])
    lines("note", notes)
    if to_check:
        lines("to check", [to_check])


_BEFORE_TOO = (
    "transformers may serve the folder otherwise than its files say, which are locked: run the "
    "next command before an upgrade, too"
)
_NO_SPECIALS = "special tokens are not stated, so they are not locked; name them with --preset"


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


_IN_PLACE = {
    "nothing": ", in place of one of the same tokenizer",
    "metadata": ", in place of one of the same tokenizer with other metadata",
    "tokenizer": ", in place of one of another tokenizer",
    "unknown": ", in place of a lock file that cannot be read",
}


def _change(old: bytes, frozen: Lock) -> documents.ReplacedLock:
    """What is other in a new lock than in the one that it replaces."""
    try:
        was = load(old, "the old lock file")
    except BpeInteropError:
        return {"differs": "unknown", "parts": [], "stated": []}
    before, now = was.fingerprint, frozen.fingerprint
    parts = [part for part in PARTS if part != "all" and before[part] != now[part]]
    stated = json.loads(json.dumps(frozen.stated))  # as it is in the file: no tuples
    names = dict.fromkeys([*stated, *was.stated])
    same = was.settings == frozen.settings
    return {
        "differs": "tokenizer" if before != now else "nothing" if same else "metadata",
        "parts": cast("list[documents.PartName]", parts),
        "stated": [name for name in names if stated.get(name) != was.stated.get(name)],
    }
