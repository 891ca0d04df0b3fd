"""mistral-common (https://github.com/mistralai/mistral-common) as an engine: tekken.json."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import EngineError
from ..formats import Files
from ..model import BPEModel
from .library import Special, guarded, installed, library


class MistralEngine:
    """A ``Tekkenizer`` as an engine.

    It never finds a special token in a text, so there is no ``special="parse"``; and nothing is
    placed around a text unless bos or eos is asked for, which nobody here does.
    """

    name = "mistral-common"
    parses_special = False
    applies_template = False

    def __init__(self, tokenizer: Any, keep: Any) -> None:
        """``keep`` is the policy under which special tokens are decoded to their names."""
        self.tokenizer = tokenizer
        self.version = installed("mistral-common") or ""
        self._keep = keep

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text; ``add_special_tokens`` adds nothing."""
        if special == "parse":
            raise EngineError("mistral-common never finds special tokens in a text")
        with guarded(self.name, "on the text", text):
            return list(self.tokenizer.encode(text, bos=False, eos=False))

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The ids of each text."""
        return [self.encode(text, special=special) for text in texts]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, each malformed part as U+FFFD."""
        with guarded(self.name, f"to decode {list(ids[:8])}"):
            return str(self.tokenizer.decode(list(ids), self._keep))


def read(files: Files, model: BPEModel | None) -> MistralEngine:
    """Reads one tekken.json.

    Raises:
        EngineMissingError, EngineError: as :func:`engines.from_files`.
    """
    tekken = library("mistral_common.tokens.tokenizers.tekken", "mistral-common")
    [data] = files.values() if len(files) == 1 else [b""]
    # It reads a path only, and the name must have "tekken" in it.
    with (
        tempfile.TemporaryDirectory() as folder,
        guarded("mistral-common", "on tekken.json"),
    ):
        path = Path(folder, "tekken.json")
        path.write_bytes(data)
        tokenizer = tekken.Tekkenizer.from_file(path)
    return MistralEngine(tokenizer, tekken.SpecialTokenPolicy.KEEP)
