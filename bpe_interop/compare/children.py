"""Two tokenizers in a child process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..engines import Engine, Special
from ..engines.child_process import ChildProcess, EndedError, Say
from ..errors import EngineError
from ..ticks import PART_SECONDS
from .sides import Build, Failure, Mismatch, Mode
from .texts import Answers, Decoded, LocalPair


class ChildPair:
    """Two sides in a process of their own, which a text may kill without killing this one.

    A child that was killed, or gave no answer, is started again, and the texts that it had are
    given to it one by one, so that the one that kills it is known, and on which side. Ctrl-C does
    not end it.
    """

    def __init__(
        self, a: Build, b: Build, modes: Sequence[Mode], seconds: float = PART_SECONDS
    ) -> None:
        self._make = partial(_PairThere, a, b, tuple(modes))
        self._seconds = seconds
        self._child: ChildProcess | None = None
        self._closed = False

    def compare(self, texts: list[str]) -> list[Answers]:
        """What becomes of each text.

        Raises:
            BpeInteropError: a side cannot be built.
        """
        try:
            outcomes: list[Answers] = self._call("compare", texts)
            return outcomes
        except EndedError:
            return [self._compare_one(text) for text in texts]

    def shrink(self, text: str, mode: Mode) -> Mismatch | None:
        """A smaller text on which the sides differ; None where a side did not survive it."""
        try:
            mismatch: Mismatch = self._call("shrink", text, mode)
            return mismatch
        except EndedError:
            return None

    def decode(self, sequences: list[tuple[int, ...]]) -> list[Decoded]:
        """What each side makes of ids; None where it fails on them, or does not survive them."""
        try:
            texts: list[Decoded] = self._call("decode", sequences)
            return texts
        except EndedError:
            if len(sequences) > 1:
                return [self.decode([ids])[0] for ids in sequences]
            return [(None, None)]

    def close(self) -> None:
        """Ends the process at once."""
        self._closed = True
        if self._child is not None:
            self._child.close()

    def _compare_one(self, text: str) -> Answers:
        try:
            outcome: Answers = self._call("compare_one", text)
            return outcome
        except EndedError as error:
            outcome = Answers(alone=1)
            failed = outcome.failures_b if error.said == "b" else outcome.failures_a
            failed.append(Failure(str(error.said or ""), "", error.what, "killed"))
            return outcome

    def _call(self, method: str, *given: Any) -> Any:
        if self._child is None or self._child.ended:
            self._child = self._started()
        return self._child.call(method, *given, seconds=self._seconds)

    def _started(self) -> ChildProcess:
        if self._closed:
            raise EngineError("the comparison has ended")
        self._child = child = ChildProcess(self._make)
        if self._closed:  # meanwhile, by another thread
            child.close()
        try:
            child.answer()
        except EndedError as error:
            raise EngineError(f"the process that loads both sides {error.what}") from None
        return child


class _PairThere(LocalPair):
    """Both sides in the child."""

    def __init__(self, a: Build, b: Build, modes: Sequence[Mode], say: Say) -> None:
        super().__init__(a(), b(), modes)
        a_told, b_told = (
            _Announced(self.a, partial(say, "a")),
            _Announced(self.b, partial(say, "b")),
        )
        self._announced = LocalPair(a_told, b_told, modes)

    def compare_one(self, text: str) -> Answers:
        """What becomes of a text; the side that is at work is said before."""
        return self._announced.compare([text])[0]


class _Announced:
    """A side that says that it is about to work, so that it is known who did not survive."""

    def __init__(self, engine: Engine, announce: Any) -> None:
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
