"""Corpora, which every command reads alike: files, directories, globs, data sets of the hub.

Plain text, JSONL and Parquet, compressed or not, are read as a stream and never held whole.
"""

from __future__ import annotations

from .documents import (
    START,
    STDIN,
    TEXT_BYTES,
    Document,
    Errors,
    Place,
    Shard,
    refuse_json,
    size_of,
)
from .parts import (
    PART_BYTES,
    CutCorpus,
    Part,
    PartReader,
    check_parts_can_be_read,
    cut,
    lines_before,
    no_documents,
)
from .selection import (
    BEGINNING,
    EVERYTHING,
    Mark,
    Selection,
    find_shards,
    identity,
    named,
    names_file,
    parse_sample,
    read_documents,
    select,
    signatures,
    sizes_of,
    stamp,
    whole_name,
)
from .spool import spooled
from .streams import naming, opened

__all__ = [
    "BEGINNING",
    "EVERYTHING",
    "PART_BYTES",
    "START",
    "STDIN",
    "TEXT_BYTES",
    "CutCorpus",
    "Document",
    "Errors",
    "Mark",
    "Part",
    "PartReader",
    "Place",
    "Selection",
    "Shard",
    "check_parts_can_be_read",
    "cut",
    "find_shards",
    "identity",
    "lines_before",
    "named",
    "names_file",
    "naming",
    "no_documents",
    "opened",
    "parse_sample",
    "read_documents",
    "refuse_json",
    "select",
    "signatures",
    "size_of",
    "sizes_of",
    "spooled",
    "stamp",
    "whole_name",
]
