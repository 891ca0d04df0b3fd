"""``Tokenizer``, as ``tokenizers.Tokenizer`` has it, over a ``tokenizer.json``."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, Union

from ..arguments import several
from ..batches import nothing_to_truncate, padded_length, room_for_texts
from ..errors import ArgumentError, EncodeError, UnsupportedError
from ..formats import by_name
from ..formats.huggingface.post_processors import read_template
from ..io.reader import read
from ..io.writer import staged
from ..model import Allowed, TemplatePart, TemplateText
from ..sources import load_source
from ..strict_json import Node
from .encoding import Encoding, Stretch, Trim, merged, one_of, padded, placed, truncated
from .texts import AddedToken, AddedVocabulary, Pipeline, Text

Words: TypeAlias = Sequence[str]
Input: TypeAlias = Union[str, Words]
Step: TypeAlias = Callable[[list[Encoding], bool], list[Encoding]]
"""A post-processor: the encodings of the texts, and whether special tokens are placed."""

_MAIN = "tokenizer.json"
_NONE: frozenset[str] = frozenset()
_STRATEGIES = {
    "longest_first": "LongestFirst",
    "only_first": "OnlyFirst",
    "only_second": "OnlySecond",
}
_DIRECTIONS = {"left": "Left", "right": "Right"}


class _Component:
    """A component as an object of its own: it can neither be had nor put in."""

    def __get__(self, tokenizer: object, owner: type) -> _Component:
        if tokenizer is None:
            return self
        return not_here("a component as an object")

    def __set__(self, tokenizer: object, component: object) -> NoReturn:
        not_here("another component")


class Tokenizer:
    """A BPE ``tokenizer.json`` that encodes with our encoder; threads may share one.

    It comes from :meth:`from_file`, :meth:`from_str`, :meth:`from_buffer` or
    :meth:`from_pretrained`. The file's own truncation and padding are obeyed.

    Raises:
        UnsupportedError: it is called itself, with a model (also ValueError).
    """

    encode_special_tokens: bool
    """Whether special tokens are ordinary text."""

    def __init__(self, model: object = None) -> None:
        not_here("a tokenizer made of components")

    @classmethod
    def _read(cls, data: bytes, name: str = _MAIN) -> Tokenizer:
        made = cls.__new__(cls)
        model = by_name("huggingface").load({name: data})
        document = json.loads(data)
        made._document = document
        made._vocab = document["model"]["vocab"]
        made._added = AddedVocabulary(made._vocab)
        made._added.add(_added_of(entry) for entry in document.get("added_tokens") or ())
        made._later = []
        made._pipeline = Pipeline(model, document, made._added, ())
        made._truncation = document.get("truncation")
        made._padding = document.get("padding")
        made._steps, made._counts = _processor(document.get("post_processor"))
        made.encode_special_tokens = False
        return made

    _document: dict[str, Any]
    _vocab: dict[str, int]
    _added: AddedVocabulary
    _later: list[list[AddedToken]]
    _pipeline: Pipeline
    _truncation: dict[str, Any] | None
    _padding: dict[str, Any] | None
    _steps: list[Step] | None
    _counts: tuple[int, int]

    @staticmethod
    def from_file(path: str) -> Tokenizer:
        """Reads a ``tokenizer.json``, and nothing beside it.

        Raises:
            SourceError: it cannot be read.
            FormatError: it is malformed, or (UnsupportedError) no BPE or with a part that is
                refused by name.
        """
        return Tokenizer._read(read(Path(path)), Path(path).name)

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """Reads the text of a ``tokenizer.json``; errors as :meth:`from_file`."""
        return Tokenizer._read(json.encode())

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """Reads the bytes of a ``tokenizer.json``; errors as :meth:`from_file`."""
        return Tokenizer._read(buffer)

    @staticmethod
    def from_pretrained(
        identifier: str, revision: str = "main", token: str | None = None
    ) -> Tokenizer:
        """Reads the ``tokenizer.json`` of a repository of the hub.

        Raises:
            SourceError: it cannot be had.
            EngineMissingError: huggingface_hub is not installed.
            UnsupportedError: a ``token`` is given.
            FormatError: as :meth:`from_file`.
        """
        if token is not None:
            not_here("a token of the hub as an argument", fix="set HF_TOKEN, or run hf auth login")
        source = load_source(f"hf:{identifier}@{revision}:{_MAIN}", format="huggingface")
        return Tokenizer._read(source.files[_MAIN])

    def __reduce__(self) -> tuple[object, ...]:
        return Tokenizer.from_str, (self.to_str(),)

    def __repr__(self) -> str:
        return f"<Tokenizer, {self.get_vocab_size():,} tokens>"

    def to_str(self, pretty: bool = False) -> str:
        """The ``tokenizer.json``: the document that was read, with what calls have changed."""
        added = sorted(self._added.by_id.items())
        document = {
            **self._document,
            "truncation": self._truncation,
            "padding": self._padding,
            "added_tokens": [{"id": number, **token.as_json()} for number, token in added],
        }
        spacing = None if pretty else (",", ":")
        return json.dumps(
            document, ensure_ascii=False, indent=2 if pretty else None, separators=spacing
        )

    def save(self, path: str, pretty: bool = True) -> None:
        """Writes it to a file; one that is there is replaced.

        Raises:
            TargetError: the file cannot be written.
        """
        target = Path(path)
        with staged(target, {target.name: self.to_str(pretty).encode()}, force=True):
            return

    # Tokens and ids.

    def token_to_id(self, token: str) -> int | None:
        """The id of a token, as the vocabulary spells it; None if there is none."""
        known = self._added.by_text.get(token)
        return self._vocab.get(token) if known is None else known

    def id_to_token(self, id: int) -> str | None:
        """The token of an id; None if there is none. Normalized tokens have their normal form."""
        token = self._added.by_id.get(id)
        if token is not None and token.normalized:
            return self._pipeline.encoder.normalize(token.content)
        return self._pipeline.spelled.get(id)

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Tokens to their ids."""
        return {**self._vocab, **(self._added.by_text if with_added_tokens else {})}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """How many tokens there are."""
        return len(self.get_vocab(with_added_tokens))

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The added tokens by their ids, in order."""
        return {number: _added_of(t.as_json()) for number, t in sorted(self._added.by_id.items())}

    def add_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Adds tokens that are looked for in all texts; returns how many are new or changed.

        A text that the vocabulary has keeps its id, others get the next ones.

        Raises:
            FormatError: our encoder cannot hold them as tokenizers does (also ValueError).
        """
        return self._add([t if isinstance(t, AddedToken) else AddedToken(t) for t in tokens])

    def add_special_tokens(self, tokens: Sequence[str | AddedToken]) -> int:
        """Adds tokens that are special; otherwise as :meth:`add_tokens`."""
        made = [t if isinstance(t, AddedToken) else AddedToken(t) for t in tokens]
        for token in made:
            token.special = True
        return self._add(made)

    def _add(self, tokens: list[AddedToken]) -> int:
        tokens = [_added_of(token.as_json()) for token in tokens]  # the caller may change his
        added = AddedVocabulary(self._vocab)
        added.by_text, added.by_id = dict(self._added.by_text), dict(self._added.by_id)
        count = added.add(tokens)
        if not count:
            return 0
        later = [*self._later, tokens]
        listed = [*(self._document.get("added_tokens") or ())]
        listed += [{"id": 0, **t.as_json()} for t in chain.from_iterable(later)]
        written = {**self._document, "added_tokens": listed}
        model = by_name("huggingface").load({_MAIN: json.dumps(written).encode()})
        # A token that was added after a hole has another id than in a file that is read.
        ids = (replace(t, id=added.by_text.get(t.text, t.id)) for t in model.added or ())
        model = replace(model, added=tuple(ids))
        self._pipeline = Pipeline(model, self._document, added, later)
        self._added, self._later = added, later
        return count

    # Truncation and padding.

    @property
    def truncation(self) -> dict[str, Any] | None:
        """How texts are truncated; None where they are not."""
        if self._truncation is None:
            return None
        return {
            "max_length": self._truncation["max_length"],
            "stride": self._truncation["stride"],
            "strategy": _by_value(_STRATEGIES, self._truncation["strategy"]),
            "direction": self._truncation.get("direction", "Right").lower(),
        }

    def enable_truncation(
        self,
        max_length: int,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
    ) -> None:
        """Encodings have so many tokens at most, special ones included.

        Args:
            max_length: how many.
            stride: how many tokens of a piece the next one in ``overflowing`` begins with.
            strategy: which of a pair is truncated: ``longest_first``, ``only_first``,
                ``only_second``.
            direction: the end that is cut off, ``right`` or ``left``.

        Raises:
            ArgumentError: a word is none of those, or ``stride`` is more than what is left
                beside special tokens (also ValueError).
        """
        one_of("strategy", strategy, [*_STRATEGIES])
        one_of("direction", direction, [*_DIRECTIONS])
        if min(max_length, stride) < 0:
            raise OverflowError("max_length and stride are not negative")
        if max_length - self._counts[0] < stride:
            raise ArgumentError(
                f"the stride {stride} is more than the {max_length - self._counts[0]} tokens that "
                f"max_length {max_length} leaves beside special ones"
            )
        self._truncation = {
            "direction": _DIRECTIONS[direction],
            "max_length": max_length,
            "strategy": _STRATEGIES[strategy],
            "stride": stride,
        }

    def no_truncation(self) -> None:
        """Encodings have any length."""
        self._truncation = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """How encodings are filled up; None where they are not."""
        if self._padding is None:
            return None
        strategy = self._padding["strategy"]
        return {
            "length": strategy["Fixed"] if isinstance(strategy, dict) else None,
            "pad_to_multiple_of": self._padding.get("pad_to_multiple_of"),
            "pad_id": self._padding["pad_id"],
            "pad_token": self._padding["pad_token"],
            "pad_type_id": self._padding["pad_type_id"],
            "direction": self._padding["direction"].lower(),
        }

    def enable_padding(
        self,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Encodings are filled up, to a length or to the longest one of a batch.

        Args:
            direction: the end that is filled up, ``right`` or ``left``.
            pad_id: the id to fill up with.
            pad_type_id: its type id.
            pad_token: its token.
            length: how many tokens; None: as the longest one has.
            pad_to_multiple_of: the length is rounded up to a multiple of it.

        Raises:
            ArgumentError: another direction (also ValueError).
        """
        one_of("direction", direction, [*_DIRECTIONS])
        self._padding = {
            "strategy": "BatchLongest" if length is None else {"Fixed": length},
            "direction": _DIRECTIONS[direction],
            "pad_to_multiple_of": pad_to_multiple_of,
            "pad_id": pad_id,
            "pad_type_id": pad_type_id,
            "pad_token": pad_token,
        }

    def no_padding(self) -> None:
        """Encodings are not filled up."""
        self._padding = None

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """How many tokens the template places around a text, or around a pair."""
        return self._counts[is_pair]

    # Texts to ids.

    def encode(
        self,
        sequence: Input,
        pair: Input | None = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """The encoding of a text, or of a pair of texts.

        Args:
            sequence: a text; its words, each encoded by itself, where it ``is_pretokenized``.
            pair: the second text.
            is_pretokenized: texts are given as words.
            add_special_tokens: place what the template says.

        Raises:
            TypeError: a text is none, or has half a surrogate pair.
            EncodeError: it has no encoding, or cannot be truncated as is asked for (also
                ValueError).
        """
        given = (sequence,) if pair is None else (sequence, pair)
        return self._encoded([given], is_pretokenized, add_special_tokens)[0]

    def encode_batch(
        self,
        input: Sequence[Input | tuple[Input, Input]],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """The encoding of each text or pair, as :meth:`encode`, on all cores."""
        return self._encoded_each(input, is_pretokenized, add_special_tokens, fast=False)

    def encode_batch_fast(
        self,
        input: Sequence[Input | tuple[Input, Input]],
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> list[Encoding]:
        """The same without tokens, words and offsets of the texts: "", None and (0, 0)."""
        return self._encoded_each(input, is_pretokenized, add_special_tokens, fast=True)

    def _encoded_each(
        self, input: Iterable[Any], is_pretokenized: bool, add_special_tokens: bool, *, fast: bool
    ) -> list[Encoding]:
        given = [_one_or_two(each, is_pretokenized) for each in several(input, "texts")]
        return self._encoded(given, is_pretokenized, add_special_tokens, fast=fast)

    async def async_encode(self, *given: Any, **more: Any) -> Encoding:
        """:meth:`encode` in a thread."""
        return await asyncio.to_thread(self.encode, *given, **more)

    async def async_encode_batch(self, *given: Any, **more: Any) -> list[Encoding]:
        """:meth:`encode_batch` in a thread."""
        return await asyncio.to_thread(self.encode_batch, *given, **more)

    async def async_encode_batch_fast(self, *given: Any, **more: Any) -> list[Encoding]:
        """:meth:`encode_batch_fast` in a thread."""
        return await asyncio.to_thread(self.encode_batch_fast, *given, **more)

    def _encoded(
        self,
        given: Sequence[Sequence[Input]],
        words: bool,
        add_special_tokens: bool,
        fast: bool = False,
    ) -> list[Encoding]:
        texts: list[str] = []
        for each in given:
            for sequence in each:
                texts += _words(sequence) if words else [_text(sequence)]
        allowed: Allowed = _NONE if self.encode_special_tokens else "all"
        pipeline = self._pipeline
        if len(texts) == 1:
            rows = [pipeline.encoder.encode(texts[0], allowed)]
        else:
            rows = pipeline.encoder.encode_each(texts, allowed, threads=os.cpu_count() or 1)
        pairs = iter(zip(texts, rows, strict=True))
        encodings: list[Encoding] = []
        for each in given:
            parts: list[Encoding] = []
            for type_id, sequence in enumerate(each):
                runs: list[Stretch] = []
                for index in range(len(sequence) if words else 1):
                    text, ids = next(pairs)
                    if ids:
                        source = (
                            placed(ids, [""] * len(ids))
                            if fast
                            else Text(pipeline, text, ids, allowed, index if words else None)
                        )
                        runs.append(Stretch(source, 0, len(ids), 0 if fast else type_id))
                parts.append(Encoding(runs))
            encodings.append(self._processed(parts, add_special_tokens))
        return self._padded(encodings)

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Truncates encodings, places what the template says around them, and fills them up.

        Raises:
            EncodeError: they cannot be truncated as is asked for (also ValueError).
        """
        parts = [encoding] if pair is None else [encoding, pair]
        return self._padded([self._processed(parts, add_special_tokens)])[0]

    def _processed(self, parts: list[Encoding], add_special_tokens: bool) -> Encoding:
        if self._truncation is not None:
            beside = self._counts[len(parts) - 1] if add_special_tokens else 0
            parts = _truncated_parts(parts, self._truncation, beside)
        if self._steps is None:
            if len(parts) == 1:
                return parts[0]
            return merged([_of_sequence(part, index) for index, part in enumerate(parts)])
        # As trait PostProcessor does before its own work (tokenizer/mod.rs, process).
        parts = [
            Encoding(
                _anew(one, index)._runs,
                [_of_sequence(piece, index) for piece in one._overflowing],
                {**one._ranges, index: (0, len(one))},
            )
            for index, one in enumerate(parts)
        ]
        for step in self._steps:
            parts = step(parts, add_special_tokens)
        return parts[0] if len(parts) == 1 else merged(parts)

    def _padded(self, encodings: list[Encoding]) -> list[Encoding]:
        rule = self._padding
        if rule is None or not encodings:
            return encodings
        length = padded_length(rule, max(map(len, encodings)))
        how = rule["direction"].lower(), rule["pad_id"], rule["pad_type_id"], rule["pad_token"]
        return [padded(encoding, length, *how) for encoding in encodings]

    # Ids to texts.

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """The text of ids; those of no token are passed over.

        Raises:
            OverflowError: an id is negative, or has more than 32 bits.
        """
        known = self._pipeline.spelled
        listed = [*ids]
        if any(not 0 <= number < 1 << 32 for number in listed):
            raise OverflowError("an id has 32 bits, and is not negative")
        return self._pipeline.encoder.decode(
            [number for number in listed if number in known], skip_special=skip_special_tokens
        )

    def decode_batch(
        self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True
    ) -> list[str]:
        """The text of each row of ids."""
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    async def async_decode_batch(self, *given: Any, **more: Any) -> list[str]:
        """:meth:`decode_batch` in a thread."""
        return await asyncio.to_thread(self.decode_batch, *given, **more)

    # What tokenizers has besides.

    def train(self, *_: object, **__: object) -> NoReturn:
        """Not here."""
        not_here("training", fix="bpe-interop train, or bpe_interop.train(...)")

    train_from_iterator = train

    model = _Component()
    normalizer = _Component()
    pre_tokenizer = _Component()
    post_processor = _Component()
    decoder = _Component()


def not_here(what: str, fix: str = "") -> NoReturn:
    raise UnsupportedError(
        f"{what} is not supported by bpe_interop.tokenizers, which runs a tokenizer.json of BPE as "
        "it is",
        fix=fix
        or "build and change it with tokenizers itself, and give what its to_str() says to "
        "Tokenizer.from_str",
    )


def _added_of(entry: Mapping[str, Any]) -> AddedToken:
    return AddedToken(**{key: value for key, value in entry.items() if key != "id"})


def _by_value(names: Mapping[str, str], value: str) -> str:
    return next(name for name, other in names.items() if other == value)


def _text(sequence: object) -> str:
    if not isinstance(sequence, str):
        raise TypeError(f"a text is expected, not {type(sequence).__name__}")
    try:
        sequence.encode()
    except UnicodeEncodeError:
        raise TypeError("a text with half a surrogate pair is none to tokenizers") from None
    return sequence


def _words(sequence: object) -> list[str]:
    listed = sequence.tolist() if hasattr(sequence, "tolist") else sequence
    if not isinstance(listed, (list, tuple)):
        raise TypeError(
            f"the words of a text are a list, a tuple or an array, not {type(sequence).__name__}"
        )
    return [*map(_text, listed)]


def _one_or_two(each: Any, words: bool) -> Sequence[Input]:
    if words:
        listed = each.tolist() if hasattr(each, "tolist") else each
        if isinstance(listed, (list, tuple)) and all(isinstance(word, str) for word in listed):
            return (listed,)
    elif isinstance(each, str):
        return (each,)
    if isinstance(each, (list, tuple)) and len(each) == 2:
        return each
    raise TypeError(f"a text, or a pair of texts, is expected, not {type(each).__name__}")


# Truncation and post-processors of a pair.


def _truncated_parts(parts: list[Encoding], rule: Mapping[str, Any], beside: int) -> list[Encoding]:
    """As ``utils/truncation.rs`` does, with so many special tokens beside."""
    most, stride = room_for_texts(rule, beside), rule["stride"]
    direction = rule.get("direction", "Right").lower()
    if most == 0:
        return [truncated(part, 0, stride, direction) for part in parts]
    sizes = [*map(len, parts)]
    excess = sum(sizes) - most
    if excess <= 0:
        return parts
    wanted = [*sizes]
    if rule["strategy"] == "LongestFirst":
        wanted = [most] if len(parts) == 1 else _shares(sizes[0], sizes[1], most)
    else:
        which = 0 if rule["strategy"] == "OnlyFirst" else 1
        if which >= len(parts):
            raise nothing_to_truncate()
        if sizes[which] <= excess:
            raise EncodeError(
                "the text that is to be truncated is too short for max_length",
                fix="another strategy: longest_first",
            )
        wanted[which] -= excess
    return [truncated(part, n, stride, direction) for part, n in zip(parts, wanted, strict=True)]


def _shares(first: int, second: int, most: int) -> list[int]:
    """How many tokens of each of two texts stay, of which the longer one gives first."""
    short = min(first, second)
    long = short if short > most else max(short, most - short)
    if short + long > most:
        short, long = most // 2, most // 2 + most % 2
    return [long, short] if first > second else [short, long]


def _of_sequence(encoding: Encoding, index: int) -> Encoding:
    ranges = {**encoding._ranges, index: (0, len(encoding))}
    return Encoding(encoding._runs, encoding._overflowing, ranges)


def _processor(entry: Any) -> tuple[list[Step] | None, tuple[int, int]]:
    """The steps of a post-processor, and how many tokens it places around a text and a pair."""
    if entry is None:
        return None, (0, 0)
    steps: list[Step] = []
    single = pair = 0
    listed = entry["processors"] if entry["type"] == "Sequence" else [entry]
    for one in listed:
        kind = one["type"]
        if kind == "Sequence":
            inner, (more, more_of_pair) = _processor(one)
            steps += inner or ()
            single, pair = single + more, pair + more_of_pair
            continue
        if kind in ("ByteLevel", "RobertaProcessing") and one.get("trim_offsets", True):
            steps.append(partial(_trim, one.get("add_prefix_space", True)))
        if kind == "ByteLevel":
            steps.append(_numbered)
            continue
        templates = _templates(one)
        steps.append(partial(_place, templates, kind == "TemplateProcessing"))
        counts = [sum(p.stop for p in parts if isinstance(p, Stretch)) for parts in templates]
        single, pair = single + counts[0], pair + counts[1]
    return steps, (single, pair)


_Template: TypeAlias = Sequence[Union[Stretch, tuple[int, int]]]
"""What is placed, and the texts: which one, and its type id."""


def _templates(entry: Mapping[str, Any]) -> tuple[_Template, _Template]:
    """What is placed around a text, and around a pair."""
    template = read_template(Node(entry, _MAIN))
    # The model has no use for how a template spells the tokens that it places.
    listed = entry.get("special_tokens", {})
    spelled = {name: token["tokens"] for name, token in listed.items()}
    single, pair = (
        [_template_part(part, spelled) for part in parts]
        for parts in (template.single, template.pair)
    )
    return single, pair


def _template_part(
    part: TemplatePart, spelled: Mapping[str, list[str]]
) -> Stretch | tuple[int, int]:
    if isinstance(part, TemplateText):
        return "AB".index(part.which), part.type_id
    run = placed([*part.ids], spelled.get(part.name, [part.name]))
    return Stretch(run, 0, len(part.ids), part.type_id, special=1)


def _place(
    templates: tuple[_Template, _Template],
    always: bool,
    encodings: list[Encoding],
    add_special_tokens: bool,
) -> list[Encoding]:
    """Each of a template's parts. ``always``: texts stand as it says also without the others."""
    template = templates[len(encodings) - 1]
    if not always:
        types = dict(part for part in template if not isinstance(part, Stretch))
        if not any(types.values()):
            encodings = [_anew(one, 0, pieces=add_special_tokens) for one in encodings]
        if not add_special_tokens:
            return encodings
    pieces: list[Encoding] = []
    for part in template:
        if isinstance(part, Stretch):
            if add_special_tokens and part.stop:
                pieces.append(Encoding([part]))
        else:
            pieces.append(_of_sequence(_anew(encodings[part[0]], part[1]), part[0]))
    return pieces


def _anew(encoding: Encoding, type_id: int, *, pieces: bool = False) -> Encoding:
    """The same with another type id; where ``pieces`` is said, of the overflowing ones too."""
    runs = [
        run if run.type_id == type_id else run._replace(type_id=type_id) for run in encoding._runs
    ]
    over = encoding._overflowing
    if pieces:
        over = [_anew(piece, type_id) for piece in over]
    return Encoding(runs, over, encoding._ranges)


def _trim(prefix: bool, encodings: list[Encoding], _: bool) -> list[Encoding]:
    """White space at the ends of tokens leaves their offsets (pre_tokenizers/byte_level.rs)."""
    return [
        Encoding(
            _trimmed(one._runs, prefix),
            [
                Encoding(_trimmed(piece._runs, prefix), piece._overflowing, piece._ranges)
                for piece in one._overflowing
            ],
            one._ranges,
        )
        for one in encodings
    ]


def _trimmed(runs: Sequence[Stretch], prefix: bool) -> list[Stretch]:
    return [
        run._replace(changes=(*run.changes, Trim(-1 if index else run.start, prefix)))
        for index, run in enumerate(runs)
    ]


def _numbered(encodings: list[Encoding], _: bool) -> list[Encoding]:
    return [_of_sequence(one, index) for index, one in enumerate(encodings)]
