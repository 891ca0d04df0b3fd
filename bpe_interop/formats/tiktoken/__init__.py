"""tiktoken: a rank file, and beside it what the rank file leaves unsaid.

Defined by ``load_tiktoken_bpe`` and ``Encoding`` (https://github.com/openai/tiktoken,
``tiktoken/load.py`` and ``tiktoken/core.py``). The wire format:

- ``NAME.tiktoken`` (any name, ``tokenizer.model`` too): one token per line, its bytes in base64,
  one space, one decimal number; LF or CRLF; empty lines mean nothing.
- The number is the token's id and its merge priority at once. Numbers may have holes.
- Any two adjacent tokens whose bytes joined are in the file may merge, lowest number first; a
  whole pretoken that is in the file is that token, whether or not merges lead to it.
- ``= 50256`` is the empty token: an id that nothing encodes to.
- The number 2**32 - 1 means "no merge" to tiktoken, so it is refused as a rank.
- Pattern and special tokens are not in it. They stand in our sidecar ``NAME.tiktoken.json``: the
  arguments of ``tiktoken.Encoding`` (``name, pat_str, special_tokens, explicit_n_vocab``) and,
  under ``bpe_interop``, what tiktoken has no word for (``sidecar.py``). What is absent is unknown.
"""

from __future__ import annotations

from ...model import FIELDS
from .. import Files, Format, when_called
from ..names import TABLE
from .ranks import PLUGIN, SUFFIX, looks_like_ranks

__all__ = ["FORMAT", "sniff"]


def sniff(files: Files) -> bool:
    """Whether exactly one file holds lines of ``base64 number``, or is named ``*.tiktoken``."""
    own = {name: data for name, data in files.items() if not name.startswith(PLUGIN)}
    if sum(map(looks_like_ranks, own.values())) == 1:
        return True
    return sum(name.endswith(SUFFIX) for name in own) == 1


FORMAT = Format(
    name="tiktoken",
    title="tiktoken rank file",
    spec="https://github.com/openai/tiktoken/blob/main/tiktoken/load.py",
    engines={
        "tiktoken": "bpe_interop.engines.tiktoken:read",
        "gigatoken": "bpe_interop.engines.gigatoken:read",
    },
    holds=frozenset(FIELDS) - {"affixes", "fallback", "normalizer", "extras"},
    sniff=sniff,
    load=when_called(".read", "load", __name__),
    dump=when_called(".write", "dump", __name__),
    words=when_called(".words", "words", __name__),
    holder="tiktoken",
    options={"plugin": when_called(".write", "with_plugin", __name__)},
    how_to_load=when_called(".write", "how_to_load", __name__),
    names=TABLE["tiktoken"],
    called_after_name=True,
    handed=("tiktoken", "gigatoken"),
    registry="tiktoken",
)
