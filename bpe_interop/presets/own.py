"""A preset of a user's own: what a rank file or a GPT-2 pair leaves unsaid, in a JSON file.

::

    {
      "pat_str": "...",
      "special_tokens": {"<s>": 0, "</s>": 2},
      "roles": {"bos": "<s>", "eos": "</s>"}
    }

``pat_str`` is in fancy-regex syntax, as tiktoken has it. Texts are not normalized. Without
``roles`` no token has one. What is placed around a text is not said here (``--template``).
"""

from __future__ import annotations

from ..strict_json import parse
from .preset import Preset

SUFFIX = ".json"


def read_preset(data: bytes, file: str) -> Preset:
    """The preset that a file says; ``file`` is its name, for messages.

    Raises:
        FormatError: it is no such preset; with the JSON path.
    """
    root = parse(data, file)
    for key in root.be(dict):
        if key not in ("pat_str", "special_tokens", "roles"):
            root[key].refuse(
                "this key is not known", fix="a preset holds pat_str, special_tokens and roles"
            )
    tokens = root["special_tokens"]
    special = {text: tokens[text].id() for text in tokens.be(dict)}
    if "" in special:
        tokens.fail("a special token is empty")
    roles = {}
    for role in root["roles"].be(dict) if "roles" in root else ():
        roles[role] = root["roles"][role].be(str)
        if roles[role] not in special:
            root["roles"][role].fail("this text is none of special_tokens")
    name = file.rpartition("/")[2]
    return Preset(name, root["pat_str"].be(str), special, (), file, roles, None)
