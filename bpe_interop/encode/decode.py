"""Ids to text and to bytes, by a model's decoder.

The kernel joins the bytes of tokens, of characters too. Where the bytes of all ids make valid
UTF-8 together, so does each run of tokens of bytes by itself, because what stands beside it is
text. Then nothing is replaced, and the text is what the steps of ``text/decoders.py``, the twin,
give. Everything else is left to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Literal, TypeAlias, TypeVar, Union

from ..entries import numbered
from ..errors import DecodeError
from ..kernel import is_aside
from ..kernel.decoder import ByteDecoder, decoder_of
from ..model import AddedToken, BPEModel
from ..quoting import show
from ..steps import (
    SPACE,
    ByteTokens,
    DecoderStep,
    Fuse,
    JoinBytes,
    JoinPieces,
    JoinTokens,
    MetaspaceText,
    Replace,
    StripToken,
    Verbatim,
    WordEnds,
    WordPieces,
    no_branch,
)
from ..text.added_tokens import decoded_text
from ..text.bytechars import is_mapped, to_bytes, to_chars
from ..text.decoders import (
    Malformed,
    PieceJoiner,
    PieceKind,
    byte_of,
    decode_pieces,
    decode_tokens,
    token_bytes,
    verbatim_of,
)
from ..text.normalize import normalize
from .stream import AsItIs, Bytes, Chain, DecodeStream

T = TypeVar("T")

Meaning: TypeAlias = Union[bytes, str, tuple[str, PieceKind]]
"""What an id is to a decoder: bytes, a token as its file spells it, or a piece and its kind."""

_NO_IDS: Set[int] = frozenset()


@dataclass(frozen=True, slots=True)
class TextJoiner:
    """The text of ids of a model of characters, by the kernel. Threads may share it.

    Attributes:
        bytes_of: joins the bytes of ids; it does not know those that are left to Python.
        silent: ids that say nothing where a text begins and ends.
        stripped: ids of which the first character is left out where a text begins.
        after: steps for the text as a whole.
    """

    bytes_of: ByteDecoder
    silent: Set[int] = _NO_IDS
    stripped: Set[int] = _NO_IDS
    after: Sequence[DecoderStep] = (Fuse(),)

    def text(self, ids: Sequence[int]) -> str | None:
        """The text of ids; None where Python has to tell.

        Raises:
            DecodeError: tokenizers fails on these ids.
        """
        # Control pieces at the ends say nothing; one in between is left to Python, for the kernel
        # does not know it.
        start, end = 0, len(ids)
        while start < end and ids[start] in self.silent:
            start += 1
        while start < end and ids[end - 1] in self.silent:
            end -= 1
        joined = self.bytes_of.join(ids[start:end])
        if joined is None or start == end:
            return None
        try:
            text = joined.decode("utf-8")
        except UnicodeDecodeError:
            return None  # the steps say which bytes become U+FFFD
        if ids[start] in self.stripped:
            text = text[1:]
        return decode_tokens(self.after, [text])


def joiner_of_pieces(
    step: JoinPieces, pieces: Mapping[int, tuple[str, PieceKind]]
) -> TextJoiner | None:
    """What joins pieces; None where spaces are collapsed, or the text goes through a map."""
    if step.collapse or step.charsmap:
        return None
    contents: dict[int, bytes] = {}
    for number, (piece, kind) in pieces.items():
        if kind == "byte":
            contents[number] = bytes((int(piece[3:5], 16),))
        elif kind != "control":
            shown = step.unknown if kind == "unknown" else piece.replace(SPACE, " ")
            if shown:
                contents[number] = shown.encode("utf-8")
    silent = {number for number, (_, kind) in pieces.items() if kind == "control"}
    stripped = {
        number
        for number, (piece, kind) in pieces.items()
        if step.dummy != "none" and kind == "piece" and piece.startswith(SPACE)
    }
    joined = decoder_of(contents)
    return None if joined is None else TextJoiner(joined, silent, stripped)


def joiner_of_tokens(
    steps: Sequence[DecoderStep], tokens: Callable[[], Mapping[int, str]]
) -> TextJoiner | None:
    """What joins tokens; None unless each is read by itself before all are fused."""
    if Fuse() not in steps:
        return None
    place = steps.index(Fuse())
    alone, reads_bytes = [*steps[:place]], False
    if alone and isinstance(alone[-1], ByteTokens):
        del alone[-1]
        reads_bytes = True
    rules = [step for step in alone if isinstance(step, Replace)]
    if len(rules) != len(alone):
        return None
    contents: dict[int, bytes] = {}
    for number, token in tokens().items():
        token = normalize(rules, token)
        byte = byte_of(token) if reads_bytes else None
        if byte is not None:
            contents[number] = bytes((byte,))
        elif token:
            contents[number] = token.encode("utf-8")
    joined = decoder_of(contents)
    return None if joined is None else TextJoiner(joined, after=steps[place:])


_MANY = 12
"""Ids from which the kernel pays: to call it costs as much as to look up a few."""

_BYTE_TOKEN = re.compile(r"<0x[0-9A-Fa-f]{2}>")


class Decoder:
    """Decodes by a model. Threads may share it."""

    def __init__(self, model: BPEModel) -> None:
        self._model = model

    def text(
        self,
        ids: Sequence[int],
        skip_special: bool,
        errors: str,
    ) -> str:
        """The text of ids by the model's decoder; ``errors`` is for bytes that are joined.

        Raises:
            DecodeError: an id is not in the model, or is that of several added tokens.
        """
        if skip_special:
            ids = [number for number in ids if number not in self._special]
        if self._joins_bytes:
            if len(ids) >= _MANY and not is_aside():
                native = self._native_text
                joined = None if native is None else native.join(ids)
                if joined is not None:
                    return joined.decode("utf-8", errors)
            return b"".join(self._look_up(ids, self._decoded)).decode("utf-8", errors)
        verbatim, steps = self._steps
        if verbatim and not verbatim.keys().isdisjoint(ids):
            return self._with_verbatim(verbatim, steps, ids)
        if len(ids) >= _MANY and not is_aside():
            joiner = self._joiner
            text = None if joiner is None else joiner.text(ids)
            if text is not None:
                return text
        if len(steps) == 1 and isinstance(steps[0], JoinPieces):
            return decode_pieces(steps[0], self._look_up(ids, self._pieces))
        return decode_tokens(steps, self._look_up(ids, self._spelled))

    def _with_verbatim(
        self, verbatim: Mapping[int, bytes], steps: Sequence[DecoderStep], ids: Sequence[int]
    ) -> str:
        """The text of ids of which some are bytes whatever the steps do to a token by itself."""
        place = steps.index(Fuse())
        parts = []
        for given, run in groupby(ids, verbatim.__contains__):
            if given:
                parts += [verbatim[number].decode("utf-8") for number in run]
            else:
                tokens = self._look_up([*run], self._spelled)
                parts.append(decode_tokens([*steps[:place], Fuse()], tokens))
        rest = [*steps[place:]]
        if verbatim.get(ids[0]) == b"":
            rest = [step for step in rest if not isinstance(step, StripToken)]
        return decode_tokens(rest, parts)

    def stream(
        self, steps: Sequence[DecoderStep], *, skip_special: bool, errors: Malformed
    ) -> DecodeStream:
        """The text of ids that come one at a time, by decoder steps."""
        skipped = self._special if skip_special else frozenset[int]()

        def finder(table: Mapping[int, T]) -> Callable[[int], T | None]:
            return lambda number: None if number in skipped else self._look_up((number,), table)[0]

        def finder_of_all(table: Mapping[int, T]) -> Callable[[Sequence[int]], list[T]]:
            return lambda numbers: self._look_up([n for n in numbers if n not in skipped], table)

        def joined(numbers: Sequence[int]) -> list[bytes]:
            kept = [number for number in numbers if number not in skipped]
            return [self._joined(kept, "text")]

        verbatim, steps = verbatim_of(steps)
        only = steps[0] if len(steps) == 1 else None
        if self._model.alphabet == "byte" and isinstance(only, JoinBytes):
            return DecodeStream(finder(self._decoded), Bytes(errors), joined)
        if isinstance(only, JoinPieces):
            many = finder_of_all(self._pieces) if errors == "replace" else None
            return DecodeStream(finder(self._pieces), PieceJoiner(only, errors), many)
        if verbatim:
            spelled = {n: AsItIs(text.decode("utf-8")) for n, text in verbatim.items()}
            table = {**self._spelled, **spelled}
            return DecodeStream(finder(table), Chain(steps, errors))
        chain = Chain(steps, errors)
        several = finder_of_all(self._spelled) if chain.takes_many else None
        return DecodeStream(finder(self._spelled), chain, several)

    def join(self, ids: Sequence[int]) -> bytes:
        """The tokens' own bytes, joined.

        Raises:
            DecodeError: an id is not in the model, or is that of several added tokens.
        """
        return self._joined(ids, "bytes")

    def token_bytes(self, number: int) -> bytes:
        """One token's own bytes, to be shown. Of several texts with one id, the first listed.

        Raises:
            DecodeError: the id is not in the model.
        """
        shared = self._shared.get(number)
        return shared[0].encode() if shared else self.join((number,))

    def meanings(self, steps: Sequence[DecoderStep]) -> Mapping[int, Meaning]:
        """What each id is to decoder steps, before the first of them.

        Two models with equal steps decode ids alike if these mean the same in both. An id of
        several added tokens (``shared_ids``) is left out.
        """
        verbatim, steps = verbatim_of(steps)
        only = steps[0] if len(steps) == 1 else None
        if verbatim and not isinstance(only, JoinBytes):
            return {**self._spelled, **verbatim}
        if isinstance(only, JoinBytes):
            if self._model.alphabet == "byte":
                return self._decoded
            return {n: token_bytes(text) for n, text in self._spelled.items()}
        return self._pieces if isinstance(only, JoinPieces) else self._spelled

    def meanings_of(self, steps: Sequence[DecoderStep], numbers: Set[int]) -> Mapping[int, Meaning]:
        """The same of some ids: where bytes are joined, without looking at the others."""
        _, others = verbatim_of(steps)
        joined = len(others) == 1 and isinstance(others[0], JoinBytes)
        if self._model.alphabet == "byte" and joined:
            own = numbered(self._model.vocab.ids, numbers - self._shared.keys())
            meanings: Mapping[int, Meaning] = self._with_added(own)
        else:
            meanings = self.meanings(steps)
        return {number: meanings[number] for number in numbers if number in meanings}

    @cached_property
    def _steps(self) -> tuple[Mapping[int, bytes], Sequence[DecoderStep]]:
        return verbatim_of(self._model.decoder or ())

    @cached_property
    def _joins_bytes(self) -> bool:
        _, steps = self._steps
        return self._model.alphabet == "byte" and [*map(type, steps)] == [JoinBytes]

    @cached_property
    def _shared(self) -> dict[int, list[str]]:
        return shared_ids(self._model)

    @cached_property
    def _named(self) -> dict[int, AddedToken]:
        added = self._model.added or ()
        return {token.id: token for token in added if token.id not in self._shared}

    @cached_property
    def _special(self) -> frozenset[int]:
        """The ids left out by ``skip_special``: those that decode to a special token's text.

        tokenizers asks the decoded text (``tokenizer/mod.rs``, ``decode``), so a special token
        that its normalizer changes is not left out.
        """
        special = {token.text for token in self._model.added or () if token.special}
        shared = {n for n, texts in self._shared.items() if special.issuperset(texts)}
        return frozenset({n for n, text in self._texts.items() if text in special} | shared)

    @cached_property
    def _contents(self) -> dict[int, bytes]:
        ids = self._model.vocab.ids
        contents = dict(zip(ids.values(), ids, strict=True))  # a table makes no dictionary for it
        for number in self._shared:
            contents.pop(number, None)
        return contents

    @cached_property
    def _bytes(self) -> dict[int, bytes]:
        own = self._contents
        if self._model.alphabet != "byte":
            undo = own_bytes(self._model)
            own = {number: undo(content) for number, content in own.items()}
        return own | {number: token.text.encode() for number, token in self._named.items()}

    @cached_property
    def _texts(self) -> dict[int, str]:
        steps = self._model.normalizer or ()
        return {number: decoded_text(token, steps) for number, token in self._named.items()}

    @cached_property
    def _decoded(self) -> dict[int, bytes]:
        return self._with_added(self._contents)

    def _with_added(self, contents: dict[int, bytes]) -> dict[int, bytes]:
        """What some tokens are where bytes are joined, and what all added tokens are."""
        steps = self._model.decoder or ()
        mapped = JoinBytes(mapped_added=True) in steps
        verbatim, _ = verbatim_of(steps)
        added = {
            n: to_bytes(text) if mapped and is_mapped(text) else text.encode()
            for n, text in self._texts.items()
        }
        return {**contents, **added, **verbatim}

    @cached_property
    def _spelled(self) -> dict[int, str]:
        model = self._model
        in_text = model.alphabet != "byte"
        spelled = {
            number: content.decode("utf-8")
            if in_text or model.vocab.kinds.get(number) == "control"
            else to_chars(content)
            for number, content in self._contents.items()
        }
        return spelled | self._texts

    @cached_property
    def _pieces(self) -> dict[int, tuple[str, PieceKind]]:
        """Tokens as SentencePiece sees them: special ones are control pieces or the unknown."""
        kinds: dict[int | None, PieceKind] = {
            **{n: "byte" for n, kind in self._model.vocab.kinds.items() if kind == "byte"},
            **{n: "control" for n, token in self._named.items() if token.special},
            # Last, so that an unknown token that is special, too, is shown as unknown.
            self._model.fallback.unknown: "unknown",
        }
        return {n: (text, kinds.get(n, "piece")) for n, text in self._spelled.items()}

    def _joined(self, ids: Sequence[int], what: Literal["text", "bytes"]) -> bytes:
        """The bytes of ids, as decoded text has them or each token's own."""
        if len(ids) >= _MANY and not is_aside():
            native = self._native_text if what == "text" else self._native_bytes
            joined = None if native is None else native.join(ids)
            if joined is not None:
                return joined
        return b"".join(self._look_up(ids, self._decoded if what == "text" else self._bytes))

    @cached_property
    def _native_text(self) -> ByteDecoder | None:
        return decoder_of(self._decoded)

    @cached_property
    def _joiner(self) -> TextJoiner | None:
        """What decodes as the model's decoder does, in the kernel."""
        _, steps = self._steps
        only = steps[0] if len(steps) == 1 else None
        if isinstance(only, JoinPieces):
            return joiner_of_pieces(only, self._pieces)
        return joiner_of_tokens(steps, lambda: self._spelled)

    @cached_property
    def _native_bytes(self) -> ByteDecoder | None:
        return decoder_of(self._bytes)

    def _look_up(self, ids: Sequence[int], table: Mapping[int, T]) -> list[T]:
        try:
            return list(map(table.__getitem__, ids))
        except KeyError as error:
            number = error.args[0]
        if number in self._shared:
            texts = [show(text) for text in self._shared[number]]
            raise DecodeError(
                f"the id {number} is that of {len(texts)} special tokens, {' and '.join(texts)}: "
                "tiktoken decodes it as one of them, by the order of a hash table",
                fix="give them ids of their own, or leave all but one out",
            )
        raise DecodeError(f"there is no token with the id {number}", fix=self._ids_of(table))

    def _ids_of(self, table: Mapping[int, object]) -> str:
        """Which ids there are. Remembered, as a search may fail on thousands of sequences."""
        if id(table) not in self._ranges:
            first, last = min(table), max(table)
            all_used = len(table) > last
            self._ranges[id(table)] = f"ids go from {first} to {last}" + (
                "" if all_used else ", not all of them in use"
            )
        return self._ranges[id(table)]

    @cached_property
    def _ranges(self) -> dict[int, str]:
        """By the identity of a table, which lives as long as this decoder."""
        return {}


def shared_ids(model: BPEModel) -> dict[int, list[str]]:
    """The ids of several added tokens, and their texts.

    A rank file's special tokens may have them (200018 of ``o200k_harmony``). As which of them
    tiktoken decodes such an id goes by the order of a hash table (``src/lib.rs``,
    ``special_tokens_decoder``), so it is decoded as none.
    """
    texts: dict[int, dict[str, None]] = {}
    for token in model.added or ():
        texts.setdefault(token.id, {})[token.text] = None
    return {number: [*named] for number, named in texts.items() if len(named) > 1}


def own_bytes(model: BPEModel) -> Callable[[bytes], bytes]:
    """What a token that is spelled as text stands for by itself: the spelling undone.

    The decoder says what is spelled how. U+2581 is a space where pieces are joined, spaces are
    written as another text (``MetaspaceText``, ``WordEnds``), or that text is replaced by one;
    ``<0xE4>`` is a byte where pieces are joined or ``ByteTokens`` are read. What a step does
    only at the start or the end of a text is left out, and all other spelling stays.
    """
    rules: list[Replace] = []
    bytes_too = False
    for step in model.decoder or ():
        if isinstance(step, JoinPieces):
            rules.append(Replace("\u2581", " "))
            bytes_too = True
        elif isinstance(step, Replace):
            rules.append(step)
        elif isinstance(step, MetaspaceText):
            rules.append(Replace(step.replacement, " "))
        elif isinstance(step, WordEnds):
            rules.append(Replace(step.suffix, " "))
        elif isinstance(step, ByteTokens):
            bytes_too = True
        # These change no token by itself, or at an end of a text only.
        elif not isinstance(step, (Verbatim, JoinBytes, JoinTokens, Fuse, StripToken, WordPieces)):
            raise no_branch(step)

    def undo(content: bytes) -> bytes:
        text = content.decode("utf-8")
        if bytes_too and _BYTE_TOKEN.fullmatch(text):
            return bytes([int(text[3:5], 16)])
        return normalize(rules, text).encode("utf-8")

    return undo
