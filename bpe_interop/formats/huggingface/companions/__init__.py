"""Companions: the files of transformers beside a tokenizer's own, whatever format this has.

``tokenizer_config.json``, ``special_tokens_map.json`` and ``added_tokens.json`` say what tokens
are for, ``chat_template.jinja`` and ``additional_chat_templates/`` hold chat templates,
``config.json`` and ``generation_config.json`` are the model's own.

- ``files.py`` parses them, and says what they say of roles, chat templates and settings;
- ``tokenizer_json.py`` reads and writes them beside a ``tokenizer.json``, which decides;
- ``other_formats.py`` fills with them what the files of other formats leave unsaid;
- ``auto_class.py`` says which class ``AutoTokenizer`` takes, and what that makes of it all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ....errors import UnsupportedError
from ....model import BPEModel
from ....tokenizer_config import OPEN


def with_companions(model: BPEModel, files: Mapping[str, bytes]) -> BPEModel:
    """The model with what the files beside it say and its own files do not.

    Raises:
        FormatError: one of them is malformed, or (UnsupportedError) tiktoken does not find the
            added tokens of a rank file as they are understood here.
    """
    # Most tokenizers of other formats have no such files, and none of these modules is imported.
    if files:
        from .other_formats import filled

        model = filled(model, files)
    elif model.origin.format in OPEN:
        model = replace(model, origin=replace(model.origin, settings={}))
    if model.origin.format == "tiktoken" and model.added:
        from ....theory.added_tokens import LEAVE_OUT, unlike_tiktoken

        # A sidecar with such tokens is refused; a preset or a file beside may bring them too.
        reason = unlike_tiktoken(model.added)
        if reason:
            main = next(iter(model.origin.files), model.origin.format)
            raise UnsupportedError(reason, where=main, fix=LEAVE_OUT)
    return model
