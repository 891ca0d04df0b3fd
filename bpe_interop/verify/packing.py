"""Large tables of a lock file: JSON, compressed with bz2 and written in base85, in lines."""

from __future__ import annotations

import base64
import bz2
import json

from ..errors import FormatError
from ..strict_json import Node, parse

_LINE = 100
_LARGEST = 1 << 28
"""Bytes of a table, unpacked: some hundred times that of the largest vocabulary."""


def pack(table: object) -> list[str]:
    """A table of JSON values as lines of ASCII."""
    written = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
    compressed = bz2.compress(written.encode("utf-8", "surrogatepass"))
    packed = base64.b85encode(compressed).decode("ascii")
    return [packed[start : start + _LINE] for start in range(0, len(packed), _LINE)]


def unpack(lines: Node, name: str) -> Node:
    """A table from its lines, read strictly; the file is called ``name`` in errors.

    Raises:
        FormatError: these are no packed JSON.
    """
    packed = "".join(line.be(str) for line in lines.items())
    unpacking = bz2.BZ2Decompressor()
    try:
        written = unpacking.decompress(base64.b85decode(packed), _LARGEST)
    except (ValueError, OSError):
        raise damaged(name) from None
    if not unpacking.eof:
        raise damaged(name)
    return parse(written, name)


def damaged(name: str) -> FormatError:
    """The error for a table that was never packed so."""
    return FormatError(
        "the lock file's texts cannot be read: it was cut or edited",
        where=name,
        fix="lock the tokenizer again",
    )
