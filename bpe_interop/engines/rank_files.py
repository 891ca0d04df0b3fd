"""Rank files as engines for them take them, read apart from our own reader."""

from __future__ import annotations

import json
from binascii import a2b_base64
from collections.abc import Mapping
from typing import Any

from ..errors import EngineError, UnstatedError
from ..formats import Files
from ..model import BPEModel


def rank_file(files: Files) -> str:
    """The name of the rank file: it is no sidecar and no part of a plugin's folder.

    Raises:
        EngineError: there is none, or several.
    """
    names = [
        name
        for name in files
        if "/" not in name and not (name.endswith(".json") and name.removesuffix(".json") in files)
    ]
    if len(names) != 1:
        raise EngineError(f"expected one rank file, found {', '.join(sorted(names)) or 'none'}")
    return names[0]


def ranks_of(data: bytes) -> dict[bytes, int]:
    """The rule of tiktoken's own ``load_tiktoken_bpe`` (``tiktoken/load.py``).

    That function itself copies whatever it reads into its cache, so it is not called.
    """
    ranks: dict[bytes, int] = {}
    for line in data.splitlines():
        if line:
            token, rank = line.split()
            ranks[a2b_base64(token)] = int(rank)
    return ranks


def stated_beside(files: Files, name: str) -> dict[str, Any]:
    """What the sidecar of a rank file says; nothing where there is none."""
    stated: dict[str, Any] = json.loads(files.get(f"{name}.json", b"{}"))
    return stated


def unsaid(
    stated: Mapping[str, Any], model: BPEModel | None
) -> tuple[str, dict[str, int], frozenset[str]]:
    """Pattern and added tokens of a rank file: what its sidecar says, else the model.

    Returns:
        The pattern, the ids of the added tokens, and those of them that are not special: they
        are to be found in any text.

    Raises:
        UnstatedError: neither says it.
    """
    pattern = stated.get("pat_str")
    if pattern is None and model is not None:
        from ..formats.one_pattern import pat_str

        pattern = pat_str(model)
    special, plain = stated.get("special_tokens"), frozenset[str]()
    if special is None and model is not None and model.added is not None:
        special = {token.text: token.id for token in model.added}
        plain = frozenset(token.text for token in model.added if not token.special)
    if pattern is None:
        raise _unstated("the pattern of this rank file is not stated")
    if special is None:
        raise _unstated("the special tokens of this rank file are not stated")
    return pattern, special, plain


def _unstated(what: str) -> UnstatedError:
    return UnstatedError(
        what, fix="name a preset with --preset (preset=...), or give a sidecar file"
    )
