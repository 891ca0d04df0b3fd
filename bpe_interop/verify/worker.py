"""A child process of a comparison: it builds both sides, and answers until its input ends."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, BinaryIO

from ..engines import Engine, Special
from ..engines.library import library
from ..errors import BpeInteropError, EngineError
from ..gc_pause import paused
from .apart import holds
from .compare import LocalPair


class _Announced:
    """A side that says that it is about to work, so that it is known who did not survive."""

    def __init__(self, engine: Engine, announce: Callable[[], None]) -> None:
        self._engine, self._announce = engine, announce
        self.name, self.version = engine.name, engine.version
        self.parses_special = engine.parses_special
        self.applies_template = engine.applies_template

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        self._announce()
        return self._engine.encode(text, special=special, add_special_tokens=add_special_tokens)

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        self._announce()
        return self._engine.encode_batch(
            texts, special=special, add_special_tokens=add_special_tokens
        )

    def decode(self, ids: Sequence[int]) -> str:
        self._announce()
        return self._engine.decode(ids)


def serve() -> None:
    """Reads requests from standard input, and writes answers to standard output."""
    # The parent is interrupted as well, and ends this process when it is ready to.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    # What a library prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.excepthook = lambda *raised: _send(answers, "error", _fault(raised))
    try:
        build_a, build_b, modes = pickle.load(requests)
        pair = LocalPair(build_a(), build_b(), modes)
        _send(answers, "answer", None)
        while True:
            _send(answers, "answer", _answer(pair, answers, *pickle.load(requests)))
    except BpeInteropError as error:
        _send(answers, "error", error)
    except EOFError:
        return


def hold() -> None:
    """Reads what to import, an engine and what it has to give, and says whether it does.

    Whatever fails is told by no answer: the parent finds out what it is.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests = sys.stdin.buffer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    library(pickle.load(requests))
    with paused():
        engine = pickle.load(requests)()
        _send(answers, "answer", holds(engine, pickle.load(requests)))


def _fault(raised: tuple[type[BaseException], BaseException, TracebackType | None]) -> EngineError:
    """An error that the parent raises: nobody reads the stderr of this process."""
    traces = "".join(traceback.format_exception(*raised))
    return EngineError(f"the process that runs both sides failed: {traces}")


def _answer(pair: LocalPair, answers: BinaryIO, what: str, *given: Any) -> Any:
    if what == "compare":
        return pair.compare(*given)
    if what == "shrink":
        return pair.shrink(*given)
    if what == "decode":
        return pair.decode(*given)
    a = _Announced(pair.a, lambda: _send(answers, "side", "a"))
    b = _Announced(pair.b, lambda: _send(answers, "side", "b"))
    return LocalPair(a, b, pair.modes).compare(list(given))[0]


def _send(answers: BinaryIO, kind: str, value: object) -> None:
    pickle.dump((kind, value), answers, pickle.HIGHEST_PROTOCOL)
    answers.flush()
