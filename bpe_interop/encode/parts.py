"""Long pretokens in parts that merge independently, so that they can be remembered.

Where a model has no pre-tokenizer, a whole text is one pretoken. No merge crosses a boundary
between two characters that stand side by side in no token, so what lies on its two sides is
encoded separately (Lemma 1 in ``docs/theory.md``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise

from ..model import BPEModel, RankTable
from ..theory.merges import textual
from ..theory.symbols import user_defined

_SHORT = 16
"""Parts up to so many characters are not cut further: most of them are words, met again."""

_MARKS = "\u2581 "
"""Characters that words begin with in models without a pre-tokenizer."""


class Parts:
    """Cuts pretokens where nothing can merge.

    Where missing characters become one unknown token, or vanish so that their neighbours may
    merge, there is no cut beside them.
    """

    def __init__(self, model: BPEModel) -> None:
        self._model = model
        fallback = model.fallback
        self._drops = fallback.missing == "drop"
        self._fuses = fallback.missing == "unknown" and fallback.fuse

    def __call__(self, pretoken: str) -> list[str]:
        """The parts of a pretoken, in order."""
        if len(pretoken) <= _SHORT:
            return [pretoken]
        parts: list[str] = []
        for word in self._words(pretoken):
            if len(word) <= _SHORT:
                parts.append(word)
            else:
                parts += self._finely(word)
        return parts

    @cached_property
    def _contents(self) -> list[str]:
        """What two adjacent characters may become part of."""
        rule = self._model.merges
        tokens: Iterable[bytes] = (
            rule.ranks if isinstance(rule, RankTable) else {x + y for x, y in rule.pairs}
        )
        return [*(token.decode("utf-8") for token in tokens), *user_defined(self._model)]

    @cached_property
    def _words(self) -> Callable[[str], list[str]]:
        """Cuts before each mark, except where it may merge with the character before it."""
        marks = [mark for mark in _MARKS if mark in self._known]
        if self._drops or not marks:
            return lambda text: [text]
        joined = "\0".join(self._contents)
        rules = []
        for mark in marks:
            beside = {*re.findall(f"(?s)(.)(?={mark})", joined), "\0"}
            inner = "".join(map(re.escape, sorted(beside)))
            rules.append(f"(?<=[^{inner}]){mark}")
        find = re.compile("|".join(rules)).finditer

        def cut(text: str) -> list[str]:
            ends = [0, *(match.start() for match in find(text)), len(text)]
            return [text[start:end] for start, end in pairwise(ends)]

        return cut

    def _finely(self, text: str) -> list[str]:
        """Cuts between all characters that cannot merge."""
        pairs, known = self._pairs, self._known
        beside = enumerate(pairwise(text), 1)
        if self._drops:
            cuts = [n for n, (a, b) in beside if a + b not in pairs and a in known and b in known]
        elif self._fuses:
            cuts = [n for n, (a, b) in beside if a + b not in pairs and (a in known or b in known)]
        else:
            cuts = [n for n, (a, b) in beside if a + b not in pairs]
        return [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]

    @cached_property
    def _pairs(self) -> frozenset[str]:
        """All that stands side by side in a token."""
        joined = "\0".join(self._contents)
        return frozenset(map(str.__add__, joined, joined[1:]))

    @cached_property
    def _known(self) -> frozenset[str]:
        """The characters that are tokens in the end."""
        kinds = self._model.vocab.kinds
        texts = (
            token.decode("utf-8")
            for token, number in textual(self._model).items()
            if len(token) <= 4 and kinds.get(number) != "unused"
        )
        return frozenset(text for text in texts if len(text) == 1)
