"""Corpora as files of ids: written by parts, with a manifest, and checked again."""

from __future__ import annotations

from .check import Checked, check_token_files
from .layouts import LAYOUTS
from .settings import Settings
from .writer import SHARD_BYTES, Step, Way, Written, encode_corpora

__all__ = [
    "LAYOUTS",
    "SHARD_BYTES",
    "Checked",
    "Settings",
    "Step",
    "Way",
    "Written",
    "check_token_files",
    "encode_corpora",
]
