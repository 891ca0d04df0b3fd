"""The files beside a ``tokenizer.json``, parsed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from ....errors import FormatError
from ....model import Json
from ....strict_json import Node, parse
from ....transformers_classes import LOADER_SETTINGS
from ..names import (
    ADDED,
    CHAT_TEMPLATES,
    CONFIG,
    GENERATION,
    MODEL_CONFIG,
    NAMES,
    OTHERS,
    SPECIAL_MAP,
)

MAX_BESIDE = 1 << 26
"""Bytes. The largest of these files are configurations that repeat a thousand added tokens."""


@dataclass(frozen=True, slots=True)
class Companions:
    """Each JSON file as an object, an empty one where there is no such file."""

    config: Node
    special_map: Node
    added: Node
    model_config: Node
    generation: Node
    others: Node


def read_companions(files: Mapping[str, bytes]) -> Companions:
    """Parses the JSON files.

    Raises:
        FormatError: one of them is too large, is malformed, or is no object.
    """
    for name in (*NAMES, *(name for name in files if name.startswith(CHAT_TEMPLATES))):
        if len(files.get(name, b"")) > MAX_BESIDE:
            raise FormatError(
                f"larger than {MAX_BESIDE:,} bytes", where=name, fix="get it again, or leave it out"
            )
    return Companions(
        _object(files, CONFIG),
        _object(files, SPECIAL_MAP),
        _object(files, ADDED),
        _lenient(files, MODEL_CONFIG),
        _lenient(files, GENERATION),
        _object(files, OTHERS),
    )


def loader_settings(files_beside: Companions) -> dict[str, Json]:
    """The settings that a loader of a directory obeys, by name.

    Tokens, roles and chat templates are left out, which the model has.
    """
    config = files_beside.config.be(dict)
    model = files_beside.model_config.be(dict)
    told = {key: config[key] for key in LOADER_SETTINGS if config.get(key) is not None}
    chosen = {f"{MODEL_CONFIG} {key}": model.get(key) for key in ("model_type", "tokenizer_class")}
    return told | {key: value for key, value in chosen.items() if value is not None}


def _object(files: Mapping[str, bytes], name: str) -> Node:
    node = parse(files[name], name) if name in files else Node({}, name)
    node.be(dict)
    return node


def _lenient(files: Mapping[str, bytes], name: str) -> Node:
    """A model's own configuration, of which a few keys are asked; some hold ``Infinity``."""
    try:
        value: object = json.loads(files.get(name, b"{}"))
    except (ValueError, RecursionError) as error:
        fix = "get it again, or leave it out"
        raise FormatError(f"not JSON: {error}", where=name, fix=fix) from None
    node = Node(cast(Json, value), name)
    node.be(dict)
    return node
