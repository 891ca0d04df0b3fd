"""What follows from a frozen value, worked out once and forgotten when the value is.

Nothing else in the package remembers anything about a model, and answers are not written into it:
its value would then depend on who asked before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, TypeVar
from weakref import ref

Value = TypeVar("Value")
Answer = TypeVar("Answer")


class Memo(Generic[Value, Answer]):
    """A function of one frozen value, which is worked out once for each. Decorates it.

    An answer lives as long as its value, so it must not hold it. Threads may share it; two that ask
    at the same moment may both work out the same.
    """

    def __init__(self, work_out: Callable[[Value], Answer]) -> None:
        self._work_out = work_out
        self._answers: dict[int, tuple[ref[Value], Answer]] = {}
        update_wrapper(self, work_out)

    def __call__(self, value: Value) -> Answer:
        """The answer for a value, worked out or remembered."""
        # By identity: comparing two models costs more than most answers. An answer outlives its
        # value where Python was interrupted as it forgot it, and another may have its identity.
        entry = self._answers.get(id(value))
        if entry is None or entry[0]() is not value:
            answer = self._work_out(value)
            self.keep(value, answer)
            return answer
        return entry[1]

    def known(self, value: Value) -> bool:
        """Whether the answer is there already."""
        entry = self._answers.get(id(value))
        return entry is not None and entry[0]() is value

    def keep(self, value: Value, answer: Answer) -> None:
        """Keeps an answer that was found by another way, such as a theorem."""
        key, answers = id(value), self._answers
        answers[key] = ref(value, lambda _: answers.pop(key, None)), answer
