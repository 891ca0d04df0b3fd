"""How a ``tokenizer.json`` and the files beside it are called."""

from __future__ import annotations

from collections.abc import Mapping

from ...tokenizer_config import CONFIG

MAIN = "tokenizer.json"
SPECIAL_MAP = "special_tokens_map.json"
ADDED = "added_tokens.json"
MODEL_CONFIG = "config.json"
GENERATION = "generation_config.json"
CHAT_TEMPLATE = "chat_template.jinja"
CHAT_TEMPLATES = "additional_chat_templates/"
"""The folder of further chat templates, ``NAME.jinja`` each."""

OTHERS = "bpe_interop.json"
"""Settings of other formats that change no id; no engine reads it."""

NAMES = (CONFIG, SPECIAL_MAP, ADDED, MODEL_CONFIG, GENERATION, CHAT_TEMPLATE, OTHERS)


def main_file(files: Mapping[str, bytes]) -> str:
    """The name of the ``tokenizer.json`` among the files, which may be called otherwise."""
    named = [name for name in files if name.endswith(".json") and name not in NAMES]
    return MAIN if MAIN in files or len(named) != 1 else named[0]
