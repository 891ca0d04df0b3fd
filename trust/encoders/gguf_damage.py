"""Changes to the keys of a GGUF file: its lists of tokens, its merges, its flags and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, TypeAlias

from bpe_interop.formats.gguf.head import parse_head
from bpe_interop.formats.gguf.keys import (
    ADD,
    MERGES,
    MODEL,
    PRE,
    PREFIXED,
    ROLES,
    SCORES,
    TOKENS,
    TYPES,
)
from bpe_interop.formats.gguf.splitters import SPLITTERS
from fixtures.gguf_models import ARRAY, BOOL, FLOAT32, INT32, STRING, UINT32, gguf

_TYPES = {"string": STRING, "uint32": UINT32, "int32": INT32, "float32": FLOAT32, "bool": BOOL}
_FLAGS = (
    *ADD.values(),
    PREFIXED,
    "tokenizer.ggml.remove_extra_whitespaces",
    "tokenizer.ggml.add_sep_token",
    "tokenizer.ggml.escape_whitespaces",
)
_WORDS = ("a", "ab", "\u0120", "\u2581", "\u2581a", "<s>", "\u00e9", "<0x41>", "x y", "\n", "")

Keys: TypeAlias = dict[str, tuple[int, Any]]
_Change: TypeAlias = Callable[[Keys, Random], None]


def damaged_gguf(data: bytes, rng: Random) -> bytes:
    """The file with one change to its keys."""
    keys = keys_of(data)
    changes = [*_OF_KEYS]
    if _columns(keys):
        changes += _OF_TOKENS
        changes += [_scores] * 2 if _members(keys, SCORES) else []
        changes += [_merges] * 3 if _members(keys, MERGES) else []
    rng.choice(changes)(keys, rng)
    return gguf(keys)


def keys_of(data: bytes) -> Keys:
    """The keys of a file, as they are written again."""
    keys: Keys = {}
    for name, key in parse_head(data, "damaged").keys.items():
        if key.members and isinstance(key.value, Iterable):
            members = [_plain(each) for each in key.value]
            keys[name] = ARRAY, (_TYPES[key.members], members)
        else:
            keys[name] = _TYPES[key.type], _plain(key.value)
    return keys


def _plain(value: Any) -> Any:
    return value.decode("utf-8") if isinstance(value, bytes) else value


def _members(keys: Keys, name: str) -> list[Any]:
    """The members of an array; none, where an earlier change left no such array."""
    kind, value = keys.get(name, (STRING, ""))
    return value[1] if kind == ARRAY else []


def _columns(keys: Keys) -> list[list[Any]]:
    """What is said of each token, in one list each; nothing, where lists are not as long."""
    columns = [_members(keys, name) for name in (TOKENS, TYPES, SCORES) if name in keys]
    whole = (
        bool(_members(keys, TOKENS))
        and len(columns) > 1
        and len(columns[0]) > 1
        and len({*map(len, columns)}) == 1
    )
    return columns if whole else []


def _tokens(keys: Keys, rng: Random) -> None:
    columns = _columns(keys)
    at, other = (rng.randrange(len(columns[0])) for _ in range(2))
    what = rng.randrange(4)
    for column in columns:
        if what == 0:
            del column[at]
        elif what == 1:
            column.insert(other, column[at])
        elif what == 2:
            column[at], column[other] = column[other], column[at]
        else:
            column.append(column[at])
    if what in (1, 3):
        columns[0][other if what == 1 else -1] += rng.choice(_WORDS)


def _text(keys: Keys, rng: Random) -> None:
    tokens = _members(keys, TOKENS)
    at = rng.randrange(len(tokens))
    changed = (tokens[at] + "a", tokens[at][1:], rng.choice(_WORDS), rng.choice(tokens))
    tokens[at] = rng.choice(changed)


def _types(keys: Keys, rng: Random) -> None:
    types = _members(keys, TYPES)
    types[rng.randrange(len(types))] = rng.choice((0, *range(1, 7), 7))


def _scores(keys: Keys, rng: Random) -> None:
    scores = _members(keys, SCORES)
    at = rng.randrange(len(scores))
    scores[at] = rng.choice((0.0, -0.0, -1e-45, 3.5, -1e9, rng.choice(scores)))


def _merges(keys: Keys, rng: Random) -> None:
    merges = _members(keys, MERGES)
    at, other = (rng.randrange(len(merges)) for _ in range(2))
    what = rng.randrange(5)
    if what == 0:
        del merges[at]
    elif what == 1:
        merges.insert(other, merges[at])
    elif what == 2:
        merges[at], merges[other] = merges[other], merges[at]
    elif what == 3:
        merges[at] = " ".join(rng.choice(_members(keys, TOKENS)) for _ in range(2))
    else:
        merges[at] = merges[at].replace(" ", rng.choice(("", "  ", " a ")), 1)


def _flag(keys: Keys, rng: Random) -> None:
    name = rng.choice(_FLAGS)
    keys[name] = BOOL, not keys[name][1] if name in keys else rng.random() < 0.5


def _role(keys: Keys, rng: Random) -> None:
    name = rng.choice([*ROLES.values(), "tokenizer.ggml.eot_token_id"])
    size = len(_members(keys, TOKENS))
    keys[name] = UINT32, rng.choice((0, 1, 2, rng.randrange(size), size, 2**32 - 1))


def _splitter(keys: Keys, rng: Random) -> None:
    keys[PRE] = STRING, rng.choice([*SPLITTERS, "default", "unheard-of"])


def _kind(keys: Keys, rng: Random) -> None:
    keys[MODEL] = STRING, rng.choice(("gpt2", "llama", "gemma4", "bert", "none"))


def _without(keys: Keys, rng: Random) -> None:
    del keys[rng.choice(sorted(keys))]


def _retyped(keys: Keys, rng: Random) -> None:
    name = rng.choice(sorted(keys))
    kind, value = rng.choice(((UINT32, 1), (STRING, "a"), (BOOL, True), (ARRAY, (STRING, []))))
    keys[name] = kind, value


_OF_KEYS: tuple[_Change, ...] = (_flag, _flag, _splitter, _kind, _without, _retyped)
_OF_TOKENS: tuple[_Change, ...] = (_tokens, _tokens, _text, _text, _types, _types, _role)
