"""Reads and writes tokenizer files: paths to files in memory, and files to a target at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..exports import exported

if TYPE_CHECKING:
    from .host_file import Existing, existing_file
    from .names import spelled
    from .reader import OWN_FILE, TokenizerSource, beginning, find, find_head, read, unreadable
    from .replacement import keep_apart
    from .temporary import held_alone, take_lock
    from .tiktoken_cache import cached
    from .writer import (
        alone_at,
        check_file_target,
        check_target,
        is_file_target,
        named_as,
        naming_target,
        plain_names,
        replace_file,
        stage_beside,
        staged,
        stem_of,
        target_format,
    )

__all__ = [
    "OWN_FILE",
    "Existing",
    "TokenizerSource",
    "alone_at",
    "beginning",
    "cached",
    "check_file_target",
    "check_target",
    "existing_file",
    "find",
    "find_head",
    "held_alone",
    "is_file_target",
    "keep_apart",
    "named_as",
    "naming_target",
    "plain_names",
    "read",
    "replace_file",
    "spelled",
    "stage_beside",
    "staged",
    "stem_of",
    "take_lock",
    "target_format",
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
            "temporary": ("held_alone", "take_lock"),
            "tiktoken_cache": ("cached",),
            "writer": (
                "alone_at",
                "check_file_target",
                "check_target",
                "is_file_target",
                "named_as",
                "naming_target",
                "plain_names",
                "replace_file",
                "stage_beside",
                "staged",
                "stem_of",
                "target_format",
            ),
        },
    )
