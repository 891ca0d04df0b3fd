"""Random files beside a tokenizer: the tokens that they add, and engines that have these too.

A pair of GPT-2, a ``.model`` and a rank file without a sidecar take such tokens on. Other formats
say all of their tokens: whatever such files ask for, the ids of their engines stay.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, TypeAlias

import tokenizers

Json: TypeAlias = dict[str, Any]
Beside: TypeAlias = list[Json]
"""Tokens as ``added_tokens_decoder`` has them, with ``id``, and a ``role`` or none."""

OPEN = ("gpt2", "tiktoken", "sentencepiece")
"""Formats that take tokens on."""

_FLAGS = ("lstrip", "rstrip", "single_word")
_NAMES = ("<s>", "<|x|>", "a b", " a", "\n", "[PAD]", "\u00e9")


def random_beside(rng: Random, format: str, words: Mapping[str, int], letters: str) -> Beside:
    """One token to three; of those that ``words`` has, the id is known."""
    tokens: Beside = []
    free = max(words.values(), default=-1) + 1
    for _ in range(rng.randint(1, 3)):
        text = "".join(rng.choices(letters, k=rng.randint(1, 3)))
        text = rng.choice([text, text, text, rng.choice(_NAMES), *[*words][-2:]])
        if not text or any(text == token["content"] for token in tokens):
            continue
        number = words.get(text, free)
        free += number == free
        flags = {name: format != "tiktoken" and rng.random() < 0.15 for name in _FLAGS}
        special = rng.random() < 0.6
        role = rng.choice(["eos_token", "pad_token", None, None]) if special else None
        token = {"content": text, **flags, "normalized": False, "special": special}
        if any(role == each["role"] for each in tokens):
            role = None
        tokens.append(token | {"id": number, "role": role})
    return sorted(tokens, key=lambda token: int(token["id"]))


def files_of(tokens: Beside) -> dict[str, bytes]:
    """``tokenizer_config.json``; roles without flags stand in the older files."""
    named = {token["role"]: token["content"] for token in tokens if token["role"]}
    if all(token["role"] for token in tokens) and not any(
        token[flag] for token in tokens for flag in _FLAGS
    ):
        return {
            "added_tokens.json": _json({token["content"]: token["id"] for token in tokens}),
            "special_tokens_map.json": _json(named),
        }
    entries = {
        str(t["id"]): {k: v for k, v in t.items() if k not in ("id", "role")} for t in tokens
    }
    return {"tokenizer_config.json": _json({"added_tokens_decoder": entries, **named})}


def _json(document: Json) -> bytes:
    return json.dumps(document).encode()


def raised(error: BaseException) -> str:
    """The first line of what an engine raised; interrupts go on."""
    if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
        raise error
    return str(error).strip().split("\n")[0][:120]


class Finder:
    """Finds added tokens in a text, as tokenizers does."""

    def __init__(self, tokens: Sequence[Json]) -> None:
        self._ids = {token["content"]: int(token["id"]) for token in tokens}
        self._finder = tokenizers.Tokenizer(tokenizers.models.BPE())
        for token in tokens:
            flags = {name: token.get(name, False) for name in (*_FLAGS, "normalized", "special")}
            flags["special"] |= bool(token.get("role"))
            self._finder.add_tokens([tokenizers.AddedToken(token["content"], **flags)])

    def parts(self, text: str, *, special: bool) -> Iterator[str | int]:
        """Ids of tokens, and the texts between them."""
        self._finder.encode_special_tokens = not special
        found = self._finder.encode(text, add_special_tokens=False)
        end = 0
        for number, (start, stop) in zip(found.ids, found.offsets, strict=True):
            if text[end:start]:
                yield text[end:start]
            yield self._ids[self._finder.id_to_token(number)]
            end = stop
        if text[end:]:
            yield text[end:]


class PartsOracle:
    """An engine that is given the texts between added tokens."""

    deaf = False
    decodes = False
    """What sentencepiece decodes is a whole text, and not what is between two tokens."""

    def __init__(self, tokens: Sequence[Json], encode: Callable[[str], list[int] | None]) -> None:
        self._finder, self._encode = Finder(tokens), encode

    def ids(self, texts: Sequence[str], mode: str) -> list[list[int] | None]:
        """The ids of each text."""
        return [self._one(text, mode) for text in texts]

    def _one(self, text: str, mode: str) -> list[int] | None:
        if mode == "text":
            return self._encode(text)
        ids: list[int] = []
        try:
            parts = list(self._finder.parts(text, special=mode != "ordinary"))
        except BaseException as error:
            raised(error)
            return None
        for part in parts:
            more = [part] if isinstance(part, int) else self._encode(part)
            if more is None:
                return None
            ids += more
        return ids

    def decoded(self, ids: Sequence[list[int] | None]) -> list[str | None]:
        """Nothing."""
        return [None for _ in ids]


def changed_beside(rng: Random, format: str, tokens: Beside, letters: str) -> str:
    """Changes one thing in place; its name."""
    token, what = rng.choice(tokens), rng.randrange(5)
    if what == 0 and len(tokens) > 1:
        tokens.remove(token)
        return "token of a file beside less"
    if what == 1 and format != "tiktoken":
        name = rng.choice(_FLAGS)
        token[name] = not token[name]
        return "flag of a token of a file beside"
    if what == 2:
        token["special"] = not token["special"]
        return "special token of a file beside"
    if what == 3:
        token["content"] += rng.choice(letters)
        return "text of a token of a file beside"
    token["role"] = None if token["role"] else "cls_token"
    return "role in a file beside"
