"""The head of a GGUF file as bytes: its typed keys, read and written. Tensors are never read.

Defined by ``docs/gguf.md`` of ggml (https://github.com/ggml-org/ggml). The wire format:

- The magic ``GGUF``; the version, a uint32; the number of tensors and of keys, each a uint64
  (version 1: uint32).
- For each key: its name, the type of its value as a uint32, the value.
- A string is its length (uint64; version 1: uint32) and its bytes. An array is the type of its
  members (uint32), their number (as a length), and the members.
- All numbers are little-endian, or all big-endian: the version tells which.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, BinaryIO, Final, NoReturn, TypeAlias, Union

from ...errors import FormatError, UnsupportedError
from ...limits import GGUF_HEAD_BYTES, GGUF_KEYS
from ...quoting import show

MAGIC: Final = b"GGUF"
VERSIONS: Final = (1, 2, 3)

_FIRST_READ: Final = 1 << 20
_STRING, _ARRAY, _BOOL = 8, 9, 7
_CODES: Final[Mapping[str, tuple[int, str]]] = {
    "uint8": (0, "B"), "int8": (1, "b"), "uint16": (2, "H"), "int16": (3, "h"),
    "uint32": (4, "I"), "int32": (5, "i"), "float32": (6, "f"), "bool": (_BOOL, "B"),
    "string": (_STRING, ""), "array": (_ARRAY, ""), "uint64": (10, "Q"), "int64": (11, "q"),
    "float64": (12, "d"),
}  # fmt: skip
"""Names of types to their numbers in a file, and to codes in ``struct`` and ``array``."""

_NAMES: Final[Mapping[int, str]] = {number: name for name, (number, _) in _CODES.items()}
_NUMBERS: Final[Mapping[int, str]] = dict(_CODES.values())
_SIGNS: Final = {"little": "<", "big": ">"}

Value: TypeAlias = Union[bool, int, float, bytes, Sequence[int], Sequence[float], Sequence[bytes]]


@dataclass(frozen=True, slots=True)
class Key:
    """A value, the name of its type, and for an array that of its members (else empty)."""

    value: Value
    type: str
    members: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """The keys in the order of the file, and where they end.

    ``order`` is ``"little"`` or ``"big"``; ``size`` is the number of bytes up to the end of the
    keys, where the descriptions of ``tensors`` tensors begin. ``places`` has the bytes of each
    key with its name, as first and behind last.
    """

    version: int
    order: str
    tensors: int
    keys: Mapping[str, Key]
    size: int
    places: Mapping[str, tuple[int, int]]


class HeadBytes(bytes):
    """The bytes of a head that was read: who parses them first need not do it again.

    What is parsed is given once, for it takes more memory than the bytes.
    """

    _head: Head | None
    layout: Head
    """The head without its keys: how the bytes are laid out."""

    def __new__(cls, data: bytes, head: Head) -> HeadBytes:
        """``head`` is what ``data`` was read as."""
        made = super().__new__(cls, data)
        made._head = head
        made.layout = replace(head, keys={}, places={})
        return made

    def taken(self) -> Head | None:
        """The head, at the first call."""
        head, self._head = self._head, None
        return head

    def __reduce__(self) -> tuple[object, ...]:
        return bytes, (bytes(self),)


def layout_of(data: bytes, name: str) -> Head:
    """The version, the order and the size of a head; its keys need not be there.

    Raises:
        FormatError, UnsupportedError: as :func:`parse_head`.
    """
    return data.layout if isinstance(data, HeadBytes) else parse_head(data, name)


class _EndsEarlyError(Exception):
    """The bytes end before the keys do; so many must be there at least."""

    def __init__(self, needed: int) -> None:
        self.needed = needed


def is_gguf(data: bytes) -> bool:
    return data[:4] == MAGIC


def read_head(file: BinaryIO, name: str) -> bytes:
    """The bytes of a file (open at its begin) up to the end of its keys.

    Raises:
        FormatError: the head is malformed, cut off, or longer than ``GGUF_HEAD_BYTES``.
        UnsupportedError: its version is not known.
    """
    data = file.read(_FIRST_READ)
    reader = _Reader(data, name)
    while True:
        try:
            head = reader.head()
            return HeadBytes(data[: head.size], head)
        except _EndsEarlyError as error:
            # Twice as much each time: no more than a mebibyte or the size of the keys is read too
            # far.
            wanted = min(max(2 * len(data), error.needed), GGUF_HEAD_BYTES.most + 1)
            if wanted <= len(data):
                raise _too_long(name) from None
            more = file.read(wanted - len(data))
            if not more:
                raise _cut_off(data, error, name) from None
            data += more
            reader.go_on(data)


def parse_head(data: bytes, name: str) -> Head:
    """The keys of a file whose head these bytes hold whole.

    Raises:
        FormatError: the head is malformed or cut off; the message names the key.
        UnsupportedError: its version, or the type of a value, is not known.
    """
    head = data.taken() if isinstance(data, HeadBytes) else None
    if head is not None:
        return head
    try:
        return _Reader(data, name).head()
    except _EndsEarlyError as error:
        raise _cut_off(data, error, name) from None


def _cut_off(data: bytes, error: _EndsEarlyError, name: str) -> FormatError:
    return FormatError(
        f"the file ends after {len(data):,} bytes, and its keys need {error.needed:,} at least",
        where=name,
        fix="the file may be cut off, or damaged; get it again",
    )


def _too_long(name: str) -> FormatError:
    return FormatError(
        GGUF_HEAD_BYTES.passed("the head"),
        where=name,
        fix="the file may be damaged; get it again",
    )


class _Reader:
    """Reads from the begin on; raises ``_EndsEarlyError`` where the bytes end.

    With more bytes it goes on behind the last key that was whole.
    """

    def __init__(self, data: bytes, name: str) -> None:
        self._data = data
        self._name = name
        self._key = ""
        self._at = 0
        self._sign = "<"
        self._wide = True
        self._keys: dict[str, Key] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._counts: tuple[int, int, int] | None = None
        self._begun: tuple[int, int, list[bytes]] | None = None

    def go_on(self, data: bytes) -> None:
        """Takes the same bytes with more behind them."""
        self._data = data
        self._at = max((end for _, end in self._places.values()), default=0)
        if not self._places:
            self._counts = None

    def head(self) -> Head:
        version, tensors, count = self._counts = self._counts or self._begin()
        keys = self._keys
        while len(keys) < count:
            self._key, start = "", self._at
            name = self._name_of_key()
            if name in keys:
                self._fail(f"the key {show(name)} appears twice")
            self._key = name
            keys[name] = self._value()
            self._places[name] = start, self._at
        order = "little" if self._sign == "<" else "big"
        return Head(version, order, tensors, keys, self._at, self._places)

    def _begin(self) -> tuple[int, int, int]:
        """The version, and how many tensors and keys there are."""
        if not is_gguf(self._take(4)):
            self._fail("the file does not begin with GGUF")
        version = self._version()
        tensors, count = self._length(), self._length()
        if count > GGUF_KEYS.most:
            self._fail(GGUF_KEYS.passed("the file"))
        return version, tensors, count

    def _version(self) -> int:
        data = self._take(4)
        version = int.from_bytes(data, "little")
        # Versions are small, so the lower half is zero only in the other order of bytes.
        if version & 0xFFFF == 0:
            self._sign, version = ">", int.from_bytes(data, "big")
        if version not in VERSIONS:
            raise UnsupportedError(
                f"the version of the file is {version}; known are 1 to {VERSIONS[-1]}",
                where=self._name,
                fix="upgrade bpe-interop, if the file is not damaged",
            )
        self._wide = version > 1
        return version

    def _name_of_key(self) -> str:
        name = self._string()
        try:
            return name.decode("utf-8")
        except UnicodeDecodeError:
            self._fail(f"the name of a key, {show(name[:60])}, is not UTF-8")

    def _value(self) -> Key:
        kind = self._kind()
        if kind == _STRING:
            return Key(self._string(), _NAMES[kind])
        if kind == _ARRAY:
            return self._array()
        [number] = self._unpack(_NUMBERS[kind])
        if kind == _BOOL:
            return Key(self._truth(number), _NAMES[kind])
        return Key(number, _NAMES[kind])

    def _array(self) -> Key:
        kind, count = self._kind(), self._length()
        if kind == _ARRAY:
            raise UnsupportedError(
                "an array of arrays, which llama.cpp does not read either",
                where=f"{self._name}: {self._key}",
                fix="the file may be damaged; get it again",
            )
        if kind == _STRING:
            return Key(self._strings(count), _NAMES[_ARRAY], _NAMES[kind])
        code = _NUMBERS[kind]
        size = struct.calcsize(f"={code}")
        numbers = array(_ARRAY_CODES.get(code, code))
        numbers.frombytes(self._take(count * size))
        if (sys.byteorder == "little") != (self._sign == "<"):
            numbers.byteswap()
        if kind == _BOOL:
            return Key([self._truth(number) for number in numbers], _NAMES[_ARRAY], _NAMES[kind])
        return Key(numbers, _NAMES[_ARRAY], _NAMES[kind])

    def _strings(self, count: int) -> list[bytes]:
        """Strings one after the other; the bytes must be there before each is made."""
        # Each takes its length at least.
        self._need(count * (8 if self._wide else 4))
        if self._begun is None or self._begun[0] != self._at:
            self._begun = self._at, self._at, []
        first, at, strings = self._begun
        data, end = self._data, len(self._data)
        width = struct.Struct(self._sign + ("Q" if self._wide else "I"))
        size, length, add = width.size, width.unpack_from, strings.append
        for _ in range(count - len(strings)):
            start = at + size
            stop = start + length(data, at)[0] if start <= end else start
            if stop > end or start > end:
                # More bytes may come (`go_on`): the strings that are whole are not read again.
                self._begun = first, at, strings
                self._need(stop - self._at)
            add(data[start:stop])
            at = stop
        self._begun, self._at = None, at
        return strings

    def _kind(self) -> int:
        [kind] = self._unpack("I")
        if kind not in _NAMES:
            raise UnsupportedError(
                f"a value of type {kind}, which is not known",
                where=f"{self._name}: {self._key}" if self._key else self._name,
                fix="upgrade bpe-interop, if the file is not damaged",
            )
        return int(kind)

    def _truth(self, number: int) -> bool:
        if number > 1:
            self._fail(f"a bool must be 0 or 1, and is {number}")
        return number == 1

    def _length(self) -> int:
        [length] = self._unpack("Q" if self._wide else "I")
        return int(length)

    def _string(self) -> bytes:
        return self._take(self._length())

    def _unpack(self, code: str) -> tuple[int]:
        form = struct.Struct(self._sign + code)
        number: tuple[int] = form.unpack(self._take(form.size))
        return number

    def _take(self, count: int) -> bytes:
        self._need(count)
        start = self._at
        self._at += count
        return self._data[start : self._at]

    def _need(self, count: int) -> None:
        if self._at + count > len(self._data):
            # A length from a file is never trusted: nothing is set aside for it before the bytes
            # are there.
            if self._at + count > GGUF_HEAD_BYTES.most:
                raise FormatError(
                    GGUF_HEAD_BYTES.passed(f"the head (with a length of {count:,})"),
                    where=f"{self._name}: {self._key}" if self._key else self._name,
                    fix="the file may be damaged; get it again",
                )
            raise _EndsEarlyError(self._at + count)

    def _fail(self, what: str) -> NoReturn:
        where = f"{self._name}: {self._key}" if self._key else self._name
        raise FormatError(what, where=where)


_ARRAY_CODES: Final[Mapping[str, str]] = {
    "I": "I" if array("I").itemsize == 4 else "L",
    "i": "i" if array("i").itemsize == 4 else "l",
}
"""``array`` has the sizes of the machine's C compiler."""


VERSION: Final = 3

Typed: TypeAlias = tuple[str, Any]
"""The name of a type and a value; of an array, the type of its members and these."""


def rendered(keys: Mapping[str, Typed], tensors: int = 0) -> bytes:
    """A little-endian head with these keys in their order, and ``tensors`` tensors to follow."""
    parts = [key_bytes(name, typed) for name, typed in keys.items()]
    return head_of(parts, tensors)


def with_key(data: bytes, name: str, typed: Typed) -> bytes:
    """What :func:`rendered` made without tensors, with a further key behind the others."""
    version, tensors, count = struct.unpack_from("<IQQ", data, len(MAGIC))
    counts = struct.pack("<IQQ", version, tensors, count + 1)
    return b"".join([MAGIC, counts, data[len(MAGIC) + len(counts) :], key_bytes(name, typed)])


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
        lengths = map(struct.Struct(f"{sign}Q").pack, map(len, members))
        yield from chain.from_iterable(zip(lengths, members, strict=True))
    else:
        yield struct.pack(f"{sign}{len(members)}{form}", *members)


def _string(data: bytes, sign: str) -> bytes:
    return struct.pack(f"{sign}Q", len(data)) + data
