"""``tokenizer.huggingface.json``: a whole ``tokenizer.json`` in a GGUF file, beside its keys.

The specification has the key (``docs/gguf.md`` of ggml); llama.cpp does not read it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...model import BPEModel
from .. import Files
from .head import parse_head
from .key_bytes import rendered, typed_of
from .keys import EMBEDDED, Keys

NAME: Final = "tokenizer.json"


def embedded(files: Files) -> Files:
    """The tokenizer.json inside a file; nothing where it has none.

    Raises:
        FormatError, UnsupportedError: the head is malformed, or the key is no text.
    """
    [(name, data)] = files.items()
    text = Keys(parse_head(data, name), name).text(EMBEDDED)
    return {} if text is None else {NAME: text.encode("utf-8")}


def embedding(files: Files) -> Callable[[BPEModel, Files], Files] | None:
    """A way of writing that puts the tokenizer.json among some files in; None without one."""
    content = files.get(NAME)
    if content is None:
        return None

    def put(model: BPEModel, written: Files) -> Files:
        [(name, data)] = written.items()
        keys = {key: typed_of(value) for key, value in parse_head(data, name).keys.items()}
        return {name: rendered({**keys, EMBEDDED: ("string", content)})}

    return put
