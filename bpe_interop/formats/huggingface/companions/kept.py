"""Whether what is written may name the class that its source named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ....model import AddedToken, BPEModel, Json
from ....strict_json import Node
from ....transformers_classes import CLASSES, LOADED_ALIKE
from .auto_class import Serving, serve, served_roles
from .files import ADDED, CONFIG, GENERATION, MODEL_CONFIG, SPECIAL_MAP, Companions

CLASS = "tokenizer_class"
AS_IT_IS = "PreTrainedTokenizerFast"
"""The class that runs a ``tokenizer.json`` as it is, by the name that every version knows."""


def with_class(
    model: BPEModel,
    added: Iterable[AddedToken],
    config: Mapping[str, Json],
    special_map: Mapping[str, Json],
    root: Node,
) -> dict[str, Json]:
    """The ``tokenizer_config.json`` with the class that it names.

    It is the one that the source asked for where both the lowest and the newest transformers
    serve with it what they serve without it, and else the one that runs the file as it is. The
    roles for which a class assumes a token, and the model has none, are written as null.

    Args:
        model: what is written; its origin says which class the source asked for.
        added: the added tokens that are written.
        config: the ``tokenizer_config.json`` without its class.
        special_map: the ``special_tokens_map.json``.
        root: the ``tokenizer.json``; the merges are not looked at.
    """
    as_it_is: dict[str, Json] = {CLASS: AS_IT_IS, **config}
    name = model.origin.served_as
    if name not in LOADED_ALIKE:
        return as_it_is
    none = {f"{role}_token": None for role in CLASSES[name].roles}
    named: dict[str, Json] = {CLASS: name, **none, **config}
    listed = tuple(added)
    plain, own = (
        _served(_beside(each, special_map), root, listed, model) for each in (as_it_is, named)
    )
    alike = (own[0].added, own[1]) == (plain[0].added, plain[1])
    return named if alike and not own[0].fields else as_it_is


def _beside(config: Mapping[str, Json], special_map: Mapping[str, Json]) -> Companions:
    return Companions(
        Node(dict(config), CONFIG),
        Node(dict(special_map), SPECIAL_MAP),
        Node({}, ADDED),
        Node({}, MODEL_CONFIG),
        Node({}, GENERATION),
    )


def _served(
    beside: Companions, root: Node, added: tuple[AddedToken, ...], model: BPEModel
) -> tuple[Serving, dict[str, str]]:
    """What AutoTokenizer runs, and its roles."""
    byte_level = model.alphabet == "byte"
    serving = serve(beside, root, added, model.alphabet, byte_level)
    roles = served_roles(beside, root, serving.choice)
    return serving, {stated.role: stated.text for stated in roles}
