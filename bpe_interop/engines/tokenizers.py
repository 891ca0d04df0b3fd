"""tokenizers (https://github.com/huggingface/tokenizers) as an engine: ``tokenizer.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..formats import Files
from ..model import BPEModel
from .library import LibraryEngine, Special, guarded, installed, library

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenizersEngine(LibraryEngine):
    """A ``tokenizers.Tokenizer`` as an engine; truncation and padding are switched off.

    ``special="text"`` sets ``encode_special_tokens``. That is a state of the object which
    threads would share, so there is one object for each of the two ways.
    """

    name = "tokenizers"
    parses_special = True
    applies_template = True

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.version = installed("tokenizers") or ""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._by_special: dict[Special, Tokenizer] = {"text": tokenizer}

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        tokenizer = self._tokenizer(special)
        return tokenizer.encode(text, add_special_tokens=add_special_tokens).ids

    def _encode_batch(
        self, texts: list[str], special: Special, add_special_tokens: bool
    ) -> list[list[int]]:
        encodings = self._tokenizer(special).encode_batch_fast(
            texts, add_special_tokens=add_special_tokens
        )
        return [encoding.ids for encoding in encodings]

    def _decode(self, ids: list[int]) -> str:
        # tokenizers passes over an id that it does not know.
        return self._by_special["text"].decode(ids, skip_special_tokens=False)

    def _tokenizer(self, special: Special) -> Tokenizer:
        tokenizer = self._by_special.get(special)
        if tokenizer is None:
            import copy

            tokenizer = copy.deepcopy(self._by_special["text"])
            tokenizer.encode_special_tokens = special == "text"
            self._by_special[special] = tokenizer
        return tokenizer


def read(files: Files, model: BPEModel | None = None) -> TokenizersEngine:
    """Reads ``tokenizer.json`` (or the one JSON file that there is), which says all.

    Raises:
        EngineMissingError, EngineError: as :func:`engines.from_files`.
    """
    tokenizers = library("tokenizers")
    from ..formats.huggingface.read import main_file

    name = main_file(files)
    with guarded("tokenizers", f"on {name}"):
        return TokenizersEngine(tokenizers.Tokenizer.from_buffer(files[name]))
