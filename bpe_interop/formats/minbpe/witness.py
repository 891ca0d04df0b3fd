"""Texts that a model and what is read back encode otherwise, found by running both."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import PatternError
from ...model import BPEModel
from ...text.normalize import normalize
from ...text.split import split
from ...theory.merges import Merger, textual
from ...theory.symbols import symbols_of, user_defined

_PLAIN = ("a", "b", "e", "the", "hello", "a b", "0", "hello world")


def first_apart(model: BPEModel, again: BPEModel, texts: Iterable[str]) -> str | None:
    """The first of these texts, or of a few plain ones, whose ids differ; None if none is found.

    Texts for which ids are not simply merged tokens are passed over.
    """
    ours, theirs = _Plain(model), _Plain(again)
    for text in dict.fromkeys((*texts, *_PLAIN)):
        one, two = ours.ids(text), theirs.ids(text)
        if one is not None and two is not None and one != two:
            return text
    return None


class _Plain:
    """Merging and nothing else: no added tokens, no fallback."""

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        self._merger = Merger(model.merges, model.affixes)
        self._tokens = textual(model)

    def ids(self, text: str) -> list[int] | None:
        """The ids of a text; None where more than merging is needed."""
        model, tokens = self._model, self._tokens
        if any(user_defined(model)) or "unused" in model.vocab.kinds.values():
            return None
        try:
            found, mapped = split(model.pretokenizer or (), normalize(model.normalizer or (), text))
        except PatternError:
            return None
        if mapped:
            return None
        parts: list[bytes] = []
        for pretoken in found:
            content = pretoken.encode("utf-8")
            if model.lookup_first and content in tokens:
                parts.append(content)
            else:
                symbols = symbols_of(content, model.alphabet, model.affixes)
                parts += self._merger.run(symbols)
        return [tokens[part] for part in parts] if all(part in tokens for part in parts) else None
