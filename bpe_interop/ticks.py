"""How far a long run is: how many texts are done, of how many, and in which phase it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Literal, TypeAlias

Tick: TypeAlias = Callable[[int], None]
"""Is told how many texts were compared since it was last called."""

Unit: TypeAlias = Literal["texts", "bytes", "merges"]
"""What a counter counts."""

PART_SECONDS = 1_800.0
"""Seconds after which a worker is taken to hang, and its part is given to another, once."""


def no_progress(progress: object) -> None:
    """Tells nobody how far it is."""


class PhaseTick(ABC):
    """A counter that is also told which phase begins, before anything of it is done."""

    @abstractmethod
    def __call__(self, count: int) -> None:
        """So many more texts are done."""

    @abstractmethod
    def begin(self, phase: str, total: int | None = None, unit: Unit = "texts") -> None:
        """A phase begins, with so many texts, or bytes of files.

        ``total`` is None where that is not known or none are counted.
        """


def begin(tick: Tick, phase: str, total: int | None = None, unit: Unit = "texts") -> None:
    """Tells a counter of a phase, if it wants to know."""
    if isinstance(tick, PhaseTick):
        tick.begin(phase, total, unit)
