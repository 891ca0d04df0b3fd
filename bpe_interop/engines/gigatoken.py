"""gigatoken (https://github.com/marcelroed/gigatoken) as an engine for rank files.

It has no regex engine but pre-tokenizers written by hand, one for each family of patterns, so a
pattern that is not proved equal to one of these is refused. It refuses rank files with holes
and with tokens that merging never builds. What it gives on the others is tested, not proved.
"""

from __future__ import annotations

from typing import Any

from ..errors import EngineError, PatternError
from ..formats import Files
from ..merging.canonical import canonical_of
from ..model import BPEModel, RankTable
from ..steps import Pattern
from ..text.patterns import preferred
from ..text.spellings import FAMILIES
from ..theory.utf8 import UTF8_BYTES
from .library import LibraryEngine, Special, folder_of, installed, library, reading
from .tiktoken import rank_file, ranks_of, stated_beside, unsaid

_SCHEMES = {"gpt2": "gpt2", "cl100k": "cl100k", "qwen2": "qwen2", "o200k": "o200k"}
"""Its pre-tokenizers, by the names of our families of patterns."""


class GigatokenEngine(LibraryEngine):
    """Two of its tokenizers, one of which finds special tokens; both find the other added ones."""

    name = "gigatoken"

    def __init__(self, plain: Any, parsing: Any) -> None:
        self._by_special = {"text": plain, "parse": parsing}
        self.version = installed("gigatoken") or ""

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        return list(self._by_special[special].encode(text).tolist())

    def _encode_batch(
        self, texts: list[str], special: Special, add_special_tokens: bool
    ) -> list[list[int]]:
        return list(self._by_special[special].encode_batch_list(texts))

    def _pays_as_batch(self, texts: list[str]) -> bool:
        return True

    def _decode(self, ids: list[int]) -> str:
        return bytes(self._by_special["parse"].decode(ids)).decode("utf-8", "replace")


def read(files: Files, model: BPEModel | None) -> GigatokenEngine:
    """Reads a rank file and its sidecar ``NAME.json``; the model says what they do not.

    Raises:
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    tokenizer = library("gigatoken").Tokenizer
    name = rank_file(files)
    pattern, special, plain = unsaid(stated_beside(files, name), model)
    scheme = _scheme(pattern, files[name])
    ranks = "ranks.tiktoken"
    with (
        reading("gigatoken", f"the rank file {name}"),
        folder_of({ranks: files[name]}) as folder,
    ):
        path = folder / ranks
        found = {text: special[text] for text in plain}
        finding = tokenizer.from_tiktoken(path, pretokenizer=scheme, special_tokens=found)
        parsing = tokenizer.from_tiktoken(path, pretokenizer=scheme, special_tokens=special)
    return GigatokenEngine(finding, parsing)


def _scheme(pattern: str, data: bytes) -> str:
    """Its pre-tokenizer for a pattern.

    The spellings of one family may differ in what tokens never show (Theorem 10, of which the
    other conditions hold for all rank files: nothing follows the pattern, and nothing is glued).
    """
    given = Pattern(pattern, "fancy-regex")
    ranks = ranks_of(data)
    complete = all(bytes([byte]) in ranks for byte in UTF8_BYTES)
    try:
        known = preferred(
            given,
            "fancy-regex",
            vocabulary=ranks if complete else None,
            unreachable=lambda: canonical_of(RankTable(ranks), ranks).unreachable,
        )
    except PatternError:
        known = given
    for family in FAMILIES:
        if known.source == family.preferred:
            return _SCHEMES[family.name]
    raise EngineError(
        "gigatoken has no pre-tokenizer that is known to be this pattern",
        fix="name another engine, or none (engine=None)",
    )
