"""The specs of a ``.model`` that are read without protobuf are what protobuf reads."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bpe_interop.errors import FormatError
from bpe_interop.formats.sentencepiece import schema
from bpe_interop.formats.sentencepiece.wire import ModelSettings

FIXTURES = Path(__file__).parents[2] / "fixtures" / "tokenizers"
MODELS = sorted(FIXTURES.glob("*/sentencepiece/*.model"))
SPECS = {
    "trainer_spec": schema.TRAINER_SPEC,
    "normalizer_spec": schema.NORMALIZER_SPEC,
    "denormalizer_spec": schema.NORMALIZER_SPEC,
}


def rest_of(path: Path) -> bytes:
    """A model without its pieces, as protobuf writes it."""
    message = schema.parse(path.read_bytes(), path.name)
    message.ClearField("pieces")
    written: bytes = message.SerializeToString(deterministic=True)
    return written


def values(message: Any) -> dict[str, Any]:
    """All that can be asked of a message."""
    said: dict[str, Any] = {}
    for name, fields in SPECS.items():
        spec = getattr(message, name)
        said[name] = message.HasField(name)
        for field, _, kind, _ in fields:
            value = getattr(spec, field)
            said[f"{name}.{field}"] = [*value] if kind == "strings" else repr(value)
            said[f"{name}.{field} is there"] = kind == "strings" or spec.HasField(field)
    return said


def changed(data: bytes, chance: random.Random) -> Iterator[bytes]:
    """Damaged and unusual bytes: one changed, some left out, some twice, fields of all kinds."""
    for _ in range(60):
        at, size = chance.randrange(len(data)), chance.randrange(1, 12)
        yield data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
        yield data[:at] + data[at + size :]
        yield data[:at] + data[at : at + size] + data[at:]
    message = schema.parse(data, "")
    for field, _, kind, _ in schema.TRAINER_SPEC:
        if kind in ("int32", "uint64", "float", "bool"):
            made = type(message)()
            made.CopyFrom(message)
            setattr(made.trainer_spec, field, {"float": -0.1}.get(kind, 1 if kind == "bool" else 7))
            yield made.SerializeToString(deterministic=True)
            if kind == "int32":
                setattr(made.trainer_spec, field, -(1 << 31))
                yield made.SerializeToString(deterministic=True)


@pytest.mark.parametrize("path", MODELS, ids=[path.parts[-3] for path in MODELS])
def test_both_read_the_same(path: Path) -> None:
    data = rest_of(path)
    own = ModelSettings.of(data)
    message = schema.parse(data, "")
    assert (own is not None) != message.HasField("self_test_data")
    read = 0
    for other in (data, *changed(data, random.Random(path.parts[-3]))):
        own = ModelSettings.of(other)
        if own is not None:
            read += 1
            theirs = schema.parse(other, "") if other else type(message)()
            assert values(own) == values(theirs)
            assert theirs.SerializeToString(deterministic=True) == other
            assert schema.unread(theirs, other, "") == []
    assert read > 20 or message.HasField("self_test_data")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x12\x02\x18\x03", "a type of model that there is not is kept"),
        (b"\x12\x03\x20\x81\x00", "a number in more bytes than it needs"),
        (b"\x12\x04\x98\x01\x02\x18", "a field that ends early"),
        (b"\x12\x06\x20\xff\xff\xff\xff\x0f", "a number beyond 32 bits"),
        (b"\x1a\x00\x12\x00", "specs in another order"),
        (b"\x12\x00\x12\x00", "a spec twice"),
        (b"\x12\x04\x20\x01\x20\x02", "a field twice"),
        (b"\x12\x02\xb8\x01", "a truth value that is missing"),
        (b"\x12\x03\x90\x01\x02", "a known field"),
    ],
)
def test_what_is_written_otherwise_is_left_to_protobuf(data: bytes, what: str) -> None:
    own = ModelSettings.of(data)
    try:
        message = schema.parse(data, "")
        regular = message.SerializeToString(deterministic=True) == data
        regular = regular and not schema.unread(message, data, "")
    except (FormatError, ValueError):
        regular = False
    assert (own is not None) == regular, what


def test_a_default_is_protobufs() -> None:
    assert values(ModelSettings()) == values(schema.new_model())
