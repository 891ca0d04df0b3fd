"""What other libraries' objects can do, for type checkers that are not to read those libraries.

A type checker that follows an import of transformers reads thousands of modules; without it
installed, it would take the object for an ``Any``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, overload


class TransformersTokenizer(Protocol):
    """What people ask of a ``transformers.PreTrainedTokenizerFast``, which it is at run time.

    It has far more; ``isinstance(tokenizer, transformers.PreTrainedTokenizerFast)`` tells a type
    checker all of it.
    """

    name_or_path: str
    chat_template: str | None
    bos_token: str | None
    eos_token: str | None
    pad_token: str | None
    unk_token: str | None

    @property
    def bos_token_id(self) -> int | None:
        """None where there is no such token."""
        ...

    @property
    def eos_token_id(self) -> int | None:
        """None where there is no such token."""
        ...

    @property
    def pad_token_id(self) -> int | None:
        """None where there is no such token."""
        ...

    def __len__(self) -> int:
        """How many tokens there are, added ones included."""
        ...

    @overload
    def __call__(
        self, text: str, *, add_special_tokens: bool = True
    ) -> Mapping[str, list[int]]: ...

    @overload
    def __call__(
        self, text: list[str], *, add_special_tokens: bool = True
    ) -> Mapping[str, list[list[int]]]: ...

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """The ids of a text."""
        ...

    def decode(self, token_ids: Sequence[int], skip_special_tokens: bool = False) -> str:
        """The text of ids."""
        ...

    def get_vocab(self) -> dict[str, int]:
        """The tokens as they are spelled, and their ids."""
        ...

    def save_pretrained(self, save_directory: str | Path) -> tuple[str, ...]:
        """Writes the files; their names."""
        ...
