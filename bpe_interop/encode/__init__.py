"""The encoder: text to ids and back, exactly as the engines of a model's formats do it.

Text goes through surrogate repair, added tokens, normalizer, pre-tokenizer, whole-pretoken
lookup, merging and numbering; ids come back through the model's decoder.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from itertools import chain
from typing import TypeAlias, TypeVar

from ..errors import EncodeError, UnstatedError
from ..kernel import is_aside
from ..kernel.encoder import NO_LIMIT, TextEncoder
from ..model import Allowed, BPEModel, TemplatePart, TemplateText, checked_model
from ..steps import DecoderStep
from ..text.added_tokens import AddedMatcher
from ..text.bytechars import to_bytes
from ..text.decoders import Malformed
from ..text.normalize import (
    Spans,
    align,
    leading,
    normalize,
)
from ..text.split import Splitter, compiled
from ..text.surrogates import repair, repaired_spans
from .decode import Decoder, Meaning
from .offsets import PlacedPretoken, through
from .plan import Plan, plan_of
from .pretoken import Placed, PretokenEncoder
from .stream import DecodeStream

T = TypeVar("T")

_Segment: TypeAlias = tuple["int | None", str, int, Spans]
"""An added token's id; or None, and a normalized text with ``first`` of its splitter
(:meth:`Encoder._begins`). Then, for each character, the characters that it comes from."""

_REMEMBERED = 1 << 16
"""How many pretokens are remembered with their ids: the cache of ``native/src/known.rs``."""
_SHORT = 128
"""Of how many characters at most they are."""

_ASKED = 64
"""For how many sets of special tokens the kernel's encoder is kept."""


class Encoder:
    """Encodes and decodes by a model. Threads may share one; it pickles as its model."""

    def __init__(self, model: BPEModel) -> None:
        self.model = checked_model(model, type(self).__name__)
        self._decoder = Decoder(model)
        self._wholes: tuple[dict[Allowed, TextEncoder | None], ...] = ({}, {})

    def __reduce__(self) -> tuple[object, ...]:
        return Encoder, (self.model,)

    # Text to ids.

    def encode(
        self, text: str, allowed_special: Allowed = frozenset(), *, template: bool = False
    ) -> list[int]:
        """The ids of a text.

        Special tokens outside ``allowed_special`` are ordinary text; added tokens that are not
        special are always found. With ``template``, the ids of the model's sequence template
        stand around them.

        Raises:
            UnstatedError: the model leaves the pre-tokenizer or normalizer unsaid, the special
                tokens where any is allowed, or the template where it is asked for.
            EncodeError: the text has no encoding.
            PatternError: the pattern does not run to its end on this text.
        """
        whole = self._whole(allowed_special, template)
        if whole is not None:
            known = whole.encode(text)
            if known is not None:
                return known
        ids = self._encode_parts(text, allowed_special)
        return self.template(ids) if template else ids

    def _encode_parts(self, text: str, allowed: Allowed) -> list[int]:
        """The ids of a text whose added tokens and normalizer are Python's work."""
        plan, ids = self._plan, list[int]()
        for number, part, begins, _ in self._segments(repair(text), allowed, placed=False):
            if number is not None:
                ids.append(number)
                continue
            encoder = plan.part if begins else plan.later
            # Parts behind an added token may get no space put before them.
            known = None if encoder is None else encoder.encode(part)
            ids += self._in_python(part, begins) if known is None else known
        return ids

    def _in_python(self, part: str, begins: int) -> list[int]:
        """The ids of a normalized part in which no added token is looked for, without the kernel.

        ``begins`` is ``first`` of :class:`.text.split.Splitter`.
        """
        pretokens = self._splitter(part, first=begins)
        return [*chain.from_iterable(map(self._pretoken_ids, pretokens))]

    def encode_array(
        self, text: str, allowed_special: Allowed = frozenset()
    ) -> array[int] | list[int]:
        """The same, as an array of 32 bits where the kernel gives one.

        Raises:
            The errors of :meth:`encode`.
        """
        whole = self._whole(allowed_special)
        ids = None if whole is None else whole.encode_array(text)
        return self._encode_parts(text, allowed_special) if ids is None else ids

    def encode_each(
        self,
        texts: Sequence[str],
        allowed_special: Allowed = frozenset(),
        *,
        threads: int = 1,
        template: bool = False,
    ) -> list[list[int]]:
        """The ids of each text; in threads, where the kernel encodes.

        Raises:
            The errors of :meth:`encode`.
        """
        whole = self._whole(allowed_special, template)
        rows: list[list[int] | None] = [None] * len(texts)
        if whole is not None:
            rows = whole.lists_of_each([*map(repair, texts)], threads)
        # Only where all parts are encoded alike can the kernel have them at once.
        elif self._plan.part is not None and self._plan.later is self._plan.part:
            rows = self._rows(self._plan.part, texts, allowed_special, threads)
            if template:
                rows = [None if row is None else self.template(row) for row in rows]
        each: list[list[int]] = []
        for text, ids in zip(texts, rows, strict=True):
            if ids is None:
                ids = self._encode_parts(text, allowed_special)
                ids = self.template(ids) if template else ids
            each.append(ids)
        return each

    def _rows(
        self, encoder: TextEncoder, texts: Sequence[str], allowed: Allowed, threads: int
    ) -> list[list[int] | None]:
        """The ids of texts whose normalizer Python runs: the kernel has all their parts at once."""
        parts: list[str] = []
        rows: list[list[int | None]] = []
        for text in map(repair, texts):
            row: list[int | None] = []
            for number, part, _, _ in self._segments(text, allowed, placed=False):
                row.append(number)
                if number is None:
                    parts.append(part)
            rows.append(row)
        each = iter(encoder.encode_each(parts, threads))
        return [_joined(row, each) for row in rows]

    def encode_joined(
        self,
        texts: Sequence[str],
        allowed_special: Allowed = frozenset(),
        *,
        threads: int = 1,
        template: bool = False,
    ) -> tuple[array[int], array[int]]:
        """The ids of all texts one after the other (32 bits), and where those of each end.

        Raises:
            The errors of :meth:`encode`.
        """
        whole = self._whole(allowed_special, template)
        joined = None if whole is None else whole.encode_joined(texts, threads)
        if joined is not None:
            return joined
        each = self.encode_each(texts, allowed_special, threads=threads, template=template)
        return joined_rows(each)

    def encode_with_offsets(
        self, text: str, allowed_special: Allowed = frozenset(), *, most: int = NO_LIMIT
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids, and for each the characters (start, end) of ``text`` that it stands for.

        If there are more than ``most`` ids, those at the end may be left out.

        A token that starts or ends inside a character covers it. Where a normalizer changes the
        text, tokens stand for what their characters were made from (:func:`.normalize.align`);
        a space put before a pretoken belongs to its first character.

        Raises:
            The errors of :meth:`encode`.
        """
        repaired = repair(text)
        whole = self._whole(allowed_special)
        placed = None if whole is None else whole.encode_placed(repaired, most)
        if placed is None:
            placed = [], []
            plan = self._plan
            for segment in self._segments(repaired, allowed_special, placed=True):
                ids, spans = self._placed_in(segment, plan.part if segment[2] else plan.later)
                placed[0].extend(ids)
                placed[1].extend(spans)
        if repaired is text:
            return placed
        return placed[0], through(repaired_spans(text), placed[1])

    def pieces(self, text: str, allowed_special: Allowed) -> Iterator[tuple[int | None, int]]:
        """What a text is cut into: an added token's id, or None and a pretoken's length in bytes.

        Raises:
            The errors of :meth:`encode`.
        """
        for number, part, begins, _ in self._segments(repair(text), allowed_special, placed=False):
            if number is not None:
                yield number, 0
                continue
            for pretoken in self._splitter(part, first=begins):
                alone = self._splitter.maps or pretoken.isascii()  # a character is a byte
                yield None, len(pretoken) if alone else len(pretoken.encode())

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
        text = repair(text)
        pretokens = self._splitter(self._normalize(text), first=self._begins(text))
        if not self._splitter.maps:
            return list(pretokens)
        return [_text_or_bytes(to_bytes(pretoken)) for pretoken in pretokens]

    def encode_pretoken(self, content: bytes) -> list[int]:
        """The ids of one pretoken, given as bytes.

        Raises:
            EncodeError: a symbol is not in the vocabulary and the model has no fallback, or the
                model merges characters and the bytes are not UTF-8.
        """
        try:
            return self._pretoken.ids(content)
        except UnicodeDecodeError as error:
            raise EncodeError(
                "this model merges characters, and the bytes are not UTF-8",
                where=f"byte {error.start}",
                fix="give the bytes of whole characters",
            ) from None

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
        return self.decoding(ids, skip_special, errors)

    @cached_property
    def decoding(self) -> Callable[[Sequence[int], bool, str], str]:
        """What :meth:`decode` calls with its arguments; raises the same where it is asked for."""
        self._stated(self.model.decoder, "decoder")
        return self._decoder.text

    def decode_stream(
        self, *, skip_special: bool = False, errors: Malformed = "replace"
    ) -> DecodeStream:
        """The text of ids that come one at a time, by the model's decoder.

        Raises:
            UnstatedError: the model leaves the decoder unsaid.
        """
        steps = self._stated(self.model.decoder, "decoder")
        return self._decoder.stream(steps, skip_special=skip_special, errors=errors)

    def decode_bytes(self, ids: Sequence[int]) -> bytes:
        """The tokens' own bytes, joined; added tokens are the UTF-8 of their text.

        Raises:
            DecodeError: an id is not in the model.
        """
        return self._decoder.join(ids)

    def token_bytes(self, id: int) -> bytes:
        """One token's own bytes, to be shown. Of several texts with one id, the first listed.

        Raises:
            DecodeError: the id is not in the model.
        """
        return self._decoder.token_bytes(id)

    def meanings(self, steps: Sequence[DecoderStep]) -> Mapping[int, Meaning]:
        """What each id is to decoder steps, before the first of them."""
        return self._decoder.meanings(steps)

    def meanings_of(self, steps: Sequence[DecoderStep], numbers: Set[int]) -> Mapping[int, Meaning]:
        """The same of some ids, without looking at the others where that can be."""
        return self._decoder.meanings_of(steps, numbers)

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

    @property
    def _plan(self) -> Plan:
        return plan_of(self.model)

    def _whole(self, allowed: Allowed, template: bool = False) -> TextEncoder | None:
        """The kernel's encoder of whole texts; None where Python has a share in it."""
        if is_aside():
            return None
        known = self._wholes[template]
        try:
            return known[allowed]
        except KeyError:
            pass  # the first time: it is made below
        except TypeError:  # a set that may change
            return self._whole(frozenset(allowed), template)
        plan = self._plan
        if plan.part is None or plan.normal is None:
            return None
        around = self._around_text if template else ((), ())
        whole = None if around is None else plan.whole(self._matcher(allowed), allowed, around)
        if len(known) >= _ASKED:
            known.clear()
        known[allowed] = whole
        return whole

    @cached_property
    def _around_text(self) -> tuple[Sequence[int], Sequence[int]] | None:
        """The ids that the template places before a text and after it; None: not once around it."""
        template = self._stated(self.model.sequence_template, "sequence template")
        around, _ = template.placed
        # The kernel places ids before a text and after it, so the text must stand there once.
        if [part for part in around if isinstance(part, str)] != ["A"]:
            return None
        at = around.index("A")
        before, after = (
            [part for part in half if isinstance(part, int)] for half in (around[:at], around[at:])
        )
        return before, after

    @cached_property
    def _splitter(self) -> Splitter:
        return compiled(self._stated(self.model.pretokenizer, "pre-tokenizer (pattern)"))

    @cached_property
    def _added(self) -> AddedMatcher:
        added = self._stated(self.model.added, "set of special tokens")
        return AddedMatcher(added, self._normalize)

    def _matcher(self, allowed: Allowed) -> AddedMatcher:
        # Formats that leave special tokens unsaid have no other added tokens, so where none is
        # looked for it need not be known which there are.
        if self.model.added is None and not allowed:
            return AddedMatcher((), self._normalize)
        return self._added

    @cached_property
    def _pretoken(self) -> PretokenEncoder:
        return PretokenEncoder(self.model)

    @cached_property
    def _pretoken_ids(self) -> Callable[[str], Sequence[int]]:
        """The ids of a pretoken. Texts are mostly words, which are met again and again."""
        spell: Callable[[str], bytes] = to_bytes if self._splitter.maps else str.encode
        ids = self._pretoken.ids
        short = lru_cache(_REMEMBERED)(lambda pretoken: tuple(ids(spell(pretoken))))

        def of(pretoken: str) -> Sequence[int]:
            return short(pretoken) if len(pretoken) <= _SHORT else ids(spell(pretoken))

        return of

    def _begins(self, segment: str) -> int:
        return leading(self.model.normalizer or (), segment) if self._splitter.asks_first else 1

    def _segments(self, text: str, allowed: Allowed, *, placed: bool) -> Iterator[_Segment]:
        """What added tokens cut a repaired text into; with their places if these are asked for."""
        added = self._matcher(allowed)
        for start, end, number in added.find_raw(text, allowed):
            if number is not None:
                yield number, "", 0, [(start, end)]
                continue
            segment = text[start:end]
            spans: Spans = []
            if not placed:
                part = self._normalize(segment)
            elif self.model.normalizer:
                part, within = align(self.model.normalizer, segment)
                spans = [(start + first, start + last) for first, last in within]
            else:
                part = self._normalize(segment)
                spans = [*zip(range(start, end), range(start + 1, end + 1), strict=True)]
            # Where the segment begins the text, so many of its characters count as the first of it
            # (`first` of the Splitter).
            begins = 0 if start else self._begins(segment)
            for first, last, inner in added.find_normalized(part, allowed):
                yield inner, part[first:last], max(0, begins - first), spans[first:last]

    def _pieces(self, text: str, allowed: Allowed) -> Iterator[PlacedPretoken]:
        """The added tokens and pretokens of a text, in order, and where they stand in it."""
        repaired = repair(text)
        given = None if repaired == text else repaired_spans(text)
        for segment in self._segments(repaired, allowed, placed=True):
            yield from self._pieces_of(segment, given)

    def _pieces_of(self, segment: _Segment, given: Spans | None) -> Iterator[PlacedPretoken]:
        number, part, begins, spans = segment
        if number is not None:
            yield PlacedPretoken(number, b"", [(0, len(spans))], spans, given)
            return
        for pretoken, places in self._splitter.align(part, first=begins):
            if self._splitter.maps:
                content = to_bytes(pretoken)
            else:
                content = pretoken.encode("utf-8")
                lengths = (len(char.encode("utf-8")) for char in pretoken)
                # A place for each byte, as mapped pretokens have it already.
                places = [p for p, n in zip(places, lengths, strict=True) for _ in range(n)]
            yield PlacedPretoken(None, content, places, spans, given)

    def _placed_in(self, segment: _Segment, encoder: TextEncoder | None) -> tuple[list[int], Spans]:
        """The ids of a segment, and the characters of the repaired text that each stands for."""
        if segment[0] is None and encoder is not None:
            placed = encoder.encode_placed(segment[1])
            if placed is not None:
                return placed[0], through(segment[3], placed[1])
        ids: list[int] = []
        spans: Spans = []
        for piece in self._pieces_of(segment, None):
            for number, start, end in self._placed(piece):
                ids.append(number)
                spans.append(piece.span(start, end))
        return ids, spans

    def _placed(self, piece: PlacedPretoken) -> Iterable[Placed]:
        """The ids of a piece, and the bytes of it that each stands for."""
        if piece.number is not None:
            return ((piece.number, 0, 1),)
        return self._pretoken.placed(piece.content)


def joined_rows(rows: Iterable[Sequence[int]]) -> tuple[array[int], array[int]]:
    """Rows of ids one after the other (32 bits), and where each ends."""
    ids, ends = array("I"), array("Q")
    for row in rows:
        ids.extend(row)
        ends.append(len(ids))
    return ids, ends


def _joined(row: list[int | None], parts: Iterator[array[int] | None]) -> list[int] | None:
    # None in a row is a part of text, whose ids come from `parts`; these are None where Python must
    # encode.
    pieces = [next(parts) if number is None else (number,) for number in row]
    ids: list[int] = []
    for piece in pieces:
        if piece is None:
            return None
        ids += piece
    return ids


def _text_or_bytes(content: bytes) -> str | bytes:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content
