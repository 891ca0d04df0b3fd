"""Typed keys as the bytes of a GGUF head, version 3, little-endian."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from .head import MAGIC

VERSION: Final = 3

Typed: TypeAlias = tuple[str, Any]
"""The name of a type and a value; of an array, the type of its members and these."""

_CODES: Final = {
    "uint8": (0, "<B"), "int8": (1, "<b"), "uint16": (2, "<H"), "int16": (3, "<h"),
    "uint32": (4, "<I"), "int32": (5, "<i"), "float32": (6, "<f"), "bool": (7, "<?"),
    "string": (8, ""), "array": (9, ""), "uint64": (10, "<Q"), "int64": (11, "<q"),
    "float64": (12, "<d"),
}  # fmt: skip


def rendered(keys: Mapping[str, Typed], tensors: int = 0) -> bytes:
    """A head with these keys in their order; ``tensors`` descriptions are to follow it."""
    parts = [MAGIC, struct.pack("<IQQ", VERSION, tensors, len(keys))]
    for name, (kind, value) in keys.items():
        parts.append(_string(name.encode("utf-8")))
        code, form = _CODES[kind]
        parts.append(struct.pack("<I", code))
        if kind == "string":
            parts.append(_string(value if isinstance(value, bytes) else value.encode("utf-8")))
        elif kind == "array":
            parts += _array(*value)
        else:
            parts.append(struct.pack(form, value))
    return b"".join(parts)


def _array(kind: str, members: Sequence[Any]) -> Iterator[bytes]:
    code, form = _CODES[kind]
    yield struct.pack("<IQ", code, len(members))
    if kind == "string":
        yield from map(_string, members)
    else:
        yield struct.pack(f"<{len(members)}{form[1]}", *members)


def _string(data: bytes) -> bytes:
    return struct.pack("<Q", len(data)) + data
