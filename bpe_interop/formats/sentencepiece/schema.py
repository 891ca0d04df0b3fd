"""The messages of a SentencePiece model: declared, read and written here.

Source: ``src/sentencepiece_model.proto`` of sentencepiece 0.2.0 to 0.2.3 (proto2), and
https://protobuf.dev/programming-guides/encoding. A message is a run of fields, each a key (number
and wire type, as a varint) and a value.

google.protobuf is not asked. It does not say *where* something is wrong, takes longer to be
imported than most files to be read, and the generated module that sentencepiece ships fails to
import on most versions of it. Tests read and write the same with it.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, Union

from ...errors import FormatError, UnsupportedError, compared_in
from ...limits import SENTENCEPIECE_BYTES, SENTENCEPIECE_PIECES, SENTENCEPIECE_UNKNOWN

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


VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
_WIRE_NAMES = (
    "varint", "64-bit", "length-delimited", "start of a group", "end of a group", "32-bit",
)  # fmt: skip
_MAX_NUMBER = (1 << 29) - 1
_MAX_GROUPS = 100
"""So deep groups may be nested (protobuf's ``RecursionLimit``)."""
_SHORT = 5
"""Bytes of a key or a size; protobuf reads no longer ones."""
_FLOAT = struct.Struct("<f")


_TYPES = {*ENUMS["ModelProto.SentencePiece.Type"].values()}


def _wire_type(kind: str) -> int:
    if kind == "float":
        return FIXED32
    return VARINT if kind in ("bool", "int32", "uint64") or kind in ENUMS else LENGTH


def _is_list(kind: str) -> bool:
    return kind.endswith(("*", "strings"))


def _default(kind: str, default: Default) -> Any:
    if kind in ("string", "bytes"):
        return str(default or "").encode()
    if kind in ENUMS:
        return ENUMS[kind][str(default)]
    if kind == "float":  # as a float32 holds it
        return _FLOAT.unpack(_FLOAT.pack(default or 0.0))[0]
    return bool(default) if kind == "bool" else default or 0


_BY_NAME: Mapping[str, Mapping[str, tuple[str, Any]]] = {
    message: {name: (kind, _default(kind, default)) for name, _, kind, default in fields}
    for message, fields in MESSAGES.items()
}
PieceFields: TypeAlias = tuple[Union[bytes, None], Union[float, None], Union[int, None]]
"""A ``ModelProto.SentencePiece``, of which there are hundreds of thousands: its surface, score and
type, None where one is not there."""
_PIECES = "ModelProto.SentencePiece*"
_LIST, _SURFACE, _SCORE, _TYPE = 0x0A, 0x0A, 0x15, 0x18
"""The keys of the list of pieces, and of the fields of each."""

_BY_NUMBER: Mapping[str, Mapping[int, tuple[str, str, int, bool]]] = {
    message: {
        number: (name, kind, _wire_type(kind), _is_list(kind)) for name, number, kind, _ in fields
    }
    for message, fields in MESSAGES.items()
}
"""The name, the kind and the wire type of each field, and whether it is a list."""


class Message:
    """A message with its fields as attributes; one that is not there has its default.

    A message in a field is there once it has a field itself, or is stated. Pieces are
    :data:`PieceFields`.
    """

    __slots__ = ("_kind", "_stated", "_values")
    _kind: str
    _stated: bool
    _values: dict[str, Any]

    def __init__(self, kind: str = "ModelProto") -> None:
        put = super().__setattr__
        put("_kind", kind)
        put("_stated", False)
        put("_values", {})

    def __getattr__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        if name not in _BY_NAME[self._kind]:
            raise AttributeError(name)
        kind, default = _BY_NAME[self._kind][name]
        if kind in MESSAGES:
            return self._values.setdefault(name, Message(kind))
        return self._values.setdefault(name, []) if _is_list(kind) else default

    def __setattr__(self, name: str, value: object) -> None:
        self._values[name] = value

    def add(self, name: str) -> Message:
        """A new message at the end of a list of them."""
        made = Message(_BY_NAME[self._kind][name][0].rstrip("*"))
        getattr(self, name).append(made)
        return made

    def has(self, name: str) -> bool:
        """Whether a field that is no list is there."""
        value = self._values.get(name)
        return value.is_there() if isinstance(value, Message) else value is not None

    def is_there(self) -> bool:
        return self._stated or any(
            value != [] if isinstance(value, list) else self.has(name)
            for name, value in self._values.items()
        )

    def state(self) -> None:
        """A message that is there, be it empty."""
        super().__setattr__("_stated", True)

    def clear(self, name: str) -> None:
        self._values.pop(name, None)

    def default(self, name: str) -> Any:
        return _BY_NAME[self._kind][name][1]

    def written(self) -> bytes:
        """Its bytes as protobuf writes them: fields by number, each number as short as it can be.

        Raises:
            OverflowError: a number is none of its kind.
        """
        return b"".join(self._parts())

    def _parts(self) -> Iterator[bytes]:
        values = self._values
        for name, number, kind, _ in MESSAGES[self._kind]:
            if name not in values:
                continue
            if kind == _PIECES:
                yield from (piece_bytes(*piece) for piece in values[name])
                continue
            for value in values[name] if _is_list(kind) else (values[name],):
                wire = _wire_type(kind)
                key = _KEYS[number << 3 | wire]
                if isinstance(value, Message):
                    if _is_list(kind) or value.is_there():
                        data = value.written()
                        yield from (key, varint(len(data)), data)
                elif wire == LENGTH:
                    yield from (key, varint(len(value)), value)
                elif wire == FIXED32:
                    yield from (key, _FLOAT.pack(value))
                else:
                    # A negative number is written in 64 bits, as its two's complement.
                    yield from (key, varint(int(value) % (1 << 64)))


def piece_bytes(surface: bytes | None, score: float | None, kind: int | None) -> bytes:
    """A piece in the list of a model's pieces."""
    data = b"" if surface is None else b"".join((_KEYS[_SURFACE], varint(len(surface)), surface))
    if score is not None:
        data += _KEYS[_SCORE] + _FLOAT.pack(score)
    if kind is not None:
        data += _KEYS[_TYPE] + varint(kind)
    return b"".join((_KEYS[_LIST], varint(len(data)), data))


def varint(value: int) -> bytes:
    """A number of seven bits a byte, the lowest first; the last byte has no eighth bit."""
    if value < 0x80:
        return bytes((value,))
    made = bytearray()
    while value >> 7:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


_KEYS = {
    key: varint(key)
    for fields in MESSAGES.values()
    for _, number, kind, _ in fields
    for key in (number << 3 | _wire_type(kind),)
}


def looks_like_model(data: bytes, *, named: bool) -> bool:
    """Whether bytes begin as a model does: with a piece, or, if named so, with a spec."""
    # The keys of trainer_spec and normalizer_spec: protobuf may write fields in any order.
    if named and data[:1] in (b"\x12", b"\x1a"):
        return True
    head = data[:16]
    # A piece's key and size, then the key and size of its surface, which fits in it.
    return head[:1] == b"\n" and len(head) > 3 and head[2] == 0x0A and head[3] + 2 <= head[1] < 0x80


def parse(data: bytes, file: str) -> tuple[Message, list[str]]:
    """The ``ModelProto`` that a file holds, and notes on what it holds beyond the schema.

    Raises:
        FormatError: it is empty, larger than any model, or no such message; the message names the
            byte.
        UnsupportedError: the type of a piece or of the model, or a field of a normalizer, is a
            number that is not known.
    """
    if not data:
        raise FormatError("the file is empty", where=file)
    if len(data) > SENTENCEPIECE_BYTES.most:
        raise FormatError(SENTENCEPIECE_BYTES.passed("the file"), where=file)
    message, strays = Message(), list[Stray]()
    try:
        _read(message, data, 0, len(data), "", strays)
    except MalformedError as error:
        raise FormatError(
            error.what,
            where=f"{file}: byte {error.offset}",
            fix="the file may be cut off or damaged; get it again",
        ) from None
    if len(message.pieces) > SENTENCEPIECE_PIECES.most:
        raise FormatError(SENTENCEPIECE_PIECES.passed("the file"), where=file)
    return message, _notes(strays, file)


def _notes(strays: Iterable[Stray], file: str) -> list[str]:
    notes: dict[str, int] = {}
    for count, stray in enumerate(strays):
        if count == SENTENCEPIECE_UNKNOWN.most:
            raise FormatError(SENTENCEPIECE_UNKNOWN.passed("the file"), where=file)
        where = f"{file}: {stray.path or 'the model'} (byte {stray.offset})"
        # What says how texts are normalized acts at run time; what else a newer library writes
        # says how the model was trained, mostly.
        acts = stray.expected is None and stray.path in ("normalizer_spec", "denormalizer_spec")
        if stray.value is not None or acts:
            what = f"{stray.what} and could change the ids"
            raise UnsupportedError(what, where=where, fix=compared_in("sentencepiece"))
        if stray.expected is not None:
            raise FormatError(stray.what, where=where)
        place = re.sub(r"\[\d+\]", "[]", stray.path) or "the model"
        text = f"{place}: field number {stray.number} is not known; it is not kept"
        notes[text] = notes.get(text, 0) + 1
    return [text if n == 1 else f"{text} ({n:,} times)" for text, n in notes.items()]


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
        if self.value is not None:
            return f"the value {self.value} is not known"
        if self.expected is None:
            return f"field number {self.number} is not known"
        return (
            f"expected a {_WIRE_NAMES[self.expected]} value, found a {_WIRE_NAMES[self.wire]} one"
        )


class MalformedError(Exception):
    """Bytes that are no message: ``offset`` is where they stop being one, ``what`` says why."""

    def __init__(self, offset: int, what: str) -> None:
        self.offset = offset
        self.what = what


def _read(message: Message, data: bytes, at: int, end: int, path: str, strays: list[Stray]) -> None:
    """Reads fields into a message, which stands at ``path``, and notes what is no field of it.

    It stops where there are too many pieces.

    Raises:
        MalformedError: they are no fields.
    """
    known, values = _BY_NUMBER[message._kind], message._values
    pieces: list[PieceFields] = message.pieces if message._kind == "ModelProto" else []
    most = SENTENCEPIECE_PIECES.most
    while at < end and len(pieces) <= most:
        if message._kind == "ModelProto" and (plain := _plain_piece(data, at, end)):
            piece, at = plain
            pieces.append(piece)
            continue
        start = at
        number, wire, at = _key(data, at, end)
        name, kind, expected, is_list = known.get(number, ("", "", wire, False))
        own = f"{path}.{name}" if path and name else name or path
        if is_list:
            own += f"[{len(getattr(message, name))}]"
        value, begin, at = _value(data, at, end, wire, number, own)
        stray = None
        if not name or wire != expected:
            stray = Stray(start, own, number, wire, expected if name else None)
        elif kind == _PIECES:
            inner = Message(kind[:-1])
            _read(inner, data, begin, at, own, strays)
            held = inner._values
            pieces.append((held.get("piece"), held.get("score"), held.get("type")))
        elif kind.endswith("*"):
            _read(message.add(name), data, begin, at, own, strays)
        elif kind in MESSAGES:
            # One that comes again adds its fields to those of the first.
            getattr(message, name).state()
            _read(values[name], data, begin, at, own, strays)
        elif kind == "strings":
            values[name].append(data[begin:at])
        elif wire == LENGTH:
            values[name] = data[begin:at]
        elif kind == "float":
            [values[name]] = _FLOAT.unpack_from(data, begin)
        elif kind == "bool":
            values[name] = value != 0
        elif kind in ENUMS and _signed(value) not in ENUMS[kind].values():
            stray = Stray(start, own, number, wire, value=value)
        else:
            values[name] = value if kind == "uint64" else _signed(value)
        # One more than are told is enough to tell that they are too many.
        if stray is not None and len(strays) <= SENTENCEPIECE_UNKNOWN.most:
            strays.append(stray)


def _plain_piece(data: bytes, at: int, end: int) -> tuple[PieceFields, int] | None:
    """A piece in the bytes that protobuf gives it, and where it ends; None for anything else."""
    size = data[at + 1] if data[at] == _LIST and at + 1 < end else 0
    stop = at + 2 + size
    if not 7 <= size < 0x80 or stop > end or data[at + 2] != _SURFACE:
        return None
    after = at + 4 + data[at + 3]
    if not stop - 7 <= after <= stop - 5 or data[after] != _SCORE:
        return None
    surface, [score] = data[at + 4 : after], _FLOAT.unpack_from(data, after + 1)
    if after + 5 == stop:
        return (surface, score, None), stop
    kind = data[stop - 1]
    is_type = after + 7 == stop and data[stop - 2] == _TYPE and kind in _TYPES
    return ((surface, score, kind), stop) if is_type else None


def _signed(value: int) -> int:
    """The number of 32 bits that protobuf takes out of a varint."""
    return (value + (1 << 31)) % (1 << 32) - (1 << 31)


def _key(data: bytes, at: int, end: int) -> tuple[int, int, int]:
    key, after = _varint(data, at, end)
    number, wire = key >> 3, key & 7
    if not 0 < number <= _MAX_NUMBER or wire > FIXED32 or after - at > _SHORT:
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
    if wire == LENGTH and begin - at > _SHORT:
        raise MalformedError(at, "this is not a protobuf message: a size in more than five bytes")
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
            if len(open_groups) > _MAX_GROUPS:
                raise MalformedError(start, "groups within groups, too many")
        elif wire == END_GROUP:
            if open_groups.pop() != number:
                raise MalformedError(start, "a group ends that is not the last begun")
        else:
            _, _, at = _value(data, at, end, wire, number, "")
    return at


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    if at < end and data[at] < 0x80:
        return data[at], at + 1
    value = 0
    for place in range(10):
        if at + place >= end:
            raise MalformedError(at, "truncated: a number does not end")
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & (1 << 64) - 1, at + place + 1
    raise MalformedError(at, "a number is longer than ten bytes")
