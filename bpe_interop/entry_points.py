"""Which entry points the installed packages have, and which version of this one is installed."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
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


def own_version() -> str:
    """This library's installed version; ``from source`` if it is not installed."""
    # As above, what is slow is asked only where the first installation is no usual folder.
    folders = [folder or os.curdir for folder in sys.path] if _are_in_folders() else []
    own = (
        os.path.join(folder, name)
        for folder in filter(os.path.isdir, folders)
        for name in os.listdir(folder)
        if name.startswith(("bpe_interop-", "bpe_interop.")) and name.endswith(_METADATA)
    )
    with suppress(OSError), open(os.path.join(next(own, ""), "METADATA"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("Version: "):
                return line.removeprefix("Version: ").strip()
    from importlib import metadata

    try:
        return metadata.version("bpe-interop")
    except metadata.PackageNotFoundError:
        return "from source"


def _are_in_folders() -> bool:
    """Whether packages are looked for in folders of ``sys.path`` alone, by no further finder."""
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    return [getattr(finder, "__name__", "") for finder in finders] == ["PathFinder"]


def _may_have(group: str) -> bool:
    """False only where no package in any folder of ``sys.path`` has such an entry point."""
    if not _are_in_folders():
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
