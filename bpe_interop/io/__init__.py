"""Reads and writes tokenizer files: paths to files in memory, and files to a target at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exports import exported

if TYPE_CHECKING:
    from .host_file import Existing, existing_file
    from .names import spelled
    from .reader import OWN_FILE, TokenizerSource, beginning, find, find_head, read, unreadable
    from .replacement import keep_apart
    from .target import Target
    from .temporary import held_alone, take_lock
    from .writer import (
        check_file_target,
        check_target,
        is_file_target,
        naming_target,
        replace_file,
        stage_beside,
        staged,
    )

__all__ = [
    "OWN_FILE",
    "Existing",
    "Target",
    "TokenizerSource",
    "beginning",
    "check_file_target",
    "check_target",
    "existing_file",
    "find",
    "find_head",
    "held_alone",
    "is_file_target",
    "keep_apart",
    "naming_target",
    "read",
    "replace_file",
    "spelled",
    "stage_beside",
    "staged",
    "take_lock",
    "unreadable",
]

if not TYPE_CHECKING:  # a type checker would take any name for an Any
    __getattr__ = exported(
        __name__,
        {
            "host_file": ("Existing", "existing_file"),
            "names": ("spelled",),
            "reader": (
                "OWN_FILE",
                "TokenizerSource",
                "beginning",
                "find",
                "find_head",
                "read",
                "unreadable",
            ),
            "replacement": ("keep_apart",),
            "target": ("Target",),
            "temporary": ("held_alone", "take_lock"),
            "writer": (
                "check_file_target",
                "check_target",
                "is_file_target",
                "naming_target",
                "replace_file",
                "stage_beside",
                "staged",
            ),
        },
    )
