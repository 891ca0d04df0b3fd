"""The messages of a ``.model`` are read and written as google.protobuf does it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

from bpe_interop.errors import FormatError, UnsupportedError
from bpe_interop.formats.sentencepiece.schema import ENUMS, MESSAGES, Default, Message, parse
from fixtures import TOKENIZERS

MODELS = sorted(TOKENIZERS.glob("*/sentencepiece/*.model"))
EXTENSIONS = (200, 1 << 29)
"""Field numbers that are open to others, in every message but ``SelfTestData.Sample``."""


@cache
def protobuf() -> Any:
    """The class of protobuf's ``ModelProto``, with strings as bytes."""
    file = descriptor_pb2.FileDescriptorProto(name="model.proto", package="p", syntax="proto2")
    made: dict[str, Any] = {}
    for name in MESSAGES:
        outer, _, own = name.rpartition(".")
        made[name] = made[outer].nested_type.add() if outer else file.message_type.add()
        made[name].name = own
    for name, fields in MESSAGES.items():
        for field in fields:
            declare(made[name].field.add(), *field)
        if name != "SelfTestData.Sample":
            made[name].extension_range.add(start=EXTENSIONS[0], end=EXTENSIONS[1])
    for name, values in ENUMS.items():
        outer, _, own = name.rpartition(".")
        enum = made[outer].enum_type.add(name=own)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.ModelProto"))


def declare(field: Any, name: str, number: int, kind: str, default: Default) -> None:
    field.name, field.number = name, number
    repeated = kind.endswith(("*", "strings"))
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    if kind in ("string", "strings", "bytes"):
        field.type = field.TYPE_BYTES
    elif kind in ("bool", "int32", "uint64", "float"):
        field.type = getattr(field, f"TYPE_{kind.upper()}")
    else:
        field.type = field.TYPE_ENUM if kind in ENUMS else field.TYPE_MESSAGE
        field.type_name = f".p.{kind.rstrip('*')}"
    if isinstance(default, str):
        escaped = (chr(b) if b < 0x80 else f"\\{b:03o}" for b in default.encode())
        field.default_value = "".join(escaped)
    elif default is not None:
        field.default_value = str(default).lower()


def values(message: Any, kind: str = "ModelProto") -> dict[str, Any]:
    """All that can be asked of a message, ours or protobuf's."""
    said: dict[str, Any] = {}
    has = message.has if isinstance(message, Message) else message.HasField
    for name, _, own, _ in MESSAGES[kind]:
        value = getattr(message, name)
        if name == "pieces":
            said[name] = [of_piece(each) for each in value]
        elif own.endswith("*"):
            said[name] = [values(each, own[:-1]) for each in value]
        elif own == "strings":
            said[name] = [*value]
        else:
            said[name] = values(value, own) if own in MESSAGES else repr(value), has(name)
    return said


def of_piece(piece: Any) -> list[str]:
    """The fields of a piece, None for those that are not there."""
    if isinstance(piece, tuple):
        return [*map(repr, piece)]
    names = ("piece", "score", "type")
    return [repr(getattr(piece, n) if piece.HasField(n) else None) for n in names]


def theirs(data: bytes) -> Any | None:
    """What protobuf reads; None where it does not, or there are fields that it does not know."""
    message = protobuf()()
    try:
        message.ParseFromString(data)
    except DecodeError:
        return None
    size = message.ByteSize()
    message.DiscardUnknownFields()
    return message if message.ByteSize() == size else None


def ours(data: bytes) -> Message | None:
    try:
        message, notes = parse(data, "")
    except (FormatError, UnsupportedError):
        return None
    return None if notes else message


def changed(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """Damaged and unusual bytes: one changed, some left out, some twice, fields of all kinds."""
    for _ in range(200):
        at, size = chance.randrange(len(data)), chance.randrange(1, 12)
        yield data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        yield data[:at] + data[at + size :]
        yield data[:at] + data[at : at + size] + data[at:]
    for field, _, kind, _ in MESSAGES["TrainerSpec"]:
        if kind in ("int32", "uint64", "float", "bool"):
            for number in (7, 0, -(1 << 31)):
                message = protobuf()()
                message.ParseFromString(data)
                if kind != "uint64" or number >= 0:
                    value: float = number - 0.1 if kind == "float" else number
                    setattr(message.trainer_spec, field, bool(value) if kind == "bool" else value)
                yield message.SerializeToString(deterministic=True)


@pytest.mark.parametrize("path", MODELS, ids=[path.parts[-3] for path in MODELS])
def test_both_read_and_write_the_same(path: Path) -> None:
    whole = path.read_bytes()
    rest = protobuf()()
    rest.ParseFromString(whole)
    del rest.pieces[5:]
    small = rest.SerializeToString(deterministic=True)
    read = 0
    for data in (whole, small, *changed(small, random.Random(path.parts[-3]))):
        one, two = ours(data), theirs(data)
        assert (one is None) == (two is None), data
        if one is not None and two is not None:
            read += 1
            assert values(one) == values(two)
            assert one.written() == two.SerializeToString(deterministic=True)
    assert read > 100


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x12\x02\x18\x03", "a type of model that there is"),
        (b"\x12\x02\x18\x09", "a type of model that there is not"),
        (b"\x12\x06\x18\x83\x80\x80\x80\x10", "a type in more than 32 bits"),
        (b"\x12\x03\x20\x81\x00", "a number in more bytes than it needs"),
        (b"\x12\x04\x98\x01\x02\x18", "a field that ends early"),
        (b"\x12\x06\x20\xff\xff\xff\xff\x0f", "a number beyond 32 bits"),
        (b"\x12\x0b\x20\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "a negative number"),
        (b"\x1a\x00\x12\x00", "specs in another order"),
        (b"\x12\x02\x20\x01\x12\x02\x28\x01", "a spec twice"),
        (b"\x12\x04\x20\x01\x20\x02", "a field twice"),
        (b"\x12\x02\xb8\x01", "a truth value that is missing"),
        (b"\x12\x03\x90\x01\x02", "a truth value of 2"),
        (b"\x12\x80\x80\x80\x80\x00", "a size in five bytes"),
        (b"\x12\x80\x80\x80\x80\x80\x00", "a size in six bytes"),
        (b"\x92\x80\x80\x80\x00\x00", "a key in five bytes"),
        (b"\x92\x80\x80\x80\x80\x00\x00", "a key in six bytes"),
        (b"\x0a\x05\x15\x00\x00\xc0\x7f", "a score that is no number"),
        (b"\xa3\x06" * 90 + b"\xa4\x06" * 90, "groups within groups"),
        (b"\x22\x00", "a list that is there"),
    ],
)
def test_unusual_bytes(data: bytes, what: str) -> None:
    one, two = ours(data), theirs(data)
    assert (one is None) == (two is None), what
    if one is not None and two is not None:
        assert values(one) == values(two)
        assert one.written() == two.SerializeToString(deterministic=True)


def test_very_deep_groups_are_no_message() -> None:
    """protobuf's parsers end at a depth of their own."""
    with pytest.raises(FormatError, match="groups within groups"):
        parse(b"\xa3\x06" * 200 + b"\xa4\x06" * 200, "")


def test_defaults_are_protobufs() -> None:
    assert values(Message()) == values(protobuf()())
