"""What a training was asked for, checked before any text is read, and what it gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, Union

from ..errors import SourceError
from ..model import (
    MAX_ID,
    AddedToken,
    BPEModel,
    Origin,
    PairList,
    SequenceTemplate,
    Vocab,
)
from ..openai_encodings import meant
from ..presets import PRESETS
from ..quoting import show
from ..steps import Dialect, JoinBytes, Pattern, PreTokenizerStep, Split
from ..text.patterns import parse, translate
from ..text.visible import many
from .learner import BYTES, LearnedMerge

Algorithm: TypeAlias = Literal["tutorial", "huggingface", "sentencepiece"]
Option: TypeAlias = Union[bool, int, float, str, list[str]]

ALGORITHMS: tuple[Algorithm, ...] = ("tutorial", "huggingface", "sentencepiece")

StepTick: TypeAlias = Callable[[str, int], None]
"""Called with what goes on and how far it is.

``"files"`` counts bytes of files on disk, ``"reading"`` bytes of UTF-8, ``"merging"`` merges.
"""

_NAME = re.compile(r"[A-Za-z0-9_-]+")
"""A regular expression that is only this would be a name that nobody knows."""


@dataclass(frozen=True, slots=True)
class Request:
    """The settings of a training, as :func:`bpe_interop.train.train` takes them.

    Raises:
        SourceError: they make no sense, alone or together.
    """

    vocab_size: int | None = None
    merges: int | None = None
    min_frequency: int | None = None
    pattern: str | None = None
    special_tokens: Mapping[str, int] | tuple[str, ...] = ()
    algorithm: Algorithm = "tutorial"
    options: Mapping[str, Option] = field(default_factory=dict)
    name: str = ""
    dialect: Dialect | None = None
    """The dialect in which the pattern of a preset is read, where the files are to be in it."""

    def __post_init__(self) -> None:
        if self.algorithm not in ALGORITHMS:
            raise SourceError(
                f"there is no algorithm {show(self.algorithm)}",
                fix=f"algorithms: {', '.join(ALGORITHMS)}",
            )
        _check_numbers(self)
        _check_special(self.special_tokens)
        steps(self.pattern, self.dialect)
        if self.algorithm == "tutorial" and self.options:
            raise _not_for("tutorial", f"the option {show(next(iter(self.options)))}")
        if self.algorithm != "tutorial" and isinstance(self.special_tokens, Mapping):
            raise _not_for(self.algorithm, "ids for special tokens")
        if self.algorithm == "sentencepiece" and self.pattern is not None:
            raise _not_for("sentencepiece", "a pattern")
        if self.algorithm == "sentencepiece" and self.min_frequency is not None:
            raise _not_for("sentencepiece", "min_frequency")

    @property
    def limit(self) -> int | None:
        """How many merges the tutorial's algorithm is to make; None for all there are."""
        return self.merges if self.vocab_size is None else self.vocab_size - BYTES

    @property
    def least(self) -> int:
        """How often a pair has to occur to be merged."""
        return max(self.min_frequency or 1, 1)

    def short(self, possible: int, smallest: int) -> SourceError:
        """The error where a text gives fewer merges than were asked for."""
        asked = f"{self.merges:,} merges" if self.vocab_size is None else f"{self.vocab_size:,} ids"
        return SourceError(
            f"{asked} were asked for, and the text gives {many(possible, 'merge')} "
            f"({smallest + possible:,} ids)",
            fix="ask for no more than that, give more text, or let it end early with "
            "--min-frequency 2 (min_frequency=2)",
        )


def steps(pattern: str | None, dialect: Dialect | None = None) -> tuple[PreTokenizerStep, ...]:
    """The pre-tokenizer of a pattern: none, a name that a preset has, or a regular expression.

    The names are those of the presets, without ``_base`` too (``gpt2``, ``cl100k``, ``o200k``);
    their patterns are read in ``dialect``, whose Unicode tables may be of another version.
    A regular expression is the ``regex`` library's; text that it does not match is dropped, as
    ``regex.findall`` does.

    Raises:
        SourceError: it is empty, or looks like a name, and there is none like it.
        PatternError: it is malformed, or not understood.
    """
    if pattern is None:
        return ()
    preset = PRESETS.get(pattern) or PRESETS.get(f"{pattern}_base")
    if preset is not None:
        named = Pattern(preset.pattern, "fancy-regex")
        return (Split(translate(named, dialect or "fancy-regex"), "removed", invert=True),)
    if not pattern:
        raise SourceError("the pattern is empty", fix="leave it out, to cut texts nowhere")
    if _NAME.fullmatch(pattern):
        names = ["cl100k", "o200k", *PRESETS]
        raise SourceError(
            f"there is no pattern with the name {pattern}",
            fix=f"{meant(pattern, names)}names: {', '.join(names)}; for the regular expression "
            f"{pattern}, write (?:{pattern})",
        )
    given = Pattern(pattern, "python")
    parse(given)  # what is malformed is told before anything is read
    return (Split(given, "removed", invert=True),)


def made_by_trainer(algorithm: Algorithm, options: Mapping[str, Option]) -> set[str]:
    """The special tokens that an algorithm makes without being asked."""
    if algorithm != "sentencepiece":
        return set()
    named = {str(text) for name, text in options.items() if name.endswith("_piece")}
    return {"<unk>", "<s>", "</s>"} | named


def special_ids(request: Request, first: int) -> tuple[AddedToken, ...]:
    """The special tokens with the ids that were given, or those from ``first`` on.

    Raises:
        SourceError: a given id is that of another token.
    """
    asked = request.special_tokens
    if not isinstance(asked, Mapping):
        asked = {text: number for number, text in enumerate(asked, first)}
    for text, number in asked.items():
        if number < first:
            raise SourceError(
                f"the special token {show(text)} has the id {number}, which is a learned token's",
                fix=f"give it {first} or more",
            )
    return tuple(AddedToken(text, number) for text, number in asked.items())


def _check_numbers(request: Request) -> None:
    size, merges, least = request.vocab_size, request.merges, request.min_frequency
    if size is not None and merges is not None:
        raise SourceError(
            "vocab_size and merges say the same thing, and both are given", fix="leave one out"
        )
    if size is None and merges is None and (request.algorithm != "tutorial" or (least or 1) < 2):
        either = " or --merges N (merges=N)" if request.algorithm == "tutorial" else ""
        raise SourceError(
            "the size of the vocabulary is missing",
            fix=f"give --vocab-size N (vocab_size=N){either}",
        )
    if merges is not None and request.algorithm != "tutorial":
        raise _not_for(request.algorithm, "a number of merges")
    if size is not None and size < BYTES and request.algorithm == "tutorial":
        raise SourceError(
            f"vocab_size is {size}, and the {BYTES} bytes are tokens already",
            fix=f"give {BYTES} or more",
        )
    for name, number in (("vocab_size", size), ("merges", merges), ("min_frequency", least)):
        if number is not None and not 0 <= number <= MAX_ID - BYTES:
            raise SourceError(f"{name} is {number}, which makes no sense", fix="give a size")


def _check_special(tokens: Mapping[str, int] | tuple[str, ...]) -> None:
    seen: set[str] = set()
    for text in tokens:
        if not text:
            raise SourceError("a special token is empty", fix="give it a text")
        if text in seen:
            raise SourceError(f"the special token {show(text)} is given twice", fix="give it once")
        seen.add(text)
    if isinstance(tokens, Mapping):
        texts: dict[int, str] = {}
        for text, number in tokens.items():
            if number > MAX_ID:
                raise SourceError(
                    f"the id {number} of {show(text)} is above {MAX_ID}", fix="give a smaller one"
                )
            other = texts.setdefault(number, text)
            if other != text:
                raise SourceError(
                    f"the special tokens {show(other)} and {show(text)} have the same id {number}",
                    fix="give each its own",
                )


def _not_for(algorithm: str, what: str) -> SourceError:
    return SourceError(f"the algorithm {algorithm} does not take {what}", fix="leave it out")


def known_options(options: Mapping[str, Option], known: Iterable[str], of: str) -> None:
    """Raises SourceError where an option is none of those known."""
    names = tuple(known)
    for name in options:
        if name not in names:
            raise SourceError(
                f"{of} has no option {show(name)}", fix=f"options: {', '.join(names)}"
            )


@dataclass(frozen=True)
class Training:
    """A learned model, and what it was learned from.

    Texts of ``size`` bytes of UTF-8 were read, of which ``unmatched`` bytes are in no pretoken,
    and became ``tokens`` tokens. ``merges`` are in the order they were made. What a
    trainer of somebody else's does not tell is None. ``notes`` are sentences for people.
    """

    model: BPEModel
    algorithm: Algorithm
    size: int
    unmatched: int | None = None
    tokens: int | None = None
    merges: tuple[LearnedMerge, ...] | None = None
    notes: tuple[str, ...] = ()


def empty(size: int = 0, where: str = "") -> SourceError:
    """The error where there is nothing to learn from in texts of so many bytes."""
    return SourceError(
        "the pattern matches nothing in the text" if size else "there is no text to learn from",
        where=where,
        fix="give another pattern" if size else "give a text that is not empty",
    )


def untrained(request: Request) -> BPEModel:
    """What the tutorial's algorithm would give if no merge were made."""
    return with_merges(request, ())


def with_merges(request: Request, merges: Sequence[LearnedMerge]) -> BPEModel:
    """The model of these merges: bytes are the first ids, then come the products.

    No two products have the same bytes (Theorem 34 in docs/theory.md).

    Raises:
        SourceError: a special token was given the id of another token.
    """
    contents = [bytes([byte]) for byte in range(BYTES)]
    for merge in merges:
        contents.append(contents[merge.left] + contents[merge.right])
    return BPEModel(
        vocab=Vocab({content: number for number, content in enumerate(contents)}),
        merges=PairList(tuple((contents[m.left], contents[m.right]) for m in merges)),
        normalizer=(),
        pretokenizer=steps(request.pattern, request.dialect),
        added=special_ids(request, len(contents)),
        sequence_template=SequenceTemplate(),
        decoder=(JoinBytes(),),
        origin=Origin(name=request.name),
    )
