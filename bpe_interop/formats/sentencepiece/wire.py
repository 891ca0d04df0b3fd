"""Protobuf's wire format, walked to say *where* something is wrong; protobuf itself does not.

Source: https://protobuf.dev/programming-guides/encoding. Not needed for a sound file: a message
is a run of fields, each a key (number and wire type, as a varint) and a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Field: TypeAlias = tuple[str, int, str, object]
Messages: TypeAlias = Mapping[str, tuple[Field, ...]]

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
_WIRE_TYPES = {"bool": VARINT, "int32": VARINT, "uint64": VARINT, "float": FIXED32}
_NAMES = ("varint", "64-bit", "length-delimited", "start of a group", "end of a group", "32-bit")
_MAX_NUMBER = (1 << 29) - 1


@dataclass(frozen=True, slots=True)
class Stray:
    """A field that the schema does not read: an unknown number, or a known one mistyped.

    ``expected`` is the wire type that a known field must have, ``value`` the number found where
    it is an enum's.
    """

    offset: int
    path: str
    number: int
    wire: int
    expected: int | None = None
    value: int | None = None

    @property
    def what(self) -> str:
        """What is found there."""
        if self.value is not None:
            return f"the value {self.value} is not known"
        if self.expected is None:
            return f"field number {self.number} is not known"
        return f"expected a {_NAMES[self.expected]} value, found a {_NAMES[self.wire]} one"


class MalformedError(Exception):
    """Bytes that are no message: ``offset`` is where they stop being one, ``what`` says why."""

    def __init__(self, offset: int, what: str) -> None:
        self.offset = offset
        self.what = what


def explain(data: bytes, messages: Messages, root: str) -> tuple[int, str]:
    """The offset at which a message stops being one, and why."""
    try:
        for _ in _walk(data, 0, len(data), messages, root, ""):
            pass
    except MalformedError as error:
        return error.offset, error.what
    return 0, "this is not a protobuf message"


def strays(
    data: bytes, messages: Messages, root: str, enums: Mapping[str, Mapping[str, int]]
) -> Iterator[Stray]:
    """The fields of a message that the schema does not read, in file order.

    Raises:
        MalformedError: it is none, though a parser took it: protobuf's passes over what is in a
            group that it does not know.
    """
    for stray, kind in _walk(data, 0, len(data), messages, root, ""):
        if stray.value is None or (kind in enums and stray.value not in enums[kind].values()):
            yield stray


def _walk(
    data: bytes, at: int, end: int, messages: Messages, message: str, path: str
) -> Iterator[tuple[Stray, str]]:
    known = {number: (name, kind) for name, number, kind, _ in messages[message]}
    counts: dict[str, int] = {}
    while at < end:
        start = at
        number, wire, at = _key(data, at, end)
        name, kind = known.get(number, ("", ""))
        own = f"{path}.{name}" if path else name
        if kind.endswith(("*", "strings")):
            own += f"[{counts.setdefault(name, 0)}]"
            counts[name] += 1
        value, begin, at = _value(data, at, end, wire, number, own or path)
        if not name:
            yield Stray(start, path, number, wire), ""
            continue
        inner = kind.rstrip("*")
        expected = _WIRE_TYPES.get(kind, LENGTH)
        if inner not in messages and kind not in (*_WIRE_TYPES, "string", "strings", "bytes"):
            expected = VARINT  # an enum
        if wire != expected:
            yield Stray(start, own, number, wire, expected), kind
        elif inner in messages:
            yield from _walk(data, begin, at, messages, inner, own)
        elif kind not in _WIRE_TYPES and wire == VARINT:
            yield Stray(start, own, number, wire, value=value), kind


def _key(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    key, after = _varint(data, at, end)
    number, wire = key >> 3, key & 7
    if not 0 < number <= _MAX_NUMBER or wire > FIXED32:
        raise MalformedError(at, "this is not a protobuf message: no field begins so")
    return number, wire, after


def _value(
    data: bytes, at: int, end: int, wire: int, number: int, path: str
) -> tuple[int, int, int]:
    """A value's number (of a varint), where its content begins, and where it ends."""
    if wire == VARINT:
        value, after = _varint(data, at, end)
        return value, at, after
    if wire == LENGTH:
        size, begin = _varint(data, at, end)
    elif wire in (START_GROUP, END_GROUP):
        return 0, at, _end_of_group(data, at, end, wire, number)
    else:
        size, begin = (8 if wire == FIXED64 else 4), at
    if begin + size > end:
        there = f" in {path}" if path else ""
        raise MalformedError(
            at, f"truncated{there}: {size:,} bytes should follow, {end - begin:,} are left"
        )
    return 0, begin, begin + size


def _end_of_group(data: bytes, at: int, end: int, wire: int, number: int) -> int:
    """Where a group ends. Groups are of old and no field here is one."""
    open_groups = [number] if wire == START_GROUP else []
    if not open_groups:
        raise MalformedError(at, "this is not a protobuf message: a group ends that did not begin")
    while open_groups:
        if at >= end:
            raise MalformedError(at, "truncated: a group does not end")
        start = at
        number, wire, at = _key(data, at, end)
        if wire == START_GROUP:
            open_groups.append(number)
        elif wire == END_GROUP:
            if open_groups.pop() != number:
                raise MalformedError(start, "a group ends that is not the last begun")
        else:
            _, _, at = _value(data, at, end, wire, number, "")
    return at


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        if at + place >= end:
            raise MalformedError(at, "truncated: a number does not end")
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & (1 << 64) - 1, at + place + 1
    raise MalformedError(at, "a number is longer than ten bytes")
