"""``DecodeStream``, as ``tokenizers.decoders`` has it."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

from ..errors import DecodeError

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

__all__ = ["DecodeStream"]

_MALFORMED = "�"


class DecodeStream:
    """Decodes ids that come one at a time, in tokenizers' steps.

    Args:
        ids: those that came before.
        skip_special_tokens: leave special tokens out.
    """

    # What is given again with the next ids, as decoders depend on what stands before; the text
    # that was given of it; and how many of the ids had that text (tokenizer/mod.rs,
    # step_decode_stream).
    def __init__(
        self, ids: Sequence[int] | None = None, skip_special_tokens: bool | None = False
    ) -> None:
        self._skip = bool(skip_special_tokens)
        self._ids = [*(ids or ())]
        self._given = ""
        self._of_given = 0

    def __copy__(self) -> DecodeStream:
        other = DecodeStream(self._ids, self._skip)
        other._given, other._of_given = self._given, self._of_given
        return other

    def __deepcopy__(self, _: object) -> DecodeStream:
        return copy(self)

    def step(self, tokenizer: Tokenizer, id: int | Sequence[int]) -> str | None:
        """What text is added by an id, or by several; None while a character is not complete.

        Raises:
            DecodeError: with these ids, what was given before would read otherwise.
        """
        if not self._given and self._ids:
            before = tokenizer.decode(self._ids, self._skip)
            if not before.endswith(_MALFORMED):
                self._given, self._of_given = before, len(self._ids)
        self._ids += [id] if isinstance(id, int) else id
        text = tokenizer.decode(self._ids, self._skip)
        if len(text.encode()) <= len(self._given.encode()) or text.endswith(_MALFORMED):
            return None
        if not text.startswith(self._given):
            raise DecodeError(
                f"the text {self._given!r} was given, and with the id {self._ids[-1]} it "
                f"would be {text!r}",
                fix="bpe_interop.load(...).decode_stream() gives text only once it is settled",
            )
        added = text[len(self._given) :]
        following = len(self._ids) - self._of_given
        self._ids = self._ids[self._of_given :]
        self._given = tokenizer.decode(self._ids, self._skip)
        self._of_given = following
        return added
