"""Chat templates: the default one, and others by name.

Measured in transformers 5.24: ``additional_chat_templates/NAME.jinja`` are read, and
``chat_template.jinja`` as ``default`` unless the folder has one of that name; if there are any of
these, ``chat_template`` in ``tokenizer_config.json`` is not. That is a text, or templates by
name, as an object or as a list of ``{"name", "template"}``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....model import Json
from ....strict_json import Node
from ....transformers_classes import TRANSFORMERS
from ..names import CHAT_TEMPLATE, CHAT_TEMPLATES, CONFIG

DEFAULT_NAME = "default"


def read_chat_templates(
    files: Mapping[str, bytes], config: Node, notes: list[str]
) -> tuple[str | None, dict[str, Json]]:
    """The default chat template, and the others by name.

    Raises:
        FormatError: a template is no text, or a file is not UTF-8.
    """
    templates = _in_files(files)
    stated = _in_config(config.get("chat_template"))
    if templates and stated and templates != stated:
        where = CHAT_TEMPLATE if CHAT_TEMPLATE in files else CHAT_TEMPLATES
        notes.append(
            f"chat template: {where} and {CONFIG} hold different ones; {TRANSFORMERS} goes by "
            f"{where}, because it reads {CONFIG} only where no file holds a template"
        )
    templates = templates or stated
    if templates and DEFAULT_NAME not in templates:
        notes.append(
            f"chat templates have names ({', '.join(sorted(templates))}) and none is the default, "
            f"so {TRANSFORMERS} needs one to be named"
        )
    default = templates.pop(DEFAULT_NAME, None)
    return default, {name: templates[name] for name in sorted(templates)}


def _in_files(files: Mapping[str, bytes]) -> dict[str, str]:
    templates: dict[str, str] = {}
    if CHAT_TEMPLATE in files:
        templates[DEFAULT_NAME] = _text(files[CHAT_TEMPLATE], CHAT_TEMPLATE)
    for name, data in files.items():
        if name.startswith(CHAT_TEMPLATES) and name.endswith(".jinja"):
            templates[name[len(CHAT_TEMPLATES) : -len(".jinja")]] = _text(data, name)
    return templates


def _text(data: bytes, name: str) -> str:
    """A file's text as Python reads it, every line end as LF."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return Node(None, name, f"offset {error.start}").fail("not UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _in_config(node: Node) -> dict[str, str]:
    if not node.given:
        return {}
    if isinstance(node.value, dict):
        return {name: node[name].be(str) for name in node.value}
    if isinstance(node.value, list):
        return {each["name"].be(str): each["template"].be(str) for each in node.items()}
    return {DEFAULT_NAME: node.be(str)}


def chat_templates_json(default: str | None, others: Mapping[str, Json]) -> Json:
    """What ``chat_template`` in ``tokenizer_config.json`` says, which every version reads."""
    if not others:
        return default
    named = {**({} if default is None else {DEFAULT_NAME: default}), **others}
    return [{"name": name, "template": template} for name, template in named.items()]
