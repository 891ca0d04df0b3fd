"""What callers in Python give: one name or several, texts, and words out of a list.

A ``str`` is a sequence of its letters, so it passes where a list is meant. Where one name makes
sense it is taken as one. Where a list of texts is meant it is refused, since nothing says
whether it is a text or the name of a file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TypeAlias, TypeVar, Union

from .errors import ArgumentError

T = TypeVar("T")
Name: TypeAlias = Union[str, Path]


def one_or_more(given: str | Iterable[str]) -> tuple[str, ...]:
    """One word, or several."""
    return (given,) if isinstance(given, str) else tuple(given)


def names(given: Name | Iterable[Name]) -> tuple[Name, ...]:
    """One name of a file, or several; TypeError where they are bytes."""
    if isinstance(given, (str, Path)):
        return (given,)
    if isinstance(given, (bytes, bytearray)):
        raise TypeError(f"names are str or Path, not {type(given).__name__}")
    return tuple(given)


TEXTS = "for one text give [text]; for a file's text, [Path(NAME).read_text()]"
"""What to give where texts are compared, which may be in a file."""


def several(given: Iterable[T], what: str, instead: str = "give [text]") -> Iterable[T]:
    """Texts, unless they are one text.

    ``what`` is what is meant, in the plural; ``instead`` what to give for one.

    Raises:
        TypeError: it is one ``str`` or ``bytes``.
    """
    if isinstance(given, (str, bytes, bytearray)):
        kind = type(given).__name__
        raise TypeError(f"{what} are a list of str, not one {kind}: {instead}")
    return given


def one_of(value: str, known: Collection[str], parameter: str) -> None:
    """Checks a word; ArgumentError where it is none of those that are known."""
    if value not in known:
        what = f"{parameter} is one of {', '.join(known)}, not {value!r}"
        raise ArgumentError(what, fix="give one of these")
