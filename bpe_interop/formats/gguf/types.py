"""Types of tokens in a GGUF file, and what llama.cpp makes of them when it loads the file.

llama.cpp (``llama_vocab::impl::load``) guesses from a token's spelling that it ends a turn, a
generation or a gap in code, and then treats it as control whatever its type says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ...errors import UnsupportedError
from ...model import show

UNDEFINED, NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(7)

NAMES: Final = ("undefined", "normal", "unknown", "control", "user-defined", "unused", "byte")

FOUND_FIRST: Final = (CONTROL, UNKNOWN, USER_DEFINED)
"""The types of the tokens that are found in a text before anything is merged."""

BYTE_NAMES: Final = frozenset(f"<0x{byte:02X}>" for byte in range(256))
"""How tokens that stand for one byte are spelled in SentencePiece's kind."""

_ENDS_GENERATION: Final = frozenset(
    {
        "<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>",
        "<|calls|>", "<end_of_turn>", "<|endoftext|>", "</s>", "<|eom_id|>", "<EOT>", "_<EOT>",
        "[EOT]", "[EOS]", "<|end_of_text|>", "<end_of_utterance>", "<eos>", "<turn|>",
        "<|tool_response>", "<\uff5cend\u2581of\u2581sentence\uff5c>", "[e~[",
    }
)  # fmt: skip

_GAPS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    (
        "fim_pre",
        (
            "<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<\uff5cfim\u2581begin\uff5c>",
            "<PRE>", "\u2581<PRE>", "<|code_prefix|>", "<|prefix|>",
        ),
    ),
    (
        "fim_suf",
        (
            "<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<\uff5cfim\u2581hole\uff5c>",
            "<SUF>", "\u2581<SUF>", "<|code_suffix|>", "<|suffix|>",
        ),
    ),
    (
        "fim_mid",
        (
            "<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<\uff5cfim\u2581end\uff5c>",
            "<MID>", "\u2581<MID>", "<|code_middle|>", "<|middle|>",
        ),
    ),
    ("fim_pad", ("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]")),
    (
        "fim_rep",
        ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"),
    ),
    ("fim_sep", ("<|file_sep|>",)),
)  # fmt: skip
"""Roles in filling a gap, and the spellings that are taken for them where no key names one."""

_FILLER: Final = re.compile(r"\[PAD([0-9]+)\]_*")

_ALWAYS_SHOWN: Final = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")


def effective(
    texts: Sequence[str], types: Sequence[int], given: frozenset[str], file: str
) -> list[int]:
    """The type of each token as llama.cpp treats it.

    Args:
        texts: the tokens by id.
        types: what the file says of each.
        given: roles (``fim_pre``, ...) for which the file names an id.
        file: its name, for messages.

    Raises:
        UnsupportedError: which of two tokens is control goes by the order of a hash table.
    """
    kinds = list(types)
    place = {text: number for number, text in enumerate(texts)}
    for role, spellings in _GAPS:
        if role in given:
            continue
        there = [text for text in spellings if text in place]
        if _left_to_chance([types[place[text]] for text in there]):
            raise UnsupportedError(
                f"{' and '.join(map(show, there[:2]))} could both be the token {role}; which of "
                "them llama.cpp takes, and makes a control token, goes by the order of a hash "
                "table",
                where=f"{file}: tokenizer.ggml.tokens",
                fix=f"name one by tokenizer.ggml.{role}_token_id",
            )
        for text in there:
            kinds[place[text]] = CONTROL
    for text in _ENDS_GENERATION & place.keys():
        kinds[place[text]] = CONTROL
    for text in _ALWAYS_SHOWN:
        if text in place:
            kinds[place[text]] = USER_DEFINED
    ends = place.keys()
    if "<|end|>" in ends and (
        {"<|return|>", "<|call|>"} <= ends
        or {"<|return|>", "<|calls|>"} <= ends
        or ("<|flush|>" in ends and not ends.isdisjoint({"<|call|>", "<|calls|>"}))
    ):
        kinds[place["<|end|>"]] = USER_DEFINED
    if {"<|tool_response>", "</s>"} <= ends:
        kinds[place["</s>"]] = NORMAL
    return kinds


def fills_hole(text: str, kind: int, number: int) -> bool:
    """Whether this only fills an id that has no token, as llama.cpp's converter does it."""
    filler = _FILLER.fullmatch(text) if kind == UNUSED else None
    return filler is not None and int(filler[1]) == number


def ambiguous(texts: Sequence[str], types: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Roles that several tokens could have, each with an id that a key can name for it."""
    place = {text: number for number, text in enumerate(texts)}
    for role, spellings in _GAPS:
        there = [place[text] for text in spellings if text in place]
        if _left_to_chance([types[number] for number in there]):
            yield role, there[0]


def _left_to_chance(types: Sequence[int]) -> bool:
    """Whether it matters which of the tokens that could have a role llama.cpp takes."""
    return len(types) > 1 and any(kind != CONTROL for kind in types)
