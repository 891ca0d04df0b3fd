"""The keys of ``tokenizer_config.json``: one table of who reads which, and what becomes of it.

Here too is how a role's token and chat templates are spelled there, beside any format.

:data:`KEYS` says of each key whether a lock file holds it, whether it is written again, beside
which formats it is followed here, and what is said where it is not. A key that is not in the table
changes nothing and is written again. Held true in the newest and the lowest transformers by
``tests/engines/test_companions.py``, which gives each key several values and runs the folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .model import Json
    from .strict_json import Node

CONFIG = "tokenizer_config.json"

ROLES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
"""The roles that every class knows, in transformers' order. Others are a model's own."""

DECODER = "added_tokens_decoder"
EXTRA_NAMES, EXTRA_LIST = EXTRA = ("extra_special_tokens", "additional_special_tokens")
"""Two keys for further special tokens. transformers 5 reads a list or an object (a model's own
roles) under the first, and a list under the second; 4.57 reads an object under the first and a
list under the second (``tokenization_utils_base.py`` of each)."""

WHISPER_SETTINGS = ("language", "task", "predict_timestamps")
"""Keys that change what ``WhisperTokenizer`` places before a text."""

OPEN = ("gpt2", "tiktoken", "sentencepiece")
"""Formats whose files do not say all of their added tokens: transformers, or the publishers' own
class, reads ``tokenizer_config.json`` beside them."""

_CARRYING = ("huggingface", *OPEN)
"""Formats beside whose files such settings are kept, to be written again."""

_ANY = ("*",)
_ITSELF = ("huggingface",)
_BY_CLASS = ("huggingface", "gpt2", "sentencepiece")


class ConfigKey(NamedTuple):
    """A key of the file.

    Attributes:
        locked: whether it depends on the key, in a version of transformers that is admitted, which
            class is loaded, what ids it gives, what these decode to, or how texts are batched.
        travels: whether it means the same to every class, so it is written again as it is.
        beside: formats of the main file where it is followed or answered here; ``*`` is any.
        may: what transformers may do because of it that is not followed here.
    """

    name: str
    locked: bool = False
    travels: bool = False
    beside: tuple[str, ...] = ()
    may: str = ""


def _named(*keys: ConfigKey) -> Mapping[str, ConfigKey]:
    return MappingProxyType({key.name: key for key in keys})


# Files named here are those of transformers 5.24, below ``src/transformers/``. Lock files hold the
# keys in this order.
KEYS = _named(
    # Which class is loaded: models/auto/tokenization_auto.py.
    ConfigKey("tokenizer_class", locked=True, beside=_ANY),
    # What classes put around and before a text: models/llama/tokenization_llama.py and its like.
    ConfigKey("add_bos_token", locked=True, beside=_BY_CLASS),
    ConfigKey("add_eos_token", locked=True, beside=_BY_CLASS),
    ConfigKey("add_prefix_space", locked=True, beside=_BY_CLASS),
    ConfigKey("legacy", locked=True, beside=_ITSELF),
    # What calls of every class do if they are not told otherwise: tokenization_utils_base.py.
    ConfigKey("clean_up_tokenization_spaces", locked=True, beside=_ITSELF),
    ConfigKey("split_special_tokens", locked=True, travels=True),
    # Of slow classes: tokenization_utils_sentencepiece.py, and tokenization_utils.py of 4.57.
    ConfigKey("spaces_between_special_tokens", locked=True, travels=True),
    ConfigKey("from_slow", locked=True, travels=True),
    # Which code, class and file run: models/auto/tokenization_auto.py, tokenization_utils_base.py.
    ConfigKey("auto_map", locked=True, beside=_ANY),
    ConfigKey("backend", locked=True),
    ConfigKey("fast_tokenizer_files", locked=True, may="run another file than tokenizer.json"),
    ConfigKey("fix_mistral_regex", locked=True, may="run another pattern than tokenizer.json"),
    ConfigKey(
        "trust_remote_code", locked=True, may="run tokenizer.json as it is, and not the class"
    ),
    ConfigKey(
        "model_specific_special_tokens",
        locked=True,
        may="add special tokens that are not read here",
    ),
    # What single classes read: models/bert, roberta, gpt2, whisper/tokenization_*.py of each.
    ConfigKey("do_lower_case", locked=True, travels=True),
    ConfigKey("normalize", locked=True, travels=True),
    ConfigKey("trim_offsets", locked=True, travels=True),
    ConfigKey("errors", locked=True, travels=True),
    ConfigKey("sp_model_kwargs", locked=True, travels=True),
    *(ConfigKey(name, locked=True, travels=True) for name in WHISPER_SETTINGS),
    # How texts are batched: tokenization_utils_base.py.
    ConfigKey("model_max_length", locked=True, travels=True),
    ConfigKey("model_input_names", locked=True, travels=True),
    ConfigKey("padding_side", locked=True, travels=True),
    ConfigKey("truncation_side", locked=True, travels=True),
    # What the model has itself: the reader of these is in formats/huggingface/companions/files.py.
    ConfigKey("chat_template", beside=_ANY),
    *(ConfigKey(name, beside=_ANY) for name in (DECODER, *EXTRA)),
    # It acts with clean_up_tokenization_spaces only: tokenization_utils_tokenizers.py.
    ConfigKey("clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"),
    # Where files lay, what a call was given, or what another file says: what is written names none.
    *(
        ConfigKey(name)
        for name in (
            *("device_map", "files_loaded", "gguf_file", "init_inputs", "is_local"),
            *("local_files_only", "merges", "merges_file", "name_or_path", "post_processor"),
            *("slow_tokenizer_class", "special_tokens_map_file", "tokenizer_file"),
            *("tokenizer_object", "tokenizer_padding", "tokenizer_truncation"),
            *("use_fast", "vocab", "vocab_file"),
        )
    ),
)

LOCKED = tuple(key.name for key in KEYS.values() if key.locked)
"""The keys that a lock file holds."""


def travels(name: str) -> bool:
    """Whether a key that says no role is written again beside a tokenizer of another class."""
    return name not in KEYS or KEYS[name].travels


def travelling(config: Node) -> dict[str, Json]:
    """The settings of a file that mean the same to every class, by key."""
    kept: dict[str, Json] = {}
    for key, value in config.be(dict).items():
        is_role = key.endswith(ROLE_ENDING) and isinstance(value, (str, dict))
        role = key.removesuffix(ROLE_ENDING)
        if travels(key) and not is_role and role not in ROLES and value is not None:
            kept[key] = value
    return kept


def unread_keys(stated: Iterable[str], format: str) -> Iterator[str]:
    """Of keys that are stated, those that change nothing of what is read, nor travel.

    ``format`` is the main file's.
    """
    for name in stated:
        # A role: the readers take any key that ends so.
        if name.endswith("_token") and not name.startswith("add_"):
            continue
        beside = KEYS[name].beside if name in KEYS else ()
        is_kept = travels(name) and format in _CARRYING
        if not (is_kept or format in beside or "*" in beside):
            yield name


ROLE_ENDING = "_token"
DEFAULT_CHAT = "default"


def token_text(node: Node) -> str:
    """The text of a token, which is written as a string or as an object with flags."""
    return (node["content"] if isinstance(node.value, dict) else node).be(str)


def roles_in(node: Node) -> dict[str, str | None]:
    """Roles to texts, None (for null and false) or empty where the file says that there is none.

    Raises:
        FormatError: a role is neither a string nor an object with a ``content``.
    """
    named: dict[str, str | None] = {}
    for key, value in node.be(dict).items():
        role = key.removesuffix(ROLE_ENDING)
        # `add_bos_token` and the like end so, too, and name no token.
        if role == key or (role not in ROLES and not isinstance(value, (str, dict))):
            continue
        named[role] = token_text(node[key]) if value is not None and value is not False else None
    return named


def chats_in(config: Node) -> dict[str, str]:
    """Chat templates by name: a text is the default, a list or an object gives names.

    Raises:
        FormatError: a template is no text.
    """
    node = config.get("chat_template")
    if not node.given:
        return {}
    if isinstance(node.value, dict):
        return {name: node[name].be(str) for name in node.value}
    if isinstance(node.value, list):
        return {each["name"].be(str): each["template"].be(str) for each in node.items()}
    return {DEFAULT_CHAT: node.be(str)}
