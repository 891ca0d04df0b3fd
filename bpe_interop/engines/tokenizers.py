"""tokenizers (https://github.com/huggingface/tokenizers) as an engine: ``tokenizer.json``."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..formats import Files
from ..model import BPEModel
from .library import LibraryEngine, Special, guarded, installed, library

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenizersEngine(LibraryEngine):
    """A ``tokenizers.Tokenizer`` as an engine; truncation and padding are switched off.

    ``special="text"`` sets ``encode_special_tokens``. That is a state of the object which
    threads share: several may ask in the same way at once, and who asks in the other one waits.
    (A copy for each way would take as long as reading the file, and as much memory.)
    """

    name = "tokenizers"
    parses_special = True
    applies_template = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.version = installed("tokenizers") or ""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._way: Special = "text"
        self._asking = 0
        self._turn = threading.Condition()

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        with self._asked(special) as tokenizer:
            return tokenizer.encode(text, add_special_tokens=add_special_tokens).ids

    def _encode_batch(
        self, texts: list[str], special: Special, add_special_tokens: bool
    ) -> list[list[int]]:
        with self._asked(special) as tokenizer:
            encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
        return [encoding.ids for encoding in encodings]

    def _decode(self, ids: list[int]) -> str:
        # tokenizers passes over an id that it does not know.
        return self._tokenizer.decode(ids, skip_special_tokens=False)

    @contextmanager
    def _asked(self, special: Special) -> Iterator[Tokenizer]:
        """The tokenizer, which finds special tokens in that way until the block ends."""
        with self._turn:
            while self._asking and self._way != special:
                self._turn.wait()
            if self._way != special:
                self._tokenizer.encode_special_tokens = special == "text"
                self._way = special
            self._asking += 1
        try:
            yield self._tokenizer
        finally:
            with self._turn:
                self._asking -= 1
                if not self._asking:
                    self._turn.notify_all()


def read(files: Files, model: BPEModel | None = None) -> TokenizersEngine:
    """Reads ``tokenizer.json`` (or the one JSON file that there is), which says all.

    Raises:
        EngineMissingError, EngineError: as :func:`engines.from_files`.
    """
    tokenizers = library("tokenizers")
    from ..formats.huggingface.names import main_file

    name = main_file(files)
    with guarded("tokenizers", f"on {name}"):
        return TokenizersEngine(tokenizers.Tokenizer.from_buffer(files[name]))
