"""The messages of a SentencePiece model, declared here and read with ``google.protobuf``.

Source: ``src/sentencepiece_model.proto`` of sentencepiece 0.2.0 to 0.2.3 (proto2). The generated
module that sentencepiece ships fails to import on most versions of protobuf, and collides with
the one in transformers; these declarations have a file name and a descriptor pool of their own.

Fields that the source calls ``string`` are declared ``bytes``, which is the same on the wire:
whether malformed UTF-8 in a proto2 string can be read differs between versions of protobuf.

protobuf itself does not say *where* something is wrong, so a file that it refuses, or that holds
what the schema does not read, is walked here: a message is a run of fields, each a key (number and
wire type, as a varint) and a value (https://protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias, Union

from ...errors import FormatError, UnsupportedError

MAX_SIZE = 1 << 25
"""The largest model that is read, in bytes. Known ones have up to five million."""

MAX_PIECES = 1 << 21
"""The most pieces that are read and written. Known models have up to 300,000."""

_MAX_UNKNOWN = 100_000
"""How many fields that are not known are listed before a file is given up."""

Default: TypeAlias = Union[bool, int, float, str, None]
Field: TypeAlias = tuple[str, int, str, Default]

TRAINER_SPEC: tuple[Field, ...] = (
    ("input", 1, "strings", None),
    ("model_prefix", 2, "string", None),
    ("model_type", 3, "TrainerSpec.ModelType", "UNIGRAM"),
    ("vocab_size", 4, "int32", 8000),
    ("accept_language", 5, "strings", None),
    ("self_test_sample_size", 6, "int32", 0),
    ("input_format", 7, "string", None),
    ("character_coverage", 10, "float", 0.9995),
    ("input_sentence_size", 11, "uint64", 0),
    ("mining_sentence_size", 12, "int32", None),
    ("training_sentence_size", 13, "int32", None),
    ("seed_sentencepiece_size", 14, "int32", 1000000),
    ("shrinking_factor", 15, "float", 0.75),
    ("num_threads", 16, "int32", 16),
    ("num_sub_iterations", 17, "int32", 2),
    ("max_sentence_length", 18, "int32", 4192),
    ("shuffle_input_sentence", 19, "bool", True),
    ("max_sentencepiece_length", 20, "int32", 16),
    ("split_by_unicode_script", 21, "bool", True),
    ("split_by_whitespace", 22, "bool", True),
    ("split_by_number", 23, "bool", True),
    ("treat_whitespace_as_suffix", 24, "bool", False),
    ("split_digits", 25, "bool", False),
    ("allow_whitespace_only_pieces", 26, "bool", False),
    ("control_symbols", 30, "strings", None),
    ("user_defined_symbols", 31, "strings", None),
    ("vocabulary_output_piece_score", 32, "bool", True),
    ("hard_vocab_limit", 33, "bool", True),
    ("use_all_vocab", 34, "bool", False),
    ("byte_fallback", 35, "bool", False),
    ("required_chars", 36, "string", None),
    ("unk_id", 40, "int32", 0),
    ("bos_id", 41, "int32", 1),
    ("eos_id", 42, "int32", 2),
    ("pad_id", 43, "int32", -1),
    ("unk_surface", 44, "string", " \u2047 "),
    ("unk_piece", 45, "string", "<unk>"),
    ("bos_piece", 46, "string", "<s>"),
    ("eos_piece", 47, "string", "</s>"),
    ("pad_piece", 48, "string", "<pad>"),
    ("train_extremely_large_corpus", 49, "bool", False),
    ("enable_differential_privacy", 50, "bool", False),
    ("differential_privacy_noise_level", 51, "float", 0.0),
    ("differential_privacy_clipping_threshold", 52, "uint64", 0),
    ("pretokenization_delimiter", 53, "string", ""),
    ("seed_sentencepieces_file", 54, "string", ""),
    ("auto_character_coverage", 55, "bool", False),
)
NORMALIZER_SPEC: tuple[Field, ...] = (
    ("name", 1, "string", None),
    ("precompiled_charsmap", 2, "bytes", None),
    ("add_dummy_prefix", 3, "bool", True),
    ("remove_extra_whitespaces", 4, "bool", True),
    ("escape_whitespaces", 5, "bool", True),
    ("normalization_rule_tsv", 6, "string", None),
)
MESSAGES: dict[str, tuple[Field, ...]] = {
    "TrainerSpec": TRAINER_SPEC,
    "NormalizerSpec": NORMALIZER_SPEC,
    "SelfTestData": (("samples", 1, "SelfTestData.Sample*", None),),
    "SelfTestData.Sample": (("input", 1, "string", None), ("expected", 2, "string", None)),
    "ModelProto": (
        ("pieces", 1, "ModelProto.SentencePiece*", None),
        ("trainer_spec", 2, "TrainerSpec", None),
        ("normalizer_spec", 3, "NormalizerSpec", None),
        ("self_test_data", 4, "SelfTestData", None),
        ("denormalizer_spec", 5, "NormalizerSpec", None),
    ),
    "ModelProto.SentencePiece": (
        ("piece", 1, "string", None),
        ("score", 2, "float", None),
        ("type", 3, "ModelProto.SentencePiece.Type", "NORMAL"),
    ),
}
ENUMS: dict[str, dict[str, int]] = {
    "TrainerSpec.ModelType": {"UNIGRAM": 1, "BPE": 2, "WORD": 3, "CHAR": 4},
    "ModelProto.SentencePiece.Type": {
        "NORMAL": 1,
        "UNKNOWN": 2,
        "CONTROL": 3,
        "USER_DEFINED": 4,
        "UNUSED": 5,
        "BYTE": 6,
    },
}
BPE = ENUMS["TrainerSpec.ModelType"]["BPE"]
MODEL_TYPES = {number: name for name, number in ENUMS["TrainerSpec.ModelType"].items()}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)

_PACKAGE = "bpe_interop.sentencepiece"
_EXTENSIONS = (200, 1 << 29)
"""Field numbers that are open to others, in every message but ``SelfTestData.Sample``."""


def looks_like_model(data: bytes, *, named: bool) -> bool:
    """Whether bytes begin as a model does: with a piece, or, if named so, with a spec."""
    # The keys of trainer_spec and normalizer_spec: protobuf may write fields in any order.
    if named and data[:1] in (b"\x12", b"\x1a"):
        return True
    head = data[:16]
    # A piece's key and size, then the key and size of its surface, which fits in it.
    return head[:1] == b"\n" and len(head) > 3 and head[2] == 0x0A and head[3] + 2 <= head[1] < 0x80


def new_model() -> Any:
    """An empty ``ModelProto``."""
    return _model_class()()


def parse(data: bytes, file: str) -> Any:
    """The ``ModelProto`` that a file holds.

    Raises:
        FormatError: it is empty, larger than any model, or no protobuf message of this kind.
    """
    if not data:
        raise FormatError("the file is empty", where=file)
    if len(data) > MAX_SIZE:
        raise FormatError(f"{len(data):,} bytes are more than any model has", where=file)
    from google.protobuf.message import DecodeError

    message = new_model()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise _malformed(*explain(data, MESSAGES, "ModelProto"), file) from None
    if len(message.pieces) > MAX_PIECES:
        raise FormatError(f"{len(message.pieces):,} pieces are more than any model has", where=file)
    return message


def _malformed(offset: int, what: str, file: str) -> FormatError:
    return FormatError(
        what,
        where=f"{file}: byte {offset}",
        fix="the file may be cut off or damaged; get it again",
    )


def unread(message: Any, data: bytes, file: str) -> list[str]:
    """What a file holds beyond the schema, as notes; it is left out where it is written again.

    Raises:
        FormatError: a known field has another wire type, or what is not known is no field.
        UnsupportedError: the type of a piece or of the model is a number that is not known.
    """
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() == size:
        return []
    try:
        return _notes(strays(data, MESSAGES, "ModelProto", ENUMS), file)
    except MalformedError as error:
        raise _malformed(error.offset, error.what, file) from None


def _notes(unknown: Iterable[Stray], file: str) -> list[str]:
    notes: dict[str, int] = {}
    for count, stray in enumerate(unknown):
        if count == _MAX_UNKNOWN:
            raise FormatError("more than 100,000 fields are not known", where=file)
        where = f"{file}: {stray.path or 'the model'} (byte {stray.offset})"
        if stray.value is not None:
            raise UnsupportedError(f"{stray.what} and could change the ids", where=where)
        if stray.expected is not None:
            raise FormatError(stray.what, where=where)
        place = re.sub(r"\[\d+\]", "[]", stray.path) or "the model"
        text = f"{place}: field number {stray.number} is not known; it is not kept"
        notes[text] = notes.get(text, 0) + 1
    return [text if n == 1 else f"{text} ({n:,} times)" for text, n in notes.items()]


@cache
def _model_class() -> Any:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(
        name="bpe_interop/sentencepiece_model.proto", package=_PACKAGE, syntax="proto2"
    )
    made: dict[str, Any] = {}
    for name in MESSAGES:
        outer, _, own = name.rpartition(".")
        made[name] = made[outer].nested_type.add() if outer else file.message_type.add()
        made[name].name = own
    for name, fields in MESSAGES.items():
        for field in fields:
            _declare(made[name].field.add(), *field)
        if name != "SelfTestData.Sample":
            made[name].extension_range.add(start=_EXTENSIONS[0], end=_EXTENSIONS[1])
    for name, values in ENUMS.items():
        outer, _, own = name.rpartition(".")
        enum = made[outer].enum_type.add(name=own)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName(f"{_PACKAGE}.ModelProto")
    return message_factory.GetMessageClass(descriptor)


def _declare(field: Any, name: str, number: int, kind: str, default: Default) -> None:
    field.name, field.number = name, number
    repeated = kind.endswith(("*", "strings"))
    field.label = field.LABEL_REPEATED if repeated else field.LABEL_OPTIONAL
    if kind in ("string", "strings", "bytes"):
        field.type = field.TYPE_BYTES
    elif kind in ("bool", "int32", "uint64", "float"):
        field.type = getattr(field, f"TYPE_{kind.upper()}")
    else:
        field.type = field.TYPE_ENUM if kind in ENUMS else field.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{kind.rstrip('*')}"
    if default is not None:
        field.default_value = _spelled(default)


def _spelled(default: Default) -> str:
    """A default as descriptors spell it: bytes escaped as in C, truth values in lower case."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return "".join(chr(b) if b < 0x80 else f"\\{b:03o}" for b in default.encode())
    return str(default)


Messages: TypeAlias = Mapping[str, tuple[Field, ...]]

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
_WIRE_TYPES = {"bool": VARINT, "int32": VARINT, "uint64": VARINT, "float": FIXED32}
_NAMES = ("varint", "64-bit", "length-delimited", "start of a group", "end of a group", "32-bit")
_MAX_NUMBER = (1 << 29) - 1


class Stray(NamedTuple):
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
