"""How a corpus becomes ids, and the numbers in which they are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..corpora import EVERYTHING, Selection
from ..errors import SourceError, TargetError
from ..model import BPEModel, show
from ..strict_json import LATER
from ..tokenizer import Tokenizer

Layout: TypeAlias = Literal["megatron", "npy", "parquet"]
Dtype: TypeAlias = Literal["uint16", "uint32", "int32"]
Special: TypeAlias = Literal["text", "parse", "error"]

SIZES: dict[Dtype, int] = {"uint16": 2, "uint32": 4, "int32": 4}
"""Bytes of an id."""


_NAMED = 20
"""How many special tokens an error names."""


@dataclass(frozen=True)
class Settings:
    """How documents become rows of ids.

    Args:
        layout: the files: ``"megatron"`` (Megatron-LM's indexed dataset), ``"npy"`` or
            ``"parquet"``.
        dtype: the numbers; None for what the layout and the highest id need.
        special: what the text of a special token in a document is: ordinary text, the token, or
            an error.
        template: apply the sequence template to each document.
        eos: the text of a special token whose id ends each document.
        max_length: a document with more ids is cut into rows of so many; no row has ids of two.
        selection: which documents are taken.
        most_skipped: how many records may be skipped with ``errors="skip"``; None for any number.
    """

    layout: Layout = "megatron"
    dtype: Dtype | None = None
    special: Special = "error"
    template: bool = False
    eos: str | None = None
    max_length: int | None = None
    selection: Selection = EVERYTHING
    most_skipped: int | None = field(default=None, metadata={LATER: True})


def eos_id(settings: Settings, model: BPEModel) -> int | None:
    """The id that ends each document; None where none does.

    Raises:
        SourceError: the tokenizer has no special token of that text.
    """
    if settings.eos is None:
        return None
    special = [token for token in model.added or () if token.special]
    for token in special:
        if token.text == settings.eos:
            return token.id
    first = [*(show(token.text) for token in special[:_NAMED]), *["..."][: len(special) > _NAMED]]
    there = f"there are {len(special):,}: {', '.join(first)}" if special else "there are none"
    raise SourceError(
        f"there is no special token {show(settings.eos)}",
        where="--eos",
        fix=f"name one by its text; {there}",
    )


def dtype_of(settings: Settings, tokenizer: Tokenizer) -> Dtype:
    """The numbers in which every id of a tokenizer can be kept.

    Raises:
        TargetError: those that were asked for are too small, or the layout has no such.
    """
    highest = tokenizer.max_token_value
    if settings.layout in _SIGNED:
        if settings.dtype not in (None, "int32"):
            raise TargetError(
                f"{settings.layout} holds ids as int32, not as {settings.dtype}",
                where="--dtype",
                fix="leave it out",
            )
        return "int32"
    if settings.dtype is None:
        return "uint16" if highest < 1 << 16 else "uint32"
    if settings.dtype == "uint16" and highest >= 1 << 16:
        raise TargetError(
            f"the highest id is {highest}, and uint16 ends at 65535",
            where="--dtype",
            fix="take uint32, or leave it out",
        )
    return settings.dtype


_SIGNED: tuple[Layout, ...] = ("parquet",)
