"""The typed steps of a tokenizer's pipeline: a small, closed set, whatever file they come from.

What several formats call by different names is one step here. Each says what it does to a text,
a list of pretokens or the tokens being decoded; ``text/`` runs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn, TypeAlias, Union

Dialect: TypeAlias = Literal["fancy-regex", "oniguruma", "python"]
Behavior: TypeAlias = Literal[
    "removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"
]
Prefixing: TypeAlias = Literal["always", "first", "never"]

SPACE = "\u2581"
"""How SentencePiece writes a space (U+2581)."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression and the dialect it is written in.

    ``fancy-regex`` is tiktoken's, ``oniguruma`` is tokenizers', ``python`` is the ``regex``
    library's.
    """

    source: str
    dialect: Dialect


@dataclass(frozen=True, slots=True)
class _Bare:
    """A step without settings: equal to the others of its class."""


# Normalizer steps: text in, text out.


@dataclass(frozen=True, slots=True)
class UnicodeForm:
    """A Unicode normal form (Unicode Standard Annex 15)."""

    form: Literal["NFC", "NFD", "NFKC", "NFKD"]


class Lowercase(_Bare):
    """Unicode lower case, as Rust's ``char::to_lowercase`` has it (no final-sigma rule)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Strip:
    """Removes White_Space from the ends."""

    left: bool
    right: bool


@dataclass(frozen=True, slots=True)
class Replace:
    """Replaces each match of a pattern (or of a literal ``str``) by a text."""

    pattern: Pattern | str
    content: str


@dataclass(frozen=True, slots=True)
class Prepend:
    """Puts a text before every non-empty text."""

    text: str


class StripAccents(_Bare):
    """Removes nonspacing marks (general category Mn), as Hugging Face's ``StripAccents`` does."""

    __slots__ = ()


class Nmt(_Bare):
    """Removes some control characters, makes some white space spaces (Hugging Face's ``Nmt``)."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class BertText:
    """What Hugging Face's ``BertNormalizer`` does; each flag is one of its four parts."""

    clean: bool
    chinese_chars: bool
    strip_accents: bool
    lowercase: bool


@dataclass(frozen=True, slots=True)
class Precompiled:
    """A SentencePiece character map as Hugging Face applies it: by grapheme, then by character.

    That is not what SentencePiece does with the same map (:class:`SentencePieceText`).
    """

    charsmap: bytes


@dataclass(frozen=True, slots=True)
class SentencePieceText:
    """What SentencePiece's normalizer does (``src/normalizer.cc``), where simpler steps cannot.

    ``charsmap`` (empty: none) replaces the longest match at each place, but leaves the texts
    ``kept`` (user-defined pieces) alone; ``collapse`` removes spaces at the ends and doubled
    ones; ``dummy`` is where a space is added to a text that is not empty; ``escape`` writes
    spaces as U+2581. Without ``charsmap``, ``collapse`` and a suffix, loaders say ``Prepend``
    and ``Replace`` instead.
    """

    charsmap: bytes
    collapse: bool
    dummy: Literal["none", "prefix", "suffix"]
    escape: bool
    kept: tuple[str, ...] = ()


NormalizerStep: TypeAlias = Union[
    UnicodeForm,
    Lowercase,
    Strip,
    StripAccents,
    Nmt,
    BertText,
    Replace,
    Prepend,
    Precompiled,
    SentencePieceText,
]


# Pre-tokenizer steps: a list of pretokens in, a list of pretokens out.


@dataclass(frozen=True, slots=True)
class Split:
    """Cuts at each match of a pattern (or of a literal ``str``).

    ``invert`` exchanges matched and unmatched text before ``behavior`` is applied, so tiktoken's
    "matches are the pretokens, what is unmatched is dropped" is ``behavior="removed",
    invert=True``.
    """

    pattern: Pattern | str
    behavior: Behavior
    invert: bool = False


class PrefixSpace(_Bare):
    """Puts a space before each pretoken that does not begin with one (U+0020)."""

    __slots__ = ()


class ByteChars(_Bare):
    """Writes each pretoken's UTF-8 bytes in GPT-2's byte alphabet, for the *later* steps to see.

    The mapping that every byte-level tokenizer does last is implied by ``alphabet="byte"`` and
    is not listed; this step stands only where other steps follow it.
    """

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Digits:
    """Cuts out numeric characters (Rust's ``char::is_numeric``), each one or in runs."""

    individual: bool


@dataclass(frozen=True, slots=True)
class Punctuation:
    """Cuts at punctuation (ASCII punctuation and general category P)."""

    behavior: Behavior


@dataclass(frozen=True, slots=True)
class Metaspace:
    """Writes spaces (U+0020) as ``replacement``, and puts one before pretokens without it.

    ``prepend``: before each pretoken that does not begin with it, before the one that begins
    where the text begins (the text before added tokens are cut out), or never. Hugging Face's
    ``split`` is a ``Split(replacement, "merged_with_next")`` after it.
    """

    replacement: str
    prepend: Prefixing


class Words(_Bare):
    """Keeps runs of word characters, and runs of what is neither these nor White_Space.

    Hugging Face's ``Whitespace``.
    """

    __slots__ = ()


class UnicodeScripts(_Bare):
    """Cuts where the Unicode script changes, as Hugging Face's ``UnicodeScripts`` does."""

    __slots__ = ()


PreTokenizerStep: TypeAlias = Union[
    Split, PrefixSpace, ByteChars, Digits, Punctuation, Metaspace, Words, UnicodeScripts
]


# Decoder steps.


@dataclass(frozen=True, slots=True)
class JoinBytes:
    """Joins the tokens' bytes and reads them as UTF-8, each malformed part as U+FFFD.

    With ``mapped_added``, an added token whose text is spelled wholly in GPT-2's byte alphabet
    is mapped to bytes as well (Hugging Face's ByteLevel decoder does so); loaders set it only
    where it changes anything.
    """

    mapped_added: bool = False


class JoinTokens(_Bare):
    """Joins the tokens as the file spells them with single spaces (``"decoder": null``)."""

    __slots__ = ()


class ByteTokens(_Bare):
    """Reads runs of byte tokens (``<0xE4>``) as UTF-8; in a malformed run each is U+FFFD.

    Hugging Face's ``ByteFallback`` decoder.
    """

    __slots__ = ()


class Fuse(_Bare):
    """Joins all tokens into one, for the later steps to see."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class StripToken:
    """Removes up to so many of a character from each token's start and end."""

    content: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class MetaspaceText:
    """Undoes :class:`Metaspace`: spaces again, and none at the start unless ``never``."""

    replacement: str
    prepend: Prefixing


@dataclass(frozen=True, slots=True)
class WordEnds:
    """Writes ``suffix`` as a space, and as nothing in the last token (``BPEDecoder``)."""

    suffix: str


@dataclass(frozen=True, slots=True)
class WordPieces:
    """Joins words by spaces, tokens that begin with ``prefix`` to the one before.

    ``cleanup`` undoes spaces before punctuation and in English contractions.
    """

    prefix: str
    cleanup: bool


@dataclass(frozen=True, slots=True)
class JoinPieces:
    """Decodes as SentencePiece does (``src/sentencepiece_processor.cc``, ``Decode``).

    Control pieces are nothing, the unknown one is ``unknown``, byte pieces are UTF-8 with each
    malformed byte U+FFFD, U+2581 is a space. The flags are the normalizer's, by which spaces at
    an end are left out; ``charsmap`` is the denormalizer's (empty: none).
    """

    unknown: str
    dummy: Literal["none", "prefix", "suffix"]
    collapse: bool
    charsmap: bytes = b""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """These ids are these bytes, whatever their tokens are and the later steps do to a token.

    It stands first. llama.cpp decodes tokens of some types so (``token_to_piece`` in
    ``llama-vocab.cpp``): unused ones to nothing, for one. Only of the first id it leaves a space
    out (``detokenize``), so where that is nothing, a later ``StripToken`` does nothing.
    """

    tokens: tuple[tuple[int, bytes], ...]


DecoderStep: TypeAlias = Union[
    Verbatim,
    JoinBytes,
    JoinTokens,
    JoinPieces,
    Replace,
    ByteTokens,
    Fuse,
    StripToken,
    MetaspaceText,
    WordEnds,
    WordPieces,
]


def no_branch(value: NoReturn) -> TypeError:
    """The error behind the last branch over a closed union, such as one of steps.

    mypy refuses the call where a member has no branch.
    """
    # typing.assert_never is there from Python 3.11 on.
    return TypeError(f"no branch for {value!r}")
