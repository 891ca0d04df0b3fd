"""Where two steps differ: the settings, and of a long pattern only the parts that are other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, TypeVar

from ..quoting import escaped, show
from ..steps import Pattern

T = TypeVar("T")

_WIDEST = 60
"""Characters of a part that are shown."""
_BESIDE = 12
"""Characters of what is alike that are shown beside a part."""


class SettingDifference(NamedTuple):
    """What differs of a setting of two steps.

    ``at`` is where the part begins in the second value, counted in characters from 1; 0 where
    ``first`` and ``second`` are the whole values.
    """

    name: str
    at: int
    first: str
    second: str


def step_form(step: object) -> dict[str, str]:
    """A step's name, and its settings by name, as texts; long tables as their sha256."""
    form = {"step": type(step).__name__}
    for name in getattr(step, "__slots__", ()):
        value = getattr(step, name)
        if isinstance(value, Pattern):
            form.update({"pattern": value.source, "dialect": value.dialect})
        else:
            form["literal" if name == "pattern" else name] = _written(value)
    return form


def _written(value: object) -> str:
    if isinstance(value, bytes):
        return f"{len(value):,} bytes, sha256 {sha256(value).hexdigest()}" if value else ""
    if isinstance(value, tuple):
        # A text by itself, or with the id that it is of (Verbatim).
        rows = ([row] if isinstance(row, (str, bytes)) else row for row in value)
        listed = ", ".join(
            " ".join(show(x) if isinstance(x, (str, bytes)) else str(x) for x in row)
            for row in rows
        )
        digest = sha256(listed.encode("utf-8", "surrogatepass")).hexdigest()
        return listed if len(listed) <= _WIDEST else f"{len(value):,} texts, sha256 {digest}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def quoted(value: str) -> str:
    """A setting's value for people, on one line; a long one is cut."""
    shown = escaped(value)
    return f"`{shown}`" if len(shown) <= _WIDEST else f"`{shown[:_WIDEST]}` ..."


def setting_differences(
    first: Mapping[str, str], second: Mapping[str, str]
) -> Iterator[SettingDifference]:
    """What differs of two steps of one kind, given as :func:`step_form` gives them."""
    for name in dict.fromkeys((*first, *second)):
        one, two = first.get(name, ""), second.get(name, "")
        if one == two:
            continue
        if name == "pattern" and one and two:
            yield from (SettingDifference(name, *part) for part in _parts(one, two))
        else:
            yield SettingDifference(name, 0, one, two)


def _parts(one: str, two: str) -> Iterator[tuple[int, str, str]]:
    """The branches of two patterns that are not the same, with where they begin.

    Branches are what is between bars, whatever these mean: people find them so.
    """
    from difflib import SequenceMatcher  # most pairs of patterns are the same: not imported then

    left, right = one.split("|"), two.split("|")
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag != "equal":
            at = len("|".join(right[:c])) + (c > 0)
            yield narrowed(at, "|".join(left[a:b]), "|".join(right[c:d]))


def narrowed(at: int, one: str, two: str) -> tuple[int, str, str]:
    """Two parts without what they begin and end with alike, where they are too long to be read."""
    if max(len(one), len(two)) <= _WIDEST or not one or not two:
        return at + 1, one, two
    before = alike(one, two)
    after = alike(one[before:][::-1], two[before:][::-1])
    start = max(before - _BESIDE, 0)
    ends = (len(each) - max(after - _BESIDE, 0) for each in (one, two))
    first, second = (each[start:end] for each, end in zip((one, two), ends, strict=True))
    return at + start + 1, first, second


def changed_part(one: Sequence[T], two: Sequence[T]) -> tuple[int, Sequence[T], Sequence[T]]:
    """Two sequences without what they begin and end with alike, and how much was alike ahead."""
    ahead = alike(one, two)
    behind = alike(one[ahead:][::-1], two[ahead:][::-1])
    return ahead, one[ahead : len(one) - behind], two[ahead : len(two) - behind]


def alike(one: Sequence[object], two: Sequence[object]) -> int:
    """How many members two sequences begin with alike."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((place for place, (x, y) in pairs if x != y), min(len(one), len(two)))
