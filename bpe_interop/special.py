"""Which special tokens are looked for in a text, and which texts are refused (tiktoken's rule)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from .errors import DisallowedSpecialError
from .model import Allowed

Disallowed: TypeAlias = Literal["all"] | Collection[str] | None
"""Texts that a text may not hold; what is empty, and None, refuses nothing."""

NONE: frozenset[str] = frozenset()
ALL: Final = "all"


class SpecialRule(NamedTuple):
    """Which special tokens are found in a text, and which texts it may not hold."""

    allowed: frozenset[str]
    disallowed: frozenset[str]


ORDINARY = SpecialRule(NONE, NONE)
"""Special tokens are ordinary text."""


def special_rule(
    allowed: Allowed, disallowed: Disallowed, special: Callable[[], frozenset[str]]
) -> SpecialRule:
    """The rule that a caller gives; ``special`` says what ``"all"`` is, where that is needed.

    Raises:
        TypeError: ``allowed`` is neither ``"all"`` nor a set.
    """
    if isinstance(allowed, str) and allowed == "all":
        allowed = special()
    elif not isinstance(allowed, AbstractSet):
        raise TypeError(f'allowed_special is "all" or a set, not {type(allowed).__name__}')
    if isinstance(disallowed, str) and disallowed == "all":
        # The set itself where none is allowed, and no difference of it with itself: there may be
        # a thousand tokens, and this is asked of every text.
        disallowed = special()
        if allowed:
            disallowed = NONE if allowed is disallowed else disallowed - allowed
    return SpecialRule(frozenset(allowed), frozenset(disallowed or ()))


def refuse_disallowed(text: str, rule: SpecialRule) -> None:
    """Raises DisallowedSpecialError where a text holds what is refused; TypeError if no str."""
    checked(text)
    if rule.disallowed:
        starts, finder = _finder(rule.disallowed)
        # Python finds one character forty times as fast as a pattern, or as two characters.
        if any(map(text.__contains__, starts)) and (match := finder.search(text)):
            raise disallowed(match.group())


def disallowed(content: str) -> DisallowedSpecialError:
    """The error for a text that holds a special token which is not allowed.

    It begins with tiktoken's sentence (``tiktoken/core.py``), which programs look for.
    """
    token = repr(content)
    return DisallowedSpecialError(
        f"Encountered text corresponding to disallowed special token {token}. The default is to "
        "refuse them all, which keeps users from smuggling one in",
        fix=f"to encode it as that token, pass allowed_special={{{token}, ...}}; to encode "
        f"it as ordinary text, disallowed_special=(enc.special_tokens_set - {{{token}}}); "
        "to switch this check off, disallowed_special=()",
    )


def checked(text: str) -> str:
    """The text itself; TypeError if it is none."""
    if not isinstance(text, str):
        raise TypeError(f"a text is str, not {type(text).__name__}")
    return text


def content_of(token: str | bytes) -> bytes:
    """The bytes of a token that is given as text or as bytes; TypeError if it is neither."""
    if isinstance(token, str):
        return token.encode("utf-8")
    if not isinstance(token, bytes):
        raise TypeError(f"a token is str or bytes, not {type(token).__name__}")
    return token


@lru_cache(maxsize=128)
def _finder(texts: frozenset[str]) -> tuple[frozenset[str], re.Pattern[str]]:
    """Their first characters, and what finds the leftmost of them, of several the longest."""
    listed = sorted(texts, key=len, reverse=True)
    return frozenset(text[:1] for text in texts), re.compile("|".join(map(re.escape, listed)))
