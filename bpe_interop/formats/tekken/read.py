"""From tekken.json to the model."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterable, Sequence
from typing import Final, NoReturn

from ...errors import FormatError
from ...limits import SPECIAL_TOKENS, TEKKEN_TOKENS
from ...model import AddedToken, BPEModel, Json, Origin, RankTable, Vocab, digests, text_of
from ...quoting import show
from ...steps import JoinBytes
from ...strict_json import Node, parse
from .. import Files
from ..one_pattern import read_pattern

NAME: Final = "tekken.json"

VERSIONS: Final = ("v1", "v2", "v3", "v7", "v11", "v13", "v15")
"""The versions there are, in order (``TokenizerVersion``, ``tokens/tokenizers/base.py``)."""

BUILT_IN: Final = (
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
)
"""The special tokens of a file without a list (``DEPRECATED_SPECIAL_TOKENS``)."""

LAST_BUILT_IN: Final = "v7"
"""The last version that may leave the list out."""

ROLES: Final = {"<unk>": "unk", "<s>": "bos", "</s>": "eos", "<pad>": "pad"}
"""Roles go by name (``bos_id`` and its like ask for these strings)."""

BLOCKS: Final = ("image", "multimodal", "audio", "model_settings_builder", "type", "version")
"""Keys that change no id."""

LAST_MULTIMODAL: Final = "v11"
"""The last version in which ``image`` may be called ``multimodal``."""

OPTIONAL_SIZE: Final = "spatial_merge_size"
IMAGE_SIZES: Final = ("image_patch_size", "max_image_size", OPTIONAL_SIZE)
"""The settings of images, in pixels and patches."""

BARE_SIZE: Final = 1 << 17
BARE_SPECIAL: Final = 1_000
"""How many ids, and special tokens of them, Megatron gives to a bare list by default."""

MAX_INDENT: Final = 64
"""So many bytes are looked at for the spaces before the first key."""

_FIRST_INDENT = re.compile(rb"\s*\{\n( +)")


def filler(number: int) -> str:
    """The name of a special token that the file does not name (``SPECIAL_TOKEN_TEMPLATE``)."""
    return f"<SPECIAL_{number}>"


def load(files: Files) -> BPEModel:
    """Reads tekken.json.

    Raises:
        FormatError: the file is malformed, or mistral-common would refuse it; the message names
            the JSON path.
        UnsupportedError: a key is there that is not understood.
    """
    [(name, data)] = files.items() if len(files) == 1 else [_no_file(files)]
    root = parse(data, name)
    if isinstance(root.value, list):
        return _bare_list(root, name, files)
    root.only("config", "vocab", "special_tokens", *BLOCKS)
    config = root["config"]
    version = read_version(config)
    check_images(root, version)
    special_count, vocabulary_size = _sizes(config)
    listed = _read_tokens(root["vocab"], vocabulary_size)
    names, plain = _read_special(root, version, special_count)
    ids = {token: rank + special_count for rank, token in enumerate(listed[:vocabulary_size])}
    fillers = (filler(number) for number in range(len(names), special_count))
    added = named([*names, *fillers])
    return BPEModel(
        vocab=Vocab(ids),
        merges=RankTable(ids),
        lookup_first=True,
        normalizer=(),
        pretokenizer=read_pattern(config["pattern"].be(str), config["pattern"].where),
        added=added,
        decoder=(JoinBytes(),),
        extras={"tekken": _extras(root, data, listed[vocabulary_size:], plain)},
        origin=Origin(
            "tekken",
            name=name.removesuffix(".json"),
            files=digests(files),
        ),
    )


def named(texts: Iterable[str]) -> tuple[AddedToken, ...]:
    """The special tokens of these names, whose ids are their places."""
    return tuple(
        AddedToken(text, number, roles=(ROLES[text],) if text in ROLES else ())
        for number, text in enumerate(texts)
    )


def _bare_list(root: Node, name: str, files: Files) -> BPEModel:
    """Megatron's and NeMo's file: the list of tokens alone, numbered by their default settings."""
    listed = _read_tokens(root, 0)
    # tiktoken_tokenizer.py of Megatron-core. Pattern and special tokens are not in the file.
    used, beyond = listed[: BARE_SIZE - BARE_SPECIAL], listed[BARE_SIZE - BARE_SPECIAL :]
    ids = {token: rank + BARE_SPECIAL for rank, token in enumerate(used)}
    notes = [
        f"{name}: the tokens alone, as Megatron and NeMo have them; numbered as they do "
        f"by default: {BARE_SPECIAL:,} special tokens first, {BARE_SIZE:,} ids in all"
    ]
    if beyond:
        notes.append(
            f"{name}: {len(beyond):,} of the {len(listed):,} tokens are beyond these ids, so they "
            f"are not used, such as {show(beyond[0])}"
        )
    return BPEModel(
        vocab=Vocab(ids),
        merges=RankTable(ids),
        lookup_first=True,
        normalizer=(),
        decoder=(JoinBytes(),),
        extras={"bare list": {"beyond": _as_base64(beyond)}} if beyond else {},
        origin=Origin(
            "tekken",
            name=name.removesuffix(".json"),
            files=digests(files),
            notes=tuple(notes),
        ),
    )


def _no_file(files: Files) -> tuple[str, bytes]:
    raise FormatError(
        f"expected one file, found {', '.join(sorted(files)) or 'none'}", fix=f"name {NAME}"
    )


def read_version(config: Node) -> str:
    """The version that a configuration states.

    Raises:
        FormatError: it has none.
        UnsupportedError: it is not known.
    """
    version = config["version"].be(str)
    if version not in VERSIONS:
        config["version"].refuse(
            f"the version {show(version)} is not known",
            fix=f"the versions are {', '.join(VERSIONS)}",
        )
    return version


def check_images(root: Node, version: str) -> None:
    """Refuses settings of images that mistral-common does not load (``ImageConfig``).

    Raises:
        FormatError: they are no such settings.
        UnsupportedError: they have a name or a key that the version does not know.
    """
    older = root.get("multimodal")
    if older.value and VERSIONS.index(version) > VERSIONS.index(LAST_MULTIMODAL):
        older.refuse(f"version {version} calls this 'image'", fix="rename the key")
    node = older if older.value else root.get("image")
    if not node.value:
        return
    node.only(*IMAGE_SIZES)
    for key in IMAGE_SIZES:
        if (key in node or key != OPTIONAL_SIZE) and node[key].be(int) < 1:
            node[key].fail(f"expected more than 0, found {node[key].value}")


def _sizes(config: Node) -> tuple[int, int]:
    """How many special tokens there are, and how many tokens of the vocabulary are used."""
    special, size = (
        config[key].be(int) for key in ("default_num_special_tokens", "default_vocab_size")
    )
    if special > SPECIAL_TOKENS.most:
        config["default_num_special_tokens"].fail(SPECIAL_TOKENS.passed("the file"))
    if special < 0:
        config["default_num_special_tokens"].fail(f"expected 0 or more, found {special}")
    if size > TEKKEN_TOKENS.most:
        config["default_vocab_size"].fail(TEKKEN_TOKENS.passed("the file"))
    if size <= special:
        config["default_vocab_size"].fail(
            f"expected more than the {special} special tokens, found {size}"
        )
    return special, size - special


def _read_tokens(vocab: Node, used: int) -> list[bytes]:
    """The contents of the vocabulary's tokens, in the order of their ranks."""
    entries: list[Json] = vocab.be(list)
    if len(entries) < used:
        vocab.fail(f"there are {len(entries):,} tokens, and the configuration asks for {used:,}")
    tokens: list[bytes] = []
    for rank, entry in enumerate(entries):
        if not isinstance(entry, dict) or len(entry) != 3:
            _explain_entry(vocab, rank)
        spelled = entry.get("token_bytes")
        number = entry.get("rank")
        if number != rank or type(number) is not int or not isinstance(spelled, str):
            _explain_entry(vocab, rank)
        token = from_base64(spelled)
        if token is None or "token_str" not in entry or entry["token_str"] != text_of(token):
            _explain_entry(vocab, rank)
        tokens.append(token)
    if len(set(tokens)) != len(tokens):
        _explain_twins(vocab, tokens)
    if b"" in tokens:
        _entry(vocab, tokens.index(b"")).fail("the token is empty")
    if tokens[:256] != [bytes([byte]) for byte in range(256)]:
        wrong = next(rank for rank in range(256) if tokens[rank : rank + 1] != [bytes([rank])])
        vocab.fail(f"the first 256 tokens must be the bytes in their order; number {wrong} is not")
    return tokens


def from_base64(spelled: str) -> bytes | None:
    """The bytes, if this is how base64 spells them."""
    try:
        token = binascii.a2b_base64(spelled)
    except ValueError:
        return None
    return token if binascii.b2a_base64(token, newline=False).decode() == spelled else None


def _as_base64(tokens: Sequence[bytes]) -> list[Json]:
    return [binascii.b2a_base64(token, newline=False).decode() for token in tokens]


def _entry(vocab: Node, rank: int) -> Node:
    return Node(vocab.be(list)[rank], vocab.file, f"{vocab.path}[{rank}]")


def _explain_entry(vocab: Node, rank: int) -> NoReturn:
    """Says what is wrong with an entry of the vocabulary."""
    node = _entry(vocab, rank)
    node.only("rank", "token_bytes", "token_str")
    if node["rank"].be(int) != rank:
        node["rank"].fail(f"the rank must be the place in the list, {rank}")
    token = from_base64(node["token_bytes"].be(str))
    if token is None:
        node["token_bytes"].fail("this is not base64")
    meant = text_of(token)
    node["token_str"].fail(
        "the bytes are no UTF-8, so this must be null"
        if meant is None
        else f"it is not the text of the bytes, {show(meant)}"
    )


def _explain_twins(vocab: Node, tokens: Sequence[bytes]) -> None:
    first: dict[bytes, int] = {}
    for rank, token in enumerate(tokens):
        if first.setdefault(token, rank) != rank:
            _entry(vocab, rank).fail(
                f"the token {show(token)} is already there, as {vocab.path}[{first[token]}]"
            )


def _read_special(root: Node, version: str, count: int) -> tuple[list[str], list[str]]:
    """The names of the special tokens in the order of their ids, and those not for control."""
    given = root.get("special_tokens")
    if not given.given:
        if VERSIONS.index(version) > VERSIONS.index(LAST_BUILT_IN):
            root.fail(
                f"version {version} must list its special tokens; up to {LAST_BUILT_IN} they may "
                "be left out"
            )
        if len(BUILT_IN) > count:
            root["config"]["default_num_special_tokens"].fail(
                f"{len(BUILT_IN)} special tokens are built in, and there is room for {count}"
            )
        return [*BUILT_IN], []
    names: dict[str, None] = {}
    plain: list[str] = []
    for number, node in enumerate(given.items()):
        node.only("rank", "token_str", "is_control")
        if node["rank"].be(int) != number:
            node["rank"].fail(
                f"the rank must be the place in the list, {number}",
                fix="mistral-common encodes by rank and decodes by place, so they must agree",
            )
        text = node["token_str"].be(str)
        if not text:
            node["token_str"].fail("the special token is empty")
        if text in names:
            node["token_str"].fail(f"the special token {show(text)} is there already")
        if not node["is_control"].be(bool):
            plain.append(text)
        names[text] = None
    if len(names) > count:
        given.fail(f"there are {len(names)} special tokens, and room for {count}")
    for number in range(len(names), count):
        if filler(number) in names:
            given.fail(f"{filler(number)} is listed, and is also the name of the unnamed id")
    return [*names], plain


def _extras(
    root: Node, data: bytes, beyond: Sequence[bytes], plain: Sequence[str]
) -> dict[str, Json]:
    """What writes the same bytes again, and changes no id."""
    given = root.get("special_tokens")
    indent = _FIRST_INDENT.match(data[:MAX_INDENT])
    extras: dict[str, Json] = {
        "keys": [*root.be(dict)],
        "config": {
            key: "" if key == "pattern" else value for key, value in root["config"].be(dict).items()
        },
        "listed": len(given.be(list)) if given.given else None,
        "layout": {
            "indent": len(indent[1]) if indent else None,
            "ascii": data.isascii(),
            "delete": b"\\u007f" in data,
            "newline": data.endswith(b"\n"),
        },
        "beyond": _as_base64(beyond),
        "plain": [*plain],
    }
    blocks: dict[str, Json] = {key: root[key].value for key in BLOCKS if key in root}
    return extras | ({"blocks": blocks} if blocks else {})
