"""The files beside a ``tokenizer.json``: what they add to it, and what of them contradicts it.

None of them changes what ``tokenizer.json`` says; where transformers lets one win, that is noted,
and where its tokens or their roles would be others then, no conversion passes over it.
``bpe_interop.json`` holds settings of the format that the tokenizer came from, for the way back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from ....model import (
    CHATS,
    LOADING,
    AddedToken,
    Alphabet,
    BPEModel,
    Json,
    Origin,
    SequenceTemplate,
    digests,
)
from ....quoting import show
from ....strict_json import Node
from ....tokenizer_config import CONFIG, DECODER, EXTRA_NAMES, KEYS, ROLES
from ....transformers_classes import CLASSES, DEFAULT, LOADED_ALIKE, LOWEST, MEASURED, TRANSFORMERS
from ...names import ADDED, GENERATION, KEPT_BESIDE, MODEL_CONFIG, OTHERS, SPECIAL_MAP
from .auto_class import (
    Serving,
    ids_around,
    ids_of,
    serve,
    served_roles,
    space_of_pretokenizer,
    tell_ids,
)
from .files import (
    Companions,
    chat_templates_json,
    loader_settings,
    read_chat_templates,
    read_companions,
    read_model_config,
    read_roles,
    settings_of_classes,
    tell_model_config,
)

_CLASS = "tokenizer_class"
_AS_IT_IS = "PreTrainedTokenizerFast"
"""The class that runs a ``tokenizer.json`` as it is, by the name that every version knows."""


class Beside(NamedTuple):
    """What the files beside a ``tokenizer.json`` add to it.

    ``settings`` and ``others`` (settings of no format, or of another) change no id.
    ``model_config`` is the network's, and is not written. ``origin`` has all files, and notes on
    these; ``lost`` there are those on tokens and roles that they ask for and ``tokenizer.json``
    does not give.
    """

    added: tuple[AddedToken, ...]
    chat_template: str | None
    settings: Mapping[str, Json]
    others: Mapping[str, Json]
    model_config: Mapping[str, Json]
    origin: Origin


def read_beside(
    files: Mapping[str, bytes],
    added: Iterable[AddedToken],
    root: Node,
    alphabet: Alphabet,
    vocab: Mapping[str, int],
) -> Beside:
    """Reads roles, chat templates, harmless settings, and what contradicts the ``tokenizer.json``.

    ``root`` is that file but for its vocabulary (``vocab``) and merges.

    Raises:
        FormatError: one of the files is malformed.
    """
    files_beside = read_companions(files)
    listed, notes = tuple(added), list[str]()
    byte_level = b'"ByteLevel"' in files[root.file]
    serving = serve(files_beside, root, listed, alphabet, byte_level, vocab)
    read_roles(files_beside, notes)
    roles: dict[str, set[str]] = {}
    for stated in served_roles(files_beside, root, serving.choice):
        roles.setdefault(stated.text, set()).add(stated.role)
    marked = tuple(replace(t, roles=tuple(sorted(roles.get(t.text, ())))) for t in listed)
    default, others = read_chat_templates(files, files_beside.config, notes)
    config = read_model_config(files_beside)
    ids = chain(vocab.values(), (token.id for token in listed))
    notes += tell_model_config(config, marked, ids)
    _tell_flags(files_beside.config, root, marked, notes)
    settings = settings_of_classes(
        files_beside, {token.text for token in listed}, serving.choice.name
    )
    return Beside(
        marked,
        default,
        settings,
        {**_read_others(files_beside.others, notes), **({CHATS: others} if others else {})},
        config,
        Origin(
            "huggingface",
            files=digests(files),
            notes=(*serving.notes, *notes, *tell_ids(files_beside, vocab, listed, serving.added)),
            lost=serving.lost,
            served_as="" if serving.choice.name == DEFAULT else serving.choice.name,
            settings=loader_settings(files_beside),
        ),
    )


def _read_others(node: Node, notes: list[str]) -> dict[str, Json]:
    """Settings of other formats, as :func:`settings_of_others` gives them."""
    for key in sorted(node.be(dict).keys() - KEPT_BESIDE):
        notes.append(f"{OTHERS}: the settings of {show(key)} are passed over; no id changes")
    return {key: node[key].be(dict) for key in sorted(KEPT_BESIDE & node.be(dict).keys())}


def settings_of_others(model: BPEModel) -> dict[str, Json]:
    """What a model keeps of other formats that ``bpe_interop.json`` holds."""
    return {
        key: value
        for key, value in sorted(model.extras.items())
        if key in KEPT_BESIDE and isinstance(value, dict)
    }


def _tell_flags(config: Node, root: Node, added: Sequence[AddedToken], notes: list[str]) -> None:
    """What is said of settings that a ``tokenizer.json`` decides for itself."""
    ends = ids_around(root.get("post_processor"))
    for role, there in zip(("bos", "eos"), ends, strict=True):
        ids = {token.id for token in added if role in token.roles}
        flag = config.get(f"add_{role}_token").value
        # The flag asks for one and none is there, or the other way round.
        if isinstance(flag, bool) and flag is ids.isdisjoint(there):
            has = "puts none there" if flag else "puts one there all the same"
            notes.append(
                f"{CONFIG}: add_{role}_token is {str(flag).lower()}, but tokenizer.json's "
                f"post-processor {has}; {TRANSFORMERS} goes by tokenizer.json where there is one"
            )
    if config.get("clean_up_tokenization_spaces").value:
        notes.append(
            f"{CONFIG}: clean_up_tokenization_spaces makes transformers {LOWEST} change decoded "
            f"text ({MEASURED} does not for BPE); what is read here is tokenizer.json"
        )
    notes += [
        f"{CONFIG}: {key.name} may make {TRANSFORMERS} {key.may}"
        for key in KEYS.values()
        if key.may and config.get(key.name).value
    ]


def write_beside(
    model: BPEModel,
    added: Sequence[AddedToken],
    root: Node,
    vocab: Mapping[str, int],
) -> dict[str, bytes]:
    """``tokenizer_config.json`` and ``special_tokens_map.json``, which contradict nothing.

    Beside them ``bpe_interop.json``, where the model has settings of a format that keeps them so.
    """
    # Everything is spelled as transformers 4.57 and 5 both read it.
    roles = {role: token for token in added for role in token.roles}
    tokens: dict[str, Json] = {f"{n}_token": roles[n].text for n in ROLES if n in roles}
    own: dict[str, Json] = {f"{n}_token": roles[n].text for n in sorted(roles.keys() - {*ROLES})}
    # A model's own roles: both versions read an object under this key. Further special tokens are a
    # list under the older key, because 4.57 fails on a list here (5 takes either).
    if own:
        tokens[EXTRA_NAMES] = own
    settings = model.extras.get(LOADING)
    config: dict[str, Json] = {
        "clean_up_tokenization_spaces": False,
        **tokens,
        **_flags(model.sequence_template, roles),
        **(settings if isinstance(settings, dict) else {}),
    }
    config |= _said_again(model, roles, root)
    if not all(token.special for token in roles.values()):
        # Without this key transformers makes a role's token special.
        config[DECODER] = {}
    others = model.extras.get(CHATS)
    template = chat_templates_json(model.chat_template, others if isinstance(others, dict) else {})
    if template is not None:
        # In the configuration, where both versions look.
        config["chat_template"] = template
    common: dict[str, Json] = {f"{n}_token": roles[n].text for n in ROLES if n in roles}
    named = _with_class(model, added, config, common, root, vocab)
    others_settings = settings_of_others(model)
    return {
        CONFIG: _json_bytes(named),
        SPECIAL_MAP: _json_bytes(common),
        **({OTHERS: _json_bytes(others_settings)} if others_settings else {}),
    }


def _flags(template: SequenceTemplate | None, roles: Mapping[str, AddedToken]) -> dict[str, Json]:
    """``add_bos_token`` and ``add_eos_token`` where they are true and say all of the template."""
    ends = ids_of(template or SequenceTemplate())
    own_ids = [[roles[role].id] if role in roles else [] for role in ("bos", "eos")]
    if not any(ends) or any(
        there and there != own for there, own in zip(ends, own_ids, strict=True)
    ):
        return {}
    return {
        f"add_{role}_token": True for role, ids in zip(("bos", "eos"), ends, strict=True) if ids
    }


def _said_again(
    model: BPEModel, roles: Mapping[str, AddedToken], root: Node
) -> Iterator[tuple[str, Json]]:
    """Settings of the source's loader that are true of what is written, so that they are kept."""
    stated = model.origin.settings or {}
    ends = ids_of(model.sequence_template or SequenceTemplate())
    for role, ids in zip(("bos", "eos"), ends, strict=True):
        if stated.get(f"add_{role}_token") is False and (
            role not in roles or roles[role].id not in ids
        ):
            yield f"add_{role}_token", False
    # Where the key is not there, the lowest transformers takes the space out of the file's
    # pre-tokenizer (tokenization_utils_fast.py of 4.57).
    if space_of_pretokenizer(root) or stated.get("add_prefix_space") is _puts_a_space(root):
        yield "add_prefix_space", _puts_a_space(root)
    if stated.get("backend") == "tokenizers":
        yield "backend", "tokenizers"


def _puts_a_space(root: Node) -> bool:
    """Whether a step of the ``tokenizer.json`` puts a space before a text."""
    steps: list[Json] = [root.get(key).value for key in ("normalizer", "pre_tokenizer")]
    for step in steps:
        if not isinstance(step, dict):
            continue
        for inner in (step.get("normalizers"), step.get("pretokenizers")):
            steps += inner if isinstance(inner, list) else []
        scheme = step.get("prepend_scheme", "never")
        if step.get("type") == "Prepend" or step.get("add_prefix_space") or scheme != "never":
            return True
    return False


def _json_bytes(value: Mapping[str, Json]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def _with_class(
    model: BPEModel,
    added: Iterable[AddedToken],
    config: Mapping[str, Json],
    special_map: Mapping[str, Json],
    root: Node,
    vocab: Mapping[str, int],
) -> dict[str, Json]:
    """The ``tokenizer_config.json`` (``config``) with the class that it names.

    ``root`` is the ``tokenizer.json`` but for its vocabulary and merges.
    """
    as_it_is: dict[str, Json] = {_CLASS: _AS_IT_IS, **config}
    # The source's class, if the lowest and the newest transformers both serve with it what they
    # serve without it; else the one that runs the file as it is.
    name = model.origin.served_as
    if name not in LOADED_ALIKE:
        return as_it_is
    # A class assumes a token for these roles where none is named.
    none = {f"{role}_token": None for role in CLASSES[name].roles}
    named: dict[str, Json] = {_CLASS: name, **none, **config}
    listed = tuple(added)
    # Served with the class and without it: it may be named only if both are the same.
    plain, own = (
        _served(_beside(each, special_map), root, listed, model, vocab)
        for each in (as_it_is, named)
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
        Node({}, OTHERS),
    )


def _served(
    beside: Companions,
    root: Node,
    added: tuple[AddedToken, ...],
    model: BPEModel,
    vocab: Mapping[str, int],
) -> tuple[Serving, dict[str, str]]:
    byte_level = model.alphabet == "byte"
    serving = serve(beside, root, added, model.alphabet, byte_level, vocab)
    roles = served_roles(beside, root, serving.choice)
    return serving, {stated.role: stated.text for stated in roles}
