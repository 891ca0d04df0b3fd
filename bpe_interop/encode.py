"""The encoder: text to ids and back, exactly as the engines of a model's formats do it.

Text goes through surrogate repair, added tokens, normalizer, pre-tokenizer, whole-pretoken
lookup, merging and numbering; ids come back through the model's decoder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, groupby
from typing import TypeVar

from .errors import DecodeError, EncodeError, InvalidModelError, UnstatedError
from .model import (
    AddedToken,
    BPEModel,
    PairList,
    TemplatePart,
    TemplateText,
    show,
)
from .steps import JoinBytes, JoinTokens
from .text.added import AddedMatcher, Allowed, decoded_text
from .text.bytechars import is_mapped, to_bytes, to_chars
from .text.normalize import Spans, align, normalize, repair, repaired_spans
from .text.split import Splitter, compiled
from .theory.merges import Merger, symbols_of, textual

T = TypeVar("T")

_CACHED = 1 << 18
"""How many pretokens are remembered, and in characters how long one may be."""
_CACHED_LENGTH = 128


class _Remembered(dict[str, tuple[int, ...]]):
    """Pretokens to ids, computed when first asked for; forgotten all at once when full."""

    def __init__(self, compute: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, pretoken: str) -> tuple[int, ...]:
        ids = self._compute(pretoken)
        if len(pretoken) <= _CACHED_LENGTH:
            if len(self) >= _CACHED:
                self.clear()
            self[pretoken] = ids
        return ids


class Encoder:
    """Encodes and decodes by a model. Threads may share one; it pickles as its model."""

    def __init__(self, model: BPEModel) -> None:
        self.model = model

    def __reduce__(self) -> tuple[object, ...]:
        return Encoder, (self.model,)

    # Text to ids.

    def encode(self, text: str, allowed_special: Allowed = frozenset()) -> list[int]:
        """The ids of a text.

        Special tokens outside ``allowed_special`` are ordinary text; added tokens that are not
        special are always found.

        Raises:
            UnstatedError: the model leaves the pre-tokenizer or normalizer unsaid, or the special
                tokens where any is allowed.
            EncodeError: the text has no encoding.
            PatternError: the pattern does not run to its end on this text.
        """
        text = repair(text)
        added = self._matcher(allowed_special)
        if added.is_idle(allowed_special):
            return self._ordinary(self._normalize(text))
        ids: list[int] = []
        for part in added.cut(text, allowed_special, self._normalize):
            if isinstance(part, int):
                ids.append(part)
            else:
                ids += self._ordinary(part)
        return ids

    def encode_with_offsets(
        self, text: str, allowed_special: Allowed = frozenset()
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids, and for each the characters (start, end) of ``text`` that it stands for.

        A token that starts or ends inside a character covers it. Where a normalizer changes the
        text, tokens stand for what their characters were made from (:func:`.normalize.align`);
        a space put before a pretoken belongs to its first character.

        Raises:
            The errors of :meth:`encode`.
        """
        repaired = repair(text)
        given = None if repaired == text else repaired_spans(text)
        ids: list[int] = []
        spans: Spans = []
        for number, start, end in self._placed(repaired, allowed_special):
            ids.append(number)
            spans.append((start, end) if given is None else (given[start][0], given[end - 1][1]))
        return ids, spans

    def normalize(self, text: str) -> str:
        """The text after the normalizer.

        Raises:
            UnstatedError: the model leaves the normalizer unsaid.
        """
        return self._normalize(repair(text))

    def pretokenize(self, text: str) -> list[str | bytes]:
        """The pretokens of a text, normalized first; added tokens are not looked for.

        A pretoken is bytes where a step that sees single bytes has cut inside a character.

        Raises:
            UnstatedError: the model leaves the pre-tokenizer or normalizer unsaid.
        """
        pretokens = self._splitter(self.normalize(text))
        if not self._splitter.maps:
            return list(pretokens)
        return [_text_or_bytes(to_bytes(pretoken)) for pretoken in pretokens]

    def encode_pretoken(self, content: bytes) -> list[int]:
        """The ids of one pretoken, given as bytes.

        Raises:
            EncodeError: a symbol is not in the vocabulary and the model has no fallback.
        """
        ids = self._ids
        if self.model.lookup_first and content and content in ids:
            return [ids[content]]
        if self.model.fallback.missing == "error":
            try:
                tokens = self._merger.run(symbols_of(content, self.model.alphabet))
                return [ids[token] for token in tokens]
            except KeyError:
                pass  # the slower way says which symbol it is
        return [number for number, _, _ in self._merged(content)]

    def template(self, ids: list[int], pair: list[int] | None = None) -> list[int]:
        """Places ids around one text, or around a pair of texts, as the model says.

        Raises:
            UnstatedError: the model leaves the sequence template unsaid.
        """
        template = self._stated(self.model.sequence_template, "sequence template")
        parts: tuple[TemplatePart, ...] = template.single if pair is None else template.pair
        second = [] if pair is None else pair
        if not parts:
            return [*ids, *second]
        placed: list[int] = []
        for part in parts:
            if isinstance(part, TemplateText):
                placed += ids if part.which == "A" else second
            else:
                placed += part.ids
        return placed

    # Ids to text.

    def decode(
        self, ids: Sequence[int], *, skip_special: bool = False, errors: str = "replace"
    ) -> str:
        """The text of ids, by the model's decoder.

        ``errors`` is what to do with bytes that are not UTF-8, as in ``bytes.decode``.

        Raises:
            DecodeError: an id is not in the model.
            UnstatedError: the model leaves the decoder unsaid.
        """
        steps = self._stated(self.model.decoder, "decoder")
        if skip_special:
            ids = [number for number in ids if number not in self._special]
        if steps == (JoinTokens(),):
            return " ".join(self._spelled(number) for number in ids)
        return self._join(ids, self._decoded).decode("utf-8", errors)

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The tokens' own bytes, joined; added tokens are the UTF-8 of their text.

        Raises:
            DecodeError: an id is not in the model.
        """
        return self._join(ids, self._bytes)

    def token_bytes(self, id: int) -> bytes:
        """One token's own bytes. Of several texts with one id, the first listed.

        Raises:
            DecodeError: the id is not in the model.
        """
        return self._join((id,), self._bytes)

    # What these are made of, built when first needed.

    def _stated(self, value: T | None, what: str) -> T:
        if value is not None:
            return value
        raise UnstatedError(
            f"the {what} of this tokenizer is not known: its source does not say",
            where=self.model.origin.name,
            fix="name a preset (--preset NAME, or preset=NAME in code), or put a sidecar file "
            "that says it beside the source",
        )

    @cached_property
    def _normalize(self) -> Callable[[str], str]:
        steps = self._stated(self.model.normalizer, "normalizer")
        return (lambda text: normalize(steps, text)) if steps else str

    @cached_property
    def _splitter(self) -> Splitter:
        return compiled(self._stated(self.model.pretokenizer, "pre-tokenizer (pattern)"))

    @cached_property
    def _added(self) -> AddedMatcher:
        added = self._stated(self.model.added, "set of special tokens")
        return AddedMatcher(added, self._normalize)

    def _matcher(self, allowed: Allowed) -> AddedMatcher:
        """Formats that leave special tokens unsaid have no other added tokens.

        So where no special token is looked for, it need not be known which there are.
        """
        if self.model.added is None and not allowed:
            return AddedMatcher((), self._normalize)
        return self._added

    @cached_property
    def _ids(self) -> Mapping[bytes, int]:
        return textual(self.model)

    @cached_property
    def _merger(self) -> Merger:
        rule, unknown = self.model.merges, self.model.fallback.unknown
        if unknown is not None and isinstance(rule, PairList):
            content = next((t for t, i in self._ids.items() if i == unknown), None)
            if any(content in pair for pair in rule.pairs):
                raise InvalidModelError("a merge names the token for unknown text", field="merges")
        return Merger(rule)

    @cached_property
    def _remembered(self) -> _Remembered:
        to_content = to_bytes if self._splitter.maps else str.encode
        return _Remembered(lambda pretoken: tuple(self.encode_pretoken(to_content(pretoken))))

    def _ordinary(self, text: str) -> list[int]:
        pretokens = self._splitter(text)
        return list(chain.from_iterable(map(self._remembered.__getitem__, pretokens)))

    def _merged(self, content: bytes) -> Iterator[tuple[int, int, int]]:
        """The tokens of one pretoken: id, and the bytes (start, end) it stands for."""
        ids = self._ids
        if not content:
            return
        if self.model.lookup_first and content in ids:
            yield ids[content], 0, len(content)
            return
        symbols = symbols_of(content, self.model.alphabet)
        missing = self.model.fallback.missing
        if missing != "error" and not all(symbol in ids for symbol in symbols):
            yield from self._dropped(symbols) if missing == "drop" else self._unknown(symbols)
            return
        start = 0
        for token in self._merger.run(symbols):
            number = ids.get(token)
            if number is None:
                raise EncodeError(
                    f"{show(token)} in {show(content)} is not in the vocabulary, "
                    "so this text has no encoding"
                )
            yield number, start, start + len(token)
            start += len(token)

    def _dropped(self, symbols: list[bytes]) -> Iterator[tuple[int, int, int]]:
        """Symbols without a token vanish, and those beside them may merge (tokenizers)."""
        places: list[int] = []
        kept: list[bytes] = []
        start = 0
        for symbol in symbols:
            if symbol in self._ids:
                kept.append(symbol)
                places += range(start, start + len(symbol))
            start += len(symbol)
        start = 0
        for token in self._merger.run(kept):
            end = start + len(token)
            yield self._ids[token], places[start], places[end - 1] + 1
            start = end

    def _unknown(self, symbols: list[bytes]) -> Iterator[tuple[int, int, int]]:
        """Symbols without a token become the unknown token, which never merges."""
        fallback, start = self.model.fallback, 0
        if fallback.unknown is None:
            raise InvalidModelError("the token for unknown text is not named", field="fallback")
        for present, group in groupby(symbols, self._ids.__contains__):
            run = list(group)
            if present:
                tokens = [(self._ids[token], len(token)) for token in self._merger.run(run)]
            elif fallback.fuse:
                tokens = [(fallback.unknown, sum(map(len, run)))]
            else:
                tokens = [(fallback.unknown, len(symbol)) for symbol in run]
            for number, length in tokens:
                yield number, start, start + length
                start += length

    def _placed(self, text: str, allowed: Allowed) -> Iterator[tuple[int, int, int]]:
        """The ids of a repaired text and the characters they stand for."""
        steps = self._stated(self.model.normalizer, "normalizer")
        added = self._matcher(allowed)
        for start, end, number in added.find_raw(text, allowed):
            if number is not None:
                yield number, start, end
                continue
            part, spans = align(steps, text[start:end])
            spans = [(start + first, start + last) for first, last in spans]
            for first, last, inner in added.find_normalized(part, allowed):
                if inner is not None:
                    yield inner, spans[first][0], spans[last - 1][1]
                else:
                    yield from self._placed_ordinary(part[first:last], spans[first:last])

    def _placed_ordinary(self, text: str, spans: Spans) -> Iterator[tuple[int, int, int]]:
        for pretoken, places in self._splitter.align(text):
            if self._splitter.maps:
                content = to_bytes(pretoken)
            else:
                content = pretoken.encode("utf-8")
                lengths = (len(char.encode("utf-8")) for char in pretoken)
                places = [p for p, n in zip(places, lengths, strict=True) for _ in range(n)]
            for number, start, end in self._merged(content):
                yield number, spans[places[start][0]][0], spans[places[end - 1][1] - 1][1]

    @cached_property
    def _named(self) -> dict[int, AddedToken]:
        return {token.id: token for token in reversed(self.model.added or ())}

    @cached_property
    def _special(self) -> frozenset[int]:
        """The ids left out by ``skip_special``: those that decode to a special token's text.

        tokenizers asks the decoded text (``tokenizer/mod.rs``, ``decode``), so a special token
        that its normalizer changes is not left out.
        """
        special = {token.text for token in self.model.added or () if token.special}
        return frozenset(number for number, text in self._texts.items() if text in special)

    @cached_property
    def _bytes(self) -> dict[int, bytes]:
        table = {number: content for content, number in self.model.vocab.ids.items()}
        table.update({number: token.text.encode() for number, token in self._named.items()})
        return table

    @cached_property
    def _texts(self) -> dict[int, str]:
        steps = self.model.normalizer or ()
        return {number: decoded_text(token, steps) for number, token in self._named.items()}

    @cached_property
    def _decoded(self) -> dict[int, bytes]:
        mapped = JoinBytes(mapped_added=True) in (self.model.decoder or ())
        texts = self._texts.items()
        return self._bytes | {
            n: to_bytes(text) if mapped and is_mapped(text) else text.encode() for n, text in texts
        }

    def _spelled(self, number: int) -> str:
        """A token as its file spells it."""
        if number in self._texts:
            return self._texts[number]
        content = self.token_bytes(number)
        if self.model.vocab.kinds.get(number) == "control" or self.model.alphabet != "byte":
            return content.decode("utf-8")
        return to_chars(content)

    def _join(self, ids: Sequence[int], table: dict[int, bytes]) -> bytes:
        try:
            return b"".join(map(table.__getitem__, ids))
        except KeyError as error:
            raise DecodeError(f"there is no token with the id {error.args[0]}") from None


def _text_or_bytes(content: bytes) -> str | bytes:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content
