"""What a scope means for a comparison: how both sides are asked, and which texts are left out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..encode import Encoder
from ..engines import Engine
from ..model import BPEModel
from .prove import Scope
from .sides import AROUND, ORDINARY, PARSED, TEMPLATED, Mode, decoding


def modes_of(
    scope: Scope,
    models: tuple[BPEModel | None, BPEModel | None],
    sides: tuple[Engine, Engine],
    notes: list[str],
) -> list[Mode]:
    """How two sides are asked; what they cannot be asked is noted."""
    if scope != "all":
        return [ORDINARY]
    if any(model is not None and model.added is None for model in models):
        notes.append("special tokens are not compared: a source does not state them")
        return [ORDINARY]
    modes = [ORDINARY, PARSED]
    deaf = [side.name for side in sides if not side.parses_special]
    if deaf:
        notes.append(f"special tokens are not parsed: {deaf[0]} never finds them in a text")
        modes = [ORDINARY]
    if any(model is not None and model.sequence_template is None for model in models):
        notes.append("sequence templates are not compared: a source does not state one")
    elif bare := [side.name for side in sides if not side.applies_template]:
        notes.append(f"sequence templates are not compared: {bare[0]} applies none")
    else:
        modes.append(AROUND if deaf else TEMPLATED)
    return decoding(modes, models)


class Inside:
    """Whether a text is in a scope; counts those that are not.

    In the scope ``text`` no added token matches, and engines find those that are not special in
    any text. So what holds one, as it stands or normalized, is left out.
    """

    def __init__(self, scope: Scope, models: Iterable[BPEModel | None]) -> None:
        self.left_out = 0
        given = [model for model in models if model is not None] if scope == "text" else []
        texts = {token.text for model in given for token in model.added or ()}
        self._normalize = [
            Encoder(model).normalize
            for model in given
            if model.normalizer and any(token.normalized for token in model.added or ())
        ]
        for normalize in self._normalize:
            texts |= set(map(normalize, texts))
        self._added = re.compile("|".join(map(re.escape, filter(None, texts))) or "(?!)")

    def __call__(self, text: str) -> bool:
        """Whether no added token is in a text."""
        spelled = [text, *(normalize(text) for normalize in self._normalize)]
        return not any(map(self._added.search, spelled))

    def of(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts in the scope; the others are counted."""
        for text in texts:
            if self(text):
                yield text
            else:
                self.left_out += 1
