"""SentencePiece's trainer (https://github.com/google/sentencepiece, ``trainer_interface.cc``)."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..engines.library import guarded, library
from ..errors import SourceError
from ..formats import by_name
from ..gate import renamed
from ..model import SequenceTemplate
from .pretokens import LINES, Handed, Texts, names_of, read_texts
from .training import Option, Request, StepTick, Training

LONGEST = 4192
"""SentencePiece's own ``max_sentence_length``, in bytes."""

_OURS = (
    "input",
    "input_format",
    "model_prefix",
    "model_type",
    "model_writer",
    "sentence_iterator",
    "sentence_reader",
    "vocab_size",
)
"""What is said by other arguments; only BPE is learned, from plain text."""

_QUIET = 3


def learn_with_sentencepiece(texts: Texts, request: Request, tick: StepTick) -> Training:
    """Learns with SentencePiece from the lines of the texts; options go to it as they are.

    Special tokens become control pieces.

    Raises:
        SourceError, EngineMissingError, EngineError: as :func:`bpe_interop.train.train`.
    """
    for name in request.options:
        if name in _OURS:
            raise SourceError(
                f"the option {name} is not passed on to sentencepiece", fix="leave it out"
            )
    sentencepiece = library("sentencepiece", without="the algorithm sentencepiece cannot train")
    handed = Handed(
        read_texts(texts, LINES, tick), lambda read: tick("reading", read), names_of(texts)
    )
    sentences = _Sentences(handed, request)
    written = io.BytesIO()
    with handed.watched(), guarded("sentencepiece", "to train"):
        # It writes nothing to the screen from then on.
        sentencepiece.set_min_log_level(_QUIET)
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=written, **_settings(request)
        )
    model = by_name("sentencepiece").load({"tokenizer.model": written.getvalue()})
    return Training(
        # Nobody but us says what this new model places around a text: nothing.
        model=replace(renamed(model, request.name), sequence_template=SequenceTemplate()),
        algorithm="sentencepiece",
        size=handed.size,
        notes=tuple(sentences.notes()),
    )


class _Sentences:
    """The lines of texts. SentencePiece passes over long ones and says so in its log only.

    Where there are more than ``input_sentence_size``, it draws some of them with a generator
    that no seed reaches (0.2.3; the same in one process, others in the next). That is refused.
    """

    def __init__(self, handed: Handed, request: Request) -> None:
        options = request.options
        self._handed = handed
        self._longest = _number(options, "max_sentence_length", LONGEST)
        drawn = _number(options, "input_sentence_size", 0)
        drawing = str(options.get("shuffle_input_sentence", True)).lower() not in ("false", "0")
        self._most = drawn if drawing else 0
        self._count = self._skipped = 0

    def __iter__(self) -> Iterator[str]:
        for text in self._handed:
            for line in text.removesuffix("\n").split("\n"):
                self._count += bool(line)
                self._skipped += len(line.encode("utf-8")) > self._longest
                if 0 < self._most < self._count - self._skipped:
                    raise self._handed.keep(self._drawing())
                yield line

    def _drawing(self) -> SourceError:
        return SourceError(
            f"there are more than {self._most:,} lines (input_sentence_size), and sentencepiece "
            "would choose others of them each time",
            fix="learn from all of them (input_sentence_size=0), or from the first "
            "(shuffle_input_sentence=false)",
        )

    def notes(self) -> Iterator[str]:
        """What a user should know."""
        if self._skipped:
            yield (
                f"{self._skipped:,} of {self._count:,} lines are longer than {self._longest:,} "
                "bytes (max_sentence_length), and sentencepiece did not learn from them"
            )


def _settings(request: Request) -> dict[str, Any]:
    settings: dict[str, Any] = {"model_type": "bpe", "vocab_size": request.vocab_size}
    if request.special_tokens:
        if "control_symbols" in request.options:
            raise SourceError(
                "special tokens are sentencepiece's control_symbols, and both are given",
                fix="leave one out",
            )
        settings["control_symbols"] = list(request.special_tokens)
    return settings | dict(request.options)


def _number(options: Mapping[str, Option], name: str, otherwise: int) -> int:
    """An option that has to be a number, which a command line may give as text."""
    option = options.get(name, otherwise)
    try:
        return int(str(option))
    except ValueError:
        raise SourceError(
            f"{name} is {option!r}, which is no number", fix="give a whole number"
        ) from None
