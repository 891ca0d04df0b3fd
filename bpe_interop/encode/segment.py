"""A normalized text without added tokens to ids, in Python: what is met again is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import chain

from ..model import Affixes, BPEModel
from ..text.bytechars import to_bytes
from ..text.split import Splitter
from .parts import CharacterCuts, Parts
from .pretoken import PretokenEncoder

_CACHED = 1 << 18
"""How many pretokens are remembered, and in characters how long one may be."""
_CACHED_LENGTH = 128
_SHORT_TEXT = 64
"""Characters up to which a text is not cut at its spaces: it may not be met again."""
_SHORT = 4
"""Characters up to which a pretoken is not worth cutting."""
_PAYS = 500
"""Before so many pretokens, or characters of one, what cuts them is not worth making."""


class _Remembered(dict[str, tuple[int, ...]]):
    """Pretokens to ids, computed when first asked for; forgotten all at once when full."""

    def __init__(self, compute: Callable[[str], tuple[int, ...]]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, pretoken: str) -> tuple[int, ...]:
        ids = self._compute(pretoken)
        if len(pretoken) <= _CACHED_LENGTH:
            if len(self) >= _CACHED:
                self.clear()
            self[pretoken] = ids
        return ids


class SegmentEncoder:
    """Cuts texts into pretokens, and remembers the ids of pretokens, words and parts."""

    def __init__(self, model: BPEModel, splitter: Splitter, pretoken: PretokenEncoder) -> None:
        self.model, self._splitter, self._pretoken = model, splitter, pretoken
        self._words: dict[str, tuple[int, ...]] = {}
        self._met = 0

    def ids(self, text: str, begins: int) -> list[int]:
        """The ids of a normalized text in which no added token is looked for.

        Args:
            text: the text.
            begins: ``first`` of :class:`.text.split.Splitter`.

        Raises:
            EncodeError: the text has no encoding.
        """
        words_of = self._splitter.words
        words = None if words_of is None or len(text) <= _SHORT_TEXT else words_of(text)
        if words is None:
            return self._whole(text, begins)
        first = words.pop(0)
        known = self._known(words)
        if known is None:
            return self._whole(text, begins)
        ids = self._whole(first, begins) if first else []
        ids += chain.from_iterable(map(known.__getitem__, words))
        return ids

    @cached_property
    def _parts(self) -> Parts | None:
        """What cuts long pretokens; None where it cannot."""
        model = self.model
        if model.alphabet == "byte" or model.lookup_first or model.affixes != Affixes():
            return None
        return Parts(model)

    @cached_property
    def _remembered(self) -> _Remembered:
        compute = self._pretoken.ids
        if self._splitter.maps:
            return _Remembered(lambda pretoken: tuple(compute(to_bytes(pretoken))))
        if self.model.alphabet != "byte" or not self._pretoken.plain:
            return _Remembered(lambda pretoken: tuple(compute(pretoken.encode())))

        def ids(pretoken: str) -> tuple[int, ...]:
            if len(pretoken) > _SHORT and not pretoken.isascii():
                return self._long(pretoken)
            return tuple(compute(pretoken.encode()))

        return _Remembered(ids)

    @cached_property
    def _character_cuts(self) -> CharacterCuts:
        return CharacterCuts(self.model.merges)

    @cached_property
    def _merged(self) -> _Remembered:
        """Parts of pretokens to the ids that merging alone gives."""
        merged = self._pretoken.merged
        return _Remembered(lambda part: tuple(merged(part.encode())))

    def _long(self, pretoken: str) -> tuple[int, ...]:
        """The ids of a long pretoken of bytes, in parts that merge independently."""
        content = pretoken.encode()
        self._met += 1
        pays = self._met > _PAYS or len(pretoken) > _PAYS
        if pays and not self._pretoken.looked_up(content):
            parts = self._character_cuts(pretoken)
            try:
                return tuple(chain.from_iterable(map(self._merged.__getitem__, parts)))
            except KeyError:
                pass  # a symbol is missing, which is told of the whole pretoken
        return tuple(self._pretoken.ids(content))

    def _known(self, words: list[str]) -> dict[str, tuple[int, ...]] | None:
        """The ids of words, each with the space before it; None where some are not remembered.

        What is new is cut as one text. Words of which the pattern leaves something unmatched
        may not stand alone, because that goes with its neighbours.
        """
        known = self._words
        new = [*dict.fromkeys([word for word in words if word not in known])]
        if not new:
            return known
        if len(known) + len(new) > _CACHED:
            known = self._words = {}
            new = [*dict.fromkeys(words)]
        if len(new) > _CACHED or max(map(len, new)) > _CACHED_LENGTH:
            return None
        pretokens = self._splitter.all_matched(" " + " ".join(new))
        if pretokens is None:
            return None
        rest, remembered = iter(pretokens), self._remembered
        for word in new:
            ids: list[int] = []
            left = len(word) + 1
            while left:
                pretoken = next(rest)
                left -= len(pretoken)
                ids += remembered[pretoken]
            known[word] = tuple(ids)
        return known

    def _whole(self, text: str, begins: int) -> list[int]:
        pretokens: Iterable[str] = self._splitter(text, first=begins)
        if self._parts is not None:
            pretokens = chain.from_iterable(map(self._parts, pretokens))
        return list(chain.from_iterable(map(self._remembered.__getitem__, pretokens)))
