"""tiktoken (https://github.com/openai/tiktoken) as an engine."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..formats import Files
from ..model import BPEModel
from .library import Special, guarded, installed, library, pays_as_batch
from .rank_files import rank_file, ranks_of, stated_beside, unsaid

if TYPE_CHECKING:
    from tiktoken import Encoding

_THREADS = min(8, os.cpu_count() or 1)


class TiktokenEngine:
    """An ``Encoding`` as an engine. It has no sequence template, so nothing is ever added."""

    name = "tiktoken"
    parses_special = True
    applies_template = False

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self.version = installed("tiktoken") or ""

    def encode(
        self, text: str, *, special: Special = "text", add_special_tokens: bool = False
    ) -> list[int]:
        """The ids of a text; ``add_special_tokens`` adds nothing."""
        with guarded(self.name, "on the text", text):
            if special == "text":
                return self.encoding.encode_ordinary(text)
            return self.encoding.encode(text, allowed_special="all")

    def encode_batch(
        self,
        texts: Sequence[str],
        *,
        special: Special = "text",
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The ids of each text: in threads where the texts are long, else one by one."""
        listed = list(texts)
        if not pays_as_batch(listed):
            return [self.encode(text, special=special) for text in listed]
        with guarded(self.name, f"on one of {len(listed)} texts"):
            if special == "text":
                return self.encoding.encode_ordinary_batch(listed, num_threads=_THREADS)
            return self.encoding.encode_batch(listed, num_threads=_THREADS, allowed_special="all")

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids, each malformed part as U+FFFD."""
        with guarded(self.name, f"to decode {list(ids[:8])}"):
            return self.encoding.decode(ids)


def read(files: Files, model: BPEModel | None) -> TiktokenEngine:
    """Reads a rank file and its sidecar ``NAME.json``; the model says what they do not.

    Raises:
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    tiktoken = library("tiktoken")
    name = rank_file(files)
    with guarded("tiktoken", f"on the rank file {name}"):
        ranks = ranks_of(files[name])
        stated = stated_beside(files, name)
        pattern, special = unsaid(stated, model)
        encoding = tiktoken.Encoding(
            stated.get("name") or name,
            pat_str=pattern,
            mergeable_ranks=ranks,
            special_tokens=special,
            explicit_n_vocab=stated.get("explicit_n_vocab"),
        )
    return TiktokenEngine(encoding)
