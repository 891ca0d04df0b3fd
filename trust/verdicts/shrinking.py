"""A pair with a wrong verdict made small: what can be left out of both is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from .sources import Json, Source
from .trial import Trial, tried

Place: TypeAlias = tuple[str | int, ...]
"""The keys that lead to a value, from the facts of a source on."""

_COMPONENTS = ("normalizer", "pre_tokenizer", "post_processor", "truncation", "padding", "decoder")
_MOST = 400
"""How many smaller pairs are tried, at most."""


def shrunk(found: Trial, seed: str) -> Trial:
    """The smallest pair that was found with the same kind of wrong verdict."""
    kinds = {(wrong.kind, wrong.scope) for wrong in found.wrong}

    def fails(pair: tuple[Source, Source]) -> Trial | None:
        other = tried(found.change, *pair, seed)
        shown = {(wrong.kind, wrong.scope) for wrong in other.wrong}
        return None if kinds.isdisjoint(shown) else other

    return _shrunk(found, fails)


def _shrunk(found: Trial, fails: Callable[[tuple[Source, Source]], Trial | None]) -> Trial:
    tries = 0
    smaller = True
    while smaller:
        smaller = False
        for pair in _smaller(*found.sources):
            tries += 1
            if tries > _MOST:
                return found
            other = fails(pair)
            if other is not None:
                found, smaller = other, True
                break
    return found


def _smaller(one: Source, two: Source) -> Iterator[tuple[Source, Source]]:
    """The pair without one thing: on both sides, or on the side that alone has it."""
    places = dict.fromkeys([*_places(one.facts), *_places(two.facts)])
    for place in sorted(places, key=lambda each: (len(each), str(each))):
        left, right = one.copy(), two.copy()
        value = _value(one.facts, place) or _value(two.facts, place)
        gone = [_remove(side.facts, place, value) for side in (left, right)]
        if any(gone):
            yield left, right
    for text in dict.fromkeys(token["content"] for each in (one, two) for token in each.beside):
        left, right = one.copy(), two.copy()
        for side in (left, right):
            side.beside = [token for token in side.beside if token["content"] != text]
        yield left, right


def _places(facts: Json) -> Iterator[Place]:
    """What may be left out: components, members of lists, tokens."""
    yield from ((name,) for name in _COMPONENTS if facts.get(name) is not None)
    for name in ("special_tokens", "pieces", "ranks", "added_tokens", "merges", "vocab"):
        for holder in ((name,), ("model", name)):
            listed = _value(facts, holder)
            if isinstance(listed, dict):
                yield from ((*holder, key) for key in listed)
            elif isinstance(listed, list):
                yield from ((*holder, number) for number in range(len(listed)))


def _value(facts: Json, place: Place) -> Any:
    value: Any = facts
    for key in place:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _remove(facts: Json, place: Place, value: Any) -> bool:
    """Whether a value was there, which now it is not."""
    holder, key = _value(facts, place[:-1]), place[-1]
    if isinstance(holder, list) and value in holder:
        holder.remove(value)
    elif not isinstance(holder, dict) or holder.get(str(key)) is None:
        return False
    elif len(place) == 1:
        holder[str(key)] = None
    else:
        del holder[str(key)]
    return True
