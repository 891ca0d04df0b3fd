"""Known patterns in their known spellings, and which of them split every text alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..steps import Pattern

if TYPE_CHECKING:
    from .regex_syntax import Node

# GPT-2's encoder.py and Hugging Face's ByteLevel.
GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
# tiktoken 0.14 (``tiktoken_ext/openai_public.py``) has R50K, CL100K_TRAILING and O200K.
R50K = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
# The first that was published; Llama 3 and dolma2 have it.
CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# tiktoken before 0.14.
CL100K_POSSESSIVE = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
CL100K_TRAILING = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+"
    r"| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
# Qwen to Qwen3.
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_UPPER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
_LOWER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
# gpt-oss has it too.
O200K = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SUFFIX}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SUFFIX}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_NOT_HAN = r"&&[^\p{Han}]]"
_HAN_UPPER, _HAN_LOWER = _UPPER[:-1] + _NOT_HAN, _LOWER[:-1] + _NOT_HAN
KIMI_K2 = (
    rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?{_HAN_UPPER}*{_HAN_LOWER}+{_SUFFIX}"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_HAN_UPPER}+{_HAN_LOWER}*{_SUFFIX}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
MEGATRON_V1 = r"[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_.][A-Za-z0-9]+)*")


def is_a_name(pattern: str) -> bool:
    """Whether what should be a regular expression is a word, such as ``cl100k_base``.

    As an expression it would match itself and nothing else.
    """
    return len(pattern) > 2 and _NAME.fullmatch(pattern) is not None


class PatternFamily(NamedTuple):
    """Patterns that split every text alike, by proof (tests/engines/test_automata.py).

    ``preferred`` is the spelling that most engines recognise; it means the same in all three
    dialects. ``trailing`` are spellings that differ from it at one place only, see
    :func:`spaces_never_join`.
    """

    name: str
    preferred: str
    equal: tuple[Pattern, ...]
    trailing: tuple[Pattern, ...] = ()


FAMILIES: tuple[PatternFamily, ...] = (
    PatternFamily(
        "gpt2",
        GPT2,
        (Pattern(R50K, "fancy-regex"), Pattern(R50K, "oniguruma")),
    ),
    PatternFamily(
        "cl100k",
        CL100K,
        (Pattern(CL100K_POSSESSIVE, "fancy-regex"), Pattern(CL100K_POSSESSIVE, "oniguruma")),
        (Pattern(CL100K_TRAILING, "fancy-regex"),),
    ),
    PatternFamily("qwen2", QWEN2, ()),
    PatternFamily("o200k", O200K, ()),
)

PREFERRED = frozenset(family.preferred for family in FAMILIES)
"""The preferred spellings, which every dialect has."""

_SPACE = (
    rb"(?:[\t-\r ]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]"
    rb"|\xe2\x81\x9f|\xe3\x80\x80)"
)
_NOT_NEWLINE = _SPACE.replace(rb"[\t-\r ]", rb"[\t\x0b\x0c ]")
_TAIL = rb"(?:[\x85\xa0]|\x9a?\x80|\x80?[\x80-\x8a\xa8\xa9\xaf]|\x81?\x9f|\x80\x80)"
_HEAD = rb"(?:\xc2|\xe1\x9a?|\xe2[\x80\x81]?|\xe3\x80?)"
_JOINS = rb"%b?%b*[\r\n](?:%b+%b?|%b)" % (_TAIL, _SPACE, _NOT_NEWLINE, _HEAD, _HEAD)
_WHOLE = rb"%b*[\r\n]|%b+" % (_SPACE, _NOT_NEWLINE)


def spaces_never_join(vocabulary: Iterable[bytes], unreachable: Iterable[bytes]) -> bool:
    r"""Whether ``cl100k-trailing`` and ``cl100k`` give this vocabulary the same tokens.

    True is a proof (Theorem 27); False says that it is not shown. ``unreachable``: the tokens that
    are looked up as whole pretokens and that merging never builds.
    """
    # White space that ends the text and holds a newline followed by other white space is one
    # pretoken by `\s++$`, and two, cut after its last newline, by `\s*[\r\n]+` and `\s+(?!\S)`.
    # A token across the cut would be white space, or parts of such characters' UTF-8, with a
    # newline, then something, and no newline after that. Without one no merge crosses the cut
    # (Lemma 1). A token of `unreachable` that is one of the two parts would be found by looking
    # the part up, and not by merging the whole.
    joins, whole = (re.compile(each, re.DOTALL).fullmatch for each in (_JOINS, _WHOLE))
    return not any(map(joins, vocabulary)) and not any(map(whole, unreachable))


@cache
def trees(family: PatternFamily) -> tuple[Node, frozenset[Node], frozenset[Node]]:
    """The trees of the preferred spelling, of those equal to it, and of the trailing ones."""
    from .pattern_parser import parse

    return (
        parse(Pattern(family.preferred, "fancy-regex")),
        frozenset(map(parse, family.equal)),
        frozenset(map(parse, family.trailing)),
    )


def is_known(node: Node) -> bool:
    """Whether the tree is that of a known spelling."""
    for family in FAMILIES:
        preferred, equal, trailing = trees(family)
        if node == preferred or node in equal or node in trailing:
            return True
    return False
