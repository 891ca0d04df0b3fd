"""Padding and truncation as a ``tokenizer.json`` states them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from .errors import EncodeError, UnstatedError
from .model import BATCHING, BPEModel


def room_for_texts(truncation: Mapping[str, Any], beside: int) -> int:
    """How many ids texts may have, where a template places so many ``beside``.

    Raises:
        EncodeError: it places more than there is room for.
    """
    # tokenizers would give the template alone, longer than was asked for.
    most: int = truncation["max_length"] - beside
    if most < 0:
        raise EncodeError(
            f"max_length {truncation['max_length']} has no place for {beside} special tokens",
            fix="a larger max_length, or add_special_tokens=False",
        )
    return most


def nothing_to_truncate() -> EncodeError:
    """The error where a strategy truncates the second text, and there is none."""
    return EncodeError(
        "the text that is to be truncated is not there", fix="another strategy: longest_first"
    )


def padded_length(padding: Mapping[str, Any], longest: int) -> int:
    """How many ids all of a batch have, of which the longest has so many (utils/padding.rs)."""
    strategy, multiple = padding["strategy"], padding.get("pad_to_multiple_of")
    length: int = strategy["Fixed"] if isinstance(strategy, dict) else longest
    return length + -length % multiple if multiple else length


def as_batch(
    model: BPEModel,
    rows: Sequence[Sequence[int]],
    template: Callable[[list[int]], list[int]] | None,
) -> list[list[int]]:
    """Rows of ids truncated, in their template and filled up, as the model's file says.

    Raises:
        UnstatedError: it says nothing of padding.
        EncodeError: a row cannot be truncated as it says.
    """
    batching = cast("Mapping[str, Any]", model.extras.get(BATCHING) or {})
    padding, truncation = batching.get("padding"), batching.get("truncation")
    if padding is None:
        raise UnstatedError(
            "this tokenizer does not say how a batch is filled up: pad=True obeys the padding of a "
            "tokenizer.json",
            fix="fill it up yourself, or enable_padding() with bpe_interop.tokenizers, and save()",
        )
    whole = [*map(list, rows)]
    if truncation is not None:
        most = room_for_texts(truncation, len(template([])) if template else 0)
        if truncation["strategy"] == "OnlySecond" and any(len(row) > most > 0 for row in whole):
            raise nothing_to_truncate()
        left = truncation.get("direction", "Right") == "Left"
        whole = [row[max(0, len(row) - most) :] if left else row[:most] for row in whole]
    if template is not None:
        whole = [*map(template, whole)]
    length = padded_length(padding, max(map(len, whole), default=0))
    left = padding["direction"] == "Left"
    filled = []
    for row in whole:
        fill = [padding["pad_id"]] * (length - len(row))
        filled.append(fill + row if left else row + fill)
    return filled
