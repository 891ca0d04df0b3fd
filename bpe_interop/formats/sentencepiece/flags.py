"""SentencePiece's normalizer settings, and the steps of a pipeline that they stand for.

Source: ``src/normalizer.cc`` and ``src/sentencepiece_processor.cc`` (``Decode``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ...steps import JoinPieces, NormalizerStep, Prepend, Replace, SentencePieceText
from ...text.charsmap import SPACE

Dummy: TypeAlias = Literal["none", "prefix", "suffix"]


@dataclass(frozen=True, slots=True)
class Flags:
    """The settings of a ``NormalizerSpec``, and where its dummy space stands."""

    charsmap: bytes = b""
    dummy: Dummy = "none"
    collapse: bool = False
    escape: bool = True

    def steps(self, kept: Sequence[str] = ()) -> tuple[NormalizerStep, ...]:
        """The normalizer: simple steps where they say it all, which other formats have too.

        ``kept`` are the user-defined pieces, which only a character map and the removal of
        spaces could touch.
        """
        if self.charsmap or self.collapse or self.dummy == "suffix":
            return (
                SentencePieceText(
                    self.charsmap, self.collapse, self.dummy, self.escape, tuple(kept)
                ),
            )
        steps: list[NormalizerStep] = []
        if self.dummy == "prefix":
            steps.append(Prepend(SPACE if self.escape else " "))
        if self.escape:
            steps.append(Replace(" ", SPACE))
        return tuple(steps)

    def decoder(self, unknown: str, charsmap: bytes = b"") -> JoinPieces:
        """The decoder; ``charsmap`` is the denormalizer's."""
        return JoinPieces(unknown, self.dummy, self.collapse, charsmap)


def flags_of(steps: Sequence[NormalizerStep]) -> Flags | None:
    """The settings that do what these steps do; None where none do."""
    if len(steps) == 1 and isinstance(steps[0], SentencePieceText):
        step = steps[0]
        return Flags(step.charsmap, step.dummy, step.collapse, step.escape)
    rest = list(steps)
    prefix = ""
    if rest and isinstance(rest[0], Prepend):
        prefix = rest[0].text
        del rest[0]
    escape = rest == [Replace(" ", SPACE)]
    if rest and not escape:
        return None
    if prefix not in ("", " ", SPACE) or (prefix == SPACE and not escape):
        return None
    return Flags(dummy="prefix" if prefix else "none", escape=escape)
