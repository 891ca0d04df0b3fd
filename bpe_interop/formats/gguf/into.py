"""The head of an existing GGUF file with another tokenizer in it; all else is kept as it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO, Final

from ...errors import TargetError
from ...model import BPEModel, show
from .. import Files
from .head import Head, Key, parse_head, read_head
from .key_bytes import Typed, head_of, key_bytes, typed_of
from .keys import ARCHITECTURE, CHAT, SCORES, TOKENS, TYPES, Keys
from .tensors import Tensors, read_tensors
from .types import UNUSED

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
        parts = [*self._in_order(self.tokenizer_keys(new))]
        head = self.head
        made = head_of(parts, head.tensors, version=head.version, order=head.order)
        made += self.tensors.described
        return {name: made + bytes(-len(made) % self.tensors.alignment)}

    def tokenizer_keys(self, written: Mapping[str, Typed]) -> dict[str, Typed]:
        """The keys about the tokenizer: what was written, fillers, what the old one said besides.

        Raises:
            TargetError: the tokenizer has more tokens than the model has rows for.
        """
        new = {key: typed for key, typed in written.items() if key.startswith(_TOKENIZER)}
        _fill(new, self._rows(), self.name)
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
    """Reads what is kept of an existing file: its keys and the descriptions of its tensors.

    Args:
        file: the file, opened for reading bytes, at its begin.
        size: how many bytes it has.
        name: its name, for messages.

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
