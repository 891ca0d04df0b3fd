"""The specs of a model without its pieces, where they are written as protobuf writes them.

protobuf takes longer to be imported than such a file to be read, so it reads only the others:
those with fields that are not known, with samples, or with a field that is written otherwise.
What is decoded here is written again, and has to be the same bytes.

Source: https://protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from .schema import ENUMS, FIXED32, LENGTH, MESSAGES, VARINT, Default, Field

_MOST_BYTES = 10
"""A varint has no more."""

_SPECS: Mapping[int, tuple[str, tuple[Field, ...]]] = {
    number: (name, MESSAGES[kind])
    for name, number, kind, _ in MESSAGES["ModelProto"]
    if kind in ("TrainerSpec", "NormalizerSpec")
}


class _IrregularError(Exception):
    """These bytes are protobuf's to read."""


class Spec:
    """A spec with the attributes of protobuf's message: fields, and whether they are there."""

    def __init__(self, fields: tuple[Field, ...]) -> None:
        values: dict[str, Any] = {name: [] for name, _, kind, _ in fields if kind == "strings"}
        # Past `__setattr__`, which sets a field of the message.
        vars(self).update(_fields=fields, _values=values)

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        for field, _, kind, default in self._fields:
            if field == name:
                return _default(kind, default)
        raise AttributeError(name)

    def __setattr__(self, name: str, value: object) -> None:
        self._values[name] = value

    def HasField(self, name: str) -> bool:
        """Whether a field that is no list is there."""
        return name in self._values

    def is_empty(self) -> bool:
        """Whether no field is there."""
        return not any(value != [] for value in self._values.values())

    def written(self) -> bytes:
        """The bytes of its fields, in their order."""
        return b"".join(self._parts())

    def _parts(self) -> Iterator[bytes]:
        for name, number, kind, _ in self._fields:
            if kind == "strings":
                for each in self._values[name]:
                    yield _text(number, each)
            elif name in self._values:
                yield _field(number, kind, self._values[name])


class ModelSettings:
    """A model without its pieces, with the attributes of protobuf's message."""

    pieces: tuple[()] = ()

    def __init__(self) -> None:
        self._specs = {name: Spec(fields) for name, fields in _SPECS.values()}
        self._stated: set[str] = set()

    def __getattr__(self, name: str) -> Spec:
        if name.startswith("_") or name not in self._specs:
            raise AttributeError(name)
        return self._specs[name]

    def HasField(self, name: str) -> bool:
        """Whether a spec is there, be it empty."""
        return name in self._stated or (name in self._specs and not self._specs[name].is_empty())

    @classmethod
    def of(cls, data: bytes) -> ModelSettings | None:
        """The settings that bytes hold; None where protobuf has to read them."""
        made = cls()
        written: dict[int, bytes] = {}
        try:
            for number, kind, value in _fields(data):
                name, fields = _SPECS.get(number, ("", ()))
                if not name or kind != LENGTH or name in made._stated:
                    return None
                made._stated.add(name)
                _fill(made._specs[name], fields, value)
                written[number] = _text(number, made._specs[name].written())
        except (_IrregularError, struct.error):
            return None  # protobuf reads it, or says what is wrong
        # protobuf writes fields by number; another order is left to it.
        return made if b"".join(written[n] for n in sorted(written)) == data else None


def _default(kind: str, default: Default) -> Any:
    if kind in ("string", "bytes"):
        return str(default or "").encode()
    if kind in ENUMS:
        return ENUMS[kind][str(default)]
    if kind == "float":
        # As a float32 holds it.
        return struct.unpack("<f", struct.pack("<f", default))[0]
    return 0 if default is None else default


def _fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """The number, the wire type and the value of each field."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        value: Any
        if kind == VARINT:
            value, at = _varint(data, at)
        elif kind == FIXED32:
            (value,) = struct.unpack_from("<f", data, at)
            at += 4
        elif kind == LENGTH:
            size, at = _varint(data, at)
            value = data[at : at + size]
            at += size
            if at > len(data):
                raise _IrregularError
        else:
            raise _IrregularError
        yield number, kind, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_MOST_BYTES):
        if at + place == len(data):
            break
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise _IrregularError


def _fill(spec: Spec, fields: tuple[Field, ...], data: bytes) -> None:
    """Puts into a spec what its bytes hold."""
    known = {number: (name, kind) for name, number, kind, _ in fields}
    for number, wire, value in _fields(data):
        name, kind = known.get(number, ("", ""))
        if not name or wire != _wire_type(kind):
            raise _IrregularError
        if kind == "strings":
            getattr(spec, name).append(value)
        else:
            setattr(spec, name, _read(kind, value))


def _wire_type(kind: str) -> int:
    if kind in ("string", "strings", "bytes"):
        return LENGTH
    return FIXED32 if kind == "float" else VARINT


def _read(kind: str, value: Any) -> Any:
    if kind == "bool":
        return value != 0
    if kind == "int32":
        # A negative number is written in 64 bits, as its two's complement.
        return value - (1 << 64) if value >> 63 else value
    if kind in ENUMS and value not in ENUMS[kind].values():
        raise _IrregularError
    return value


def _field(number: int, kind: str, value: Any) -> bytes:
    """A field as protobuf writes it.

    Raises:
        _IrregularError: the number is not one of its kind.
    """
    if kind in ("string", "bytes"):
        return _text(number, value)
    if kind == "float":
        return _key(number, FIXED32) + struct.pack("<f", value)
    if kind == "int32" and not -(1 << 31) <= value < 1 << 31:
        raise _IrregularError
    return _key(number, VARINT) + _number(int(value) % (1 << 64))


def _text(number: int, value: bytes) -> bytes:
    return _key(number, LENGTH) + _number(len(value)) + value


def _key(number: int, wire: int) -> bytes:
    return _number(number << 3 | wire)


def _number(value: int) -> bytes:
    made = bytearray()
    while value >> 7:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
