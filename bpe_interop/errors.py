"""Every error this library raises on purpose; each kind has a page in ``docs/refusals``.

::

    BpeInteropError
    ├── SourceError            a source cannot be found, read, or told apart
    │   ├── UnknownEncodingError   no encoding has this name (also ValueError)
    │   └── UnknownModelError      no model of OpenAI's has this name (also KeyError)
    ├── FormatError            a file is malformed; says which one and where (also ValueError)
    │   ├── UnsupportedError   well-formed, but uses something we refuse by name
    │   └── WrongSizeError     a stated number of tokens is wrong (also AssertionError)
    ├── InvalidModelError      a model breaks an invariant (also ValueError)
    ├── UnstatedError          a fact is needed that the source does not state (also ValueError)
    ├── PatternError           a regex cannot be parsed, expressed or run (also ValueError)
    ├── LossyConversionError   the target cannot hold what the source says
    ├── TargetError            a target cannot be written
    ├── CheckFailedError       a written file does not give the source's ids
    ├── EncodeError            a text has no encoding in this model (also ValueError)
    ├── DecodeError            an id has no text in this model (also KeyError)
    │   └── OutOfRangeError    a number that no id can be (also OverflowError)
    ├── SpecialTokenError      a special token or role cannot be given (also ValueError)
    ├── ArgumentError          a word is not one of those that a function takes (also ValueError)
    ├── DisallowedSpecialError a special token is in a text and not allowed (also ValueError)
    └── EngineError            somebody else's library failed
        └── EngineMissingError ... or is not installed

A page belongs to a class, and has a line in ``docs/refusals/index.md``. For a message with a page
of its own, make a subclass (of ``UnsupportedError`` where a file is refused), and raise it with the
place: in JSON ``node.where`` (``node.refuse`` raises ``UnsupportedError`` itself), in a ``.model``
the file and the field, as ``_check_type`` in ``formats/sentencepiece/read.py`` does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .loss import Loss  # dataclasses take longer to import than all errors

ONLY_BPE = (
    "this library is for tokenizers that merge pairs (BPE); Unigram (T5, ALBERT, XLNet) and "
    "WordPiece (BERT) choose their tokens otherwise: run the file in the library that made it"
)
"""What to do with a tokenizer of another kind."""


def compared_in(engine: str) -> str:
    """What to do with a file that is not read here, and that an engine may run."""
    # With an engine named, `verify` leaves to it what our own reader refuses.
    return f"to compare it on texts all the same: verify A B --engine-a {engine} (engine_a=...)"


class BpeInteropError(Exception):
    """Base of all errors raised by this library.

    ``what`` went wrong, ``where`` (a file, a line, a JSON path; may be empty), and
    what to do about it (``fix``; may be empty).
    """

    def __init__(self, what: str, *, where: str = "", fix: str = "") -> None:
        super().__init__(what, where, fix)
        self.what = what
        self.where = where
        self.fix = fix

    @property
    def code(self) -> str:
        """The stable name of this kind of error, and of the page about it in ``docs/refusals``.

        The class's name in words: ``UnknownModelError`` is ``ERROR-unknown-model``.
        """
        words = re.findall("[A-Z][a-z]+", type(self).__name__.removesuffix("Error"))
        return "-".join(["ERROR", *map(str.lower, words)])

    def __str__(self) -> str:
        message = f"{self.where}: {self.what}" if self.where else self.what
        return f"{message}\n  {self.fix}" if self.fix else message

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.what, self.where, self.fix, self.__dict__)


def _rebuild(
    cls: type[BpeInteropError], what: str, where: str, fix: str, state: dict[str, object]
) -> BpeInteropError:
    error = cls.__new__(cls)
    BpeInteropError.__init__(error, what, where=where, fix=fix)
    error.__dict__.update(state)
    return error


def not_utf8(error: UnicodeDecodeError, before: int = 0) -> str:
    """What to say of bytes that are not UTF-8; ``before`` is how many were read before them."""
    byte = error.object[error.start]
    return f"not UTF-8: byte 0x{byte:02X} at offset {before + error.start}"


class SourceError(BpeInteropError):
    """A source cannot be found or read, or it could be several things at once.

    ``by_extend``: what was asked is a change, which ``extend`` makes where ``convert`` does not.
    """

    by_extend = False


class UnknownEncodingError(SourceError, ValueError):
    """Neither OpenAI nor a plugin of tiktoken has an encoding of this name."""


class UnknownModelError(SourceError, KeyError):
    """No model of OpenAI's is known by this name."""

    __str__ = BpeInteropError.__str__


class FormatError(BpeInteropError, ValueError):
    """A file does not follow its format."""


class UnsupportedError(FormatError):
    """A file is well-formed but asks for something that is refused by name."""


class WrongSizeError(FormatError, AssertionError):
    """An encoding does not have the number of tokens that is stated (``explicit_n_vocab``)."""


class InvalidModelError(BpeInteropError, ValueError):
    """A model breaks an invariant.

    ``field`` is the model's field; ``index`` is the position in it (a number for merges and
    added tokens, the token's bytes for the vocabulary), so that a loader can say which line.
    """

    def __init__(
        self, what: str, *, field: str, index: int | bytes | None = None, where: str = ""
    ) -> None:
        super().__init__(what, where=where or field)
        self.field = field
        self.index = index


class UnstatedError(BpeInteropError, ValueError):
    """A fact is needed (a pattern, special tokens) that the source does not state."""


class PatternError(BpeInteropError, ValueError):
    """A regular expression cannot be parsed, expressed in a dialect, or run to its end."""


class LossyConversionError(BpeInteropError):
    """The target cannot hold what the source says; ``losses`` lists each refused loss.

    ``stating`` are options of a command that state what the source does not, by field: in their
    place nothing is dropped. ``another`` is the format to name instead, where dropping leaves no
    tokenizer; empty where the source has it, None where it helps to drop.
    """

    def __init__(self, what: str, losses: tuple[Loss, ...], *, fix: str = "") -> None:
        super().__init__(what, fix=fix)
        self.losses = losses
        self.stating: dict[str, tuple[str, ...]] = {}
        self.another: str | None = None


class TargetError(BpeInteropError):
    """A target cannot be written, or already holds something."""


class CheckFailedError(BpeInteropError):
    """What was written does not give the source's ids; nothing was kept."""


class EncodeError(BpeInteropError, ValueError):
    """A text has no encoding in this model."""


class DecodeError(BpeInteropError, KeyError):
    """An id or a token is not in this model, or ids have no text that can be given."""

    __str__ = BpeInteropError.__str__


class OutOfRangeError(DecodeError, OverflowError):
    """A number that no id can be: below 0 or above 2**32 - 1 (tiktoken: ``OverflowError``)."""


class SpecialTokenError(BpeInteropError, ValueError):
    """A special token, an id or a role that a tokenizer cannot be given."""


class DisallowedSpecialError(BpeInteropError, ValueError):
    """A text contains a special token that was not allowed."""


class ArgumentError(BpeInteropError, ValueError):
    """A word that was given, such as a format's name, is not one of those that are taken."""


class EngineError(BpeInteropError):
    """Somebody else's library failed on a text or on a model."""


class EngineMissingError(EngineError):
    """Somebody else's library is needed and is not installed."""


def by_extra(extra: str) -> str:
    """The commands that install an extra of ours: from an index, and in a checkout."""
    return f"pip install 'bpe-interop[{extra}]' (in a checkout: pip install -e '.[{extra}]')"
