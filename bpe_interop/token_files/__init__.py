"""Corpora as files of ids: written by parts, with a manifest, and checked again."""

from __future__ import annotations

from .check import Checked, check_token_files
from .job import Settings
from .layouts import LAYOUTS
from .writer import SHARD_BYTES, EncodedCorpus, Step, Way, encode_corpora

__all__ = [
    "LAYOUTS",
    "SHARD_BYTES",
    "Checked",
    "EncodedCorpus",
    "Settings",
    "Step",
    "Way",
    "check_token_files",
    "encode_corpora",
]
