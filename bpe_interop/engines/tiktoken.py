"""tiktoken (https://github.com/openai/tiktoken) as an engine."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import EngineError, UnstatedError
from ..formats import Files
from ..model import BPEModel
from .library import Special, guarded, installed, library, pays_as_batch

if TYPE_CHECKING:
    from tiktoken import Encoding

_THREADS = min(8, os.cpu_count() or 1)


class TiktokenEngine:
    """An ``Encoding`` as an engine. It has no sequence template, so nothing is ever added."""

    name = "tiktoken"
    parses_special = True

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
        with guarded(self.name, f"to decode {list(ids)[:8]}"):
            return self.encoding.decode(ids)


def read(files: Files, model: BPEModel | None) -> TiktokenEngine:
    """Reads a rank file and its sidecar ``NAME.json``; the model says what they do not.

    Raises:
        EngineMissingError, EngineError, UnstatedError: as :func:`engines.from_files`.
    """
    tiktoken = library("tiktoken")
    name = _rank_file(files)
    with guarded("tiktoken", f"on the rank file {name}"):
        ranks = _ranks(files[name])
        stated = json.loads(files.get(f"{name}.json", b"{}"))
        pattern, special = _unsaid(stated, model)
        encoding = tiktoken.Encoding(
            stated.get("name") or name,
            pat_str=pattern,
            mergeable_ranks=ranks,
            special_tokens=special,
            explicit_n_vocab=stated.get("explicit_n_vocab"),
        )
    return TiktokenEngine(encoding)


def _rank_file(files: Files) -> str:
    """The rank file that is no sidecar and no part of a plugin's folder."""
    names = [
        name
        for name in files
        if "/" not in name and not (name.endswith(".json") and name.removesuffix(".json") in files)
    ]
    if len(names) != 1:
        raise EngineError(f"expected one rank file, found {', '.join(sorted(names)) or 'none'}")
    return names[0]


def _ranks(data: bytes) -> dict[bytes, int]:
    """The rule of tiktoken's own ``load_tiktoken_bpe`` (``tiktoken/load.py``).

    That function itself copies whatever it reads into its cache, so it is not called.
    """
    ranks: dict[bytes, int] = {}
    for line in data.splitlines():
        if line:
            token, rank = line.split()
            ranks[base64.b64decode(token)] = int(rank)
    return ranks


def _unsaid(stated: dict[str, Any], model: BPEModel | None) -> tuple[str, dict[str, int]]:
    """Pattern and special tokens: from the sidecar, else from the model."""
    pattern = stated.get("pat_str")
    if pattern is None and model is not None:
        from ..formats.tiktoken.pattern import pat_str

        pattern = pat_str(model)
    special = stated.get("special_tokens")
    if special is None and model is not None and model.added is not None:
        special = {token.text: token.id for token in model.added}
    if pattern is None:
        raise _unstated("the pattern of this rank file is not stated")
    if special is None:
        raise _unstated("the special tokens of this rank file are not stated")
    return pattern, special


def _unstated(what: str) -> UnstatedError:
    return UnstatedError(what, fix="name a preset (preset=...), or give a sidecar file")
