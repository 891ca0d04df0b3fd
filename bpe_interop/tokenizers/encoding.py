"""``Encoding``: what a text became, as ``tokenizers.Encoding`` has it.

An encoding is a row of runs, each a stretch of the tokens of one source: a text, or what a template
or padding placed. Truncating, padding and merging move runs; tokens, words and offsets are asked of
a source only where somebody reads them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from ..errors import ArgumentError
from ..text.unicode import WHITE_SPACE

Span = tuple[int, int]


class TokenSource(Protocol):
    """Where tokens come from: an id, a token, a word and the characters (start, end) of each."""

    @property
    def ids(self) -> list[int]: ...
    @property
    def tokens(self) -> Sequence[str]: ...
    @property
    def words(self) -> Sequence[int | None]: ...
    @property
    def offsets(self) -> Sequence[Span]: ...


class Fixed(NamedTuple):
    """Tokens of no text, or of one that was encoded already."""

    ids: list[int]
    tokens: Sequence[str]
    words: Sequence[int | None]
    offsets: Sequence[Span]


def placed(ids: list[int], tokens: Sequence[str]) -> Fixed:
    """What a template or padding places: of no word and no characters."""
    return Fixed(ids, tokens, [None] * len(ids), [(0, 0)] * len(ids))


class Trim(NamedTuple):
    """White space at a token's ends is left out of its offsets.

    ``first``: the token of the source that begins its encoding, -1 where the run does not hold it.
    ``prefix``: one space before the first token was put there, and is no character of the text.
    """

    first: int
    prefix: bool


class Stretch(NamedTuple):
    """The tokens ``start`` to ``stop`` of a source, and what is the same for all of them.

    ``changes``: what becomes of their offsets, in this order; a number is added to them.
    """

    source: TokenSource
    start: int
    stop: int
    type_id: int = 0
    special: int = 0
    attention: int = 1
    changes: tuple[Trim | int, ...] = ()

    @property
    def offsets(self) -> Sequence[Span]:
        """The characters of each token."""
        spans = self.source.offsets[self.start : self.stop]
        for change in self.changes:
            if isinstance(change, int):
                spans = [(start + change, end + change) for start, end in spans]
            else:
                tokens = self.source.tokens[self.start : self.stop]
                first = change.first - self.start
                spans = [
                    _trimmed(token, span, change.prefix and (index == first or span[0] == 0))
                    for index, (token, span) in enumerate(zip(tokens, spans, strict=True))
                ]
        return spans


def _trimmed(token: str, span: Span, prefixed: bool) -> Span:
    # tokenizers counts characters of the token, also where several of them are bytes of one
    # character of the text (pre_tokenizers/byte_level.rs, process_offsets).
    start, end = span
    leading = len(token) - len(token.lstrip(_SPACES))
    trailing = len(token) - len(token.rstrip(_SPACES))
    if leading == 1 and prefixed:
        leading = 0
    if leading:
        start = min(start + leading, end)
    if trailing and end >= trailing:
        end = max(end - trailing, start)
    return start, end


_SPACES = f"Ġ{WHITE_SPACE}"
"""A space in GPT-2's byte alphabet, and White_Space."""


class Encoding:
    """The tokens of a text or of a pair of texts, with all that tokenizers says of them.

    ``Encoding()`` is empty. Lists are new ones each time.
    """

    __slots__ = ("_overflowing", "_ranges", "_runs")

    def __init__(
        self,
        runs: Sequence[Stretch] = (),
        overflowing: Sequence[Encoding] = (),
        ranges: dict[int, Span] | None = None,
    ) -> None:
        self._runs = runs
        self._overflowing = overflowing
        # The tokens (start, end) of each sequence; empty: all are those of the first.
        self._ranges = ranges or {}

    def __len__(self) -> int:
        return sum(run.stop - run.start for run in self._runs)

    def __repr__(self) -> str:
        return (
            f"Encoding(num_tokens={len(self)}, attributes=[ids, type_ids, tokens, offsets, "
            "attention_mask, special_tokens_mask, overflowing])"
        )

    def __reduce__(self) -> tuple[object, ...]:
        # What a run says is taken along, and not the tokenizer that would say it.
        runs = []
        for run in self._runs:
            at, source = slice(run.start, run.stop), run.source
            told = Fixed(source.ids[at], source.tokens[at], source.words[at], run.offsets)
            runs.append(run._replace(source=told, start=0, stop=len(told.ids), changes=()))
        return Encoding, (runs, self._overflowing, self._ranges)

    @property
    def ids(self) -> list[int]:
        """The ids."""
        joined: list[int] = []
        for run in self._runs:
            joined += run.source.ids[run.start : run.stop]
        return joined

    @property
    def tokens(self) -> list[str]:
        """The tokens, spelled as in the vocabulary; an added token as it stands in the text."""
        return [token for run in self._runs for token in run.source.tokens[run.start : run.stop]]

    @property
    def word_ids(self) -> list[int | None]:
        """Which pretoken of its text each token is in; None for what is of no text."""
        return [word for run in self._runs for word in run.source.words[run.start : run.stop]]

    @property
    def words(self) -> list[int | None]:
        """The same, by its older name."""
        return self.word_ids

    @property
    def offsets(self) -> list[Span]:
        """The characters (start, end) of its text that each token stands for."""
        return [span for run in self._runs for span in run.offsets]

    @property
    def type_ids(self) -> list[int]:
        """The type id of each token's sequence."""
        return self._each("type_id")

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for what a template or padding placed, else 0."""
        return self._each("special")

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding, else 1."""
        return self._each("attention")

    @property
    def overflowing(self) -> list[Encoding]:
        """What truncation left over, in pieces."""
        return [Encoding(o._runs, o._overflowing, dict(o._ranges)) for o in self._overflowing]

    @property
    def n_sequences(self) -> int:
        """How many texts it is of."""
        return len(self._ranges) or 1

    @property
    def sequence_ids(self) -> list[int | None]:
        """Which text each token is of."""
        ids: list[int | None] = [None] * len(self)
        for sequence in range(self.n_sequences):
            start, end = self._range(sequence)
            ids[start:end] = [sequence] * (end - start)
        return ids

    def _each(self, name: str) -> list[int]:
        values: list[int] = []
        for run in self._runs:
            values += [getattr(run, name)] * (run.stop - run.start)
        return values

    def _range(self, sequence: int) -> Span:
        return self._ranges.get(sequence, (0, len(self)))

    # From tokens to words and characters, and back.

    def token_to_sequence(self, token_index: int) -> int | None:
        """Which text a token is of; None where it is of none."""
        # tokenizers takes the index behind the last token too.
        if _counted(token_index) > len(self):
            return None
        if not self._ranges:
            return 0
        ranges = self._ranges.items()
        return next((n for n, (start, end) in ranges if start <= token_index < end), None)

    def token_to_chars(self, token_index: int) -> Span | None:
        """The characters of a token; None where it is of no text."""
        known = self.token_to_sequence(token_index) is not None and token_index < len(self)
        return self.offsets[token_index] if known else None

    def token_to_word(self, token_index: int) -> int | None:
        """The word that a token is in; None where it is of no text."""
        known = self.token_to_sequence(token_index) is not None and token_index < len(self)
        return self.word_ids[token_index] if known else None

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The tokens (start, end) of a word."""
        _counted(word_index)
        start, end = self._range(_counted(sequence_index))
        found: list[int] = []
        for index, word in enumerate(self.word_ids[start:end], start):
            # Words stand in order, and what is after a later one is not looked at.
            if word is not None and word > word_index:
                break
            if word == word_index:
                found.append(index)
        return (found[0], found[-1] + 1) if found else None

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Span | None:
        """The characters of a word."""
        found = self.word_to_tokens(word_index, sequence_index)
        if found is None:
            return None
        spans = self.offsets
        return spans[found[0]][0], spans[found[1] - 1][1]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The first token that holds a character."""
        _counted(char_pos)
        first, last = self._range(_counted(sequence_index))
        spans = enumerate(self.offsets[first:last], first)
        return next((index for index, (start, end) in spans if start <= char_pos < end), None)

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word that holds a character."""
        token = self.char_to_token(char_pos, sequence_index)
        return None if token is None else self.token_to_word(token)

    # What changes it.

    def set_sequence_id(self, sequence_id: int) -> None:
        """Says which text all its tokens are of."""
        self._ranges = {**self._ranges, _counted(sequence_id): (0, len(self))}

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Leaves so many tokens; the others go to :attr:`overflowing`, in such pieces too.

        Args:
            max_length: how many tokens a piece has at most.
            stride: how many tokens of a piece the next one begins with.
            direction: the end at which tokens are cut off, ``right`` or ``left``.

        Raises:
            ArgumentError: another direction, or ``stride`` is not less than ``max_length``, where
                tokenizers panics (also ValueError).
        """
        one_of("direction", direction, ("left", "right"))
        self._become(truncated(self, _counted(max_length), _counted(stride), direction))

    def pad(
        self,
        length: int,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Fills up to a length; a longer one stays as it is.

        Raises:
            ArgumentError: the direction is neither ``right`` nor ``left`` (also ValueError).
        """
        one_of("direction", direction, ("left", "right"))
        self._become(padded(self, _counted(length), direction, pad_id, pad_type_id, pad_token))

    def _become(self, other: Encoding) -> None:
        self._runs, self._overflowing = other._runs, other._overflowing
        self._ranges = other._ranges

    @staticmethod
    def merge(encodings: Iterable[Encoding], growing_offsets: bool = True) -> Encoding:
        """One after the other.

        Args:
            encodings: those to be joined.
            growing_offsets: offsets count on from the last one of the encoding before.
        """
        return merged(encodings, growing_offsets)


def _counted(number: int) -> int:
    if number < 0:
        raise OverflowError(f"{number} is negative, and no number of a token, word or character is")
    return number


def one_of(what: str, word: str, words: Sequence[str]) -> str:
    """A word that is one of those.

    Raises:
        ArgumentError: it is not (also ValueError).
    """
    if word not in words:
        raise ArgumentError(f"{what} is {word!r}", fix=f"one of {', '.join(words)}")
    return word


# Encodings are changed as values: who shares one must not see it change.


def truncated(encoding: Encoding, most: int, stride: int, direction: str) -> Encoding:
    """As :meth:`Encoding.truncate`."""
    length = len(encoding)
    if most >= length:
        return encoding
    if most == 0:
        return Encoding(overflowing=[encoding])
    if stride >= most:
        raise ArgumentError(
            f"pieces of {most} tokens cannot have {stride} in common",
            fix="a stride that is less than max_length, which counts without special tokens here",
        )
    step = most - stride
    count = -(-(length - most) // step) + 1  # the last piece is the first that reaches the end
    if direction == "right":
        spans = [(n * step, min(n * step + most, length)) for n in range(count)]
    else:
        spans = [(max(length - n * step - most, 0), length - n * step) for n in range(count)]
    first, *others = (Encoding(_cut(encoding._runs, *span)) for span in spans)
    return Encoding(first._runs, others)


def _cut(runs: Iterable[Stretch], start: int, stop: int) -> list[Stretch]:
    kept: list[Stretch] = []
    place = 0
    for run in runs:
        first, last = max(start - place, 0), min(stop - place, run.stop - run.start)
        if first < last:
            kept.append(run._replace(start=run.start + first, stop=run.start + last))
        place += run.stop - run.start
    return kept


def padded(
    encoding: Encoding, length: int, direction: str, pad_id: int, type_id: int, token: str
) -> Encoding:
    """As :meth:`Encoding.pad`."""
    missing = max(0, length - len(encoding))
    if not missing and not encoding._overflowing:
        return encoding
    others = [padded(o, length, direction, pad_id, type_id, token) for o in encoding._overflowing]
    runs, ranges = encoding._runs, encoding._ranges
    if missing:
        fill = Stretch(placed([pad_id] * missing, [token] * missing), 0, missing, type_id, 1, 0)
        runs = [fill, *runs] if direction == "left" else [*runs, fill]
        if direction == "left":
            ranges = {n: (start + missing, end + missing) for n, (start, end) in ranges.items()}
    return Encoding(runs, others, ranges)


def merged(encodings: Iterable[Encoding], growing: bool = False) -> Encoding:
    whole = Encoding()
    for encoding in encodings:
        whole = _joined(whole, encoding, growing)
    return whole


def _joined(one: Encoding, other: Encoding, growing: bool) -> Encoding:
    # Every piece of the one stands with every piece of the other (tokenizer/encoding.rs,
    # merge_with).
    overflowing: list[Encoding] = []
    for piece in one._overflowing:
        overflowing.append(_joined(piece, other, growing))
        overflowing += [_joined(piece, further, growing) for further in other._overflowing]
    overflowing += [_joined(one, further, growing) for further in other._overflowing]
    length, runs = len(one), other._runs
    if growing and length:
        end = one._runs[-1].offsets[-1][1]
        runs = [run._replace(changes=(*run.changes, end)) for run in runs]
    ranges = dict(one._ranges)
    for sequence, (start, stop) in other._ranges.items():
        ranges[sequence] = length + start, length + stop
    return Encoding([*one._runs, *runs], overflowing, ranges)
