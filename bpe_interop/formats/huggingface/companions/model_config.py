"""What ``config.json`` and ``generation_config.json`` say of the tokenizer: the model's own.

A tokenizer is read without them, except that ``model_type`` may choose its class. ``vocab_size``
is the number of rows of the embedding, which is often rounded up. ``generate`` takes the ids of
``generation_config.json``, and those of ``config.json`` where there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ....model import AddedToken, Json, show
from ....strict_json import Node
from ....transformers_classes import TRANSFORMERS
from ..names import GENERATION, MODEL_CONFIG
from .files import Companions

_NAMES = ("model_type", "tokenizer_class")
_IDS = ("bos_token_id", "eos_token_id", "pad_token_id")
_TEXT = "text_config"


def read_model_config(files_beside: Companions) -> dict[str, Json]:
    """The keys that concern a tokenizer, under ``generation`` those of the other file.

    A model of several kinds of input keeps them under ``text_config``.

    Raises:
        FormatError: a key has a value of another kind.
    """
    config = files_beside.model_config
    inner = config.get(_TEXT)
    nodes = [config, inner] if isinstance(inner.value, dict) else [config]
    settings: dict[str, Json] = {}
    for key in _NAMES:
        if config.get(key).given:
            settings[key] = config[key].be(str)
    for node in nodes:
        if "vocab_size" not in settings and node.get("vocab_size").given:
            settings["vocab_size"] = _rows(node["vocab_size"])
        for key, value in _ids(node):
            settings.setdefault(key, value)
    generation = dict(_ids(files_beside.generation))
    return {**settings, **({"generation": generation} if generation else {})}


def _rows(node: Node) -> int:
    rows = node.be(int)
    if rows < 1:
        node.fail(f"{rows} is no number of rows")
    return rows


def _ids(node: Node) -> Iterator[tuple[str, Json]]:
    for key in _IDS:
        value = node.get(key)
        if isinstance(value.value, list):
            yield key, [number.be(int) for number in value.items()]
        elif value.given:
            yield key, value.be(int)


def tell_model_config(
    config: Mapping[str, Json], added: Iterable[AddedToken], ids: Iterable[int]
) -> Iterator[str]:
    """Where the model's configuration and the tokenizer say different things.

    Args:
        config: as :func:`read_model_config` gives it.
        added: the added tokens with their roles.
        ids: those of the tokenizer.
    """
    rows = config.get("vocab_size")
    if isinstance(rows, int) and rows <= (largest := max(ids, default=-1)):
        yield (
            f"{MODEL_CONFIG} declares {rows:,} rows (vocab_size), but ids go to {largest}: those "
            f"from {rows} on have no row in the model"
        )
    generation = config.get("generation")
    own = generation if isinstance(generation, dict) else {}
    tokens = {role: token for token in added for role in token.roles}
    for key in _IDS:
        token = tokens.get(key.removesuffix("_token_id"))
        yield from _tell_id(key, config.get(key), own.get(key), token)


def _tell_id(key: str, config: Json, generation: Json, token: AddedToken | None) -> Iterator[str]:
    if config is not None and generation is not None and config != generation:
        yield (
            f"{key}: {MODEL_CONFIG} says {config}, {GENERATION} says {generation}; "
            f"{TRANSFORMERS}'s generate goes by {GENERATION}"
        )
    file, value = (MODEL_CONFIG, config) if generation is None else (GENERATION, generation)
    stated = value if isinstance(value, list) else [value]
    if value is not None and token is not None and token.id not in stated:
        role = key.removesuffix("_token_id")
        yield (
            f"{key}: {file} says {value}, but the tokenizer's {role} token {show(token.text)} is "
            f"{token.id}; {TRANSFORMERS}'s generate goes by {file}, its tokenizer by the text"
        )
