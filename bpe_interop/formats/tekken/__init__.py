"""tekken.json: Mistral's byte-level BPE, one JSON file.

Defined by ``Tekkenizer`` of mistral-common (https://github.com/mistralai/mistral-common,
``tokens/tokenizers/tekken.py``), which is also its engine. The wire format:

- ``config``: ``pattern`` (tiktoken's dialect: matches are the pretokens), ``default_vocab_size``
  and ``default_num_special_tokens`` (n below), ``num_vocab_tokens`` (read by nobody), ``version``.
- ``vocab``: a list of ``{rank, token_bytes, token_str}``. The rank is the place in the list; the
  first 256 are the bytes in their order; ``token_bytes`` is base64; ``token_str`` is the same as
  text, null where it is none.
- The vocabulary is cut: only the first ``default_vocab_size - n`` tokens are used.
- A token's id is its rank + n; the ids below n are special tokens.
- ``special_tokens``: a list of ``{rank, token_str, is_control}``. Up to version 7 it may be
  absent, which means twenty built-in ones. The ids that are left are ``<SPECIAL_i>``.
- No text spells a special token: they are put in by id, and never parsed.
- ``image`` (``multimodal`` up to version 11), ``audio``, ``model_settings_builder`` (from version
  15), ``type`` and ``version`` change no id; they are kept.

Megatron and NeMo have the list under ``vocab`` alone, in a file of its own. The pattern is not in
it (presets ``megatron-v1`` and ``megatron-v2``), nor are the special tokens, which they number
from 0 on, 1,000 by default.

How a chat or a text is framed by special tokens is not in the file: the sequence template is
unknown (``None``).
"""

from __future__ import annotations

import re

from .. import Files, Format, when_called
from ..names import TABLE
from .read import load

__all__ = ["FORMAT", "load", "sniff"]

_HEAD = re.compile(rb'"(?:default_num_special_tokens|token_bytes)"')
_BARE = re.compile(rb'\s*\[\s*\{[^{}]*"token_bytes"')
_LOOKED_AT = 1 << 16


def sniff(files: Files) -> bool:
    """Whether there is one file, JSON, that names the keys of tekken.json near its begin or end."""
    if len(files) != 1:
        return False
    [data] = files.values()
    head = data[:_LOOKED_AT]
    if head.lstrip()[:1] == b"[":
        return bool(_BARE.match(head))
    return head.lstrip()[:1] == b"{" and bool(
        _HEAD.search(head) or _HEAD.search(data[-_LOOKED_AT:])
    )


FORMAT = Format(
    name="tekken",
    title="tekken.json",
    spec="https://github.com/mistralai/mistral-common",
    engines={"mistral-common": "bpe_interop.engines.mistral:read"},
    holds=frozenset(
        {"alphabet", "vocab", "merges", "lookup_first", "pretokenizer", "added", "decoder"}
    ),
    sniff=sniff,
    load=load,
    dump=when_called(".write", "dump", __name__),
    words=when_called(".words", "words", __name__),
    holder="tekken",
    names=TABLE["tekken"],
    handed=("mistral-common",),
)
