"""Which entry points the installed packages have."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_METADATA = (".dist-info", ".egg-info")
_FILE = "entry_points.txt"


def entry_points(group: str) -> list[EntryPoint]:
    """The entry points of a group, by name."""
    # importlib.metadata takes ten times as long to be imported as the files take to be looked
    # through, so it is asked only where one of them names the group.
    if not _may_have(group):
        return []
    from importlib.metadata import entry_points

    return sorted(entry_points(group=group), key=lambda entry: entry.name)


def _may_have(group: str) -> bool:
    """False only where no package in any folder of ``sys.path`` has such an entry point."""
    # Another finder may have packages elsewhere than in folders.
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if [getattr(finder, "__name__", "") for finder in finders] != ["PathFinder"]:
        return True
    return any(_in_folder(entry or os.curdir, group.encode()) for entry in {*sys.path})


def _in_folder(folder: str, group: bytes) -> bool:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, PermissionError):
        return False
    except OSError:
        return True  # an archive of packages
    if folder.endswith(".egg"):
        return True
    for name in names:
        if name.endswith(_METADATA):
            try:
                with open(os.path.join(folder, name, _FILE), "rb") as file:
                    if group in file.read():
                        return True
            except OSError:
                continue
    return False
