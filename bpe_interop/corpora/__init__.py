"""Corpora, which every command reads alike: files, directories, globs, data sets of the hub.

Plain text, JSONL and Parquet, compressed or not, are read as a stream and never held whole.
"""

from __future__ import annotations

from .documents import (
    BATCH_BYTES,
    BATCH_DOCUMENTS,
    START,
    STDIN,
    TEXT_BYTES,
    CorpusFile,
    Document,
    Errors,
    Place,
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
    find_files,
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
    "BATCH_BYTES",
    "BATCH_DOCUMENTS",
    "BEGINNING",
    "EVERYTHING",
    "PART_BYTES",
    "START",
    "STDIN",
    "TEXT_BYTES",
    "CorpusFile",
    "CutCorpus",
    "Document",
    "Errors",
    "Mark",
    "Part",
    "PartReader",
    "Place",
    "Selection",
    "check_parts_can_be_read",
    "cut",
    "find_files",
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
