"""Mappings that are made when they are asked for: a table may be used without one."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TypeVar

from ..gc_pause import paused

K = TypeVar("K")
V = TypeVar("V")


class LazyDict(Mapping[K, V]):
    """A dictionary that is made when something is first asked of it.

    It equals every mapping with the same entries. Threads may share it.
    """

    __slots__ = ("__weakref__", "_make", "_whole")

    def __init__(self, make: Callable[[], dict[K, V]]) -> None:
        self._make: Callable[[], dict[K, V]] | None = make
        self._whole: dict[K, V] | None = None

    def whole(self) -> dict[K, V]:
        """The dictionary itself, which must not be changed."""
        whole = self._whole
        if whole is None:
            make = self._make
            if make is None:  # another thread has made it in between
                return self.whole()
            with paused():
                whole = self._whole = make()
            self._make = None
        return whole

    def __getitem__(self, key: K) -> V:
        return self.whole()[key]

    def __contains__(self, key: object) -> bool:
        return key in self.whole()

    def __iter__(self) -> Iterator[K]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Mapping):
            return self.whole() == as_dict(other)
        return NotImplemented

    def __repr__(self) -> str:
        return repr(self.whole())

    def keys(self) -> KeysView[K]:
        """The keys, in order."""
        return self.whole().keys()

    def values(self) -> ValuesView[V]:
        """The values, in order."""
        return self.whole().values()

    def items(self) -> ItemsView[K, V]:
        """The entries, in order."""
        return self.whole().items()

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (self.whole(),)


def as_dict(mapping: Mapping[K, V]) -> Mapping[K, V]:
    """The same mapping for who looks up much in it: the dictionary in a lazy one."""
    return mapping.whole() if isinstance(mapping, LazyDict) else mapping
