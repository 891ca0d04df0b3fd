"""tiktoken (https://github.com/openai/tiktoken) as an engine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..formats import Files
from ..model import BPEModel
from .library import LibraryEngine, Special, guarded, installed, library
from .rank_files import rank_file, ranks_of, stated_beside, unsaid
from .tiktoken_encodings import EncodingFiles

if TYPE_CHECKING:
    from tiktoken import Encoding

_THREADS = min(8, os.cpu_count() or 1)


class TiktokenEngine(LibraryEngine):
    """An ``Encoding`` as an engine. It has no sequence template, so nothing is ever added.

    An ``Encoding`` does not know which of its special tokens are to be found in any text, and its
    callers say so with ``allowed_special``, as Qwen's tokenizer in Python does: ``plain`` are
    these.
    """

    name = "tiktoken"
    parses_special = True
    applies_template = False

    def __init__(self, encoding: Encoding, plain: Iterable[str] = ()) -> None:
        self.encoding = encoding
        self._plain = encoding.special_tokens_set.intersection(plain)
        self.version = installed("tiktoken") or ""

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        if special == "parse":
            return self.encoding.encode(text, allowed_special="all")
        if not self._plain:
            return self.encoding.encode_ordinary(text)
        return self.encoding.encode(text, allowed_special=self._plain, disallowed_special=())

    def _encode_batch(
        self, texts: list[str], special: Special, add_special_tokens: bool
    ) -> list[list[int]]:
        if special == "text" and not self._plain:
            return self.encoding.encode_ordinary_batch(texts, num_threads=_THREADS)
        return self.encoding.encode_batch(
            texts,
            num_threads=_THREADS,
            allowed_special="all" if special == "parse" else self._plain,
            disallowed_special=(),
        )

    def _decode(self, ids: list[int]) -> str:
        return self.encoding.decode(ids)


def read(files: Files, model: BPEModel | None) -> TiktokenEngine:
    """Reads a rank file and its sidecar ``NAME.json``; the model says what they do not.

    Raises:
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    tiktoken = library("tiktoken")
    if isinstance(files, EncodingFiles):
        return TiktokenEngine(files.encoding)
    name = rank_file(files)
    with guarded("tiktoken", f"on the rank file {name}"):
        ranks = ranks_of(files[name])
        stated = stated_beside(files, name)
        pattern, special, plain = unsaid(stated, model)
        encoding = tiktoken.Encoding(
            stated.get("name") or name,
            pat_str=pattern,
            mergeable_ranks=ranks,
            special_tokens=special,
            explicit_n_vocab=stated.get("explicit_n_vocab"),
        )
    return TiktokenEngine(encoding, plain)
