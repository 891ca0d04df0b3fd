"""What a conversion would lose: typed, named after model fields, graded by what it changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Grade: TypeAlias = Literal["ids", "text", "metadata"]

Field: TypeAlias = Literal[
    "alphabet",
    "affixes",
    "vocab",
    "merges",
    "lookup_first",
    "fallback",
    "normalizer",
    "pretokenizer",
    "added",
    "sequence_template",
    "decoder",
    "chat_template",
    "extras",
]
"""The fields of a model by which losses and differences are named, in the order of reports."""

MERGING: tuple[Field, ...] = (
    "alphabet",
    "affixes",
    "vocab",
    "merges",
    "lookup_first",
    "fallback",
)
"""Fields that say only together what becomes of a pretoken, where symbols are others."""


@dataclass(frozen=True, slots=True)
class Loss:
    """One thing that a target cannot hold: the typed reason why a field comes back otherwise.

    ``grade``: ``ids`` (some text would encode differently),
    ``text`` (decoding, or what special strings do, would differ), ``metadata`` (names, chat
    template). ``ids`` and ``text`` are refused unless the field is dropped on purpose;
    ``metadata`` is only reported.
    ``consequence`` says what would happen; ``witness`` is a text on which it happens, where one
    is known; ``shown`` is False where nothing proves that anything would differ, but the
    simple conditions do not prove equality either.
    """

    field: Field
    grade: Grade
    what: str
    consequence: str
    witness: str | None = None
    shown: bool = True

    @property
    def code(self) -> str:
        """The stable name of this kind of loss, and of the page about it in ``docs/refusals``."""
        return f"LOSS-{self.field}"
