"""mistral-common (https://github.com/mistralai/mistral-common) as an engine: tekken.json."""

from __future__ import annotations

from typing import Any

from ..errors import EngineMissingError
from ..formats import Files
from ..model import BPEModel
from .library import LibraryEngine, Special, folder_of, installed, library, reading


class MistralEngine(LibraryEngine):
    """A ``Tekkenizer`` as an engine.

    It never finds a special token in a text, so there is no ``special="parse"``; and nothing is
    placed around a text unless bos or eos is asked for, which nobody here does.
    """

    name = "mistral-common"

    def __init__(self, tokenizer: Any, keep: Any) -> None:
        """``keep`` is the policy under which special tokens are decoded to their names."""
        self.tokenizer = tokenizer
        self.version = installed("mistral-common") or ""
        self._keep = keep

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        return list(self.tokenizer.encode(text, bos=False, eos=False))

    def _decode(self, ids: list[int]) -> str:
        return str(self.tokenizer.decode(ids, self._keep))


def read(files: Files, model: BPEModel | None) -> MistralEngine:
    """Reads one tekken.json; errors as of :func:`engines.from_files`."""
    tekken = library("mistral_common.tokens.tokenizers.tekken", "mistral-common")
    [data] = files.values() if len(files) == 1 else [b""]
    if data.lstrip()[:1] == b"[":
        raise EngineMissingError(
            "not checked: mistral-common reads no bare list of tokens, which is Megatron's"
        )
    name = "tekken.json"  # it must have "tekken" in it
    with folder_of({name: data}) as folder, reading("mistral-common", name):
        tokenizer = tekken.Tekkenizer.from_file(folder / name)
    return MistralEngine(tokenizer, tekken.SpecialTokenPolicy.KEEP)
