"""The head of an existing GGUF file with another tokenizer in it; all else is kept as it is.

Behind the keys stand descriptions of tensors: for each its name (a string), the number of its
dimensions (uint32), each of these (uint64), the number of its type (uint32) and its offset (uint64)
from where the data begins: at the next multiple of ``general.alignment`` (by default 32) behind the
last description. The data itself is never read here.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final, NoReturn

from ...errors import FormatError, TargetError, UnsupportedError
from ...limits import GGUF_ALIGNMENT, GGUF_DIMENSIONS, GGUF_NAME_BYTES, GGUF_TENSORS
from ...model import BPEModel
from ...quoting import show
from .. import Files
from .head import Head, Key, Typed, head_of, key_bytes, parse_head, read_head, typed_of
from .keys import ADD, ARCHITECTURE, CHAT, MODEL, ROLES, SCORES, TOKENS, TYPES, Keys
from .tokens import GAPS, UNUSED
from .write import stated_ids

ALIGNMENT: Final = "general.alignment"
DEFAULT_ALIGNMENT: Final = 32


@dataclass(frozen=True, slots=True)
class Tensors:
    """The descriptions as they stand in the file.

    Attributes:
        described: their bytes.
        shapes: by name, the dimensions; the first one varies fastest.
        alignment: the data begins at a multiple of so many bytes.
        start: where in the file it begins.
    """

    described: bytes
    shapes: Mapping[str, tuple[int, ...]]
    alignment: int
    start: int


_TOKENIZER: Final = "tokenizer."
_OF_IDS: Final = ("_token_id", "_token_ids", "_tokens")
"""How the names of keys end that name ids."""
FILLER_SCORE: Final = -10_000.0
MAX_FILLERS: Final = 1 << 16
"""So many rows without a token are filled; a model has some hundred, to make a round number."""

_PARTS: Final = "split.count"
_EMBEDDING: Final = "token_embd.weight"
"""The tensor with a row for each id; its second dimension is their number."""


@dataclass(frozen=True, slots=True)
class KeptHead:
    """The head of the existing file without its tokenizer, and where its data begins.

    Called with a model and what was written of it (a way of writing, as ``Format.options`` has
    them), it gives the head that the new file begins with, up to the data of its tensors.
    """

    name: str
    raw: bytes
    head: Head
    tensors: Tensors

    @property
    def start(self) -> int:
        """Where in the existing file what is copied begins."""
        return self.tensors.start

    def __call__(self, model: BPEModel, files: Files) -> Files:
        """The new head.

        Raises:
            TargetError: the tokenizer has more tokens than the model has rows for.
        """
        [(name, data)] = files.items()
        new = {key: typed_of(value) for key, value in parse_head(data, name).keys.items()}
        parts = [*self._in_order(self._tokenizer_keys(new, stated_ids(model)))]
        head = self.head
        made = head_of(parts, head.tensors, version=head.version, order=head.order)
        made += self.tensors.described
        # The data of tensors begins at the next multiple of the alignment.
        return {name: made + bytes(-len(made) % self.tensors.alignment)}

    def _tokenizer_keys(
        self, written: Mapping[str, Typed], stated: Collection[str]
    ) -> dict[str, Typed]:
        """The keys about the tokenizer: what was written, fillers, what the old one said besides.

        Raises:
            TargetError: the tokenizer has more tokens than the model has rows for.
        """
        new = {key: typed for key, typed in written.items() if key.startswith(_TOKENIZER)}
        _fill(new, self._rows(), self.name)
        # What the existing file says of a role comes before what llama.cpp takes of itself.
        old, now = _texts(self.head.keys), new[TOKENS][1][1]
        for key in {*ROLES.values(), *GAPS.values()}.difference(stated):
            entry = self.head.keys.get(key)
            if entry is not None and _means_the_same(entry, old, now):
                new.pop(key, None)
        return new | dict(self._other_tokenizer_keys(new))

    def notes(self, files: Files) -> Iterator[str]:
        """What became of the keys of the existing tokenizer, for people."""
        count = self.head.keys.get(_PARTS)
        if count is not None and isinstance(count.value, int) and count.value > 1:
            yield (
                f"{self.name}: this is the first of {count.value:,} files; the others hold tensors "
                "only, and stay as they are: put them beside the new one, under its name"
            )
        [(name, data)] = files.items()
        now = parse_head(data, name).keys
        before = self.head.keys
        gone = [key for key in before if key not in now]
        if gone:
            yield f"{self.name}: left out, as they belong to the old tokenizer: {', '.join(gone)}"
        texts, old = _texts(now), _texts(before)
        for role, key in ROLES.items():
            was, becomes = _token_of(before.get(key), old), _token_of(now.get(key), texts)
            if was and becomes and was != becomes:
                yield f"{self.name}: its {role} token was {was}, and is {becomes} now"
        for role, key in ADD.items():
            placed = [_flag(keys, key, role) for keys in (before, now)]
            if placed[0] != placed[1]:
                one, two = (f"a {role}" if each else "none" for each in placed)
                yield f"{self.name}: the tokenizer placed {one} around a text, the new one {two}"
        changed = [
            number for number, text in enumerate(old) if texts[number : number + 1] != [text]
        ]
        if changed:
            first = changed[0]
            other = show(texts[first]) if first < len(texts) else "no token"
            yield (
                f"{self.name}: {len(changed):,} of {len(old):,} ids had another token, such as "
                f"{first}: {show(old[first])}, now {other}"
            )
            chat = [before.get(CHAT), now.get(CHAT)]
            if chat[0] is not None and chat[0] == chat[1]:
                yield (
                    f"{self.name}: its chat template was kept; see that it names tokens of the "
                    "new tokenizer"
                )

    def _rows(self) -> int | None:
        """How many ids the model has rows for; None if the file does not say."""
        # The embedding itself says it, else a key of the architecture, else the old tokenizer. A
        # shape begins with the innermost dimension: width, rows.
        shape = self.tensors.shapes.get(_EMBEDDING, ())
        if len(shape) == 2:
            return shape[1]
        architecture = self.head.keys.get(ARCHITECTURE)
        value = architecture.value if architecture is not None else b""
        called = value.decode("utf-8", "replace") if isinstance(value, bytes) else ""
        stated = self.head.keys.get(f"{called}.vocab_size")
        if stated is not None and isinstance(stated.value, int):
            return stated.value
        return len(_texts(self.head.keys)) or None

    def _other_tokenizer_keys(self, new: Mapping[str, Typed]) -> Iterator[tuple[str, Typed]]:
        """What the existing tokenizer says besides, where the new one has the tokens it means."""
        old, now = _texts(self.head.keys), new[TOKENS][1][1]
        for key, entry in self.head.keys.items():
            if key in new or not key.startswith(_TOKENIZER):
                continue
            if (key.startswith(CHAT) and CHAT not in new) or (
                key.endswith(_OF_IDS) and _means_the_same(entry, old, now)
            ):
                yield key, typed_of(entry)

    def _in_order(self, new: Mapping[str, Typed]) -> Iterator[bytes]:
        """All keys: the new tokenizer's stand together where the old one began."""
        order = self.head.order
        put = False
        for key, (start, end) in self.head.places.items():
            if not key.startswith(_TOKENIZER):
                yield self.raw[start:end]
            elif not put:
                put = True
                yield from (key_bytes(name, typed, order) for name, typed in new.items())
        if not put:
            yield from (key_bytes(name, typed, order) for name, typed in new.items())


def kept_of_file(file: BinaryIO, size: int, name: str) -> KeptHead:
    """Reads what is kept of an existing file, which is open at its begin and has ``size`` bytes.

    Raises:
        FormatError, UnsupportedError: its head is malformed, or of a version that is not known.
        TargetError: it is a later part of a model in several files.
    """
    raw = read_head(file, name)
    head = parse_head(raw, name)
    part = Keys(head, name).part()
    if part:
        raise TargetError(
            f"this is part {part + 1:,} of a model in several files, and only the first has the "
            "tokenizer",
            where=name,
            fix="name the first file",
        )
    return KeptHead(name, raw, head, read_tensors(file, head, size, name))


def _texts(keys: Mapping[str, Key]) -> Sequence[bytes]:
    entry = keys.get(TOKENS)
    if entry is None or entry.members != "string" or not isinstance(entry.value, list):
        return []
    return entry.value


def _flag(keys: Mapping[str, Key], key: str, role: str) -> bool:
    """Whether a text gets the token of a role, by what llama.cpp takes where no key says it."""
    if key in keys:
        return keys[key].value is True
    model = keys.get(MODEL)
    return role == "bos" and model is not None and model.value == b"llama"


def _token_of(key: Key | None, texts: Sequence[bytes]) -> str | None:
    """The id that a key names, with its token; None without either."""
    if key is None or not isinstance(key.value, int) or not 0 <= key.value < len(texts):
        return None
    return f"{key.value} {show(texts[key.value])}"


def _means_the_same(key: Key, old: Sequence[bytes], now: Sequence[bytes]) -> bool:
    """Whether the ids that a key names have the same tokens, and its texts are tokens still."""
    value = key.value
    listed = [value] if isinstance(value, (bytes, int, float)) else value
    texts = {*now} if any(isinstance(each, bytes) for each in listed) else frozenset[bytes]()
    return all(
        each in texts
        if isinstance(each, bytes)
        else isinstance(each, int)
        and each >= 0
        and old[each : each + 1] == now[each : each + 1] != []
        for each in listed
    )


def _fill(new: dict[str, Typed], rows: int | None, name: str) -> None:
    """Gives rows of the model that no token has a filler, as llama.cpp's converter does."""
    texts: list[bytes] = list(new[TOKENS][1][1])
    count = len(texts)
    if rows is None or rows == count:
        return
    if not count <= rows <= count + MAX_FILLERS:
        raise TargetError(
            f"the model has {rows:,} rows of embedding, and the tokenizer {count:,} tokens",
            where=name,
            fix="take the tokenizer that the model was trained with",
        )
    for key, kind, members in (
        (TOKENS, "string", [b"[PAD%d]" % number for number in range(count, rows)]),
        (TYPES, "int32", [UNUSED] * (rows - count)),
        (SCORES, "float32", [FILLER_SCORE] * (rows - count)),
    ):
        if key in new:
            new[key] = ("array", (kind, [*new[key][1][1], *members]))
    if len({*new[TOKENS][1][1]}) < rows:
        raise TargetError(
            "a row without a token needs a filler, and a token is spelled like it",
            where=f"{name}: {TOKENS}",
            fix="take the tokenizer that the model was trained with",
        )


def read_tensors(file: BinaryIO, head: Head, size: int, name: str) -> Tensors:
    """Reads the descriptions, and nothing of a tensor; ``size`` is that of the file in bytes.

    Raises:
        FormatError: they are malformed, cut off, or speak of data that is not there.
        UnsupportedError: a version with another layout.
    """
    if head.version < 2:
        raise UnsupportedError(
            "the descriptions of tensors in version 1 are laid out otherwise, and llama.cpp does "
            "not read that version any more",
            where=name,
            fix="make the file anew with a newer llama.cpp",
        )
    if head.tensors > GGUF_TENSORS.most:
        raise FormatError(GGUF_TENSORS.passed("the file"), where=name)
    reader = _Descriptions(file, head, name)
    shapes: dict[str, tuple[int, ...]] = {}
    last = 0
    for _ in range(head.tensors):
        called, shape, offset = reader.tensor()
        if called in shapes:
            raise FormatError(f"the tensor {show(called)} appears twice", where=name)
        shapes[called] = shape
        # Of a tensor that is not empty the first byte at least must be there.
        last = max(last, offset + 1 if all(shape) else offset)
    alignment = _alignment(head, name)
    end = head.size + len(reader.read)
    start = end + -end % alignment
    if head.tensors and start + last > size:
        raise FormatError(
            f"the file ends after {size:,} bytes, and a tensor begins at {start + last - 1:,}",
            where=name,
            fix="the file may be cut off, or damaged; get it again",
        )
    return Tensors(bytes(reader.read), shapes, alignment, start)


def _alignment(head: Head, name: str) -> int:
    key = head.keys.get(ALIGNMENT)
    if key is None:
        return DEFAULT_ALIGNMENT
    value = key.value
    if key.type != "uint32" or not isinstance(value, int) or not value > 0:
        raise FormatError(
            f"the alignment must be a uint32 of at least 1, found {key.type} {value!r}"[:200],
            where=f"{name}: {ALIGNMENT}",
        )
    if value > GGUF_ALIGNMENT.most:
        raise FormatError(GGUF_ALIGNMENT.passed("the alignment"), where=f"{name}: {ALIGNMENT}")
    if value & (value - 1):
        raise FormatError(
            f"the alignment must be a power of two, and is {value:,}",
            where=f"{name}: {ALIGNMENT}",
        )
    return value


class _Descriptions:
    """Reads one description after the other, and keeps their bytes."""

    def __init__(self, file: BinaryIO, head: Head, name: str) -> None:
        file.seek(head.size)
        self._file = file
        self._name = name
        self._sign = "<" if head.order == "little" else ">"
        self.read = bytearray()

    def tensor(self) -> tuple[str, tuple[int, ...], int]:
        """The name, the dimensions, and the offset."""
        length = self._number("Q")
        if length > GGUF_NAME_BYTES.most:
            self._fail(GGUF_NAME_BYTES.passed("the name of a tensor"))
        raw = self._take(length)
        try:
            called = raw.decode("utf-8")
        except UnicodeDecodeError:
            self._fail(f"the name of a tensor, {show(raw[:60])}, is not UTF-8")
        count = self._number("I")
        if count > GGUF_DIMENSIONS.most:
            self._fail(GGUF_DIMENSIONS.passed(f"the tensor {show(called)}"))
        shape = tuple(self._number("Q") for _ in range(count))
        self._number("I")  # the type of its values
        return called, shape, self._number("Q")

    def _number(self, code: str) -> int:
        form = struct.Struct(self._sign + code)
        return int(form.unpack(self._take(form.size))[0])

    def _take(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            self._fail("the file ends within the descriptions of its tensors")
        self.read += data
        return data

    def _fail(self, what: str) -> NoReturn:
        raise FormatError(
            what, where=self._name, fix="the file may be cut off, or damaged; get it again"
        )
