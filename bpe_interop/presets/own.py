"""A preset of a user's own: what a rank file or a GPT-2 pair leaves unsaid, in a JSON file.

::

    {
      "pat_str": "...",
      "special_tokens": {"<s>": 0, "</s>": 2},
      "added_tokens": [{"id": 3, "content": "<x>", "special": false, "lstrip": true}],
      "roles": {"bos": "<s>", "eos": "</s>"},
      "normalizer": "NFC",
      "template": "bos",
      "chat_template": "..."
    }

``pat_str`` is in fancy-regex syntax, as tiktoken has it, or the name of a preset or an encoding
whose pattern it is (``cl100k_base``, ``cl100k``). ``added_tokens`` are as in a ``tokenizer.json``;
a flag that is left out is false, but ``special`` is true. Without both lists the files beside the
source say which added tokens there are (``added_tokens_decoder``), and ``roles`` mean what
``--bos`` and the like mean. What is left out is not said: without
``roles`` no token has one, and ``normalizer``, ``template`` and ``chat_template`` mean what
``--normalizer``, ``--template`` and ``--chat-template`` mean.
"""

from __future__ import annotations

from ..model import LOOKS_BESIDE
from ..strict_json import Node, parse
from ..text.spellings import is_a_name
from .table import NORMALIZERS, PRESETS, OwnPreset

_KEYS = (
    "pat_str",
    "special_tokens",
    "added_tokens",
    "roles",
    "normalizer",
    "template",
    "chat_template",
)
_FLAGS = (*LOOKS_BESIDE, "normalized")


def read_preset(data: bytes, file: str) -> OwnPreset:
    """The preset that a file says; ``file`` is its name, for messages.

    Raises:
        FormatError: it is no such preset; with the JSON path.
    """
    root = parse(data, file)
    for key in root.be(dict):
        if key not in _KEYS:
            root[key].refuse("this key is not known", fix=f"a preset holds {', '.join(_KEYS)}")
    special, plain, flags = _tokens(root)
    says_added = "special_tokens" in root or "added_tokens" in root
    roles = {}
    for role in root["roles"].be(dict) if "roles" in root else ():
        roles[role] = root["roles"][role].be(str)
        if says_added and roles[role] not in special:
            root["roles"][role].fail("this text is none of its special tokens")
    texts = [
        root[key].be(str) if key in root else None
        for key in ("normalizer", "template", "chat_template")
    ]
    normalizer = (texts[0] or "none").lower()
    if normalizer not in NORMALIZERS:
        root["normalizer"].fail(
            "this is no normalizer that has a name", fix=f"say {', '.join(NORMALIZERS)}"
        )
    return OwnPreset(
        file.rpartition("/")[2],
        _pattern(root["pat_str"]),
        special,
        (),
        file,
        roles if says_added else {},
        None,
        plain,
        NORMALIZERS[normalizer],
        flags,
        says_added,
        {} if says_added else roles,
        *texts,
    )


def read_entry(entry: Node, *, special: bool) -> tuple[str, bool, dict[str, bool]]:
    """The text of an added token in a user's list, whether it is special, and the flags it has."""
    # As in a tokenizer.json, where tokenizers wants every flag; here what is left out is usual.
    entry.only("id", "content", "special", *_FLAGS)
    text, is_special = entry["content"].be(str), entry.flag("special", default=special)
    return text, is_special, {flag: True for flag in _FLAGS if entry.flag(flag, default=False)}


def _tokens(root: Node) -> tuple[dict[str, int], dict[str, int], dict[str, dict[str, bool]]]:
    """The special tokens, the other added tokens, and the flags of those that have any."""
    special: dict[str, int] = {}
    plain: dict[str, int] = {}
    flags: dict[str, dict[str, bool]] = {}
    if "special_tokens" in root:
        tokens = root["special_tokens"]
        special = {text: tokens[text].id() for text in tokens.be(dict)}
        if "" in special:
            tokens.fail("a special token is empty")
    for entry in root["added_tokens"].items() if "added_tokens" in root else ():
        text, is_special, given = read_entry(entry, special=True)
        if not text:
            entry["content"].fail("an added token is empty")
        if text in special or text in plain:
            entry["content"].fail("this token is there twice")
        (special if is_special else plain)[text] = entry["id"].id()
        flags[text] = given
    return special, plain, flags


def _pattern(node: Node) -> str:
    text = node.be(str)
    if not is_a_name(text):
        return text
    preset = PRESETS.get(text) or PRESETS.get(f"{text}_base")
    if preset is None:
        node.fail(
            "this is a name, and no pattern that is known here",
            fix=f"write the regular expression out, or name one of {', '.join(PRESETS)}",
        )
    return preset.pattern
