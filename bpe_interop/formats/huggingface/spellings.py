"""How the tokens of a vocabulary are spelled in ``model.vocab``.

Of a vocabulary that the kernel holds, no spelling is made that nobody asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, ValuesView
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import TypeVar, overload

from ...entries import numbered
from ...kernel import LazyDict, Numbers
from ...model import Alphabet, BPEModel
from ...text.bytechars import all_to_chars, is_mapped, to_bytes

T = TypeVar("T")

_NO_MORE: Mapping[str, int] = MappingProxyType({})


class Spellings(LazyDict[str, int]):
    """Spellings and their ids, looked up among a vocabulary's contents.

    Args:
        ids: the vocabulary.
        alphabet: what is spelled: bytes in GPT-2's byte alphabet, or text as it is.
        literal: its tokens that are not spelled in the byte alphabet, as UTF-8.
        make: makes the whole dictionary.
        more: further entries, of which none is a token of the vocabulary.
    """

    __slots__ = ("_alphabet", "_ids", "_literal", "_more")

    def __init__(
        self,
        ids: Mapping[bytes, int],
        alphabet: Alphabet,
        literal: Collection[bytes],
        make: Callable[[], dict[str, int]],
        more: Mapping[str, int] = _NO_MORE,
    ) -> None:
        super().__init__(make)
        self._ids, self._alphabet = ids, alphabet
        self._literal, self._more = frozenset(literal), more

    def __len__(self) -> int:
        return len(self._ids) + len(self._more)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __getitem__(self, key: str) -> int:
        number = self.get(key)
        if number is None:
            raise KeyError(key)
        return number

    @overload
    def get(self, key: str, default: None = None, /) -> int | None: ...
    @overload
    def get(self, key: str, default: int | T, /) -> int | T: ...
    def get(self, key: str, default: int | T | None = None, /) -> int | T | None:
        """The id of a spelling, or the default."""
        number = self._own(key)
        if number is None:
            number = self._more.get(key)
        return default if number is None else number

    def _own(self, key: str) -> int | None:
        if self._alphabet == "char":
            return self._ids.get(key.encode("utf-8"))
        mapped = is_mapped(key)
        content = to_bytes(key) if mapped else key.encode("utf-8")
        return None if (content in self._literal) == mapped else self._ids.get(content)

    def values(self) -> ValuesView[int]:
        """The ids; those of the vocabulary first, in its order."""
        if self._more:
            return dict(enumerate(self._every())).values()
        return self._ids.values()

    def beside(self, more: Mapping[str, int]) -> Spellings:
        """The same with further entries."""
        return Spellings(
            self._ids, self._alphabet, self._literal, lambda: {**self.whole(), **more}, more
        )

    def _every(self) -> chain[int]:
        return chain(self._ids.values(), self._more.values())


@dataclass(frozen=True, slots=True)
class Spelled:
    """A model's vocabulary as a ``tokenizer.json`` spells it.

    Attributes:
        words: the spelling of each content.
        vocab: the id of each spelling.
        literal: the contents that are spelled as the text that they are, and not in GPT-2's byte
            alphabet.
        in_kernel: whether the kernel holds it, and no two contents are spelled alike.
    """

    words: Mapping[bytes, str]
    vocab: Mapping[str, int]
    literal: tuple[bytes, ...] = ()
    in_kernel: bool = False

    def beside(self, more: Mapping[str, int]) -> Mapping[str, int]:
        """The vocabulary, and further entries that it has not."""
        if not isinstance(self.vocab, Spellings):
            return {**self.vocab, **more}
        return self.vocab.beside(more)


def spelled(model: BPEModel) -> Spelled:
    """How ``model.vocab`` spells a model's tokens."""
    ids, kinds = model.vocab.ids, model.vocab.kinds
    literal: tuple[bytes, ...] = ()
    in_kernel = isinstance(ids, Numbers) and model.alphabet == "byte"
    if in_kernel:
        control = frozenset(number for number, kind in kinds.items() if kind == "control")
        literal = tuple(numbered(ids, control).values()) if control else ()
        in_kernel = not any(is_mapped(content.decode("utf-8")) for content in literal)
    if not in_kernel:
        words = _spellings(model)
        return Spelled(words, dict(zip(words.values(), ids.values(), strict=True)))
    lazy = LazyDict(lambda: _spellings(model))
    vocab = Spellings(
        ids, "byte", literal, lambda: dict(zip(lazy.values(), ids.values(), strict=True))
    )
    return Spelled(lazy, vocab, literal, in_kernel=True)


def _spellings(model: BPEModel) -> dict[bytes, str]:
    ids, kinds = model.vocab.ids, model.vocab.kinds
    if model.alphabet == "char":
        return {content: content.decode("utf-8") for content in ids}
    words = dict(zip(ids, all_to_chars(ids), strict=True))
    if kinds:
        control = (content for content, number in ids.items() if kinds.get(number) == "control")
        words.update((content, content.decode("utf-8")) for content in control)
    return words
