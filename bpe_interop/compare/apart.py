"""An engine in a process of its own, held to what our encoder gives.

Several work at the same time, and their memory is free when they end. A child says only whether
all is equal. Where it is not, or anything fails, this process asks the engine itself, which tells
what differs.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from queue import SimpleQueue

from ..engines import Engine
from ..engines.child_process import ChildProcess, EndedError, Say, cores
from ..engines.library import library
from ..errors import BpeInteropError
from ..gc_pause import paused
from ..model import BPEModel, PairList, Vocab
from .sides import Build, Failure, Mode, Own, decode, encode_all

_LARGE = 50_000
"""Tokens from which a process of its own pays: it takes 0.2 s to start."""


def pays(model: BPEModel) -> bool:
    """Whether engines of a model are better run each in a process of its own."""
    return len(model.vocab.ids) >= _LARGE and cores() > 1


def without_tokens(model: BPEModel) -> BPEModel:
    """A model that says of a tokenizer what rank files do not; it is quickly sent elsewhere.

    It keeps one token: there is no model without any.
    """
    one = dict(islice(model.vocab.ids.items(), 1))
    return replace(model, vocab=Vocab(one), merges=PairList(()), decoder=None)


@dataclass(frozen=True, slots=True)
class Question:
    """What an engine has to give in a mode: for each text, ids, and what they decode to.

    None stands for what is not compared: it was in the mode before.
    """

    mode: Mode
    ids: list[list[int]]
    decoded: list[str | None]


@dataclass(frozen=True, slots=True)
class Expected:
    """What an engine has to give for texts."""

    texts: list[str]
    questions: tuple[Question, ...]


def expected(own: Own, texts: list[str], modes: Iterable[Mode]) -> Expected | None:
    """What our encoder gives; None where it fails on a text."""
    questions = []
    agreed: list[list[int] | None] = [None] * len(texts)
    for mode in modes:
        answers: list[list[int]] = []
        decoded: list[str | None] = []
        for place, ids in enumerate(encode_all(own, texts, mode)):
            if isinstance(ids, Failure):
                return None
            answers.append(ids)
            if not mode.decodes or ids == agreed[place]:
                decoded.append(None)
                continue
            text, agreed[place] = decode(own, ids, texts[place]), ids
            if isinstance(text, Failure):
                return None
            decoded.append(text)
        questions.append(Question(mode, answers, decoded))
    return Expected(texts, tuple(questions))


def holds(engine: Engine, wanted: Expected) -> bool:
    """Whether an engine gives just that."""
    for question in wanted.questions:
        if encode_all(engine, wanted.texts, question.mode) != question.ids:
            return False
        for text, ids, meant in zip(wanted.texts, question.ids, question.decoded, strict=True):
            if meant is not None and decode(engine, ids, text) != meant:
                return False
    return True


class _EngineThere:
    """An engine in the child, whose module is imported at once."""

    def __init__(self, first: str, say: Say) -> None:
        library(first)
        self._engine: Engine | None = None

    def build(self, build: Build) -> None:
        """Makes the engine."""
        with paused():
            self._engine = build()

    def holds(self, wanted: Expected) -> bool:
        """Whether it gives just that."""
        with paused():
            return self._engine is not None and holds(self._engine, wanted)


class Apart:
    """A process that imports a module at once, then builds an engine, and then is asked.

    It ends with the block. None of its methods but :meth:`agrees` waits for it.
    """

    def __init__(self, first: str) -> None:
        self._orders: SimpleQueue[Build | Expected | None] = SimpleQueue()
        self._child = ChildProcess(partial(_EngineThere, first), quiet=True)
        self._thread = ThreadPoolExecutor(1)
        self._answer: Future[bool] = self._thread.submit(self._work)

    def __enter__(self) -> Apart:
        return self

    def __exit__(self, *raised: object) -> None:
        self._orders.put(None)
        self._child.close()
        self._thread.shutdown()

    def build(self, build: Build) -> None:
        """Says what the engine is."""
        self._orders.put(build)

    def ask(self, wanted: Expected | None) -> None:
        """Says what it has to give; None: nothing that could be compared."""
        self._orders.put(wanted)

    def agrees(self) -> bool:
        """Whether it gives just that. False where it did not work as well."""
        return self._answer.result()

    def _work(self) -> bool:
        try:
            self._child.answer()
            given: object = None
            for method in ("build", "holds"):
                order = self._orders.get()
                if order is None:
                    return False
                given = self._child.call(method, order)
            return given is True
        except (EndedError, BpeInteropError, pickle.PickleError):
            return False
