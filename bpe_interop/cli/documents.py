"""The documents that ``--json`` prints, as types: their schemas (docs/json.md) are made of these.

Only type checkers and ``tests/schemas.py`` import this module. A key may be added to a document;
what a key means is never changed, and none is taken away, without a new number in ``VERSIONS`` of
``tests/schemas.py``.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from ..cost import Cost
from ..engines import Special
from ..engines.transformers import Served
from ..loss import Field, Grade, Loss
from ..model import AddedToken, Alphabet, Fallback
from ..reports.document import WrittenFacts
from ..train.training import Algorithm

Ids: TypeAlias = list[int]
"""``encode --json``; an array of these with ``--lines``."""

Text: TypeAlias = str
"""``decode --json``; an array of these with ``--lines``."""


class TokenFacts(TypedDict):
    """A token: ``hex`` are its bytes, ``text`` is null where these are not UTF-8."""

    id: int
    hex: str
    text: str | None


class PlacedToken(TokenFacts):
    """A token of a text: where it stands in it, [start, end], in characters and in bytes.

    Both are null where the sequence template put it there.
    """

    characters: list[int] | None
    bytes: list[int] | None


class MergedSymbols(TypedDict):
    """A merge: the places of its ``symbols`` (first, middle, last) in the run, and what it makes.

    ``id`` is null where that is no token. A rank is a whole number but for a .model's scores.
    """

    rank: float
    symbols: list[int]
    hex: str
    text: str | None
    id: int | None


class MergeRun(TypedDict):
    """What is merged separately: symbols in hexadecimal, and the merges in order."""

    symbols: list[str]
    merges: list[MergedSymbols]


class ReplacedSymbol(TypedDict):
    """A symbol that is no token, and the ids that stand for it."""

    hex: str
    became: str
    ids: list[int]


class _HasIds(TypedDict):
    how: Literal["template", "added", "merged", "whole"]
    ids: list[int]


class Explanation(_HasIds, total=False):
    """A pretoken, an added token, or an id that the template placed (``how`` and ``ids`` alone)."""

    hex: str
    text: str | None
    characters: list[int]
    runs: list[MergeRun]
    replaced: list[ReplacedSymbol]


class EncodedCorpusDocument(TypedDict):
    """What ``encode --corpus`` wrote; ``counts`` is null where it was interrupted."""

    folder: str
    interrupted: bool
    done: int
    parts: int
    counts: dict[str, int] | None
    notes: list[str]


class CheckedShards(TypedDict):
    """What ``verify-shards`` found; ``same_bytes`` of ``sampled`` documents decode to the source's.

    ``wrong`` names what is not as it should be, ``unread`` the sources that could not be read.
    """

    files: int
    counts: dict[str, int]
    sampled: int
    same_bytes: int
    wrong: list[str]
    unread: list[str]


class Fingerprint(TypedDict):
    """The sha256 of each part of what a tokenizer does, and of all."""

    text: str
    specials: str
    template: str
    decoder: str
    all: str


PartName: TypeAlias = Literal["text", "specials", "template", "decoder"]
"""A part of a fingerprint; ``all`` aside."""


class ReplacedLock(TypedDict):
    """An older lock file, and what is other in the new one.

    ``differs``: "nothing"; "metadata", where the fingerprint is the same; "tokenizer", where it is
    not; "unknown", where the old file cannot be read, and the lists are empty. ``parts`` are the
    parts of the fingerprint that are other, ``stated`` the names of what is stated otherwise.
    """

    differs: Literal["nothing", "metadata", "tokenizer", "unknown"]
    parts: list[PartName]
    stated: list[str]


class Locked(TypedDict):
    """What ``lock`` wrote to the file ``lock``; ``replaced`` is null where no lock was there.

    ``to_check`` is a command that runs the source folder in the library that serves it; empty where
    none does.
    """

    lock: str
    source: str
    format: str
    tokens: int
    merges: int
    fingerprint: Fingerprint
    replaced: ReplacedLock | None
    notes: list[str]
    to_check: str


class ViewedSide(TypedDict):
    """A text in one tokenizer's ids; without any, null, and ``error`` says why.

    They are compared with those of the first side that has ids. ``cut`` counts the ids where the
    text is cut differently, ``other`` those where it is cut alike and the id is another,
    ``missed`` the places where only the first has ids. All three are null in the first side, and
    where there are no ids.
    """

    source: str
    ids: list[int] | None
    cut: int | None
    other: int | None
    missed: int | None
    error: str | None


class ViewedPage(TypedDict):
    """The page that ``view`` wrote, of a text of so many bytes of UTF-8.

    ``special`` says how special tokens in the text were read.
    """

    page: str
    bytes: int
    special: Special
    sides: list[ViewedSide]


class ServedPage(TypedDict):
    """The live page, printed as soon as it answers."""

    address: str


class ExplainedCode(TypedDict):
    """A code of a message."""

    code: str
    title: str


class CodePage(ExplainedCode):
    """A code of a message, and its whole page, in Markdown."""

    page: str


class FormatRow(TypedDict):
    """A format: ``holds`` are the fields that it can hold."""

    name: str
    aliases: list[str]
    title: str
    spec: str
    engine: str | None
    reads: bool
    writes: bool
    holds: list[Field]


class Splitters(TypedDict, total=False):
    """Names of llama.cpp's splitters that are proved to be the same, each with its settings.

    ``spellings`` are their patterns, ``by`` says what proves it, ``undecided`` names what does not.
    The last row has names that are ``refused``, and why.
    """

    names: dict[str, dict[str, bool]]
    spellings: list[list[str]]
    by: str
    undecided: list[str]
    over_characters: bool
    source: str
    refused: dict[str, str]


class ErrorFacts(TypedDict):
    """``code`` has a page: ``bpe-interop explain CODE``. ``fix`` says what to do; or is empty."""

    code: str
    what: str
    where: str
    fix: str


class ErrorDocument(TypedDict):
    """A command that could not do what was asked."""

    error: ErrorFacts


class LossRow(TypedDict):
    """A field that the target cannot hold."""

    field: Field
    grade: Grade
    what: str
    consequence: str
    witness: str | None
    shown: bool
    code: str


class _RefusedFacts(TypedDict):
    source: str
    target: str
    refused: list[LossRow]


class Refused(_RefusedFacts, total=False):
    """A conversion that was refused; ``costs`` with ``--corpus``."""

    costs: list[Cost]


class _ConvertedFacts(TypedDict):
    source: str
    source_format: str
    target: str
    target_format: str
    files: list[str]
    kept: list[str]
    rewrote: list[str]
    losses: list[Loss]
    notes: list[str]
    to_check: str


class Converted(_ConvertedFacts, WrittenFacts, total=False):
    """What ``convert`` wrote; ``costs`` with ``--corpus`` where something was dropped.

    ``to_check`` is the command that compares source and target again, where it needs a scope.
    """

    costs: list[Cost]


class NewToken(TypedDict):
    """A token that was added, and the ids that its text had before (``was``)."""

    text: str
    id: int
    special: bool
    lstrip: bool
    rstrip: bool
    single_word: bool
    normalized: bool
    roles: list[str]
    ascii_space: bool
    longest_first: bool
    was: list[int]


class RenamedToken(TypedDict):
    """A token that has another text: ``was``."""

    id: int
    text: str
    was: str


class SurgeryFacts(TypedDict):
    """What a network needs: ``rows`` of its embedding; ``in_place`` are new ids that have one."""

    new: list[NewToken]
    renamed: list[RenamedToken]
    made_special: list[AddedToken]
    rows_before: int
    rows_declared: bool
    rows_after: int
    in_place: list[int]
    notes: list[str]
    rows_added: int


class Extended(WrittenFacts):
    """What ``extend`` wrote."""

    source: str
    target: str
    target_format: str
    files: list[str]
    surgery: SurgeryFacts
    notes: list[str]
    losses: list[Loss]


class Trained(WrittenFacts):
    """What ``train`` learned and wrote; ``first_merges`` are [left, right, id, frequency]."""

    target: str
    algorithm: Algorithm
    bytes: int
    unmatched_bytes: int | None
    tokens: int | None
    ids: int
    merges: int
    first_merges: list[list[int]]
    notes: list[str]
    losses: list[Loss]
    files: list[str]


class StatisticsRow(TypedDict):
    """What a tokenizer makes of a file; of all of them where ``file`` is null.

    ``usable`` counts tokens that are not special, ``unused`` are the ids of those that do not
    occur, ``lengths`` counts the tokens of the text by their bytes.
    """

    file: str | None
    tokenizer: str
    documents: int
    bytes: int
    words: int
    tokens: int
    bytes_per_token: float | None
    tokens_per_word: float | None
    usable: int
    unused: list[int]
    lengths: dict[str, int]


class _Measured(TypedDict):
    statistics: list[StatisticsRow]


class Measured(_Measured, total=False):
    """``inspect --corpus``; what is told of parts is there with ``--scheduler`` or ``--state``."""

    interrupted: bool
    done: int
    parts: int
    notes: list[str]


class IdRange(TypedDict):
    """``holes`` are ids between 0 and the largest without a token: how many, and the first."""

    smallest: int
    largest: int
    holes: int
    first_hole: int | None


class RowFacts(TypedDict):
    """Rows of the embedding: declared, used (ids with a token), padding, and ids beyond them."""

    declared: int
    used: int
    padding: int
    beyond: int


class MergeFacts(TypedDict):
    """``firing`` merges can ever be used; ``in_order``: no token is merged before its own parts."""

    rule: Literal["ranks", "pairs"]
    listed: int | None
    firing: int
    in_order: bool


class Unreachable(TypedDict):
    """Tokens that no merge builds; with ``whole``, they are found as whole pretokens."""

    count: int
    whole: bool
    tokens: list[TokenFacts]


class AffixFacts(TypedDict):
    """What is glued to symbols before merging."""

    prefix: str | None
    suffix: str | None


class StepFacts(TypedDict):
    """A step of a normalizer, pre-tokenizer or decoder: its type, and its settings beside it."""

    type: str


class TemplatePart(TypedDict, total=False):
    """A text (``which``), or a token that is placed (``name`` and ``ids``)."""

    which: Literal["A", "B"]
    name: str
    ids: list[int]
    type_id: int


class TemplateFacts(TypedDict):
    """What is placed around one text, and around a pair."""

    single: list[TemplatePart]
    pair: list[TemplatePart]


class RoleFacts(TypedDict):
    """A special token and what it is for: bos, eos, ..."""

    role: str
    text: str
    id: int


class EncodingFacts(TypedDict):
    """Who encodes with our own encoder; why it is not the native kernel alone, or empty."""

    by: Literal["native", "python"]
    because: str


class UnicodeFacts(TypedDict):
    """The Unicode version of character classes, and the engines that it was measured from."""

    version: str
    engines: dict[str, str]


class Inspection(TypedDict):
    """All that there is to know about a tokenizer.

    source, format: what was named, and the format that it was read as.
    files: names to sha256; of a GGUF file it is that of its head.
    in_part: those of the files of which only a part is read.
    unread_keys: of tokenizer_config.json, by name of the file: keys that nothing here reads.
    not_read: names of other tokenizer files in the same directory.
    others: names of all other files there.
    tokens: how many, added tokens aside; ids counts these too.
    rows: of the model's embedding, where a config.json declares them.
    missing_bytes: bytes of UTF-8 that no token stands for; null for characters.
    fallback: what becomes of a symbol without a token.
    normalizer, pretokenizer, decoder, added, sequence_template: null where unsaid.
    unsaid: names of the fields that the source does not state.
    particulars: what is peculiar to the format; of GGUF: pre, what llama.cpp does under its name.
    presets: presets that can state what is unsaid.
    served: what transformers' AutoTokenizer runs; null where there is no tokenizer.json.
    notes: sentences for people.
    """

    source: str
    format: str
    files: dict[str, str]
    in_part: list[str]
    unread_keys: dict[str, list[str]]
    not_read: list[str]
    others: list[str]
    alphabet: Alphabet
    affixes: AffixFacts
    tokens: int
    ids: IdRange
    rows: RowFacts | None
    merges: MergeFacts
    unreachable: Unreachable
    missing_bytes: list[int] | None
    fallback: Fallback
    normalizer: list[StepFacts] | None
    pretokenizer: list[StepFacts] | None
    decoder: list[StepFacts] | None
    added: list[AddedToken] | None
    roles: list[RoleFacts]
    sequence_template: TemplateFacts | None
    chat_template: str | None
    extras: dict[str, Any]
    unsaid: list[str]
    encoding: EncodingFacts
    particulars: dict[str, Any]
    presets: list[str]
    unicode: UnicodeFacts
    served: Served | None
    notes: list[str]
