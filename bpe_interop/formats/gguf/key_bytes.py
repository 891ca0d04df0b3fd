"""Typed keys as the bytes of a GGUF head, version 3."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from .head import MAGIC, Key

VERSION: Final = 3

Typed: TypeAlias = tuple[str, Any]
"""The name of a type and a value; of an array, the type of its members and these."""

_CODES: Final = {
    "uint8": (0, "B"), "int8": (1, "b"), "uint16": (2, "H"), "int16": (3, "h"),
    "uint32": (4, "I"), "int32": (5, "i"), "float32": (6, "f"), "bool": (7, "?"),
    "string": (8, ""), "array": (9, ""), "uint64": (10, "Q"), "int64": (11, "q"),
    "float64": (12, "d"),
}  # fmt: skip
_SIGNS: Final = {"little": "<", "big": ">"}


def rendered(keys: Mapping[str, Typed], tensors: int = 0) -> bytes:
    """A little-endian head with these keys in their order, and ``tensors`` tensors to follow."""
    parts = [key_bytes(name, typed) for name, typed in keys.items()]
    return head_of(parts, tensors)


def head_of(
    keys: Sequence[bytes], tensors: int, *, version: int = VERSION, order: str = "little"
) -> bytes:
    """A head of keys that are bytes already."""
    sign = _SIGNS[order]
    counts = struct.pack(f"{sign}IQQ", version, tensors, len(keys))
    return b"".join([MAGIC, counts, *keys])


def key_bytes(name: str, typed: Typed, order: str = "little") -> bytes:
    """A key with its name, of a file of version 2 or 3."""
    kind, value = typed
    sign = _SIGNS[order]
    code, form = _CODES[kind]
    parts = [_string(name.encode("utf-8"), sign), struct.pack(f"{sign}I", code)]
    if kind == "string":
        data = value if isinstance(value, bytes) else value.encode("utf-8")
        parts.append(_string(data, sign))
    elif kind == "array":
        members_kind, members = value
        parts += _array(members_kind, members, sign)
    else:
        parts.append(struct.pack(sign + form, value))
    return b"".join(parts)


def typed_of(key: Key) -> Typed:
    """A key that was read, as it is written."""
    return (key.type, (key.members, key.value) if key.members else key.value)


def _array(kind: str, members: Sequence[Any], sign: str) -> Iterator[bytes]:
    code, form = _CODES[kind]
    yield struct.pack(f"{sign}IQ", code, len(members))
    if kind == "string":
        yield from (_string(member, sign) for member in members)
    else:
        yield struct.pack(f"{sign}{len(members)}{form}", *members)


def _string(data: bytes, sign: str) -> bytes:
    return struct.pack(f"{sign}Q", len(data)) + data
